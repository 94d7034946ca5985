//! The address of a store in Redis: one server, the Sentinels of a service, or the nodes of a cluster, and how they are spoken to. Opens nothing.
//! Rule: what is shown of an address holds no password and no setting's value.

use std::fmt;
use std::path::PathBuf;

use bytes::Bytes;
use tsumugi_kv::limits::KEY_BYTES_MAX;
use tsumugi_wire::Secret;

use crate::error::{Error, Result};
use crate::limits::REDIS_PREFIX_BYTES_MAX;
use crate::server_url::{ServerUrl, shown_hosts};
use crate::settings::StoreSettings;

const KNOWN: &[&str] = &[
    "user",
    "password",
    "sentinel_user",
    "sentinel_password",
    "prefix",
    "timeout",
    "ca",
    "cert",
    "key",
];
const PORT: u16 = 6379;
const SENTINEL_PORT: u16 = 26379;
const FORMS: &str = "redis://HOST:PORT/DATABASE, redis+sentinel://HOST:PORT,HOST:PORT/SERVICE/DATABASE or redis+cluster://HOST:PORT,HOST:PORT, and rediss for TLS";

/// A store in Redis. Needs the feature `redis`.
#[derive(Clone, Debug)]
pub struct RedisAddress {
    pub(super) servers: RedisServers,
    /// Stands in front of every key.
    pub(super) prefix: Bytes,
    /// For `timeout` and `ca`.
    pub(super) settings: StoreSettings,
}

/// What is connected to, and how. Stores with equal ones share connections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RedisServers {
    pub(super) topology: Topology,
    pub(super) hosts: Vec<(String, u16)>,
    /// Whether `rediss` was written.
    pub(super) transport: Transport,
    pub(super) database: u16,
    pub(super) login: Login,
    /// Of the Sentinels, which may have one of their own.
    pub(super) sentinel_login: Login,
}

/// How servers find each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Topology {
    /// One server.
    Alone,
    /// The hosts are Sentinels, which know the master of this service.
    Sentinel(String),
    /// The hosts are nodes of a cluster.
    Cluster,
}

/// What carries the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    Plain,
    Tls,
}

/// A user of the server and the password; without a user that is `default`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Login {
    pub(super) user: Option<String>,
    pub(super) password: Option<Secret>,
}

impl Login {
    /// Settings are over what the URL says.
    fn over(self, settings: &StoreSettings, user: &str, password: &str) -> Result<Login> {
        let login = Login {
            user: settings.find(user).map(str::to_owned).or(self.user),
            password: settings
                .find(password)
                .map(|password| Secret::from(password.to_owned()))
                .or(self.password),
        };
        // The protocol has no user without a password.
        match login {
            Login {
                user: Some(_),
                password: None,
            } => Err(Error::address(format!(
                "the address of a store in Redis has a user and no {password}"
            ))),
            login => Ok(login),
        }
    }
}

impl RedisAddress {
    /// The files of the application's own certificate and its key.
    pub(super) fn identity(&self) -> Result<Option<(PathBuf, PathBuf)>> {
        let file = |name| self.settings.find(name).map(PathBuf::from);
        match (file("cert"), file("key")) {
            (None, None) => Ok(None),
            (Some(certificate), Some(key)) => Ok(Some((certificate, key))),
            _ => Err(Error::address(
                "a certificate for a store in Redis is two files, cert and key",
            )),
        }
    }

    /// Reads it.
    pub(crate) fn parse(place: &str, settings: &StoreSettings) -> Result<RedisAddress> {
        let wrong = || Error::address(format!("the place of a store in Redis is {FORMS}"));
        let (scheme, rest) = place.split_once("://").ok_or_else(wrong)?;
        let (protocol, arrangement) = scheme.split_once('+').unwrap_or((scheme, ""));
        let transport = match protocol {
            "rediss" => Transport::Tls,
            _ => Transport::Plain,
        };
        let port = match arrangement {
            "sentinel" => SENTINEL_PORT,
            _ => PORT,
        };
        let url = ServerUrl::parse(rest, port, settings)?;
        url.settings.check("a store in Redis", KNOWN)?;
        let (topology, database) = match arrangement {
            "" if url.hosts.len() > 1 => {
                return Err(Error::address(
                    "redis:// names one server; write redis+sentinel:// or redis+cluster:// where there are several",
                ));
            }
            "" => (Topology::Alone, url.path.as_str()),
            "sentinel" => {
                let (service, database) = url.path.split_once('/').unwrap_or((&url.path, ""));
                if service.is_empty() {
                    return Err(Error::address(
                        "redis+sentinel:// needs the name of a service, as in redis+sentinel://a,b,c/mymaster",
                    ));
                }
                (Topology::Sentinel(service.to_owned()), database)
            }
            _ => (Topology::Cluster, url.path.as_str()),
        };
        let database = database_number(database, &topology)?;
        url.settings.timeout_ms()?;
        let login = Login {
            user: url.user,
            password: url.password,
        };
        Ok(RedisAddress {
            servers: RedisServers {
                topology,
                hosts: url.hosts,
                transport,
                database,
                login: login.over(&url.settings, "user", "password")?,
                sentinel_login: Login::default().over(
                    &url.settings,
                    "sentinel_user",
                    "sentinel_password",
                )?,
            },
            prefix: prefix(&url.settings)?,
            settings: url.settings,
        })
    }
}

fn database_number(text: &str, topology: &Topology) -> Result<u16> {
    let number = match text {
        "" => 0,
        text => text.parse().map_err(|_| {
            Error::address("the database of a store in Redis is a number, as in redis://HOST/0")
        })?,
    };
    match topology {
        Topology::Cluster if number != 0 => Err(Error::address(
            "a cluster of Redis has only the database 0; tell applications apart by prefix",
        )),
        _ => Ok(number),
    }
}

fn prefix(settings: &StoreSettings) -> Result<Bytes> {
    let prefix = settings.find("prefix").unwrap_or_default();
    match prefix.len() {
        0..=REDIS_PREFIX_BYTES_MAX => Ok(Bytes::copy_from_slice(prefix.as_bytes())),
        length => Err(Error::address(format!(
            "the prefix of a store in Redis has {length} bytes, at most {REDIS_PREFIX_BYTES_MAX} (REDIS_PREFIX_BYTES_MAX)"
        ))),
    }
}

// A key with its prefix is still counted in the 32 bits of the protocol.
const _: () = assert!(KEY_BYTES_MAX + REDIS_PREFIX_BYTES_MAX < u32::MAX as usize);

impl fmt::Display for RedisServers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.transport {
            Transport::Plain => "redis",
            Transport::Tls => "rediss",
        })?;
        f.write_str(match self.topology {
            Topology::Alone => "://",
            Topology::Sentinel(_) => "+sentinel://",
            Topology::Cluster => "+cluster://",
        })?;
        f.write_str(&shown_hosts(&self.hosts))?;
        if let Topology::Sentinel(service) = &self.topology {
            write!(f, "/{service}")?;
        }
        match self.topology {
            Topology::Cluster => Ok(()),
            _ => write!(f, "/{}", self.database),
        }
    }
}

impl fmt::Display for RedisAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.servers)?;
        match self.prefix.is_empty() {
            true => Ok(()),
            false => write!(f, "?prefix={}", String::from_utf8_lossy(&self.prefix)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(place: &str, expected: &str) {
        let shown = match RedisAddress::parse(place, &StoreSettings::default()) {
            Ok(address) => address.to_string(),
            Err(error) => error.to_string(),
        };
        assert!(shown.contains(expected), "{place}: {shown}");
        assert!(!shown.contains("s3cret"), "{place}: {shown}");
    }

    #[test]
    fn address_is_read_into_what_it_names_and_shown_without_its_password() {
        check("redis://h", "redis://h:6379/0");
        check("rediss://me:s3cret@[::1]:7/3", "rediss://[::1]:7/3");
        check("redis://h?password=s3cret", "redis://h:6379/0");
        check(
            "redis+sentinel://a,b:1/mymaster",
            "redis+sentinel://a:26379,b:1/mymaster/0",
        );
        check(
            "redis+sentinel://a/mymaster/2?sentinel_password=s3cret",
            "a:26379/mymaster/2",
        );
        check(
            "rediss+cluster://a:7,b?prefix=app1:",
            "rediss+cluster://a:7,b:6379?prefix=app1:",
        );
    }

    #[test]
    fn address_that_contradicts_itself_is_refused_with_what_to_write() {
        check("redis://a,b", "redis+sentinel://");
        check("redis://a/x", "a number");
        check("redis+sentinel://a", "the name of a service");
        check("redis+cluster://a/1", "only the database 0");
        check("redis://me@a", "a user and no password");
        check("redis://a?colour=s3cret", "no setting colour");
        check("redis://a?timeout=0", "timeout is a positive number");
        check("redis:a", "redis://HOST:PORT/DATABASE");
    }

    #[test]
    fn prefix_one_byte_too_long_is_refused_with_the_limit() {
        let place = |length| format!("redis://a?prefix={}", "p".repeat(length));
        check(&place(REDIS_PREFIX_BYTES_MAX), "?prefix=p");
        check(&place(REDIS_PREFIX_BYTES_MAX + 1), "REDIS_PREFIX_BYTES_MAX");
    }

    #[test]
    fn nothing_of_a_password_is_in_what_debugging_shows() {
        let address = RedisAddress::parse(
            "redis://me:s3cret@a?sentinel_password=s3cret",
            &StoreSettings::default(),
        );
        assert!(!format!("{:?}", address.unwrap()).contains("s3cret"));
    }
}
