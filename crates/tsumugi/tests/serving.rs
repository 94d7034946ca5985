//! Applications on a running server: a plugin for each worker, clients that go, reload and drain. Real sockets on free ports.
//! Plugins and handlers are counted in and out: what is made is given back.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use tsumugi::{
    Db, HttpResponse, Kv, LocalTask, Mount, MountedApp, Plugin, Program, Request, Result, Router,
    Settings, State, StreamResponse, WebSocketResponse, WebSocketUpgrade, Worker, get,
};
use tsumugi_http::admin::AdminSource as _;
use tsumugi_server::{AdminPages, Front, MetricsRegistry, Service};
use tsumugi_worker::{BoundServer, Config, Exit, Handle, ListenAddress};

static STARTED: AtomicUsize = AtomicUsize::new(0);
static STOPPED: AtomicUsize = AtomicUsize::new(0);
static DROPPED: AtomicUsize = AtomicUsize::new(0);
static HANDLERS: AtomicUsize = AtomicUsize::new(0);

struct App {
    number: usize,
    worker: Worker,
    _db: Db,
    _kv: Kv,
}

impl Plugin for App {
    async fn start(worker: &Worker) -> Result<App> {
        Ok(App {
            number: STARTED.fetch_add(1, SeqCst),
            worker: worker.clone(),
            _db: Db::connect("sqlite::memory:?name=served", Default::default()).await?,
            _kv: Kv::open(worker, "memory:served").await?,
        })
    }

    async fn stop(&self) {
        STOPPED.fetch_add(1, SeqCst);
    }
}

impl Drop for App {
    fn drop(&mut self) {
        DROPPED.fetch_add(1, SeqCst);
    }
}

/// A handler that has begun and not ended.
struct Running;

impl Running {
    fn begin() -> Running {
        HANDLERS.fetch_add(1, SeqCst);
        Running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        HANDLERS.fetch_sub(1, SeqCst);
    }
}

async fn name(app: State<App>) -> String {
    format!("{} {}", app.worker.id(), app.number)
}

async fn wait(_: State<App>) {
    let _running = Running::begin();
    tokio::time::sleep(Duration::from_secs(3600)).await;
}

async fn endless(_: State<App>) -> StreamResponse {
    StreamResponse::new("text/plain", async |out| {
        let _running = Running::begin();
        loop {
            out.write(vec![b'x'; 1000]).await?;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
}

/// A stream that waits for something else than its client.
async fn silent(_: State<App>) -> StreamResponse {
    StreamResponse::new("text/plain", async |out| {
        let _running = Running::begin();
        out.write("x").await?;
        std::future::pending().await
    })
}

async fn socket(_: State<App>, upgrade: WebSocketUpgrade) -> WebSocketResponse {
    upgrade.accept(async |socket| {
        let _running = Running::begin();
        socket.send("hello").await?;
        while socket.receive().await?.is_some() {}
        Ok(())
    })
}

/// An application of another kind, whose responses are sent as they are.
struct Plain;

impl Mount for Plain {
    fn load(&self, _: &Worker) -> LocalTask<Result<std::rc::Rc<dyn MountedApp>>> {
        Box::pin(async { Ok(std::rc::Rc::new(Plain) as std::rc::Rc<dyn MountedApp>) })
    }
}

impl MountedApp for Plain {
    fn answer(&self, _: Box<Request>) -> LocalTask<HttpResponse> {
        Box::pin(async { HttpResponse::text(http::StatusCode::OK, "a".repeat(5000)) })
    }

    fn compresses(&self) -> bool {
        false
    }

    fn retire(&self) -> LocalTask<()> {
        Box::pin(async {})
    }
}

fn routes() -> Router<App> {
    Router::new()
        .route("/socket", get(socket))
        .route("/long", get(async || "a".repeat(5000)))
        .mount("/plain", Plain)
        .route("/name", get(name))
        .route("/wait", get(wait))
        .route("/endless", get(endless))
        .route("/silent", get(silent))
}

struct Rig {
    address: SocketAddr,
    handle: Handle,
    front: Front,
    thread: JoinHandle<tsumugi_worker::Result<Exit>>,
    /// The counters are the process's.
    alone: MutexGuard<'static, ()>,
}

impl Rig {
    fn start(workers: usize) -> Rig {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner());
        for counter in [&STARTED, &STOPPED, &DROPPED, &HANDLERS] {
            counter.store(0, SeqCst);
        }
        let config = Config {
            listen: vec!["127.0.0.1:0".parse().unwrap()],
            workers: NonZeroUsize::new(workers).unwrap(),
            ..Config::default()
        };
        let server = BoundServer::bind(config).unwrap();
        let ListenAddress::Tcp(address) = server.addresses()[0] else {
            panic!("a TCP address");
        };
        let handle = server.handle();
        let front = Front {
            registry: Some(MetricsRegistry::default()),
            ..Front::default()
        };
        let shown = front.clone();
        let thread = std::thread::spawn(move || {
            server.run(move |worker| {
                let program = Program::new(Settings::default(), routes);
                Service::new(worker, Default::default(), program, front.clone())
            })
        });
        Rig {
            address,
            handle,
            front: shown,
            thread,
            alone,
        }
    }

    fn send(&self, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let limit = Some(Duration::from_secs(30));
        stream.set_read_timeout(limit).unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        stream
    }

    /// The head of the answer to a client that accepts compressed bodies.
    fn head(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\naccept-encoding: gzip\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        answer.split("\r\n\r\n").next().unwrap().to_owned()
    }

    /// A WebSocket that has said hello.
    fn socket(&self) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let limit = Some(Duration::from_secs(30));
        stream.set_read_timeout(limit).unwrap();
        let request = "GET /socket HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
                       sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\x81\x05hello") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            answer.extend(byte);
        }
        stream
    }

    fn ask(&self, path: &str) -> String {
        let mut answer = String::new();
        self.send(path).read_to_string(&mut answer).unwrap();
        let (_, body) = answer.split_once("\r\n\r\n").unwrap();
        body.to_owned()
    }

    /// The counters stay as they are while what it returns is held.
    fn drain(self) -> MutexGuard<'static, ()> {
        self.handle.drain();
        assert_eq!(self.thread.join().unwrap().unwrap().code(), 0);
        self.alone
    }
}

/// Waits until a counter has this value.
fn until(counter: &AtomicUsize, value: usize) {
    for _ in 0..3000 {
        if counter.load(SeqCst) == value {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    panic!("{} instead of {value}", counter.load(SeqCst));
}

#[test]
fn every_worker_has_a_plugin_of_its_own_and_gives_it_back() {
    let rig = Rig::start(3);
    let answers: Arc<Mutex<Vec<String>>> = Arc::default();
    for _ in 0..30 {
        answers.lock().unwrap().push(rig.ask("/name"));
    }
    let mut seen = answers.lock().unwrap().clone();
    seen.sort();
    seen.dedup();
    let workers: Vec<&str> = seen
        .iter()
        .filter_map(|line| line.split(' ').next())
        .collect();
    let mut distinct = workers.clone();
    distinct.dedup();
    assert_eq!(workers, distinct, "two plugins on one worker: {seen:?}");
    assert_eq!(STARTED.load(SeqCst), 3);
    let _alone = rig.drain();
    assert_eq!((STOPPED.load(SeqCst), DROPPED.load(SeqCst)), (3, 3));
}

#[test]
fn handlers_of_clients_that_go_are_dropped() {
    let rig = Rig::start(1);
    rig.ask("/name");
    let waiting: Vec<TcpStream> = (0..20).map(|_| rig.send("/wait")).collect();
    let streams: Vec<TcpStream> = (0..20).map(|_| rig.send("/endless")).collect();
    let silent: Vec<TcpStream> = (0..20).map(|_| rig.send("/silent")).collect();
    until(&HANDLERS, 60);
    drop((waiting, streams, silent));
    until(&HANDLERS, 0);
    let _alone = rig.drain();
    assert_eq!((STOPPED.load(SeqCst), DROPPED.load(SeqCst)), (1, 1));
}

#[test]
fn requests_for_the_server_or_for_no_host_never_reach_the_application() {
    let rig = Rig::start(1);
    let status = |request: &str| {
        let mut stream = TcpStream::connect(rig.address).unwrap();
        let limit = Some(Duration::from_secs(30));
        stream.set_read_timeout(limit).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        // It sends nothing more, and waits for its answer.
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(status("GET /name HTTP/1.1\r\nhost: x\r\n\r\n"), "200");
    assert_eq!(status("OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n"), "204");
    assert_eq!(status("GET /name HTTP/1.1\r\n\r\n"), "400");
    assert_eq!(
        status("GET /name HTTP/1.1\r\nhost: x\r\nhost: y\r\n\r\n"),
        "400"
    );
    drop(rig.drain());
}

#[test]
fn reload_makes_plugins_anew_and_stops_the_old_ones() {
    let rig = Rig::start(2);
    rig.ask("/name");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(rig.handle.reload()).unwrap();
    until(&DROPPED, 2);
    assert_eq!(STARTED.load(SeqCst), 4);
    let number: usize = rig.ask("/name").split(' ').nth(1).unwrap().parse().unwrap();
    assert!(number >= 2, "{number}");
    let _alone = rig.drain();
    assert_eq!((STOPPED.load(SeqCst), DROPPED.load(SeqCst)), (4, 4));
}

#[test]
fn websockets_of_clients_that_go_end_and_a_drain_says_that_the_server_leaves() {
    let rig = Rig::start(1);
    rig.ask("/name");
    let sockets: Vec<TcpStream> = (0..20).map(|_| rig.socket()).collect();
    until(&HANDLERS, 20);
    drop(sockets);
    until(&HANDLERS, 0);
    let mut last = rig.socket();
    let handle = rig.handle.clone();
    let waiting = std::thread::spawn(move || {
        handle.drain();
        let mut close = [0; 4];
        last.read_exact(&mut close).unwrap();
        assert_eq!(
            (close[0], u16::from_be_bytes([close[2], close[3]])),
            (0x88, 1001)
        );
    });
    let _alone = rig.drain();
    waiting.join().unwrap();
    assert_eq!((STOPPED.load(SeqCst), DROPPED.load(SeqCst)), (1, 1));
}

#[test]
fn conversation_goes_on_over_a_reload_with_its_plugin() {
    let rig = Rig::start(1);
    let mut socket = rig.socket();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(rig.handle.reload()).unwrap();
    assert_eq!(rig.ask("/name"), "0 1");
    assert_eq!((STARTED.load(SeqCst), STOPPED.load(SeqCst)), (2, 0));
    // A close with 1000, masked with zeros, and the answer to it.
    socket.write_all(b"\x88\x82\0\0\0\0\x03\xe8").unwrap();
    let mut answer = [0; 4];
    socket.read_exact(&mut answer).unwrap();
    assert_eq!(&answer, b"\x88\x02\x03\xe8");
    until(&DROPPED, 1);
    let _alone = rig.drain();
    assert_eq!((STOPPED.load(SeqCst), DROPPED.load(SeqCst)), (2, 2));
}

#[test]
fn mounted_application_decides_whether_it_is_compressed() {
    let rig = Rig::start(1);
    assert!(rig.head("/long").contains("content-encoding: gzip"));
    let plain = rig.head("/plain");
    assert!(
        plain.starts_with("HTTP/1.1 200") && !plain.contains("content-encoding"),
        "{plain}"
    );
    let _alone = rig.drain();
}

#[test]
fn databases_and_stores_of_plugins_are_among_the_figures() {
    let rig = Rig::start(2);
    rig.ask("/name");
    let desk = AdminPages::new(rig.handle.clone(), &rig.front);
    let expected = [
        "tsumugi_database_connections{database=",
        "tsumugi_kv_records{store=\"memory:served\"}",
    ];
    for _ in 0..3000 {
        let text = desk.metrics().into_text();
        if expected.iter().all(|name| text.contains(name)) {
            let _alone = rig.drain();
            return;
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    panic!("{}", desk.metrics().into_text());
}
