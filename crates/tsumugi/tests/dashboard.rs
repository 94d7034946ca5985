//! The dashboard of a server of an application in Rust: what it says of requests and errors, and how a request is cancelled. Who is refused,
//! and what is alike in Ruby, is tested in `crates/cli/tests/serving/dashboard.rs`.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tsumugi::{
    AppFiles, Db, Error, Kv, On, Plugin, Program, Response, Result, Router, Settings, State,
    StreamResponse, WebSocketResponse, WebSocketUpgrade, Worker, get,
};
use tsumugi_http::admin::{self, AdminListener};
use tsumugi_server::{AdminPages, Front, MetricsRegistry, Service};
use tsumugi_testkit::postgres::Server;
use tsumugi_trace::{Sampling, TraceSettings, Tracer};
use tsumugi_worker::{BoundServer, Config, Exit, Handle, ListenAddress};

const PATIENCE: Duration = Duration::from_secs(60);

/// Handlers that have begun and not ended.
static HANDLERS: AtomicUsize = AtomicUsize::new(0);

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

struct App {
    db: Db,
    kv: Kv,
    worker: Worker,
}

impl Plugin for App {
    async fn start(worker: &Worker) -> Result<App> {
        let url = worker.env("DASHBOARD_DATABASE")?;
        Ok(App {
            db: Db::connect(&url, Default::default()).await?,
            kv: Kv::open(worker, "memory:dashboard").await?,
            worker: worker.clone(),
        })
    }
}

async fn sql(app: State<App>) -> Result<()> {
    let _running = Running::begin();
    app.db.query("select pg_sleep(3600)", []).await?;
    Ok(())
}

async fn kv(app: State<App>) -> Result<()> {
    let _running = Running::begin();
    app.kv.pop("queue", Duration::from_secs(3600)).await?;
    Ok(())
}

async fn sleep(_: State<App>) {
    let _running = Running::begin();
    tokio::time::sleep(Duration::from_secs(3600)).await;
}

async fn clean(app: State<App>) -> Result<String> {
    let rows = app.db.query("select 1 as x union all select 2", []).await?;
    Ok(rows.len().to_string())
}

async fn fail(_: State<App>) -> Result<()> {
    Err(Error::Usage("broken on purpose".into()))
}

async fn broken(app: State<App>) -> Result<()> {
    app.db.query("select nothing", []).await?;
    Ok(())
}

/// The line of the `?` in it.
const BROKEN_LINE: u32 = line!() - 5;

async fn stream(_: State<App>) -> StreamResponse {
    StreamResponse::new("text/plain", async |out| {
        let _running = Running::begin();
        out.write("one").await?;
        std::future::pending().await
    })
}

async fn talk(_: State<App>, upgrade: WebSocketUpgrade) -> WebSocketResponse {
    upgrade.accept(async |socket| {
        let _running = Running::begin();
        socket.receive().await?;
        Ok(())
    })
}

/// A file that no socket takes at once.
const LARGE: u64 = 512 << 20;

async fn file(app: State<App>, files: AppFiles) -> Result<Response> {
    files
        .send(app.worker.env("DASHBOARD_FILES")?, "large")
        .await
}

fn routes() -> Router<App> {
    Router::new()
        .route("/file", get(file))
        .route("/broken", get(broken))
        .route("/stream", get(stream))
        .route("/talk", get(talk))
        .route("/sql", get(sql))
        .route("/kv", get(kv))
        .route("/sleep", get(sleep))
        .route("/clean", get(clean))
        .route("/fail", get(fail))
        .every(
            Duration::from_secs(3_600),
            On::OneWorker,
            async |_: &App| {},
        )
}

struct Rig {
    address: SocketAddr,
    admin: SocketAddr,
    handle: Handle,
    thread: JoinHandle<tsumugi_worker::Result<Exit>>,
}

impl Rig {
    fn start(database: &str) -> Rig {
        Rig::with_files(database, "")
    }

    /// With a folder of files.
    fn with_files(database: &str, files: &str) -> Rig {
        let config = Config {
            listen: vec!["127.0.0.1:0".parse().unwrap()],
            workers: NonZeroUsize::new(1).unwrap(),
            ..Config::default()
        };
        let server = BoundServer::bind(config).unwrap();
        let ListenAddress::Tcp(address) = server.addresses()[0] else {
            panic!("a TCP address");
        };
        let handle = server.handle();
        let tracer = Tracer::new(TraceSettings {
            sampling: Sampling::Rate,
            watches: true,
            keeps: true,
            sends: false,
        });
        let front = Front {
            registry: Some(MetricsRegistry::default()),
            tracer: Some(tracer),
            ..Front::default()
        };
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let admin = listener.local_addr().unwrap();
        let pages = Arc::new(AdminPages::new(handle.clone(), &front));
        admin::start(AdminListener::Tcp(listener), pages).unwrap();
        let mut settings = Settings::default();
        settings.limits.request_ms_max = 7_200_000;
        settings
            .environment
            .insert("DASHBOARD_DATABASE".to_owned(), database.to_owned());
        settings
            .environment
            .insert("DASHBOARD_FILES".to_owned(), files.to_owned());
        let thread = std::thread::spawn(move || {
            server.run(move |worker| {
                let program = Program::new(settings.clone(), routes);
                Service::new(worker, Default::default(), program, front.clone())
            })
        });
        Rig {
            address,
            admin,
            handle,
            thread,
        }
    }

    fn get(&self, path: &str) -> (u16, String) {
        ask(self.address, "GET", path, "host: x\r\n", "")
    }

    fn data(&self, name: &str) -> Value {
        let path = format!("/dashboard/api/{name}");
        let (status, text) = ask(self.admin, "GET", &path, "host: localhost\r\n", "");
        assert_eq!(status, 200, "{name}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    fn cancel(&self, id: &Value) -> u16 {
        let fields = "host: localhost\r\nx-tsumugi-action: 1\r\ncontent-type: application/json\r\n";
        let body = json!({ "id": id }).to_string();
        ask(
            self.admin,
            "POST",
            "/dashboard/api/requests/cancel",
            fields,
            &body,
        )
        .0
    }

    /// The request of this route once it waits.
    fn waiting(&self, route: &str) -> Value {
        let found = || {
            let data = self.data("requests");
            let requests = data["requests"].as_array().unwrap().clone();
            requests
                .into_iter()
                .find(|request| request["route"] == *route)
        };
        until(&format!("{route} waits"), || found().is_some());
        found().unwrap()
    }
}

fn ask(address: SocketAddr, method: &str, path: &str, fields: &str, body: &str) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {length}\r\n{fields}"
    );
    stream
        .write_all(format!("{head}\r\n{body}").as_bytes())
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    (status, body.to_owned())
}

fn until(what: &str, condition: impl Fn() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !condition() {
        assert!(Instant::now() < end, "{what}");
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

#[test]
fn request_is_shown_while_it_waits_and_dropped_when_it_is_cancelled() {
    let database = Server::shared().database();
    let rig = Rig::start(&format!("{}?pool=1", database.url()));
    until("the application is loaded", || rig.get("/clean").0 == 200);
    for kind in ["sql", "kv", "sleep"] {
        let path = format!("/{kind}");
        let client = {
            let (address, path) = (rig.address, path.clone());
            std::thread::spawn(move || ask(address, "GET", &path, "host: x\r\n", ""))
        };
        let shown = rig.waiting(&path);
        assert_eq!(
            (&shown["kind"], &shown["path"]),
            (&json!("request"), &json!(path))
        );
        // What a future of another crate waits for is not known.
        if kind != "sleep" {
            until("what it waits for", || {
                rig.waiting(&path)["waits_for"]["kind"] == *kind
            });
        }
        assert_eq!(rig.cancel(&shown["id"]), 200);
        let (status, text) = client.join().unwrap();
        assert_eq!(status, 503, "{kind}: {text}");
        until("the handler is dropped", || HANDLERS.load(SeqCst) == 0);
        until("it is gone", || rig.cancel(&shown["id"]) == 404);
    }
    assert_eq!(rig.get("/clean"), (200, "2".to_owned()));

    assert_eq!(rig.get("/fail").0, 500);
    let errors = rig.data("errors");
    let error = &errors["errors"][0];
    assert_eq!(
        (&error["class"], &error["route"]),
        (&json!("Usage"), &json!("GET /fail")),
        "{errors}"
    );
    assert_eq!(error["message"], "broken on purpose");
    assert_eq!(rig.get("/broken").0, 500);
    let errors = rig.data("errors");
    let mut all = errors["errors"].as_array().unwrap().iter();
    let broken = all.find(|error| error["class"] == "Db").unwrap();
    let place = broken["place"].as_str().unwrap_or_default();
    let expected = format!("dashboard.rs:{BROKEN_LINE}");
    assert!(place.ends_with(&expected), "{expected} in {broken}");
    // It is counted once its answer has gone.
    until("the error is counted", || {
        let overview = rig.data("overview");
        let mut routes = overview["routes"].as_array().unwrap().iter();
        routes.any(|row| row["route"] == "GET /fail" && row["errors"] == 1)
    });

    rig.handle.drain();
    assert_eq!(rig.thread.join().unwrap().unwrap().code(), 0);
}

#[test]
fn stream_and_conversation_are_shown_and_dropped_when_they_are_cancelled() {
    let database = Server::shared().database();
    let rig = Rig::start(&database.url());
    until("the application is loaded", || rig.get("/clean").0 == 200);
    let upgrade = "upgrade: websocket\r\nconnection: upgrade\r\nsec-websocket-version: 13\r\n\
        sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    for (route, kind, fields, last) in [
        ("/stream", "stream", "", "one"),
        (
            "/talk",
            "websocket",
            upgrade,
            "by the operator of the server",
        ),
    ] {
        let mut client = TcpStream::connect(rig.address).unwrap();
        client.set_read_timeout(Some(PATIENCE)).unwrap();
        let head = format!("GET {route} HTTP/1.1\r\nhost: x\r\n{fields}\r\n");
        client.write_all(head.as_bytes()).unwrap();
        let is_shown = || {
            let shown = rig.waiting(route);
            shown["kind"] == *kind && shown["cancellable"] == true
        };
        until("it is shown as what it is", is_shown);
        let shown = rig.waiting(route);
        assert_eq!(rig.cancel(&shown["id"]), 200, "{shown}");
        let mut came = Vec::new();
        let mut piece = [0; 1_024];
        // A WebSocket is ended by its client once it has heard why.
        while !came.ends_with(last.as_bytes()) || kind == "stream" {
            match client.read(&mut piece) {
                Ok(read @ 1..) => came.extend_from_slice(&piece[..read]),
                _ => break,
            }
        }
        let text = String::from_utf8_lossy(&came);
        assert!(text.contains(last), "{text}");
        assert!(!text.ends_with("0\r\n\r\n"), "it breaks off: {text}");
        drop(client);
        until("the handler is dropped", || rig.cancel(&shown["id"]) == 404);
    }
    rig.handle.drain();
    assert_eq!(rig.thread.join().unwrap().unwrap().code(), 0);
}

#[test]
fn file_whose_client_does_not_read_is_shown_and_broken_off_when_it_is_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let large = std::fs::File::create(folder.path().join("large")).unwrap();
    large.set_len(LARGE).unwrap();
    let database = Server::shared().database();
    let rig = Rig::with_files(&database.url(), folder.path().to_str().unwrap());
    until("the application is loaded", || rig.get("/clean").0 == 200);
    let mut client = TcpStream::connect(rig.address).unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client
        .write_all(b"GET /file HTTP/1.1\r\nhost: x\r\n\r\n")
        .unwrap();
    until("it is shown as a stream", || {
        let shown = rig.waiting("/file");
        shown["kind"] == "stream" && shown["cancellable"] == true
    });
    let shown = rig.waiting("/file");
    assert_eq!(rig.cancel(&shown["id"]), 200, "{shown}");
    let came = std::io::copy(&mut client, &mut std::io::sink()).unwrap_or(0);
    assert!(came < LARGE, "it breaks off: {came}");
    until("it is dropped", || rig.cancel(&shown["id"]) == 404);
    rig.handle.drain();
    assert_eq!(rig.thread.join().unwrap().unwrap().code(), 0);
}

#[test]
fn statements_pools_stores_and_timers_are_shown() {
    let database = Server::shared().database();
    let rig = Rig::start(&database.url());
    until("the application is loaded", || rig.get("/clean").0 == 200);
    assert_eq!(rig.get("/clean").0, 200);
    let statements = rig.data("statements");
    let rows = statements["statements"].as_array().unwrap();
    // Other tests of this process ask their own databases the same.
    let is_clean = |row: &&Value| row["sql"] == "select ? as x union all select ?";
    let mut clean = rows.iter().filter(is_clean);
    assert!(
        clean.any(|row| row["calls"].as_u64() >= Some(2)),
        "{statements}"
    );
    let stores = rig.data("stores");
    assert_eq!(stores["stores"][0]["store"], "memory:dashboard", "{stores}");
    let timers = rig.data("work");
    assert_eq!(timers["timers"][0]["period"], "3600 s", "{timers}");
    let place = timers["timers"][0]["place"].as_str();
    assert!(
        place.is_some_and(|place| place.contains("dashboard.rs")),
        "{timers}"
    );
    until("a pool", || {
        rig.data("databases")["pools"][0]["kind"] == "postgres"
    });

    rig.handle.drain();
    assert_eq!(rig.thread.join().unwrap().unwrap().code(), 0);
}

#[test]
fn last_trace_is_kept_with_its_statement() {
    let database = Server::shared().database();
    let rig = Rig::start(&database.url());
    until("the application is loaded", || rig.get("/clean").0 == 200);
    let traces = || rig.data("traces")["traces"].as_array().unwrap().clone();
    let found = || {
        traces()
            .into_iter()
            .find(|trace| trace["route"] == "GET /clean")
    };
    until("the trace is kept", || found().is_some());
    let id = found().unwrap()["trace_id"].as_str().unwrap().to_owned();
    let trace = rig.data(&format!("trace?id={id}"));
    let spans = trace["spans"].as_array().unwrap();
    assert_eq!(
        (&spans[0]["kind"], &spans[0]["parent"]),
        (&json!("request"), &Value::Null)
    );
    let statement = spans.iter().find(|span| span["kind"] == "sql").unwrap();
    assert_eq!(statement["parent"], spans[0]["id"]);
    assert_eq!(statement["attributes"]["db.system.name"], "postgresql");
    assert_eq!(statement["attributes"]["db.response.returned_rows"], 2);
    rig.handle.drain();
    assert_eq!(rig.thread.join().unwrap().unwrap().code(), 0);
}
