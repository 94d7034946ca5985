//! A server on a socket of this machine and a client that speaks raw bytes, in one thread. Not a test by itself.
//! Every wait has a generous end, so that a broken server fails a test instead of hanging it.

// Each test file is a program of its own and uses its own part of this.
#![allow(dead_code)]

use std::{
    cell::{Cell, RefCell},
    future::Future,
    net::SocketAddr,
    pin::Pin,
    rc::Rc,
    time::Duration,
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::{LocalSet, spawn_local},
    time::timeout,
};
use tsumugi_http::{
    ConnectionInfo, FinishedRequest, HttpHandler, HttpLimits, HttpResponse, HttpServer, Request,
    RequestOutcome, SpawnLocal,
};

const PATIENCE: Duration = Duration::from_secs(120);

type Answer = Pin<Box<dyn Future<Output = HttpResponse>>>;
type Summaries = Rc<RefCell<Vec<(u16, RequestOutcome, u64)>>>;

struct Function {
    call: Box<dyn Fn(Request) -> Answer>,
    accounts: Summaries,
}

impl HttpHandler for Function {
    type Note = ();

    fn begin(&self, _: &Request) {}

    fn handle(&self, request: Box<Request>) -> impl Future<Output = HttpResponse> {
        (self.call)(*request)
    }

    fn finish(&self, finished: &FinishedRequest, (): &()) {
        self.accounts.borrow_mut().push((
            finished.status.as_u16(),
            finished.outcome,
            finished.body_bytes,
        ));
    }
}

/// A server that is about to start.
pub struct Build {
    limits: HttpLimits,
    function: Rc<Function>,
    accounts: Summaries,
    patience: Duration,
}

pub fn rig(handler: impl AsyncFn(Request) -> HttpResponse + 'static) -> Build {
    rig_with(HttpLimits::default(), handler)
}

pub fn rig_with(
    limits: HttpLimits,
    handler: impl AsyncFn(Request) -> HttpResponse + 'static,
) -> Build {
    let handler = Rc::new(handler);
    let call = move |request| -> Answer {
        let handler = Rc::clone(&handler);
        Box::pin(async move { handler(request).await })
    };
    let accounts = Summaries::default();
    let function = Function {
        call: Box::new(call),
        accounts: Rc::clone(&accounts),
    };
    Build {
        limits,
        function: Rc::new(function),
        accounts,
        patience: PATIENCE,
    }
}

/// The plainest request.
pub const GET: &str = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

/// A server that runs.
pub struct Rig {
    pub address: SocketAddr,
    accounts: Summaries,
    shutdown: watch::Sender<()>,
    open: Rc<Cell<usize>>,
}

impl Build {
    /// With another end of every wait: for tests that have much to do.
    pub fn within(self, patience: Duration) -> Build {
        Build { patience, ..self }
    }

    /// Runs a test beside the server.
    pub fn run(self, test: impl AsyncFnOnce(&Rig)) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        LocalSet::new().block_on(&runtime, async {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let rig = Rig {
                address: listener.local_addr().unwrap(),
                accounts: Rc::clone(&self.accounts),
                shutdown: watch::Sender::new(()),
                open: Rc::default(),
            };
            let server = Rc::new(HttpServer::new(self.limits.clone(), SpawnLocal));
            spawn_local(accept(
                listener,
                server,
                Rc::clone(&self.function),
                rig.shutdown.clone(),
                Rc::clone(&rig.open),
            ));
            timeout(self.patience, test(&rig))
                .await
                .expect("the test took too long");
        });
    }
}

impl Build {
    /// Runs a test at the other end of a connection that holds `bytes` in each direction and no more.
    pub fn run_over(self, bytes: usize, test: impl AsyncFnOnce(DuplexStream)) {
        self.run_over_pipes(bytes, async |[client]: [DuplexStream; 1]| {
            test(client).await
        });
    }

    /// The same with several connections.
    pub fn run_over_pipes<const N: usize>(
        self,
        bytes: usize,
        test: impl AsyncFnOnce([DuplexStream; N]),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        LocalSet::new().block_on(&runtime, async {
            let server = Rc::new(HttpServer::new(self.limits.clone(), SpawnLocal));
            let clients = std::array::from_fn(|_| {
                let (client, server_end) = tokio::io::duplex(bytes);
                let (server, function) = (Rc::clone(&server), Rc::clone(&self.function));
                spawn_local(async move {
                    let never = std::future::pending();
                    server
                        .serve(server_end, ConnectionInfo::default(), function, never)
                        .await;
                });
                client
            });
            timeout(self.patience, test(clients))
                .await
                .expect("the test took too long");
        });
    }
}

async fn accept(
    listener: TcpListener,
    server: Rc<HttpServer<SpawnLocal>>,
    handler: Rc<Function>,
    shutdown: watch::Sender<()>,
    open: Rc<Cell<usize>>,
) {
    while let Ok((stream, peer)) = listener.accept().await {
        let (server, handler, open) = (Rc::clone(&server), Rc::clone(&handler), Rc::clone(&open));
        let mut notice = shutdown.subscribe();
        open.set(open.get() + 1);
        spawn_local(async move {
            let origin = ConnectionInfo {
                peer: Some(peer),
                ..ConnectionInfo::default()
            };
            let notice = async move {
                let _ = notice.changed().await;
            };
            server.serve(stream, origin, handler, notice).await;
            open.set(open.get() - 1);
        });
    }
}

impl Rig {
    pub async fn connect(&self) -> Client {
        Client {
            stream: TcpStream::connect(self.address).await.unwrap(),
            buffer: Vec::new(),
        }
    }

    /// The answer to one request on a connection of its own.
    pub async fn ask(&self, text: &str) -> String {
        self.connect().await.ask(text).await
    }

    /// Everything that comes back for this, to the end of the connection.
    pub async fn ask_to_end(&self, text: &str) -> String {
        let mut client = self.connect().await;
        client.send(text).await;
        client.read_to_end().await
    }

    pub fn shut_down(&self) {
        self.shutdown.send(()).unwrap();
    }

    /// Connections that the server has.
    pub fn open(&self) -> usize {
        self.open.get()
    }

    /// Status, outcome and body bytes of the requests that are over.
    pub fn finished(&self) -> Vec<(u16, RequestOutcome, u64)> {
        self.accounts.borrow().clone()
    }

    pub async fn until(&self, condition: impl Fn() -> bool) {
        while !condition() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

pub struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Client {
    /// Sends as much as the server takes.
    pub async fn send(&mut self, text: &str) {
        let _ = self.stream.write_all(text.as_bytes()).await;
    }

    pub async fn ask(&mut self, text: &str) -> String {
        self.send(text).await;
        self.read_answer().await
    }

    /// Says that nothing more is sent; answers still come.
    pub async fn close_sending(&mut self) {
        self.stream.shutdown().await.unwrap();
    }

    /// Leaves as one does whose process is killed with bytes unread: the server gets a reset.
    pub fn reset(self) {
        self.stream.set_zero_linger().unwrap();
    }

    /// One answer with a content length.
    pub async fn read_answer(&mut self) -> String {
        let mut answer = self.read_until("\r\n\r\n").await;
        let length = answer
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "))
            .map_or(0, |length| length.parse().unwrap());
        answer += &String::from_utf8(self.read_bytes(length).await).unwrap();
        answer
    }

    pub async fn read_until(&mut self, end: &str) -> String {
        loop {
            let text = String::from_utf8_lossy(&self.buffer).into_owned();
            if let Some(at) = text.find(end) {
                self.buffer.drain(..at + end.len());
                return text[..at + end.len()].to_owned();
            }
            assert!(
                self.read_more().await > 0,
                "the connection ended after {text:?}, before {end:?}"
            );
        }
    }

    pub async fn read_bytes(&mut self, length: usize) -> Vec<u8> {
        while self.buffer.len() < length {
            assert!(self.read_more().await > 0, "the connection ended early");
        }
        self.buffer.drain(..length).collect()
    }

    /// Everything up to the end of the connection, which must be an orderly one.
    pub async fn read_to_end(&mut self) -> String {
        while self.read_more().await > 0 {}
        String::from_utf8(std::mem::take(&mut self.buffer)).unwrap()
    }

    async fn read_more(&mut self) -> usize {
        self.stream
            .read_buf(&mut self.buffer)
            .await
            .expect("the connection was reset")
    }
}
