//! Where the server is and how to reach it: read from a URL or `key=value` text, a service file and the `PG*` environment.
//! It opens no socket. Names, meanings and precedence are libpq's (chapter "Database Connection Control Functions"): what the
//! text says, else the service file, else the environment, else a default.
//! Rule: no error and no `Debug` holds a password, not even a piece of one that was quoted wrongly.

mod build;
mod choice;
mod environment;
mod keys;
mod keywords;
mod passfile;
mod service;

#[cfg(test)]
mod tests;

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use tsumugi_wire::url_pairs;

use crate::error::Error;
use crate::limits::CONNECTION_STRING_BYTES_MAX;

pub use self::choice::{
    ChannelBinding, LoadBalanceHosts, Pooler, SslMode, SslNegotiation, TargetSessionAttrs,
};
pub use self::environment::Environment;
pub use self::keys::known_keys;
pub use tsumugi_wire::Secret;

pub(crate) use self::passfile::Passfile;

/// Everything that opening a connection needs. Read one with [`Config::parse`], then change what the program decides itself.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Config {
    /// At least one; tried in order, or in a random one.
    pub hosts: Vec<Host>,
    /// The role.
    pub user: String,
    /// The password, the same for all hosts. Without it the password file is asked.
    pub password: Option<Secret>,
    /// The password file; one that is not there is no error.
    pub passfile: Option<PathBuf>,
    /// The name of the database.
    pub database: String,
    /// Shown in `pg_stat_activity`.
    pub application_name: Option<String>,
    /// Command-line options of the backend, such as `-c work_mem=8MB`.
    pub options: Option<String>,
    /// Further parameters of the start-up message, such as `TimeZone`.
    pub parameters: Vec<(String, String)>,
    /// For each address of each host, from TCP to authentication; `None` waits for ever.
    pub connect_timeout: Option<Duration>,
    /// Whether and when the kernel looks if the peer is still there.
    pub keepalive: Keepalive,
    /// How long sent data may stay unacknowledged before the kernel gives up; `None` is the system's own.
    pub tcp_user_timeout: Option<Duration>,
    /// Encryption and trusted certificates.
    pub tls: TlsConfig,
    /// Whether SCRAM must be bound to the TLS connection.
    pub channel_binding: ChannelBinding,
    /// Most rounds of SCRAM's key derivation a server may ask for: the thread stands still meanwhile.
    pub scram_iterations_max: u32,
    /// Which kind of server will do.
    pub target_session_attrs: TargetSessionAttrs,
    /// The order of hosts and addresses.
    pub load_balance_hosts: LoadBalanceHosts,
    /// Statements kept prepared on each connection; 0 prepares none.
    pub statement_cache: usize,
    /// What stands between us and the server.
    pub pooler: Pooler,
}

/// One server that may be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// Over TCP.
    Tcp {
        /// The name, or an address in text: what a certificate is checked against.
        name: String,
        /// Where to connect without a look-up.
        address: Option<IpAddr>,
        /// The port.
        port: u16,
    },
    /// Over the UNIX socket `DIRECTORY/.s.PGSQL.PORT`.
    Unix {
        /// The directory.
        directory: PathBuf,
        /// The port in the socket's name.
        port: u16,
    },
}

impl fmt::Display for Host {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Host::Tcp { name, port, .. } if name.contains(':') => write!(out, "[{name}]:{port}"),
            Host::Tcp { name, port, .. } => write!(out, "{name}:{port}"),
            Host::Unix { directory, port } => {
                write!(out, "{}/.s.PGSQL.{port}", directory.display())
            }
        }
    }
}

/// TCP keepalives; `None` is the system's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Keepalive {
    /// Whether to look at all.
    pub enabled: bool,
    /// Silence before the first look.
    pub idle: Option<Duration>,
    /// Between looks.
    pub interval: Option<Duration>,
    /// Looks without an answer before the connection counts as lost.
    pub count: Option<u32>,
}

/// Encryption and trusted certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TlsConfig {
    /// Whether to encrypt, and what to check.
    pub mode: SslMode,
    /// How TLS begins.
    pub negotiation: SslNegotiation,
    /// Whom to trust.
    pub roots: Roots,
    /// The certificate shown to the server.
    pub client: Option<ClientCertificate>,
    /// Whether the host's name is sent in the clear, for proxies.
    pub sni: bool,
}

/// Whom to trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Roots {
    /// The certificates in this file, which must be there.
    File(PathBuf),
    /// The certificates in this file; when it is not there, nothing can be checked.
    Usual(PathBuf),
    /// The certificates that the system trusts.
    System,
    /// There is neither a file nor a home directory to look in.
    Nowhere,
}

/// Files in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientCertificate {
    /// The certificate and its chain.
    pub certificate: PathBuf,
    /// The private key, which others must not be able to read.
    pub key: PathBuf,
    /// Whether it was asked for by name; the usual files need not be there.
    pub named: bool,
}

impl Config {
    /// Reads a URL (`postgres://…`, `postgresql://…`) or `key=value` text; an empty one leaves all to the environment.
    /// Blocks when a service file is named: call it off a worker then. A key it does not know is an error that lists those it knows.
    ///
    /// | key | value | default |
    /// | --- | --- | --- |
    /// | `host`, `hostaddr`, `port` | names, addresses, ports; lists divided by commas; a host that begins with `/` is the directory of a UNIX socket | the system's socket directory, else `localhost`; 5432 |
    /// | `user`, `dbname` | names | the system's user; the role |
    /// | `password`, `passfile` | a text; a file | `~/.pgpass` |
    /// | `service` | a group of the service file | |
    /// | `application_name`, `fallback_application_name`, `options`, `client_encoding` | as in libpq; the encoding is UTF8 | |
    /// | `connect_timeout` | seconds for each address, 0 for ever | 10 |
    /// | `keepalives`, `keepalives_idle`, `keepalives_interval`, `keepalives_count` | 0 or 1; seconds; seconds; tries | on, the system's |
    /// | `tcp_user_timeout` | milliseconds | the system's |
    /// | `sslmode`, `sslnegotiation`, `sslsni` | [`SslMode`], [`SslNegotiation`], 0 or 1 | `prefer`, `postgres`, 1 |
    /// | `sslrootcert`, `sslcert`, `sslkey` | files in PEM; `sslrootcert=system` | those in `~/.postgresql` |
    /// | `channel_binding`, `gssencmode` | [`ChannelBinding`]; `disable` or `prefer`, both of which do nothing | `prefer` |
    /// | `scram_iterations_max` | rounds | 200000 |
    /// | `target_session_attrs`, `load_balance_hosts` | [`TargetSessionAttrs`], [`LoadBalanceHosts`] | `any`, `disable` |
    /// | `statement_cache`, `pooler` | statements a connection; [`Pooler`] | 256, `none` |
    ///
    /// ```
    /// use tsumugi_pg::{Config, Environment};
    ///
    /// let url = "postgres://ann:secret@db1.example,db2.example:5433/shop?target_session_attrs=primary";
    /// let config = Config::parse(url, &Environment::empty())?;
    /// assert_eq!(config.to_string(), "postgres://ann@db1.example:5432,db2.example:5433/shop");
    /// # Ok::<(), tsumugi_pg::Error>(())
    /// ```
    pub fn parse(text: &str, environment: &Environment) -> Result<Config, Error> {
        let pairs = pairs(text)?;
        if let Some(at) = pairs.iter().position(|(key, _)| !keys::is_known(key)) {
            return Err(unknown_key(&pairs, at));
        }
        Ok(Config::build(pairs, environment)?.0)
    }

    /// Like [`Config::parse`], but hands back keys it does not know, with their values, for the caller to take or refuse.
    pub fn parse_known(
        text: &str,
        environment: &Environment,
    ) -> Result<(Config, Vec<(String, String)>), Error> {
        Config::build(pairs(text)?, environment)
    }

    fn build(
        pairs: Vec<(String, String)>,
        environment: &Environment,
    ) -> Result<(Config, Vec<(String, String)>), Error> {
        let (mut settings, rest) = keys::Settings::sort(pairs);
        let service = settings
            .take("service")
            .or_else(|| environment.variable("PGSERVICE"));
        if let Some(name) = service {
            settings.fill(service::read(&name, environment)?);
        }
        settings.fill_from_environment(environment);
        Ok((build::config(&settings, environment)?, rest))
    }
}

fn pairs(text: &str) -> Result<Vec<(String, String)>, Error> {
    if text.len() > CONNECTION_STRING_BYTES_MAX {
        let reason =
            format!("longer than connection_string_bytes_max ({CONNECTION_STRING_BYTES_MAX})");
        return Err(Error::config("connection string", reason));
    }
    let rest = ["postgresql://", "postgres://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    let Some(rest) = rest else {
        return keywords::parse(text);
    };
    let mut pairs = url_pairs(rest, "dbname").map_err(|reason| Error::config("url", reason))?;
    // What Java's driver calls it.
    for (key, value) in &mut pairs {
        if key == "ssl" && value == "true" {
            (*key, *value) = ("sslmode".to_owned(), "require".to_owned());
        }
    }
    Ok(pairs)
}

/// What stands right after a password may be a part of it that was not quoted: it is not repeated.
fn unknown_key(pairs: &[(String, String)], at: usize) -> Error {
    let before = at.checked_sub(1).and_then(|before| pairs.get(before));
    let known = known_keys().join(", ");
    match pairs.get(at) {
        Some((key, _)) if before.is_none_or(|(before, _)| before != "password") => {
            Error::config(key, format!("unknown; the known keys are {known}"))
        }
        _ => Error::config(
            "connection string",
            format!(
                "what follows the password is no known key; quote a password that has spaces; the known keys are {known}"
            ),
        ),
    }
}

/// Without the password, for logs: `postgres://user@host:port/database`.
impl fmt::Display for Config {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "postgres://{}@", self.user)?;
        for (at, host) in self.hosts.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(out, "{comma}{host}")?;
        }
        write!(out, "/{}", self.database)
    }
}
