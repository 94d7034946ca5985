//! The key-value service beside an application: `--kv-listen` of `tsumugi serve`. The databases are the same that the application opens,
//! since one path is one database in a process. Serves no application.
//! Its workers are its own: a client of Tkrzw-RPC waits for no handler of Ruby.

use std::path::PathBuf;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, ensure};
use tsumugi_kv::KvDatabase;
use tsumugi_rpc::ServiceNotes;
use tsumugi_rpc::server::{ServedDatabase, ServedStore, ServiceSettings, TokenFile, UnixClients};
use tsumugi_server::{Listen, PreparedServer, SocketRole};
use tsumugi_worker::{BoundServer, Config, Exit, Handle, ListenAddress, Scheduling, Signals};

use super::limit::LimitSetting;
use super::serve::{ClientAccess, Clients, limits_for, log_addresses, notes, open};

/// Between two looks whether another process has let the databases go.
const LOOK: Duration = Duration::from_millis(5);

/// Options about the key-value service.
#[derive(clap::Args)]
#[group(skip)]
pub struct Options {
    /// Serve the databases of --kv-database to clients of Tkrzw-RPC, too: 127.0.0.1:1978, [::1]:1978, localhost:1978 or unix:/path; may be repeated
    #[arg(long, value_name = "ADDR", requires = "kv_database")]
    kv_listen: Vec<Listen>,
    /// A database of --kv-listen, as PATH#NAME=VALUE,…: the one that the application has with KV.open of this path, or an engine's URL;
    /// may be repeated
    #[arg(long, value_name = "DATABASE", requires = "kv_listen")]
    kv_database: Vec<String>,
    /// Serve only calls on --kv-listen that show a token of this file, as `tsumugi kv --token-file` does
    #[arg(long, value_name = "FILE", requires = "kv_listen")]
    kv_token_file: Option<PathBuf>,
    /// Another value for a limit of --kv-listen, as `tsumugi kv --limit` takes it; may be repeated
    #[arg(long, value_name = "NAME=VALUE", requires = "kv_listen")]
    kv_limit: Vec<LimitSetting>,
}

/// A service that is bound and serves nothing yet.
pub struct BoundService {
    store: ServedStore,
    server: BoundServer,
    databases: Vec<ServedDatabase>,
    notes: Option<ServiceNotes>,
}

/// A service that runs until a signal, as the application does.
pub struct RunningService {
    handle: Handle,
    thread: JoinHandle<Result<Exit, tsumugi_worker::Error>>,
}

impl Options {
    /// Opens the databases and binds, when the options ask for it, beside `application`, whose certificate it has.
    pub fn prepare<T>(self, application: &mut PreparedServer<T>) -> Result<Option<BoundService>> {
        let (tls, workers) = (application.tls(), application.workers());
        if self.kv_listen.is_empty() {
            return Ok(None);
        }
        let listen = Listen::addresses(self.kv_listen);
        for address in &listen {
            let ListenAddress::Tcp(tcp) = address else {
                continue;
            };
            ensure!(
                tls.is_some() || tcp.ip().is_loopback(),
                "{tcp} is reached by other machines and would be served without TLS; give --tls-cert and --tls-key, or a loopback address to --kv-listen"
            );
        }
        let databases = open(&self.kv_database, ClientAccess::Full)?;
        let mut config = Config {
            listen,
            signals: Signals::Handle,
            workers,
            // Its clients wait for it, and it for no process of this machine.
            scheduling: Scheduling::Inherited,
            // Both are left alone by their clients at the same time.
            drain_delay: application.drain_delay(),
            ..Config::default()
        };
        let mut limits = limits_for(&databases);
        // The cores are the application's.
        limits.awake_us = 0;
        for limit in &self.kv_limit {
            limit.apply(&mut config.limits, &mut limits)?;
        }
        let clients = match (&tls, &self.kv_token_file) {
            (None, None) => Clients::All,
            _ => Clients::Unix,
        };
        let store = ServedStore::new(ServiceSettings {
            limits,
            databases: databases.clone(),
            tls: tls.clone(),
            tokens: self.kv_token_file.map(|path| TokenFile {
                path,
                unix: UnixClients::Trusted,
            }),
        })?;
        let given = application.given();
        let given = given.take(SocketRole::KeyValue, &config.listen);
        let server = BoundServer::bind_with(config, given)?;
        application.hand_over_with(SocketRole::KeyValue, server.handle());
        let notes = notes(&databases, server.addresses(), clients);
        log_addresses(server.addresses(), workers, tls.as_ref());
        Ok(Some(BoundService {
            store,
            server,
            databases,
            notes,
        }))
    }
}

impl BoundService {
    /// Serves on threads of its own, once the application serves: what clients write before that into a store in memory would be lost with
    /// a process that does not come to serve, while another one has the clients. Its end is the application's, too: a supervisor restarts both.
    pub fn start(self, application: Handle) -> Result<RunningService> {
        let Self {
            store,
            server,
            databases,
            notes,
        } = self;
        let handle = server.handle();
        let control = server.handle();
        let serve = move || {
            // Clients wait in the backlog until then, and until another process that has the databases has let them go.
            let waits = || {
                !application.has_begun()
                    || databases
                        .iter()
                        .filter_map(ServedDatabase::local)
                        .any(KvDatabase::is_awaited)
            };
            while waits() && !control.is_ending() {
                thread::park_timeout(LOOK);
            }
            // The databases close with the last of those that know them.
            drop(databases);
            if let (Some(notes), false) = (&notes, control.is_ending()) {
                notes.write();
            }
            let exit = server.run(move |worker| store.service(worker));
            match (notes, control.is_handed_over()) {
                (Some(notes), true) => notes.leave(),
                (notes, _) => drop(notes),
            }
            if let Err(error) = &exit {
                tracing::error!("the key-value service ended: {error}");
            }
            application.drain();
            exit
        };
        let thread = thread::Builder::new()
            .name("kv-control".to_owned())
            .spawn(serve)
            .context("the system gave no thread for --kv-listen")?;
        Ok(RunningService { handle, thread })
    }
}

impl RunningService {
    /// Lets its calls finish. The exit code for the process.
    pub fn finish(self) -> Result<u8> {
        self.handle.drain();
        let exit = match self.thread.join() {
            Ok(exit) => exit.context("the key-value service"),
            Err(_) => Err(anyhow!("the key-value service panicked")),
        };
        match exit {
            Ok(exit) => Ok(exit.code_of(&self.handle)),
            // It is in the log, and the service goes on in another process.
            Err(_) if self.handle.is_handed_over() => Ok(0),
            Err(error) => Err(error),
        }
    }
}
