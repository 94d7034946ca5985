//! A service that speaks lines, a server that runs it on a thread, and a blocking client. Tests nothing itself.
//! Every wait of a client ends after a minute, so that a broken server fails a test instead of hanging it.
#![allow(dead_code)]

use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::num::NonZeroUsize;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufReadExt, AsyncWriteExt};
use tsumugi_worker::{
    BoundServer, BoxError, Config, Connection, Current, Exit, Handle, ListenAddress, Result,
    WorkerHandle, WorkerService,
};

pub const PATIENCE: Duration = Duration::from_secs(60);

/// Answers lines: `who` with its worker and application, `policy` with its worker and the number of its thread's scheduling policy,
/// `sleep N`, `spin N` and `block N` after N milliseconds, `panic` never.
pub struct Lines {
    worker: WorkerHandle,
    script: Script,
    loads: AtomicUsize,
}

/// What happens at loads and retirements, shared by the workers of one server.
#[derive(Clone)]
pub struct Script {
    /// Called with the worker and the number of its load, from 1, away from the worker.
    load: Arc<dyn Fn(usize, usize) -> Result<(), BoxError> + Send + Sync>,
    /// Every load that succeeded: worker and number.
    pub loaded: Arc<Mutex<Vec<(usize, usize)>>>,
    /// Every application that was retired: worker and number.
    pub retired: Arc<Mutex<Vec<(usize, usize)>>>,
}

impl Script {
    pub fn new(
        load: impl Fn(usize, usize) -> Result<(), BoxError> + Send + Sync + 'static,
    ) -> Self {
        Self {
            load: Arc::new(load),
            loaded: Arc::default(),
            retired: Arc::default(),
        }
    }

    pub fn plain() -> Self {
        Self::new(|_, _| Ok(()))
    }

    pub fn retired(&self) -> Vec<(usize, usize)> {
        let mut retired = self.retired.lock().unwrap().clone();
        retired.sort_unstable();
        retired
    }

    pub fn service(&self, worker: &WorkerHandle) -> Lines {
        Lines {
            worker: worker.clone(),
            script: self.clone(),
            loads: AtomicUsize::new(0),
        }
    }
}

impl WorkerService for Lines {
    type App = usize;

    async fn load(&self) -> Result<Rc<usize>, BoxError> {
        let number = self.loads.fetch_add(1, Ordering::Relaxed) + 1;
        let (load, worker) = (Arc::clone(&self.script.load), self.worker.id());
        self.worker.offload(move || load(worker, number)).await??;
        self.script.loaded.lock().unwrap().push((worker, number));
        Ok(Rc::new(number))
    }

    async fn serve(&self, connection: Connection, app: Current<usize>) {
        let slot = connection.slot;
        let mut stream = tokio::io::BufReader::new(connection.stream);
        let mut line = String::new();
        let mut answered = false;
        loop {
            line.clear();
            let read = tokio::select! {
                read = stream.read_line(&mut line) => read,
                // A client whose first request is still on its way has been accepted by the kernel.
                () = self.worker.drain_started(), if answered => break,
            };
            if !matches!(read, Ok(1..)) {
                break;
            }
            answered = true;
            let answer = self.answer(line.trim(), app.current()).await;
            if stream.get_mut().write_all(answer.as_bytes()).await.is_err() {
                break;
            }
        }
        drop(slot);
    }

    async fn retire(&self, app: Rc<usize>) {
        while Rc::strong_count(&app) > 1 {
            self.worker.sleep(Duration::from_millis(1)).await;
        }
        self.script
            .retired
            .lock()
            .unwrap()
            .push((self.worker.id(), *app));
    }
}

impl Lines {
    async fn answer(&self, line: &str, app: Rc<usize>) -> String {
        let (verb, duration) = line.split_once(' ').unwrap_or((line, "0"));
        let duration = Duration::from_millis(duration.parse().unwrap());
        match verb {
            "who" => {}
            #[cfg(target_os = "linux")]
            "policy" => {
                use preempt_rt::sched::{Pid, get_scheduler};
                let policy = get_scheduler(Pid::current_thread()).unwrap() as i32;
                return format!("{} {policy}\n", self.worker.id());
            }
            "sleep" => self.worker.sleep(duration).await,
            "stubborn" => std::future::pending().await,
            "spin" => {
                let start = Instant::now();
                while start.elapsed() < duration {
                    std::hint::spin_loop();
                }
            }
            "block" => {
                let start = Instant::now();
                while start.elapsed() < duration {
                    thread::park_timeout(duration);
                }
            }
            "panic" => std::panic::resume_unwind(Box::new("asked for")),
            _ => unreachable!("{verb}"),
        }
        format!("{} {app}\n", self.worker.id())
    }
}

pub fn config(workers: usize, listen: &[&str]) -> Config {
    Config {
        workers: NonZeroUsize::new(workers).unwrap(),
        listen: listen
            .iter()
            .map(|address| address.parse().unwrap())
            .collect(),
        ..Config::default()
    }
}

pub struct Running {
    pub addresses: Vec<ListenAddress>,
    pub handle: Handle,
    thread: JoinHandle<Result<Exit>>,
}

pub fn start(config: Config, script: &Script) -> Running {
    run(BoundServer::bind(config).unwrap(), script)
}

pub fn run(server: BoundServer, script: &Script) -> Running {
    let (addresses, handle, script) =
        (server.addresses().to_vec(), server.handle(), script.clone());
    let thread = thread::spawn(move || server.run(move |worker| script.service(worker)));
    Running {
        addresses,
        handle,
        thread,
    }
}

impl Running {
    pub fn tcp(&self) -> SocketAddr {
        self.addresses
            .iter()
            .find_map(|address| match address {
                ListenAddress::Tcp(address) => Some(*address),
                ListenAddress::Unix(_) => None,
            })
            .unwrap()
    }

    pub fn connect(&self) -> Client {
        Client::tcp(self.tcp()).unwrap()
    }

    pub fn reload(&self) -> Result<()> {
        wait(self.handle.reload())
    }

    /// Waits for the end that somebody has asked for.
    pub fn join(self) -> Result<Exit> {
        let asked = Instant::now();
        while !self.thread.is_finished() {
            assert!(asked.elapsed() < PATIENCE, "the server did not end");
            thread::park_timeout(Duration::from_millis(1));
        }
        self.thread.join().unwrap()
    }

    pub fn drain(self) -> Exit {
        self.handle.drain();
        self.join().unwrap()
    }
}

/// Waits until `condition` holds.
pub fn until(condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < PATIENCE, "it never came");
        thread::park_timeout(Duration::from_millis(1));
    }
}

pub fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime
        .block_on(async { tokio::time::timeout(PATIENCE, future).await })
        .expect("it never came")
}

pub struct Client {
    reader: BufReader<Box<dyn Socket>>,
}

pub trait Socket: io::Read + io::Write + Send {}
impl Socket for TcpStream {}
impl Socket for UnixStream {}

impl Client {
    pub fn tcp(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self {
            reader: BufReader::new(Box::new(stream)),
        })
    }

    pub fn unix(path: &Path) -> io::Result<Self> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        Ok(Self {
            reader: BufReader::new(Box::new(stream)),
        })
    }

    pub fn send(&mut self, line: &str) {
        self.reader
            .get_mut()
            .write_all(format!("{line}\n").as_bytes())
            .unwrap();
    }

    /// The next line, empty at the end of the connection.
    pub fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        self.reader.read_line(&mut line)?;
        Ok(line.trim_end().to_owned())
    }

    /// The number of the worker and of the application that answered.
    pub fn ask(&mut self, line: &str) -> (usize, usize) {
        self.send(line);
        self.answer()
    }

    pub fn answer(&mut self) -> (usize, usize) {
        let line = self.line().unwrap();
        let (worker, app) = line.split_once(' ').expect("the connection ended");
        (worker.parse().unwrap(), app.parse().unwrap())
    }

    /// Whether the server has ended the connection, without an answer.
    pub fn ended(&mut self) -> bool {
        match self.line() {
            Ok(line) => line.is_empty(),
            Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
        }
    }
}
