//! `tsumugi kv` as a server: databases on all workers until a signal ends it.
//! What cannot be opened, read or bound is reported before anything is served.

use std::fs::{File, OpenOptions};
use std::io::{self, Write as _};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context as _, Result, bail, ensure};
use tsumugi_http::ServerTls;
use tsumugi_http::admin::AdminSource;
use tsumugi_kv::{KvDatabase, Spec};
use tsumugi_rpc::server::{ServedDatabase, ServedStore, ServiceSettings, TokenFile, UnixClients};
use tsumugi_rpc::{MESSAGE_BYTES_DEFAULT, RpcLimits, RpcTarget, ServiceNotes};
use tsumugi_server::{
    GivenSockets, Listen, SocketRole, report_to_supervisor, start_pages, streams_apart,
    with_tls_options,
};
use tsumugi_stores::{StoreAddress, StoreSettings, StoreSource};
use tsumugi_worker::{BoundServer, Config, ListenAddress, Scheduling, Signals};

use super::command_word;
use super::limit::LimitSetting;
use crate::limits::VALUE_BYTES_DEFAULT;

/// Options of the server.
#[derive(clap::Args)]
pub struct Options {
    /// The databases, as PATH#NAME=VALUE,…, or URLs of engines, as etcd://HOST,HOST/NAMESPACE; one in memory by default
    #[arg(value_name = "DATABASE")]
    databases: Vec<String>,
    /// Where to listen: 127.0.0.1:1978, [::1]:1978, localhost:1978 or unix:/path; may be repeated
    #[arg(long = "listen", value_name = "ADDR", default_value = "127.0.0.1:1978")]
    listen: Vec<Listen>,
    /// Worker threads; the number of cores by default
    #[arg(long, value_name = "N", value_parser = tsumugi_server::workers)]
    workers: Option<NonZeroUsize>,
    /// Speak TLS on every IP address of --listen (UNIX sockets stay plain): the certificate and its chain, in PEM.
    /// Read again on SIGHUP
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key of --tls-cert, in PEM (PKCS#8, SEC1 or PKCS#1)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Serve only clients with a certificate of these authorities, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_client_ca: Option<PathBuf>,
    /// Serve only calls that show a token of this file (`authorization: Bearer TOKEN`): one on a line, 16 bytes or more.
    /// Read again on SIGHUP; not asked for on UNIX sockets
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Ask for the token on UNIX sockets, too
    #[arg(long, requires = "token_file")]
    unix_token: bool,
    /// Listen without TLS on addresses that other machines reach
    #[arg(long)]
    insecure: bool,
    /// Where to answer /healthz, /ready and /metrics (Prometheus), in plain HTTP and apart from the workers. Keep it private
    #[arg(long, value_name = "ADDR")]
    admin: Option<Listen>,
    /// Another value for a limit, under the name that its error message gives it; may be repeated
    #[arg(long = "limit", value_name = "NAME=VALUE")]
    limits: Vec<LimitSetting>,
    /// Refuse every write to the databases, which must be there. Not for engines
    #[arg(long, alias = "read_only")]
    read_only: bool,
    /// Write the number of the process into this file, once it listens; it is removed at the end
    #[arg(long, alias = "pid_file", value_name = "FILE")]
    pid_file: Option<PathBuf>,
    /// Write the log to the end of this file, and not to standard error
    #[arg(long, alias = "log_file", value_name = "FILE")]
    log_file: Option<PathBuf>,
}

impl Options {
    pub fn log_file(&self) -> Option<&Path> {
        self.log_file.as_deref()
    }
}

/// Which clients reach the databases with an address alone: a note names no token and no certificate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Clients {
    All,
    /// Those of UNIX sockets.
    Unix,
    None,
}

impl Clients {
    fn of(arguments: &Options) -> Clients {
        match (&arguments.tls_cert, &arguments.token_file) {
            (None, None) => Clients::All,
            (_, Some(_)) if arguments.unix_token => Clients::None,
            _ => Clients::Unix,
        }
    }
}

/// What is noted in the databases' folders for other processes of this machine; nothing when they could not use it.
pub fn notes(
    databases: &[ServedDatabase],
    addresses: &[ListenAddress],
    clients: Clients,
) -> Option<ServiceNotes> {
    let unix = addresses.iter().find_map(|address| match address {
        ListenAddress::Unix(path) => Some(RpcTarget::Unix(std::path::absolute(path).ok()?)),
        ListenAddress::Tcp(_) => None,
    });
    let plain = addresses.iter().find_map(|address| match address {
        ListenAddress::Tcp(tcp) if tcp.ip().is_loopback() => Some(RpcTarget::Tcp {
            host: tcp.ip().to_string(),
            port: tcp.port(),
        }),
        _ => None,
    });
    let target = match clients {
        Clients::All => unix.or(plain)?,
        Clients::Unix => unix?,
        Clients::None => return None,
    };
    let folders = databases.iter().map(|database| {
        // An engine is reached without this service.
        let database = database.local()?;
        // Nothing is put into a folder that is only read.
        let is_noted = !database.is_in_memory() && !database.spec().read_only;
        let folder = is_noted.then(|| &database.spec().path);
        // The working folder may be another one when the note is removed.
        folder.and_then(|folder| std::path::absolute(folder).ok())
    });
    Some(ServiceNotes::new(&target, folders))
}

/// What clients may do.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ClientAccess {
    Full,
    Read,
}

/// Serves until a signal.
pub fn run(mut arguments: Options) -> Result<ExitCode> {
    command_word::check(&arguments.databases)?;
    let tls = tls(&arguments)?;
    let listen = Listen::addresses(std::mem::take(&mut arguments.listen));
    ensure_guarded(&arguments, &listen)?;
    streams_apart()?;
    small_pages();
    keep_freed_memory();
    let access = match arguments.read_only {
        true => ClientAccess::Read,
        false => ClientAccess::Full,
    };
    let databases = open(&arguments.databases, access)?;
    let mut config = Config {
        listen,
        signals: Signals::Handle,
        // Its clients wait for it, and it for no process of this machine.
        scheduling: Scheduling::Inherited,
        ..Config::default()
    };
    if let Some(workers) = arguments.workers {
        config.workers = workers;
    }
    let mut limits = limits_for(&databases);
    for limit in &arguments.limits {
        limit.apply(&mut config.limits, &mut limits)?;
    }
    let workers = config.workers;
    let clients = Clients::of(&arguments);
    let store = ServedStore::new(ServiceSettings {
        databases: databases.clone(),
        tls: tls.clone(),
        tokens: arguments.token_file.map(|path| TokenFile {
            path,
            unix: if arguments.unix_token {
                UnixClients::Asked
            } else {
                UnixClients::Trusted
            },
        }),
        limits,
    })?;
    let mut given = GivenSockets::default();
    given.add_passed()?;
    let own = given.take(SocketRole::KeyValue, &config.listen);
    let mut server = BoundServer::bind_with(config, own)?;
    report_to_supervisor(&mut server);
    let _pid_file = arguments.pid_file.map(PidFile::write).transpose()?;
    for (index, database) in databases.iter().enumerate() {
        tracing::info!("database {index}: {database}");
    }
    let notes = notes(&databases, server.addresses(), clients);
    notes.iter().for_each(ServiceNotes::write);
    // The databases close with the last of those that know them.
    drop(databases);
    log_addresses(server.addresses(), workers, tls.as_ref());
    if let Some(addresses) = &arguments.admin {
        let pages: Arc<dyn AdminSource> = Arc::new(store.admin_source(server.handle()));
        start_pages(addresses, &mut given, &pages)?;
    }
    drop(given.close());
    match server.run(move |worker| store.service(worker)) {
        Ok(exit) => Ok(ExitCode::from(exit.code())),
        // An engine that is not reached, by its place: no application is here.
        Err(tsumugi_worker::Error::Load(failure)) => bail!("{}", failure.cause),
        Err(error) => Err(error.into()),
    }
}

/// The allocator's own setting for pages of 2 MiB; whoever sets it decides.
const LARGE_PAGES: &str = "MIMALLOC_ALLOW_THP";

/// Has the system give this process pages of 4 KiB only. The allocator asks for those of 2 MiB, which the system clears whole when the
/// first byte of a new one is written: where a host lends its guests memory as they touch it, that takes milliseconds. Small records
/// that are read by the hundred are found in less time with large pages.
fn small_pages() {
    if std::env::var_os(LARGE_PAGES).is_some() {
        return;
    }
    #[cfg(target_os = "linux")]
    if let Err(error) = nix::sys::prctl::set_thp_disable(true) {
        tracing::debug!(%error, "large pages stay as the system gives them");
    }
}

/// Milliseconds for which memory that is free stays with the process. Values are replaced by others all the time, and the system clears
/// each page that it gives anew. jemalloc keeps its free pages as long by default.
#[cfg(feature = "mimalloc")]
const FREED_KEPT_MS: u16 = 10_000;

/// Keeps memory for the next values a while.
fn keep_freed_memory() {
    #[cfg(feature = "mimalloc")]
    tsumugi_allocator::keep_freed(FREED_KEPT_MS);
}

fn tls(arguments: &Options) -> Result<Option<ServerTls>> {
    let (Some(certificate), Some(key)) = (&arguments.tls_cert, &arguments.tls_key) else {
        return Ok(None);
    };
    let authority = arguments.tls_client_ca.as_deref();
    let options = [
        Some(("--tls-cert", certificate.as_path())),
        Some(("--tls-key", key)),
        authority.map(|path| ("--tls-client-ca", path)),
    ];
    let options: Vec<_> = options.into_iter().flatten().collect();
    let tls = ServerTls::new(certificate.clone(), key.clone()).map(|tls| match authority {
        Some(authority) => tls.with_client_authority(authority.to_owned()),
        None => tls,
    });
    // Each worker reads the files for itself; this is for the message.
    let tls = tls.and_then(|tls| tls.read().map(|_| tls));
    Ok(Some(
        tls.map_err(|error| with_tls_options(error, &options))?,
    ))
}

/// What other machines reach is served in the clear only when that is said.
fn ensure_guarded(arguments: &Options, listen: &[ListenAddress]) -> Result<()> {
    if arguments.tls_cert.is_some() || arguments.insecure {
        return Ok(());
    }
    for address in listen {
        if let ListenAddress::Tcp(tcp) = address {
            ensure!(
                tcp.ip().is_loopback(),
                "{tcp} is reached by other machines and would be served without TLS; give --tls-cert and --tls-key, or --insecure if the network is trusted"
            );
        }
    }
    Ok(())
}

/// Opens the databases, one after the other; recovery takes the time it takes. Engines are opened by the workers.
pub fn open(texts: &[String], access: ClientAccess) -> Result<Vec<ServedDatabase>> {
    let open = |text: &str| {
        if Spec::scheme(text).is_some() {
            return engine(text, access);
        }
        let path = Spec::without_settings(text);
        let open = || {
            let mut spec: Spec = text.parse()?;
            spec.read_only |= access == ClientAccess::Read;
            KvDatabase::open(&spec)
        };
        let open = || open().map(ServedDatabase::from);
        open().with_context(|| format!("cannot open the database {path}"))
    };
    match texts {
        [] => Ok(vec![open("")?]),
        texts => texts.iter().map(|text| open(text)).collect(),
    }
}

/// Settings of a database of this process, which an engine has not.
const LOCAL_SETTINGS: [&str; 5] = ["durability", "capacity", "when_full", "cache", "value_max"];

/// What an engine keeps, by its URL.
fn engine(url: &str, access: ClientAccess) -> Result<ServedDatabase> {
    let settings = url.rsplit_once('#').map_or("", |(_, settings)| settings);
    let is_local = |setting: &str| {
        let name = setting.split_once('=').map_or("", |(name, _)| name.trim());
        LOCAL_SETTINGS.contains(&name)
    };
    ensure!(
        !settings.split(',').any(is_local),
        "{} are settings of a database of this process; those of an engine are in its URL, as in etcd://HOST/NAMESPACE?timeout=2",
        LOCAL_SETTINGS.join(", ")
    );
    let address = StoreAddress::parse(url, &StoreSettings::default())?;
    address.require_engine()?;
    ensure!(
        access == ClientAccess::Full,
        "--read-only is for databases of this process; for {} give its user no right to write",
        address.place()
    );
    Ok(ServedDatabase::engine(StoreSource::new(address, None)))
}

/// A file with the number of the process, locked while it lives: what a killed one left is taken over, and no other's.
struct PidFile {
    path: PathBuf,
    _lock: File,
}

impl PidFile {
    fn write(path: PathBuf) -> Result<PidFile> {
        let write = || {
            let mut options = OpenOptions::new();
            let mut file = options
                .create(true)
                .truncate(false)
                .write(true)
                .open(&path)?;
            file.try_lock()?;
            file.set_len(0)?;
            writeln!(file, "{}", std::process::id())?;
            Ok::<_, io::Error>(file)
        };
        match write() {
            Ok(lock) => Ok(PidFile { path, _lock: lock }),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                bail!("{} is of another server that runs", path.display())
            }
            Err(error) => Err(error).with_context(|| format!("cannot write {}", path.display())),
        }
    }
}

impl Drop for PidFile {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_file(&self.path) {
            tracing::debug!(%error, "the file with the number of the process was not removed");
        }
    }
}

/// A message may be as large as the largest value that may be stored, whatever the databases take.
pub fn limits_for(databases: &[ServedDatabase]) -> RpcLimits {
    let local = databases.iter().filter_map(ServedDatabase::local);
    let values = local.map(|database| database.spec().value_max);
    let more = values
        .max()
        .unwrap_or(0)
        .saturating_sub(VALUE_BYTES_DEFAULT);
    let limits = RpcLimits::default();
    RpcLimits {
        message_bytes_max: MESSAGE_BYTES_DEFAULT + more,
        inbound_bytes_max: limits.inbound_bytes_max + more,
        outbound_bytes_max: limits.outbound_bytes_max + more,
        ..limits
    }
}

/// Logs where clients find the service.
pub fn log_addresses(addresses: &[ListenAddress], workers: NonZeroUsize, tls: Option<&ServerTls>) {
    for address in addresses {
        let plural = if workers.get() == 1 { "" } else { "s" };
        let url = url(address, tls.is_some());
        tracing::info!("listening on {url} with {workers} worker{plural}");
    }
}

/// An address as clients write it.
fn url(address: &ListenAddress, is_tls: bool) -> String {
    match address {
        ListenAddress::Tcp(address) if is_tls => format!("tkrzw+tls://{address}"),
        ListenAddress::Tcp(address) => format!("tkrzw://{address}"),
        ListenAddress::Unix(path) => format!("tkrzw+unix:{}", path.display()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pid_file_is_of_one_server_and_what_a_killed_one_left_is_taken_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kv.pid");
        std::fs::write(&path, "1234567890\n").unwrap();
        let first = PidFile::write(path.clone()).unwrap();
        let own = format!("{}\n", std::process::id());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), own);
        let error = PidFile::write(path.clone()).err().unwrap().to_string();
        assert!(error.contains("another server"), "{error}");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), own);
        drop(first);
        assert!(!path.exists());
    }

    fn check(database: &str, access: ClientAccess, expected: &str) {
        let shown = match open(&[database.to_owned()], access) {
            Ok(databases) => format!("{databases:?}"),
            Err(error) => format!("{error:#}"),
        };
        assert!(shown.contains(expected), "{database}: {shown}");
        assert!(!shown.contains("s3cret"), "{shown}");
    }

    #[test]
    fn engine_is_read_from_its_url_and_what_it_has_not_is_refused() {
        let (full, read) = (ClientAccess::Full, ClientAccess::Read);
        check("etcd://a,b/app", full, "etcd://a:2379,b:2379/app");
        check("etcd://user:s3cret@a/app", full, "etcd://a:2379/app");
        check("redis://a:7000/1", full, "redis://a:7000/1");
        check("mysql://a/b", full, "no store has the scheme `mysql`");
        check(
            "etcd://a/app#durability=disk",
            full,
            "settings of a database of this process",
        );
        check("etcd://a/app?speed=1", full, "no setting speed");
        check(
            "etcd://a/app",
            read,
            "--read-only is for databases of this process",
        );
    }
}
