//! The server: databases served to clients of Tkrzw-RPC on workers, each connection on the worker that accepted it.
//! Knows no listener and opens no database: both are given. Certificates and tokens are read again at each reload.
//! Needs the feature `service`.

mod authority;
mod budget;
mod busy_poll;
mod call_gate;
mod calls;
mod codec;
mod connection;
mod conversation;
mod cursor;
mod engine;
mod engine_call;
mod engine_cursor;
mod exchange;
mod framed_message;
mod health_and_reflection;
mod inbound;
mod inspect;
mod iterate_answer;
mod lane;
mod maintenance;
mod metrics;
mod outbound;
mod outcome;
mod own_calls;
mod token;
mod unary;
mod waiting;
mod watch_call;
mod watch_count;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tonic_health::ServingStatus;
use tsumugi_http::exposition::Exposition;
use tsumugi_http::{Acceptor, HttpProtocol, ServerTls, admin, version_hint};
use tsumugi_kv::KvDatabase;
use tsumugi_worker::{BoxError, Connection, Current, Handle, Peer, WorkerHandle};

use self::authority::Mask;
use self::call_gate::CallGate;
use self::calls::Calls;
pub(crate) use self::codec::{SmallBuffers, decoded};
use self::connection::Connections;
pub use self::engine::{
    EngineError, EngineSource, EngineWatch, RemoteEngine, RemoteFuture, ServedDatabase,
    ServedEngine,
};
use self::engine_call::UnopenedEngine;
use self::health_and_reflection::HealthAndReflection;
use self::inbound::BodyBounds;
pub(crate) use self::inbound::MessageFrames;
use self::lane::{ServiceLane, ServiceShared};
use self::metrics::ServiceMetrics;
use self::token::Tokens;
pub use self::token::{TokenFile, UnixClients};
use crate::error::{Error, Result};
use crate::limits::RpcLimits;
use crate::own_proto::store_service_server::StoreServiceServer;
use crate::proto::dbm_service_server::DbmServiceServer;

/// The stores that are served, and the clients that may use them.
#[derive(Debug, Default)]
pub struct ServiceSettings {
    /// The databases, by their index.
    pub databases: Vec<ServedDatabase>,
    /// TLS on every TCP listener; UNIX sockets stay plain.
    pub tls: Option<ServerTls>,
    /// Tokens that clients have to show.
    pub tokens: Option<TokenFile>,
    /// Limits of calls, streams and messages.
    pub limits: RpcLimits,
}

/// The databases of one server and what its workers share. Cheap to clone.
#[derive(Clone)]
pub struct ServedStore {
    shared: Arc<ServiceShared>,
    side: Arc<HealthAndReflection>,
    tls: Option<ServerTls>,
    tokens: Option<TokenFile>,
}

impl ServedStore {
    /// Reads certificate and tokens once, so that what is wrong with them is reported before anything listens. Blocks.
    ///
    /// # Errors
    /// When a certificate, a key or a token file cannot be used.
    pub fn new(settings: ServiceSettings) -> Result<ServedStore> {
        if let Some(tls) = &settings.tls {
            tls.read().map_err(Error::certificate)?;
        }
        if let Some(tokens) = &settings.tokens {
            Tokens::read(&tokens.path)?;
        }
        Ok(ServedStore {
            shared: Arc::new(ServiceShared {
                databases: settings.databases,
                limits: settings.limits,
                metrics: ServiceMetrics::default(),
                started: Instant::now(),
                watches: Arc::default(),
                draining: watch::Sender::new(false),
            }),
            side: Arc::new(HealthAndReflection::new()?),
            tls: settings.tls,
            tokens: settings.tokens,
        })
    }

    /// The service of one worker. Must be made on that worker's thread.
    pub fn service(&self, worker: &WorkerHandle) -> RpcService {
        let (lane, unopened) = ServiceLane::new(&self.shared, worker.id(), worker.pool().clone());
        let drain = worker.drain_started();
        let (shared, side) = (Arc::clone(&self.shared), Arc::clone(&self.side));
        drop(worker.spawn(async move {
            drain.await;
            shared.draining.send_replace(true);
            side.set_serving(ServingStatus::NotServing).await;
        }));
        RpcService {
            worker: worker.clone(),
            store: self.clone(),
            connections: Connections::new(worker, &self.shared.limits),
            lane: Arc::new(lane),
            unopened: RefCell::new(unopened),
        }
    }

    /// The admin pages of the server behind `handle`.
    pub fn admin_source(&self, handle: Handle) -> ServiceAdmin {
        ServiceAdmin {
            handle,
            shared: Arc::clone(&self.shared),
        }
    }
}

impl std::fmt::Debug for ServedStore {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_tuple("Store")
            .field(&self.shared.databases)
            .finish()
    }
}

/// Serves the databases on one worker.
#[derive(Debug)]
pub struct RpcService {
    worker: WorkerHandle,
    store: ServedStore,
    connections: Connections,
    lane: Arc<ServiceLane>,
    /// Engines that the first load opens. Later ones leave them as they are.
    unopened: RefCell<Vec<UnopenedEngine>>,
}

/// What one load read: connections that have it keep it.
pub struct AccessKeys {
    acceptor: Option<Acceptor>,
    tokens: Option<Arc<Tokens>>,
}

impl RpcService {
    /// Opens the engines that are not open. One that cannot be opened fails the load, with its place and why.
    async fn open_engines(&self) -> Result<(), BoxError> {
        loop {
            let Some(engine) = self.unopened.borrow_mut().pop() else {
                return Ok(());
            };
            if let Err((engine, why)) = engine.open(&self.worker).await {
                self.unopened.borrow_mut().push(engine);
                return Err(why.into());
            }
        }
    }

    fn gate(&self, peer: Peer, keys: &AccessKeys) -> Rc<CallGate> {
        let limits = &self.store.shared.limits;
        let asked = match (peer, &self.store.tokens) {
            (Peer::Unix, Some(tokens)) => tokens.unix == UnixClients::Asked,
            _ => true,
        };
        let calls = Calls::new(Arc::clone(&self.lane));
        let streams = DbmServiceServer::new(calls.clone())
            .max_decoding_message_size(limits.message_bytes_max)
            // Answers are measured before they are encoded.
            .max_encoding_message_size(usize::MAX);
        let own_streams = StoreServiceServer::new(calls.clone())
            .max_decoding_message_size(limits.message_bytes_max);
        Rc::new(CallGate {
            calls,
            streams: RefCell::new(streams),
            own_streams: RefCell::new(own_streams),
            lane: Arc::clone(&self.lane),
            side: Arc::clone(&self.store.side),
            bounds: BodyBounds {
                message_bytes_max: limits.message_bytes_max,
                message_timeout: Duration::from_millis(limits.message_timeout_ms),
                inbound: Arc::clone(&self.lane.inbound),
            },
            tokens: keys.tokens.clone().filter(|_| asked),
        })
    }
}

impl tsumugi_worker::WorkerService for RpcService {
    type App = AccessKeys;

    async fn load(&self) -> Result<Rc<AccessKeys>, BoxError> {
        let (tls, tokens) = (self.store.tls.clone(), self.store.tokens.clone());
        let read = move || -> Result<(Option<Acceptor>, Option<Tokens>), BoxError> {
            let acceptor = tls.map(|tls| tls.read()).transpose()?;
            let tokens = tokens
                .map(|tokens| Tokens::read(&tokens.path))
                .transpose()?;
            Ok((acceptor, tokens))
        };
        let (acceptor, tokens) = self.worker.offload(read).await??;
        self.open_engines().await?;
        self.store.side.set_serving(ServingStatus::Serving).await;
        Ok(Rc::new(AccessKeys {
            acceptor,
            tokens: tokens.map(Arc::new),
        }))
    }

    async fn serve(&self, connection: Connection, keys: Current<AccessKeys>) {
        let Connection {
            stream, slot, peer, ..
        } = connection;
        let keys = keys.current();
        let gate = self.gate(peer, &keys);
        let shutdown = self.worker.drain_started();
        let acceptor = match peer {
            Peer::Tcp(_) => keys.acceptor.as_ref(),
            Peer::Unix => None,
        };
        let Some(acceptor) = acceptor else {
            let mask = (peer == Peer::Unix).then(Mask::default);
            self.connections.serve(stream, mask, gate, shutdown).await;
            drop(slot);
            return;
        };
        let limits = tsumugi_http::HttpLimits {
            tls_handshake_ms: self.store.shared.limits.tls_handshake_ms,
            ..tsumugi_http::HttpLimits::default()
        };
        let shaken = tokio::select! {
            shaken = acceptor.accept(stream, &limits) => shaken,
            () = self.worker.drain_started() => return,
        };
        match shaken {
            Ok((stream, HttpProtocol::Http2)) => {
                self.connections.serve(stream, None, gate, shutdown).await;
            }
            Ok(_) => tracing::debug!(%peer, "no connection: the client does not offer h2 by ALPN"),
            Err(error) => match version_hint(&error) {
                Some(hint) => tracing::info!(%peer, "no TLS connection: {hint}"),
                None => tracing::debug!(%peer, %error, "no TLS connection"),
            },
        }
        drop(slot);
    }

    async fn retire(&self, _: Rc<AccessKeys>) {}
}

/// The admin pages of a running server.
#[derive(Debug)]
pub struct ServiceAdmin {
    handle: Handle,
    shared: Arc<ServiceShared>,
}

impl admin::AdminSource for ServiceAdmin {
    fn ready(&self) -> Result<(), String> {
        if *self.shared.draining.borrow() {
            return Err("draining: calls that run are finished, no new ones are taken".to_owned());
        }
        // An engine that is away fails its calls, here as on every other server of it: taking all of them out of service helps nobody.
        let ill = |database: &&KvDatabase| !database.is_healthy();
        let mut databases = self
            .shared
            .databases
            .iter()
            .filter_map(ServedDatabase::local);
        if let Some(database) = databases.find(ill) {
            return Err(format!("the database {} takes no writes", database.spec()));
        }
        let workers = self.handle.snapshot().workers.len();
        match self.shared.metrics.workers() {
            begun if begun == workers => Ok(()),
            begun => Err(format!("{begun} of {workers} workers have begun")),
        }
    }

    fn metrics(&self) -> Exposition {
        let mut text = Exposition::default();
        let name = "tsumugi_build_info";
        text.family(name, "The version that runs.");
        text.sample(name, &[("version", env!("CARGO_PKG_VERSION"))], 1);
        self.shared.metrics.write(&mut text);
        text.single(
            "tsumugi_rpc_watches_active",
            "Watches of clients, of watches_max.",
            self.shared.watches.get(),
        );
        text.workers(&self.handle.snapshot());
        metrics::write_databases(&self.shared.databases, &mut text);
        text
    }
}
