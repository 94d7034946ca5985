//! An application as a service of workers: connections are served over HTTP or HTTPS, each request by the app that is current.
//! Knows no route. What is switched off costs a request one look at an empty option.

use std::cell::{Cell, RefCell};
use std::future::pending;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use http::header::{ACCEPT_ENCODING, ALLOW, CONNECTION};
use http::{HeaderValue, Method, StatusCode, Version};
use tsumugi_http::access_log::{LogEntry, LogLane};
use tsumugi_http::compress::{AcceptedCodings, Compressor};
use tsumugi_http::{
    Acceptor, ConnectionInfo, FinishedRequest, HttpHandler, HttpLimits, HttpProtocol, HttpResponse,
    HttpServer, IncomingStream, OnWorker, PeerIdentity, Request, RequestScheme,
    proxy_protocol::{self, ProxySource},
};
use tsumugi_worker::{
    BoxError, Connection, Current, DrainReason, Peer, SocketStream, WorkerHandle,
};

use crate::application::{AdminView, Application, Program, VmFigures};
use crate::dashboard::{QuestionReceiver, RouteCounter, follow_errors};
use crate::front::{Column, Front};
use crate::limits::LAST_REQUEST_REST_MS;
use crate::plain_port::PlainPort;
use crate::port::{PortMode, PortPrologue};

/// How often a worker shows the figures of its applications.
const FIGURES_EVERY: Duration = Duration::from_secs(1);

/// Serves one application on one worker.
pub struct Service<P: Program> {
    worker: WorkerHandle,
    program: P,
    server: HttpServer<OnWorker>,
    front: Front,
    /// What the last load read; connections that have it keep it.
    tls: RefCell<Acceptors>,
    records: Rc<Records>,
    /// Applications that were loaded and may still answer.
    apps: Rc<RefCell<Vec<Weak<P::App>>>>,
    loads: Cell<usize>,
}

impl<P: Program> Service<P> {
    /// The service of one worker. Must be made on that worker's thread. Panics when a listener speaks TLS and no certificate is given.
    pub fn new(worker: &WorkerHandle, limits: HttpLimits, program: P, front: Front) -> Service<P> {
        let wants_tls = |mode: &PortMode| matches!(mode, PortMode::Tls(_));
        assert!(
            front.tls.is_some() || !front.ports.iter().any(wants_tls),
            "a listener of TLS has no certificate"
        );
        if let Some(tracer) = &front.tracer {
            tracer.attach(worker.id());
        }
        let spawn = OnWorker(worker.clone());
        let server = HttpServer::behind(front.proxies.clone(), limits, spawn);
        let column = front.registry.as_ref();
        let column = column.map(|registry| registry.column(worker.id()));
        let records = Rc::new(Records {
            worker: worker.clone(),
            compression: Compressor::new(OnWorker(worker.clone())),
            lane: front.access_log.as_ref().map(|log| log.lane()),
            routes: column
                .as_ref()
                .map(|column| RouteCounter::new(Arc::clone(&column.routes))),
            column,
        });
        let service = Service {
            worker: worker.clone(),
            program,
            server,
            front,
            tls: RefCell::default(),
            records,
            apps: Rc::default(),
            loads: Cell::new(0),
        };
        if let Some(column) = &service.records.column {
            follow_errors(&column.errors);
            if let Some(asked) = column.asked() {
                service.listen(asked);
            }
            service.show(Arc::clone(column));
        }
        service
    }

    /// Shows what only this thread can see of its applications, by the clock, so that the admin thread need not ask a worker that may be stuck.
    fn show(&self, column: Arc<Column>) {
        let apps = Rc::clone(&self.apps);
        let bodies = Arc::clone(self.server.bodies());
        let worker = self.worker.clone();
        drop(self.worker.spawn_boxed(Box::pin(async move {
            loop {
                let alive: Vec<_> = apps.borrow().iter().filter_map(Weak::upgrade).collect();
                let shown: Vec<_> = alive.iter().map(|app| app.show()).collect();
                let queue = shown.iter().find_map(|shown| shown.jobs.first()).cloned();
                column.look(shown);
                drop(alive);
                if column.jobs.are_due(queue.as_ref())
                    && let Some(queue) = queue
                {
                    let column = Arc::clone(&column);
                    let count = async move { column.jobs.count(&queue).await };
                    drop(worker.spawn_boxed(Box::pin(count)));
                }
                column.bodies_bytes.store(bodies.bytes(), Relaxed);
                column.bodies_refused.store(bodies.refused(), Relaxed);
                tokio::time::sleep(FIGURES_EVERY).await;
            }
        })));
    }

    /// Has the application that was loaded last answer what the dashboard asks.
    fn listen(&self, mut asked: QuestionReceiver) {
        let apps = Rc::clone(&self.apps);
        let worker = self.worker.clone();
        drop(self.worker.spawn_boxed(Box::pin(async move {
            while let Some((question, answer)) = asked.next().await {
                let app = apps.borrow().last().and_then(Weak::upgrade);
                drop(worker.spawn_boxed(Box::pin(async move {
                    let Some(app) = app else {
                        return;
                    };
                    // Whoever asked may have gone.
                    let _ = answer.send(app.ask(question).await);
                })));
            }
        })));
    }

    /// Resolves when connections are to end: once a drain has begun, and where another process serves then, once a request that was on its
    /// way to this one has had time to come.
    fn shutdown(&self) -> impl Future<Output = ()> + use<P> {
        let worker = self.worker.clone();
        let idle = Duration::from_millis(self.server.limits().handover_idle_ms);
        async move {
            worker.drain_started().await;
            if worker.drain_reason() == Some(DrainReason::HandedOver) {
                // Boxed: every connection has this future, and a timer is large.
                Box::pin(worker.sleep(idle)).await;
            }
        }
    }

    /// What a balancer says of its client, which stands before anything else.
    async fn prologue(
        &self,
        stream: &mut SocketStream,
        own: ConnectionInfo,
    ) -> Result<ConnectionInfo, PrologueError> {
        if !self.front.proxies.contains(own.peer.map(|peer| peer.ip())) {
            return Err(PrologueError::Untrusted);
        }
        let header = tokio::select! {
            header = proxy_protocol::accept(stream, self.server.limits()) => header?,
            () = self.shutdown() => return Err(PrologueError::Shutdown),
        };
        let (peer, identity) = match header.source {
            ProxySource::Client(address) => (Some(address), PeerIdentity::Known),
            ProxySource::Concealed => (own.peer, PeerIdentity::Concealed),
            ProxySource::Balancer => (own.peer, PeerIdentity::Known),
        };
        Ok(ConnectionInfo {
            peer,
            identity,
            scheme: header.scheme,
            protocol: own.protocol,
        })
    }

    /// What requests to this listener meet before the application.
    fn plain_port(&self, listener: usize, peer: Peer) -> PlainPort {
        let (is_plain, redirect) = match (self.front.mode(listener), peer) {
            (PortMode::Redirect(port), _) => (true, Some(*port)),
            (PortMode::Plain(_), _) | (PortMode::Certificate, Peer::Unix) => (true, None),
            (PortMode::Certificate | PortMode::Tls(_), _) => (false, None),
        };
        let acme = self.front.acme.as_ref().filter(|_| is_plain);
        PlainPort {
            acme: acme.cloned(),
            redirect,
        }
    }

    /// Reads certificate and key again, if there are any.
    async fn read_certificate(&self) -> Result<(), BoxError> {
        if let Some(tls) = self.front.tls.clone() {
            let acceptor = self.worker.offload(move || tls.read()).await??;
            *self.tls.borrow_mut() = Acceptors::new(acceptor, &self.front.ports);
        }
        Ok(())
    }
}

/// Why a connection on which a balancer is to speak first is closed.
#[derive(Debug, thiserror::Error)]
enum PrologueError {
    #[error("a PROXY header is taken from --trust-proxy only, and this address is not there")]
    Untrusted,
    #[error("the server ends")]
    Shutdown,
    #[error(transparent)]
    Header(#[from] tsumugi_http::Error),
}

/// What shakes hands on each listener.
#[derive(Default)]
struct Acceptors {
    /// Where all of HTTP is spoken.
    whole: Option<Acceptor>,
    /// Where only some protocols are agreed on, by the listener's place.
    restricted: Box<[Option<Acceptor>]>,
}

impl Acceptors {
    fn new(acceptor: Acceptor, ports: &[PortMode]) -> Acceptors {
        let restricted = ports.iter().map(|mode| match mode {
            PortMode::Tls(protocols) if !protocols.is_empty() => {
                Some(acceptor.with_protocols(protocols))
            }
            _ => None,
        });
        Acceptors {
            restricted: restricted.collect(),
            whole: Some(acceptor),
        }
    }

    fn of(&self, listener: usize) -> Option<Acceptor> {
        let restricted = self.restricted.get(listener).and_then(Option::as_ref);
        restricted.or(self.whole.as_ref()).cloned()
    }
}

/// What this worker does with every request besides answering it.
struct Records {
    worker: WorkerHandle,
    compression: Compressor<OnWorker>,
    lane: Option<LogLane>,
    column: Option<Arc<Column>>,
    routes: Option<RouteCounter>,
}

struct RequestHandler<A> {
    app: Current<A>,
    records: Rc<Records>,
    plain: PlainPort,
}

impl<A: Application> HttpHandler for RequestHandler<A> {
    type Note = Option<Box<LogEntry>>;

    fn begin(&self, request: &Request) -> Option<Box<LogEntry>> {
        if let Some(column) = &self.records.column {
            column.figures.request_begun();
        }
        let lane = self.records.lane.as_ref();
        lane.map(|_| Box::new(LogEntry::of(request)))
    }

    async fn handle(&self, request: Box<Request>) -> HttpResponse {
        if request.uri.path() == "*" {
            return of_server(&request.method);
        }
        if self.plain.answers()
            && let Some(response) =
                Box::pin(self.plain.answer(&request, &self.records.worker)).await
        {
            return response;
        }
        let received_at = request.received_at;
        let version = request.version;
        if tsumugi_kv::has_awaited() {
            // The process before this one lets go of them once its last requests have ended.
            Box::pin(tsumugi_kv::none_awaited()).await;
        }
        // Not before: a reload may have come in between.
        let app = self.app.current();
        let accepts = request.headers.contains_key(ACCEPT_ENCODING) && app.compresses();
        let accepted = accepts.then(|| AcceptedCodings::of(&request.headers));
        let mut response = app.answer(request).await;
        // On HTTP/2 the connection says it by itself.
        if self.records.worker.is_leaving() && version < Version::HTTP_2 {
            last_of_connection(&mut response);
        }
        // Only the log shows it, and to look at the clock costs more than to route a request.
        if self.records.lane.is_some() {
            let summary = &mut response.summary;
            summary.ran = received_at.elapsed().saturating_sub(summary.waited);
        }
        match accepted {
            Some(accepted) => self.records.compression.encode(response, accepted).await,
            None => response,
        }
    }

    fn finish(&self, finished: &FinishedRequest, note: &Option<Box<LogEntry>>) {
        if let Some(column) = &self.records.column {
            let duration = finished.received_at.elapsed();
            let duration_us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
            column.figures.request_finished(finished, duration_us);
            if let Some(routes) = &self.records.routes {
                routes.count(finished, duration_us);
            }
        }
        if let (Some(lane), Some(entry)) = (&self.records.lane, note) {
            lane.record(finished, entry);
        }
    }
}

/// Has the client send its next request on another connection, unless this one leaves HTTP.
#[cold]
fn last_of_connection(response: &mut HttpResponse) {
    if response.status != StatusCode::SWITCHING_PROTOCOLS {
        let close = HeaderValue::from_static("close");
        response.headers.insert(CONNECTION, close);
    }
}

/// The answer to a request about the server itself, `OPTIONS *` (RFC 9110 section 9.3.7).
fn of_server(method: &Method) -> HttpResponse {
    if method != Method::OPTIONS {
        return HttpResponse::refusal(StatusCode::BAD_REQUEST, "only OPTIONS can be asked about *");
    }
    let methods = HeaderValue::from_static("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS");
    HttpResponse::new(StatusCode::NO_CONTENT, "").with(ALLOW, methods)
}

impl<P: Program> tsumugi_worker::WorkerService for Service<P> {
    type App = P::App;

    async fn load(&self) -> Result<Rc<P::App>, BoxError> {
        self.read_certificate().await?;
        // The signal that reloads is the one that log rotation sends; once for all workers is enough.
        let loads = self.loads.replace(self.loads.get() + 1);
        if let (1.., 0, Some(log)) = (loads, self.worker.id(), &self.front.access_log) {
            log.reopen();
        }
        let app = self.program.load(&self.worker).await?;
        let mut apps = self.apps.borrow_mut();
        apps.retain(|app| app.strong_count() > 0);
        apps.push(Rc::downgrade(&app));
        if let Some(column) = &self.records.column {
            column.loaded.store(true, Relaxed);
        }
        Ok(app)
    }

    async fn serve(&self, connection: Connection, app: Current<P::App>) {
        let Connection {
            mut stream,
            slot,
            peer,
            listener,
        } = connection;
        let handler = Rc::new(RequestHandler {
            app,
            records: Rc::clone(&self.records),
            plain: self.plain_port(listener, peer),
        });
        let mut origin = ConnectionInfo {
            peer: peer.address(),
            ..ConnectionInfo::default()
        };
        if self.front.prologue(listener) == PortPrologue::ProxyHeader {
            match self.prologue(&mut stream, origin).await {
                Ok(known) => origin = known,
                Err(error) => {
                    tracing::info!(%peer, "connection refused: {error}");
                    return;
                }
            }
        }
        let shutdown = self.shutdown();
        let (acceptor, protocol) = match (self.front.mode(listener), peer) {
            (PortMode::Plain(protocol), _) => (None, *protocol),
            (PortMode::Redirect(_), _) => (None, HttpProtocol::Sniffed),
            (PortMode::Certificate, Peer::Unix) => (None, HttpProtocol::Sniffed),
            (PortMode::Certificate | PortMode::Tls(_), _) => {
                (self.tls.borrow().of(listener), HttpProtocol::Sniffed)
            }
        };
        let (stream, protocol) = match acceptor {
            None => (IncomingStream::from(stream), protocol),
            Some(acceptor) => {
                let limits = Rc::clone(self.server.limits());
                let accepted = tokio::select! {
                    accepted = acceptor.accept(stream, &limits) => accepted,
                    () = self.shutdown() => return,
                };
                origin.scheme = RequestScheme::Https;
                match accepted {
                    Ok(accepted) => accepted,
                    Err(error) => {
                        tracing::debug!(%peer, %error, "no TLS connection");
                        return;
                    }
                }
            }
        };
        origin.protocol = protocol;
        self.server.serve(stream, origin, handler, shutdown).await;
        drop(slot);
    }

    async fn retire(&self, app: Rc<P::App>) {
        app.retire().await;
    }

    /// Only stores on disk are in a hurry: the process that has taken over waits for them.
    async fn last_requests(&self) {
        if !tsumugi_kv::has_folders() {
            return pending().await;
        }
        let idle_ms = self.server.limits().handover_idle_ms;
        let rest = Duration::from_millis(idle_ms.saturating_add(LAST_REQUEST_REST_MS));
        self.worker.sleep(rest).await;
    }
}

impl Column {
    /// Keeps what applications show, for the admin thread, which need not ask a worker that may be stuck.
    fn look(&self, shown: Vec<AdminView<'_>>) {
        let vms = || shown.iter().filter_map(|shown| shown.vm);
        self.vm.store(vms().next().is_some(), Relaxed);
        let sum = |of: fn(VmFigures) -> usize| vms().map(|vm| of(vm) as u64).sum();
        self.vm_bytes.store(sum(|vm| vm.bytes), Relaxed);
        self.vm_objects.store(sum(|vm| vm.objects), Relaxed);
        self.requests.store(sum(|vm| vm.requests), Relaxed);
        let databases = shown.iter().flat_map(|shown| shown.databases.iter());
        self.databases
            .look(databases.flat_map(|databases| databases.iter()));
        let stores = shown.iter().flat_map(|shown| shown.stores.iter().cloned());
        self.stores.look(stores);
    }
}
