//! Nothing that a handler or a plugin holds outlives its use: under load over TLS and HTTP/2, with clients that go in the midst of
//! requests, streams, transactions and WebSockets. What is held is counted; `examples/native-soak` does the same for hours.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::time::{Duration, Instant};

use bytes::Bytes;
use h2::client::SendRequest;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use tsumugi::{
    Db, Error, Plugin, Program, Result, Router, Settings, State, StreamResponse, WebSocketResponse,
    WebSocketUpgrade, Worker, get,
};
use tsumugi_http::ServerTls;
use tsumugi_server::{Front, Service};
use tsumugi_worker::{BoundServer, Config, ListenAddress};

const LOAD: Duration = Duration::from_secs(3);
const CLIENTS: usize = 4;

static PLUGINS: AtomicUsize = AtomicUsize::new(0);
static HELD: AtomicUsize = AtomicUsize::new(0);
static BEGUN: AtomicUsize = AtomicUsize::new(0);

/// Counted as long as it lives.
struct Counted(&'static AtomicUsize);

impl Counted {
    fn new(counter: &'static AtomicUsize) -> Counted {
        counter.fetch_add(1, SeqCst);
        Counted(counter)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

fn held() -> Counted {
    BEGUN.fetch_add(1, SeqCst);
    Counted::new(&HELD)
}

struct App {
    db: Db,
    _counted: Counted,
}

impl Plugin for App {
    async fn start(_: &Worker) -> Result<App> {
        let db = Db::connect("sqlite::memory:?name=leaks", Default::default()).await?;
        db.execute("create table if not exists t (n integer)", [])
            .await?;
        Ok(App {
            db,
            _counted: Counted::new(&PLUGINS),
        })
    }

    async fn stop(&self) {
        self.db.close().await;
    }
}

async fn wait(_: State<App>) -> &'static str {
    let _held = held();
    tokio::time::sleep(Duration::from_millis(20)).await;
    "done"
}

async fn stream(app: State<App>) -> StreamResponse {
    StreamResponse::new("text/plain", async move |out| {
        let _held = held();
        let _app = app;
        for _ in 0..1000 {
            out.write(vec![b'x'; 2000]).await?;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    })
}

async fn transaction(app: State<App>) -> Result<&'static str> {
    app.db
        .tx(async |tx| {
            let _held = held();
            tx.execute("insert into t values (1)", []).await?;
            tokio::time::sleep(Duration::from_millis(5)).await;
            Ok::<_, Error>("kept")
        })
        .await
}

async fn socket(app: State<App>, upgrade: WebSocketUpgrade) -> WebSocketResponse {
    upgrade.accept(async move |socket| {
        let _held = held();
        let _app = app;
        while let Some(message) = socket.receive().await? {
            socket.send(message).await?;
        }
        Ok(())
    })
}

fn routes() -> Router<App> {
    Router::new()
        .route("/wait", get(wait))
        .route("/stream", get(stream))
        .route("/tx", get(transaction))
        .route("/socket", get(socket))
}

/// Clients of the server at one address.
#[derive(Clone)]
struct Clients {
    address: SocketAddr,
    tls: Arc<RootCertStore>,
}

impl Clients {
    async fn connect(&self, protocol: &[u8]) -> TlsStream<TcpStream> {
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(Arc::clone(&self.tls))
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.to_vec()];
        let stream = TcpStream::connect(self.address).await.unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let connector = TlsConnector::from(Arc::new(config));
        connector.connect(name, stream).await.unwrap()
    }

    async fn http2(&self) -> (SendRequest<Bytes>, tokio::task::JoinHandle<()>) {
        let stream = self.connect(b"h2").await;
        let (client, connection) = h2::client::handshake(stream).await.unwrap();
        let driver = tokio::task::spawn_local(async move {
            let _ = connection.await;
        });
        (client.ready().await.unwrap(), driver)
    }

    /// Some requests on one connection; what becomes of it is chosen by `turn`.
    async fn requests(&self, turn: usize) {
        let (mut client, driver) = self.http2().await;
        let mut open = Vec::new();
        for path in ["/wait", "/stream", "/tx", "/wait", "/stream", "/tx"] {
            let request = http::Request::get(format!("https://localhost{path}"));
            let request = request.body(()).unwrap();
            open.push(client.send_request(request, true).unwrap());
        }
        tokio::time::sleep(Duration::from_millis(turn as u64 % 15)).await;
        match turn % 3 {
            // The connection is cut.
            0 => driver.abort(),
            // Every stream is reset, and the connection goes on for another request.
            1 => {
                for (_, stream) in &mut open {
                    stream.send_reset(h2::Reason::CANCEL);
                }
                drop(open);
                let request = http::Request::get("https://localhost/wait")
                    .body(())
                    .unwrap();
                let (answer, _) = client.send_request(request, true).unwrap();
                assert_eq!(answer.await.unwrap().status(), 200);
            }
            // The heads are read, the bodies dropped.
            _ => {
                for (answer, _) in open {
                    assert_eq!(answer.await.unwrap().status(), 200);
                }
            }
        }
    }

    /// A WebSocket that is left without a word.
    async fn websocket(&self) {
        let mut stream = self.connect(b"http/1.1").await;
        let request = "GET /socket HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
                       sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
        stream.write_all(request.as_bytes()).await.unwrap();
        // A text, masked with zeros, and its echo.
        stream.write_all(b"\x81\x81\0\0\0\0a").await.unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\x81\x01a") {
            answer.push(stream.read_u8().await.unwrap());
        }
    }
}

/// Until the time is over; how many turns it were.
async fn load(clients: Clients) -> usize {
    let begun = Instant::now();
    let mut turn = 0;
    while begun.elapsed() < LOAD {
        let (first, second) = (clients.requests(turn), clients.websocket());
        tokio::join!(first, second);
        turn += 1;
    }
    turn
}

fn until_none(counter: &AtomicUsize, what: &str) {
    for _ in 0..3000 {
        if counter.load(SeqCst) == 0 {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    panic!("{} {what} are left", counter.load(SeqCst));
}

#[test]
fn resources_return_to_zero_under_load_with_clients_that_leave() {
    let folder = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (certificate, key) = (
        folder.path().join("cert.pem"),
        folder.path().join("key.pem"),
    );
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let front = Front {
        tls: Some(ServerTls::new(certificate, key).unwrap()),
        ..Front::default()
    };
    let mut roots = RootCertStore::empty();
    roots.add(made.cert.der().clone()).unwrap();
    let config = Config {
        listen: vec!["127.0.0.1:0".parse().unwrap()],
        workers: NonZeroUsize::new(2).unwrap(),
        ..Config::default()
    };
    let server = BoundServer::bind(config).unwrap();
    let ListenAddress::Tcp(address) = server.addresses()[0] else {
        panic!("a TCP address");
    };
    let handle = server.handle();
    let serving = std::thread::spawn(move || {
        server.run(move |worker| {
            let program = Program::new(Settings::default(), routes);
            Service::new(worker, Default::default(), program, front.clone())
        })
    });
    let clients = Clients {
        address,
        tls: Arc::new(roots),
    };
    let loads: Vec<_> = (0..CLIENTS)
        .map(|_| {
            let clients = clients.clone();
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .unwrap();
                tokio::task::LocalSet::new().block_on(&runtime, load(clients))
            })
        })
        .collect();
    let turns: usize = loads.into_iter().map(|load| load.join().unwrap()).sum();
    assert!(turns > 0 && BEGUN.load(SeqCst) > turns, "{turns} turns");
    until_none(&HELD, "handlers");
    assert_eq!(PLUGINS.load(SeqCst), 2);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(handle.reload()).unwrap();
    for _ in 0..3000 {
        if PLUGINS.load(SeqCst) == 2 {
            break;
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
    assert_eq!(PLUGINS.load(SeqCst), 2, "plugins of a reload");
    handle.drain();
    assert_eq!(serving.join().unwrap().unwrap().code(), 0);
    until_none(&PLUGINS, "plugins");
}
