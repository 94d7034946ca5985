//! Applications on a running server: a plugin for each worker, clients that go, reload and drain. Real sockets on free ports.
//! Plugins and handlers are counted in and out: what is made is given back.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::Duration;

use tsumugi_app::{Plugin, Program, Result, Router, Settings, State, Streamed, Worker, get};
use tsumugi_front::{Front, Service};
use tsumugi_worker::{Address, Config, Exit, Handle, Server};

static STARTED: AtomicUsize = AtomicUsize::new(0);
static STOPPED: AtomicUsize = AtomicUsize::new(0);
static DROPPED: AtomicUsize = AtomicUsize::new(0);
static HANDLERS: AtomicUsize = AtomicUsize::new(0);

struct App {
    number: usize,
    worker: Worker,
}

impl Plugin for App {
    async fn start(worker: &Worker) -> Result<App> {
        Ok(App {
            number: STARTED.fetch_add(1, SeqCst),
            worker: worker.clone(),
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

async fn who(app: State<App>) -> String {
    format!("{} {}", app.worker.id(), app.number)
}

async fn wait(_: State<App>) {
    let _running = Running::begin();
    tokio::time::sleep(Duration::from_secs(3600)).await;
}

async fn endless(_: State<App>) -> Streamed {
    Streamed::new("text/plain", async |out| {
        let _running = Running::begin();
        loop {
            out.write(vec![b'x'; 1000]).await?;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
}

/// A stream that waits for something else than its client.
async fn silent(_: State<App>) -> Streamed {
    Streamed::new("text/plain", async |out| {
        let _running = Running::begin();
        out.write("x").await?;
        std::future::pending().await
    })
}

fn routes() -> Router<App> {
    Router::new()
        .route("/who", get(who))
        .route("/wait", get(wait))
        .route("/endless", get(endless))
        .route("/silent", get(silent))
}

struct Rig {
    address: SocketAddr,
    handle: Handle,
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
        let server = Server::bind(config).unwrap();
        let Address::Tcp(address) = server.addresses()[0] else {
            panic!("a TCP address");
        };
        let handle = server.handle();
        let thread = std::thread::spawn(move || {
            server.run(move |worker| {
                let program = Program::new(Settings::default(), routes);
                Service::new(worker, Default::default(), program, Front::default())
            })
        });
        Rig {
            address,
            handle,
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
        answers.lock().unwrap().push(rig.ask("/who"));
    }
    let mut seen = answers.lock().unwrap().clone();
    seen.sort();
    seen.dedup();
    let workers: Vec<&str> = seen
        .iter()
        .filter_map(|who| who.split(' ').next())
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
    rig.ask("/who");
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
fn a_reload_makes_plugins_anew_and_stops_the_old_ones() {
    let rig = Rig::start(2);
    rig.ask("/who");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(rig.handle.reload()).unwrap();
    until(&DROPPED, 2);
    assert_eq!(STARTED.load(SeqCst), 4);
    let number: usize = rig.ask("/who").split(' ').nth(1).unwrap().parse().unwrap();
    assert!(number >= 2, "{number}");
    let _alone = rig.drain();
    assert_eq!((STOPPED.load(SeqCst), DROPPED.load(SeqCst)), (4, 4));
}
