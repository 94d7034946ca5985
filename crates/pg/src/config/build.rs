//! From words to a configuration: defaults, numbers, lists of hosts, and what does not go together. It reads nothing.
//! Rule: every error names the key and what it may be; values of known keys may be shown, a password never.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tsumugi_pg_proto::limits::SCRAM_ITERATIONS_MAX;

use super::keys::Settings;
use super::{
    ChannelBinding, ClientCertificate, Config, Environment, Host, Keepalive, LoadBalanceHosts,
    Pooler, Roots, Secret, SslMode, SslNegotiation, TargetSessionAttrs, TlsConfig, choice,
};
use crate::error::Error;
use crate::limits::{
    CONNECT_TIMEOUT_MS_DEFAULT, HOSTS_MAX, STATEMENT_CACHE_DEFAULT, STATEMENT_CACHE_MAX,
};

const PORT_DEFAULT: u16 = 5432;

pub fn config(settings: &Settings, environment: &Environment) -> Result<Config, Error> {
    let user = settings.value("user").or(environment.user());
    let user = user.ok_or_else(|| {
        Error::config(
            "user",
            "not given, and the system does not tell its user's name",
        )
    })?;
    encoding(settings)?;
    gss(settings)?;
    let home = environment.home();
    let passfile = settings
        .value("passfile")
        .map(PathBuf::from)
        .or_else(|| Some(home?.join(".pgpass")));
    Ok(Config {
        hosts: hosts(settings, environment)?,
        user: user.to_owned(),
        password: settings
            .value("password")
            .map(|word| Secret::from(word.to_owned())),
        passfile,
        database: settings.value("dbname").unwrap_or(user).to_owned(),
        application_name: settings
            .value("application_name")
            .or(settings.value("fallback_application_name"))
            .map(str::to_owned),
        options: settings.value("options").map(str::to_owned),
        parameters: environment
            .variable("PGTZ")
            .map(|zone| ("TimeZone".to_owned(), zone))
            .into_iter()
            .collect(),
        connect_timeout: connect_timeout(settings)?,
        keepalive: keepalive(settings)?,
        tcp_user_timeout: number(settings, "tcp_user_timeout", "milliseconds", u32::MAX)?
            .filter(|ms| *ms > 0)
            .map(|ms| Duration::from_millis(ms.into())),
        tls: tls(settings, home)?,
        channel_binding: word(settings, "channel_binding", ChannelBinding::parse)?
            .unwrap_or_default(),
        scram_iterations_max: number(settings, "scram_iterations_max", "rounds", u32::MAX)?
            .unwrap_or(SCRAM_ITERATIONS_MAX),
        target_session_attrs: word(settings, "target_session_attrs", TargetSessionAttrs::parse)?
            .unwrap_or_default(),
        load_balance_hosts: word(settings, "load_balance_hosts", LoadBalanceHosts::parse)?
            .unwrap_or_default(),
        statement_cache: statement_cache(settings)?,
        pooler: word(settings, "pooler", Pooler::parse)?.unwrap_or_default(),
    })
}

/// One host for each element of `host` or `hostaddr`; `port` has one element for all, or one for each.
fn hosts(settings: &Settings, environment: &Environment) -> Result<Vec<Host>, Error> {
    let list = |key| {
        settings
            .value(key)
            .map(|value| value.split(',').collect::<Vec<_>>())
    };
    let (names, addresses) = (list("host"), list("hostaddr"));
    let count = names.as_ref().or(addresses.as_ref()).map_or(1, Vec::len);
    if count > HOSTS_MAX {
        let reason = format!("{count} hosts are more than hosts_max ({HOSTS_MAX})");
        return Err(Error::config("host", reason));
    }
    let ports = list("port").unwrap_or_default();
    for (key, given) in [("hostaddr", addresses.as_ref()), ("port", Some(&ports))] {
        let given = given.map_or(0, Vec::len);
        if given != 0 && given != count && (key == "hostaddr" || given != 1) {
            let reason = format!("{given} elements for {count} hosts");
            return Err(Error::config(key, reason));
        }
    }
    let at = |list: &Option<Vec<&str>>, index: usize| {
        let element = list.as_ref()?.get(index)?.trim();
        (!element.is_empty()).then(|| element.to_owned())
    };
    (0..count)
        .map(|index| {
            let element = ports
                .get(index)
                .or(ports.first())
                .map_or("", |port| port.trim());
            let port = port(element)?;
            host(at(&names, index), at(&addresses, index), port, environment)
        })
        .collect()
}

fn host(
    name: Option<String>,
    address: Option<String>,
    port: u16,
    environment: &Environment,
) -> Result<Host, Error> {
    let parse = |text: &String| {
        let reason = || format!("`{text}` is not an IPv4 or IPv6 address");
        text.parse::<IpAddr>()
            .map_err(|_| Error::config("hostaddr", reason()))
    };
    let address = address.as_ref().map(parse).transpose()?;
    let unix = |directory: &Path| Host::Unix {
        directory: directory.to_owned(),
        port,
    };
    Ok(match (name, address) {
        (None, None) => match environment.socket_directory() {
            Some(directory) => unix(directory),
            None => Host::Tcp {
                name: "localhost".to_owned(),
                address,
                port,
            },
        },
        (Some(name), None) if name.starts_with('/') => unix(Path::new(&name)),
        (Some(name), _) => Host::Tcp {
            name,
            address,
            port,
        },
        (None, Some(found)) => Host::Tcp {
            name: found.to_string(),
            address,
            port,
        },
    })
}

fn port(text: &str) -> Result<u16, Error> {
    match text.parse() {
        _ if text.is_empty() => Ok(PORT_DEFAULT),
        Ok(port) if port > 0 => Ok(port),
        _ => Err(Error::config("port", "not a number from 1 to 65535")),
    }
}

fn tls(settings: &Settings, home: Option<&Path>) -> Result<TlsConfig, Error> {
    let usual = |name: &str| Some(home?.join(".postgresql").join(name));
    let roots = match settings.value("sslrootcert") {
        Some("system") => Roots::System,
        Some(path) => Roots::File(PathBuf::from(path)),
        None => usual("root.crt").map_or(Roots::Nowhere, Roots::Usual),
    };
    let given = word(settings, "sslmode", SslMode::parse)?;
    let mode = match (given, &roots) {
        // Everybody can get a certificate that the system trusts: it says something together with the name only.
        (None, Roots::System) => SslMode::VerifyFull,
        (Some(mode), Roots::System) if mode < SslMode::VerifyFull => {
            let reason = format!(
                "`{}` is too weak for sslrootcert=system; use verify-full",
                mode.as_str()
            );
            return Err(Error::config("sslmode", reason));
        }
        (given, _) => given.unwrap_or_default(),
    };
    let negotiation = word(settings, "sslnegotiation", SslNegotiation::parse)?.unwrap_or_default();
    if negotiation == SslNegotiation::Direct && mode < SslMode::Require {
        let reason = format!(
            "`direct` needs sslmode=require or stricter, not `{}`",
            mode.as_str()
        );
        return Err(Error::config("sslnegotiation", reason));
    }
    let certificate = settings.value("sslcert").map(PathBuf::from);
    let named = certificate.is_some();
    let key = settings.value("sslkey").map(PathBuf::from);
    let client = certificate
        .or_else(|| usual("postgresql.crt"))
        .zip(key.or_else(|| usual("postgresql.key")))
        .map(|(certificate, key)| ClientCertificate {
            certificate,
            key,
            named,
        });
    if named && client.is_none() {
        return Err(Error::config("sslkey", "not given, and sslcert needs it"));
    }
    Ok(TlsConfig {
        mode,
        negotiation,
        roots,
        client,
        sni: switch(settings, "sslsni")?,
    })
}

fn encoding(settings: &Settings) -> Result<(), Error> {
    match settings.value("client_encoding") {
        // What `auto` finds out is UTF-8 everywhere this runs.
        None | Some("auto") => Ok(()),
        Some(name) if ["utf8", "utf-8", "unicode"].contains(&name.to_lowercase().as_str()) => {
            Ok(())
        }
        Some(name) => {
            let reason = format!("`{name}` is not UTF8, the only encoding of this client");
            Err(Error::config("client_encoding", reason))
        }
    }
}

fn gss(settings: &Settings) -> Result<(), Error> {
    match settings.value("gssencmode") {
        None | Some("disable" | "prefer") => Ok(()),
        Some("require") => Err(Error::config(
            "gssencmode",
            "encryption by GSSAPI is not supported; use sslmode=verify-full",
        )),
        Some(other) => Err(choice::unknown(
            "gssencmode",
            other,
            &["disable", "prefer", "require"],
        )),
    }
}

/// In seconds; zero or less waits for ever.
fn connect_timeout(settings: &Settings) -> Result<Option<Duration>, Error> {
    let Some(text) = settings.value("connect_timeout") else {
        return Ok(Some(Duration::from_millis(CONNECT_TIMEOUT_MS_DEFAULT)));
    };
    match text.trim().parse::<i32>() {
        Ok(seconds) => Ok(u64::try_from(seconds)
            .ok()
            .filter(|s| *s > 0)
            .map(Duration::from_secs)),
        Err(_) => {
            let reason = format!("`{text}` is not a number of seconds");
            Err(Error::config("connect_timeout", reason))
        }
    }
}

fn keepalive(settings: &Settings) -> Result<Keepalive, Error> {
    // Zero is the system's own, as in libpq; the kernel counts in 15 bits of seconds.
    let seconds = |key| {
        let seconds = number(settings, key, "seconds", 32_767)?;
        Ok::<_, Error>(
            seconds
                .filter(|s| *s > 0)
                .map(|s| Duration::from_secs(s.into())),
        )
    };
    Ok(Keepalive {
        enabled: switch(settings, "keepalives")?,
        idle: seconds("keepalives_idle")?,
        interval: seconds("keepalives_interval")?,
        count: number(settings, "keepalives_count", "tries", 127)?.filter(|count| *count > 0),
    })
}

fn statement_cache(settings: &Settings) -> Result<usize, Error> {
    let max = u32::try_from(STATEMENT_CACHE_MAX).unwrap_or(u32::MAX);
    let given = number(settings, "statement_cache", "statements", max)?;
    Ok(given.map_or(STATEMENT_CACHE_DEFAULT, |count| count as usize))
}

fn word<T>(
    settings: &Settings,
    key: &'static str,
    parse: fn(&str) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    settings.value(key).map(parse).transpose()
}

fn number(settings: &Settings, key: &str, unit: &str, max: u32) -> Result<Option<u32>, Error> {
    let Some(text) = settings.value(key) else {
        return Ok(None);
    };
    let number = text.trim().parse().ok().filter(|number| *number <= max);
    number.map(Some).ok_or_else(|| {
        Error::config(
            key,
            format!("`{text}` is not a number of {unit} from 0 to {max}"),
        )
    })
}

/// `0` or `1`, on unless said otherwise.
fn switch(settings: &Settings, key: &str) -> Result<bool, Error> {
    match settings.value(key) {
        None | Some("1") => Ok(true),
        Some("0") => Ok(false),
        Some(other) => Err(choice::unknown(key, other, &["0", "1"])),
    }
}
