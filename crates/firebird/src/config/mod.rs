//! Where the database is and how to reach it, read from a URL. It opens no socket and reads no environment. What follows the URL's first
//! `/` is the database: an alias, or a path when it begins with another `/`.
//! Rule: no error and no `Debug` holds a password, not even a piece of one that was quoted wrongly.

#[cfg(test)]
mod tests;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use tsumugi_firebird_proto::auth::Plugin;
use tsumugi_firebird_proto::{Compression, WireCrypt};
use tsumugi_wire::url_pairs;

use crate::error::Error;
use crate::limits::{
    CONNECT_TIMEOUT_MS_DEFAULT, CONNECTION_STRING_BYTES_MAX, REPLY_BYTES_DEFAULT,
    STATEMENT_CACHE_DEFAULT, STATEMENT_CACHE_MAX,
};

pub use tsumugi_wire::Secret;

const PORT_DEFAULT: u16 = 3050;

const KEYS: [&str; 12] = [
    "host",
    "port",
    "user",
    "password",
    "database",
    "role",
    "charset",
    "auth",
    "wire_crypt",
    "wire_compression",
    "connect_timeout",
    "statement_cache",
];

/// The keys that [`Config::parse`] knows.
pub fn known_keys() -> &'static [&'static str] {
    &KEYS
}

/// Everything that opening a connection needs. Read one with [`Config::parse`], then change what the program decides itself.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// A name or an address.
    pub host: String,
    /// The port.
    pub port: u16,
    /// An alias of the server or a path there.
    pub database: String,
    /// The user as one writes it in SQL: in double quotes when capitals matter.
    pub user: String,
    /// The password.
    pub password: Secret,
    /// The SQL role that is taken, if any.
    pub role: Option<String>,
    /// The ways to prove the password that may be used, the first one first.
    pub plugins: Vec<Plugin>,
    /// Whether to encrypt.
    pub wire_crypt: WireCrypt,
    /// Whether to compress.
    pub compression: Compression,
    /// From the look-up of the name to the attachment; `None` waits for ever.
    pub connect_timeout: Option<Duration>,
    /// Statements kept prepared on each connection; 0 keeps none.
    pub statement_cache: usize,
    /// Bytes of the rows of one answer at most; more of them have to be streamed. No key of a URL: the program decides. It may be
    /// exceeded by what the server sends at once.
    pub reply_bytes_max: usize,
}

impl Config {
    /// Reads a URL. A key it does not know is an error that lists those it knows.
    ///
    /// | key | value | default |
    /// | --- | --- | --- |
    /// | `host`, `port` | a name or an address; a number | `localhost`, 3050 |
    /// | `database` | an alias, or a path on the server | |
    /// | `user`, `password`, `role` | names, a text | |
    /// | `charset` | `UTF8`, which is what the driver always speaks | `UTF8` |
    /// | `auth` | of `Srp256`, `Srp`, `Legacy_Auth`, divided by commas | `Srp256,Srp` |
    /// | `wire_crypt` | `disabled`, `enabled`, `required` | `enabled` |
    /// | `wire_compression` | 0 or 1 | 0 |
    /// | `connect_timeout` | seconds, 0 for ever | 10 |
    /// | `statement_cache` | statements a connection | 256 |
    ///
    /// ```
    /// use tsumugi_firebird::Config;
    ///
    /// let config = Config::parse("firebird://ann:secret@db.example//srv/shop.fdb?role=clerk")?;
    /// assert_eq!(config.to_string(), "firebird://ann@db.example:3050//srv/shop.fdb");
    /// # Ok::<(), tsumugi_firebird::Error>(())
    /// ```
    pub fn parse(text: &str) -> Result<Config, Error> {
        let (config, rest) = Config::parse_known(text)?;
        match rest.first() {
            Some((key, _)) => {
                let known = KEYS.join(", ");
                Err(Error::config(
                    key,
                    format!("unknown; the known keys are {known}"),
                ))
            }
            None => Ok(config),
        }
    }

    /// Like [`Config::parse`], but hands back keys it does not know, with their values, for the caller to take or refuse.
    pub fn parse_known(text: &str) -> Result<(Config, Vec<(String, String)>), Error> {
        if text.len() > CONNECTION_STRING_BYTES_MAX {
            let reason =
                format!("longer than connection_string_bytes_max ({CONNECTION_STRING_BYTES_MAX})");
            return Err(Error::config("url", reason));
        }
        let pairs = match text.strip_prefix("firebird://") {
            Some(rest) => url_pairs(rest, "database"),
            None => Err("it does not begin with firebird://".to_owned()),
        };
        let (pairs, rest) = pairs
            .map_err(|reason| Error::config("url", reason))?
            .into_iter()
            .partition(|(key, _)| KEYS.contains(&key.as_str()));
        Ok((Config::build(pairs)?, rest))
    }

    fn build(pairs: Vec<(String, String)>) -> Result<Config, Error> {
        let mut config = Config {
            host: "localhost".to_owned(),
            port: PORT_DEFAULT,
            database: String::new(),
            user: String::new(),
            password: Secret::from(String::new()),
            role: None,
            plugins: vec![Plugin::Srp256, Plugin::Srp],
            wire_crypt: WireCrypt::Enabled,
            compression: Compression::None,
            connect_timeout: Some(Duration::from_millis(CONNECT_TIMEOUT_MS_DEFAULT)),
            statement_cache: STATEMENT_CACHE_DEFAULT,
            reply_bytes_max: REPLY_BYTES_DEFAULT,
        };
        for (key, value) in pairs {
            config.set(&key, value)?;
        }
        for (key, value) in [("database", &config.database), ("user", &config.user)] {
            if value.is_empty() {
                let reason = "missing; write firebird://user:password@host/database";
                return Err(Error::config(key, reason));
            }
        }
        Ok(config)
    }

    fn set(&mut self, key: &str, value: String) -> Result<(), Error> {
        match key {
            // `firebird://:3051/…` is the default host.
            "host" if value.is_empty() => {}
            "host" => self.host = value,
            "port" => self.port = number(key, &value)?,
            "database" => self.database = value,
            "user" => self.user = value,
            "password" => self.password = Secret::from(value),
            "role" => self.role = Some(value),
            "charset" if value.eq_ignore_ascii_case("utf8") => {}
            "charset" => return Err(choice(key, "UTF8; the server converts what it stores")),
            "auth" => self.plugins = plugins(&value)?,
            "wire_crypt" => {
                self.wire_crypt = match value.to_ascii_lowercase().as_str() {
                    "disabled" => WireCrypt::Disabled,
                    "enabled" => WireCrypt::Enabled,
                    "required" => WireCrypt::Required,
                    _ => return Err(choice(key, "disabled, enabled or required")),
                }
            }
            "wire_compression" => {
                self.compression = match value.as_str() {
                    "0" => Compression::None,
                    "1" => Compression::Zlib,
                    _ => return Err(choice(key, "0 or 1")),
                }
            }
            "connect_timeout" => {
                let seconds: u64 = number(key, &value)?;
                self.connect_timeout = (seconds > 0).then(|| Duration::from_secs(seconds));
            }
            _ => {
                self.statement_cache = number(key, &value)?;
                if self.statement_cache > STATEMENT_CACHE_MAX {
                    let reason = format!("more than statement_cache_max ({STATEMENT_CACHE_MAX})");
                    return Err(Error::config(key, reason));
                }
            }
        }
        Ok(())
    }

    /// `host:port`, for messages.
    pub(crate) fn place(&self) -> String {
        let (host, port) = (&self.host, self.port);
        match host.contains(':') {
            true => format!("[{host}]:{port}"),
            false => format!("{host}:{port}"),
        }
    }
}

fn number<T: FromStr>(key: &str, value: &str) -> Result<T, Error> {
    value
        .parse()
        .map_err(|_| Error::config(key, "not a number that fits"))
}

fn plugins(value: &str) -> Result<Vec<Plugin>, Error> {
    value
        .split(',')
        .map(|name| Plugin::from_name(name.trim().as_bytes()))
        .collect::<Option<Vec<_>>>()
        .ok_or_else(|| choice("auth", "of Srp256, Srp and Legacy_Auth, divided by commas"))
}

fn choice(key: &str, choices: &str) -> Error {
    Error::config(key, format!("must be {choices}"))
}

/// Without the password, for logs: `firebird://user@host:port/database`.
impl fmt::Display for Config {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "firebird://{}@{}/{}",
            self.user,
            self.place(),
            self.database
        )
    }
}
