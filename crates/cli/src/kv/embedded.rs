//! The key-value service beside an application: `--kv-listen` of `tsumugi serve`. The databases are the same that the application opens,
//! since one path is one database in a process. Serves no application.
//! Its workers are its own: a client of Tkrzw-RPC waits for no handler of Ruby.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::thread::{self, JoinHandle};

use anyhow::{Context as _, Result, bail, ensure};
use tsumugi_http::ServerTls;
use tsumugi_rpc::server::{ServedStore, ServiceSettings, TokenFile, UnixClients};
use tsumugi_server::Listen;
use tsumugi_worker::{BoundServer, Config, Exit, Handle, ListenAddress, Scheduling, Signals};

use super::limit::LimitSetting;
use super::serve::{ClientAccess, limits_for, open, tell};

/// Options about the key-value service.
#[derive(clap::Args)]
#[group(skip)]
pub struct Options {
    /// Serve the databases of --kv-database to clients of Tkrzw-RPC, too: 127.0.0.1:1978, [::1]:1978, localhost:1978 or unix:/path; may be repeated
    #[arg(long, value_name = "ADDR", requires = "kv_database")]
    kv_listen: Vec<Listen>,
    /// A database of --kv-listen, as PATH#NAME=VALUE,…: the one that the application has with KV.open of this path; may be repeated
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
    tls: Option<ServerTls>,
    workers: NonZeroUsize,
}

/// A service that runs until a signal, as the application does.
pub struct RunningService {
    handle: Handle,
    thread: JoinHandle<Result<Exit, tsumugi_worker::Error>>,
}

impl Options {
    /// Opens the databases and binds, when the options ask for it. `tls` is the application's.
    pub fn prepare(
        self,
        tls: Option<ServerTls>,
        workers: NonZeroUsize,
    ) -> Result<Option<BoundService>> {
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
            ..Config::default()
        };
        let mut limits = limits_for(&databases);
        // The cores are the application's.
        limits.awake_us = 0;
        for limit in &self.kv_limit {
            limit.apply(&mut config.limits, &mut limits)?;
        }
        let store = ServedStore::new(ServiceSettings {
            limits,
            databases,
            tls: tls.clone(),
            tokens: self.kv_token_file.map(|path| TokenFile {
                path,
                unix: UnixClients::Trusted,
            }),
        })?;
        Ok(Some(BoundService {
            store,
            server: BoundServer::bind(config)?,
            tls,
            workers,
        }))
    }
}

impl BoundService {
    /// Serves on threads of its own. Its end is the application's, too: a supervisor restarts both.
    pub fn start(self, application: Handle) -> Result<RunningService> {
        tell(self.server.addresses(), self.workers, self.tls.as_ref());
        let (handle, store) = (self.server.handle(), self.store);
        let serve = move || {
            let exit = self.server.run(move |worker| store.service(worker));
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
    /// Lets its calls finish.
    pub fn finish(self) -> Result<Exit> {
        self.handle.drain();
        let Ok(exit) = self.thread.join() else {
            bail!("the key-value service panicked");
        };
        exit.context("the key-value service")
    }
}
