//! The dashboard on --admin as an operator's programs meet it: what each endpoint says of a live application, who is refused, and how a
//! request is cancelled. Not the page itself, which a browser tests.

mod data;
mod waits;

use std::fs;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::thread::JoinHandle;

use serde_json::{Value, json};
use tsumugi_testkit::postgres::Server;

use crate::rig::{Answer, PATIENCE, Served, folder, get, serve, until};

/// A server with its addresses.
struct Rig {
    served: Served,
    address: String,
    admin: String,
}

const ADMIN: [&str; 4] = ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];

impl Rig {
    fn start(app: &str, options: &[&str]) -> Rig {
        Rig::start_in(folder(&[("app.rb", app.as_bytes())]), options)
    }

    fn start_in(folder: tempfile::TempDir, options: &[&str]) -> Rig {
        let mut served = serve(folder, &[&ADMIN, options].concat());
        let address = served.word_after("listening on http://");
        let admin = served.word_after("admin pages on http://");
        until("ready", || get(&admin, "/ready").status() == 200);
        Rig {
            served,
            address,
            admin,
        }
    }

    /// What the dashboard says, which has to be an answer.
    fn data(&self, name: &str) -> Value {
        let answer = ask(&self.admin, &call("GET", name, "", ""));
        assert_eq!(answer.status(), 200, "{name}: {}", answer.text());
        value(&answer)
    }

    /// Requests that all routes have answered.
    fn counted(&self) -> u64 {
        let routes = &self.data("overview")["routes"];
        let requests = routes.as_array().unwrap().iter();
        requests
            .filter_map(|route| route["requests"].as_u64())
            .sum()
    }

    fn act(&self, name: &str, body: &Value) -> Answer {
        ask(&self.admin, &call("POST", name, ACTION, &body.to_string()))
    }

    /// A request that is answered in its own time.
    fn begin(&self, path: &str) -> JoinHandle<Answer> {
        let (address, path) = (self.address.clone(), path.to_owned());
        std::thread::spawn(move || get(&address, &path))
    }

    /// The request of this route once it waits for something of this kind.
    fn waiting(&self, route: &str, kind: &str) -> Value {
        let found = || {
            let data = self.data("requests");
            let requests = data["requests"].as_array().unwrap().clone();
            requests
                .into_iter()
                .find(|request| request["route"] == *route && request["waits_for"]["kind"] == *kind)
        };
        until(&format!("{route} waits for {kind}"), || found().is_some());
        found().unwrap()
    }
}

const ACTION: &str = "X-Tsumugi-Action: 1\r\nContent-Type: application/json\r\n";

/// A request for an endpoint, from the own machine.
fn call(method: &str, name: &str, fields: &str, body: &str) -> String {
    raw(
        method,
        &format!("/dashboard/api/{name}"),
        &format!("Host: localhost\r\n{fields}"),
        body,
    )
}

fn raw(method: &str, path: &str, fields: &str, body: &str) -> String {
    let length = match body.len() {
        0 => String::new(),
        length => format!("Content-Length: {length}\r\n"),
    };
    format!("{method} {path} HTTP/1.1\r\nConnection: close\r\n{fields}{length}\r\n{body}")
}

fn ask(address: &str, request: &str) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // A body that is refused may not be taken to its end.
    let _ = stream.write_all(request.as_bytes());
    Answer::read(stream)
}

fn value(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap_or_else(|_| panic!("{answer:?}"))
}

const APP: &str = r#"get('/') { 'x' }
get('/items/:id', id: Integer) { |id| id.to_s }
get('/raise') { inner }
get('/long') { raise ArgumentError, 'x' * 5_000 }
helpers do
  def inner = raise('broken')
end
"#;

#[test]
fn dashboard_shows_what_a_live_application_does() {
    let rig = Rig::start(APP, &[]);
    for path in [
        "/", "/items/1", "/items/2", "/raise", "/raise", "/long", "/none",
    ] {
        get(&rig.address, path);
    }
    // A request is counted once its answer has gone.
    until("all are counted", || rig.counted() == 7);
    let overview = rig.data("overview");
    assert_eq!(overview["workers"], 1);
    assert_eq!(overview["ready"], Value::Null);
    let routes = overview["routes"].as_array().unwrap();
    let figures = |route: &str| {
        let found = routes.iter().find(|row| row["route"] == *route);
        let found = found.unwrap_or_else(|| panic!("{route} in {overview}"));
        assert!(found["p50_ms"].as_f64().unwrap() > 0.0, "{found}");
        (
            found["requests"].as_u64().unwrap(),
            found["errors"].as_u64().unwrap(),
        )
    };
    assert_eq!(figures("GET /items/:id"), (2, 0));
    assert_eq!(figures("GET /raise"), (2, 2));
    assert_eq!(figures("(no route)"), (1, 0));
    let drawn = |name: &str| -> f64 {
        let minute = &rig.data("overview")["minute"];
        let points = minute[name].as_array().unwrap();
        assert_eq!(points.len(), 60);
        points.iter().filter_map(Value::as_f64).sum()
    };
    until("the requests of this minute", || drawn("requests") == 7.0);
    until("the errors of this minute", || drawn("errors") == 3.0);
    assert!(drawn("memory") > 1e6 && drawn("p99_ms") > 0.0);
}

#[test]
fn dashboard_shows_errors_by_place_and_what_the_server_is() {
    let rig = Rig::start(APP, &["--limit", "request_ms_max=7000"]);
    for path in ["/raise", "/raise", "/long"] {
        get(&rig.address, path);
    }
    let errors = rig.data("errors");
    let error = |class: &str| {
        let all = errors["errors"].as_array().unwrap();
        let found = all.iter().find(|error| error["class"] == *class);
        found
            .unwrap_or_else(|| panic!("{class} in {errors}"))
            .clone()
    };
    let raised = error("RuntimeError");
    assert_eq!(raised["place"], "app.rb:6");
    assert_eq!(
        (&raised["count"], &raised["message"]),
        (&json!(2), &json!("broken"))
    );
    let frames = raised["backtrace"].to_string();
    assert!(
        frames.contains("app.rb:6") && frames.contains("app.rb:3"),
        "{frames}"
    );
    assert!(
        error("ArgumentError")["message"]
            .as_str()
            .unwrap()
            .chars()
            .count()
            <= 1_001
    );

    let server = rig.data("server");
    let limits = server["limits"].as_array().unwrap();
    let limit = limits
        .iter()
        .find(|limit| limit["name"] == "request_ms_max");
    let limit = limit.unwrap();
    assert_eq!(
        (&limit["value"], &limit["unit"]),
        (&json!(7_000), &json!("ms"))
    );
    assert_ne!(limit["default"], limit["value"]);
    assert_eq!(server["listeners"][0], format!("http://{}", rig.address));
    for name in ["statements", "databases", "stores", "work", "traces"] {
        rig.data(name);
    }
}

#[test]
fn reload_that_fails_is_listed_with_its_place() {
    let rig = Rig::start(APP, &[]);
    assert_eq!(rig.data("reloads"), json!({ "reloads": [] }));
    let app = rig.served.path("app.rb");
    fs::write(&app, "get('/') { 'x' }\nraise 'not today'\n").unwrap();
    rig.served.signal("-HUP");
    let reloads = || rig.data("reloads")["reloads"].as_array().unwrap().clone();
    until("the first reload", || reloads().len() == 1);
    fs::write(&app, APP).unwrap();
    rig.served.signal("-HUP");
    until("the second reload", || reloads().len() == 2);
    let reloads = reloads();
    assert_eq!(
        reloads[0]["outcome"], "loaded",
        "the latest is the first: {reloads:?}"
    );
    let failed = &reloads[1];
    assert_eq!(
        (&failed["outcome"], &failed["trigger"]),
        (&json!("failed"), &json!("SIGHUP"))
    );
    assert_eq!(failed["place"], "app.rb:2", "{failed}");
    assert!(
        failed["error"].as_str().unwrap().contains("not today"),
        "{failed}"
    );
    assert!(
        failed["at"].as_u64().unwrap() > 1_600_000_000_000,
        "{failed}"
    );
}

#[test]
fn page_of_the_dashboard_is_served_with_a_policy_that_keeps_others_away() {
    let rig = Rig::start(APP, &[]);
    let page = ask(
        &rig.admin,
        &raw("GET", "/dashboard/", "Host: localhost\r\n", ""),
    );
    assert_eq!(page.status(), 200);
    let policy = page.field("content-security-policy").unwrap();
    assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
    let root = ask(&rig.admin, &raw("GET", "/", "Host: localhost\r\n", ""));
    assert_eq!(
        (root.status(), root.field("location")),
        (303, Some("/dashboard/"))
    );
    for name in ["app.js", "style.css"] {
        let path = format!("/dashboard/{name}");
        let ask_again = |fields: &str| {
            let fields = format!("Host: localhost\r\n{fields}");
            ask(&rig.admin, &raw("GET", &path, &fields, ""))
        };
        let file = ask_again("");
        assert_eq!(file.status(), 200, "{name}");
        let packed = ask_again("Accept-Encoding: gzip\r\n");
        assert_eq!(packed.field("content-encoding"), Some("gzip"));
        assert!(packed.body.len() < file.body.len());
        let known = format!("If-None-Match: {}\r\n", file.field("etag").unwrap());
        let again = ask_again(&known);
        assert_eq!((again.status(), &*again.body), (304, &b""[..]));
        assert!(again.field("content-security-policy").is_some());
    }
}

#[test]
fn dashboard_refuses_what_is_not_from_its_own_page() {
    let rig = Rig::start(APP, &[]);
    for (what, request, expected) in [foreign_requests(), malformed_requests()].concat() {
        let answer = ask(&rig.admin, &request);
        assert_eq!(answer.status(), expected, "{what}: {}", answer.text());
        assert!(
            answer.field("access-control-allow-origin").is_none(),
            "{what}"
        );
    }
    let foreign = "Host: evil.example\r\n";
    for path in ["/healthz", "/metrics"] {
        assert_eq!(
            ask(&rig.admin, &raw("GET", path, foreign, "")).status(),
            200,
            "{path}"
        );
    }
}

/// What is asked, the request, and the status of its answer.
type Refusal = (&'static str, String, u16);

fn cancel(fields: &str, body: &str) -> String {
    call("POST", "requests/cancel", fields, body)
}

fn foreign_requests() -> Vec<Refusal> {
    let foreign = "Host: evil.example\r\n";
    let data = |fields: &str| call("GET", "server", fields, "");
    vec![
        (
            "a name that points here",
            raw("GET", "/dashboard/", foreign, ""),
            403,
        ),
        (
            "the same for data",
            raw("GET", "/dashboard/api/server", foreign, ""),
            403,
        ),
        (
            "another page's script",
            data("Origin: http://evil.example\r\n"),
            403,
        ),
        (
            "another page's image",
            data("Sec-Fetch-Site: cross-site\r\n"),
            403,
        ),
        (
            "an action of another page",
            cancel(&format!("{ACTION}Origin: null\r\n"), "{}"),
            403,
        ),
        (
            "an action without its header",
            cancel("Content-Type: application/json\r\n", "{}"),
            403,
        ),
        (
            "a form",
            cancel("X-Tsumugi-Action: 1\r\nContent-Type: text/plain\r\n", "{}"),
            415,
        ),
    ]
}

fn malformed_requests() -> Vec<Refusal> {
    let large = format!("\"{}\"", "x".repeat((64 << 10) - 2));
    let too_large = format!("\"{}\"", "x".repeat((64 << 10) - 1));
    vec![
        (
            "an action by GET",
            call("GET", "requests/cancel?id=1", ACTION, ""),
            405,
        ),
        ("data by POST", call("POST", "server", ACTION, "{}"), 405),
        ("a body that is no JSON", cancel(ACTION, "{"), 400),
        ("a body of the limit", cancel(ACTION, &large), 400),
        ("a body of one byte more", cancel(ACTION, &too_large), 413),
        ("an action without an id", cancel(ACTION, "{}"), 400),
        (
            "an id that is not there",
            cancel(ACTION, "{\"id\":\"0123456789abcdef\"}"),
            404,
        ),
        ("no endpoint", call("GET", "secrets", "", ""), 404),
        (
            "no file",
            raw("GET", "/dashboard/../etc", "Host: localhost\r\n", ""),
            404,
        ),
    ]
}

#[test]
fn dashboard_on_a_unix_socket_is_answered_under_any_name_and_without_a_token() {
    let files: &[(&str, &[u8])] = &[("app.rb", APP.as_bytes()), ("token", b"0123456789abcdef")];
    let folder = folder(files);
    let socket = folder.path().join("admin.sock");
    let admin = format!("unix:{}", socket.display());
    let options = [
        "--listen",
        "127.0.0.1:0",
        "--admin",
        &admin,
        "--admin-token-file",
        "token",
    ];
    let mut served = serve(folder, &options);
    served.word_after("admin pages on unix:");
    let status = |method: &str, name: &str, fields: &str, body: &str| {
        let mut stream = UnixStream::connect(&socket).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let path = format!("/dashboard/api/{name}");
        let fields = format!("Host: anything.example\r\n{fields}");
        stream
            .write_all(raw(method, &path, &fields, body).as_bytes())
            .unwrap();
        Answer::read(stream).status()
    };
    assert_eq!(status("GET", "server", "", ""), 200);
    assert_eq!(
        status("GET", "server", "Origin: http://evil.example\r\n", ""),
        403
    );
    assert_eq!(
        status("POST", "requests/cancel", ACTION, "{\"id\":\"0\"}"),
        404
    );
    assert_eq!(status("POST", "requests/cancel", "", "{\"id\":\"0\"}"), 403);
}

#[test]
fn dashboard_with_a_token_asks_for_it_and_logs_what_is_done() {
    const TOKEN: &str = "0123456789abcdef0123456789abcdef";
    let files: &[(&str, &[u8])] = &[("app.rb", APP.as_bytes()), ("token", TOKEN.as_bytes())];
    let mut rig = Rig::start_in(folder(files), &["--admin-token-file", "token"]);
    let server = |fields: &str| ask(&rig.admin, &call("GET", "server", fields, ""));
    let without = server("");
    assert_eq!(without.status(), 401);
    assert_eq!(without.field("www-authenticate"), Some("Bearer"));
    assert_eq!(server("Authorization: Bearer wrong\r\n").status(), 401);
    let shown = server(&format!("Authorization: Bearer {TOKEN}\r\n"));
    assert_eq!(shown.status(), 200);
    assert!(
        !shown.text().contains(TOKEN),
        "the token is shown to nobody"
    );
    let login = |token: &str| rig.act("login", &json!({ "token": token }));
    assert_eq!(login("wrong").status(), 401);
    let given = login(TOKEN);
    assert_eq!(given.status(), 200);
    let cookie = given.field("set-cookie").unwrap().to_owned();
    assert!(
        cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"),
        "{cookie}"
    );
    assert!(!cookie.contains(TOKEN), "{cookie}");
    let (pair, _) = cookie.split_once(';').unwrap();
    let with_cookie = format!("Cookie: {pair}\r\n");
    assert_eq!(server(&with_cookie).status(), 200);
    for path in ["/healthz", "/ready", "/metrics"] {
        assert_eq!(get(&rig.admin, path).status(), 200, "{path}");
    }
    let request = call(
        "POST",
        "requests/cancel",
        &format!("{ACTION}{with_cookie}"),
        "{\"id\":\"abc\"}",
    );
    assert_eq!(ask(&rig.admin, &request).status(), 404);
    assert_eq!(
        rig.served.word_after("dashboard: requests/cancel "),
        "{\"id\":\"abc\"}"
    );
}

#[test]
fn token_that_could_be_guessed_is_refused_at_the_start() {
    let files: &[(&str, &[u8])] = &[("app.rb", APP.as_bytes()), ("token", b"short\n")];
    let options = [&ADMIN[..], &["--admin-token-file", "token"]].concat();
    let mut served = serve(folder(files), &options);
    assert_eq!(served.word_after("the token has 5 bytes and needs "), "16");
    assert_eq!(served.child.wait().unwrap().code(), Some(1));
}

#[test]
fn request_that_waits_is_shown_and_ends_with_ensure_when_it_is_cancelled() {
    let database = Server::shared().database();
    // Accepts by its backlog and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let app = format!(
        r#"DATABASE = DB.connect('{url}', pool: 1)
STORE = KV.open('memory:dashboard')
helpers do
  def report(what)
    yield
  ensure
    log.info "ensured #{{what}}"
  end
end
get('/sleep') {{ report('sleep') {{ sleep 3600 }} }}
get('/sql') {{ report('sql') {{ DATABASE.query('select pg_sleep(3600)') }} }}
get('/http') {{ report('http') {{ http.get('http://{silent}/', timeout: 3600) }} }}
get('/kv') {{ report('kv') {{ STORE.pop('queue', wait: 3600) }} }}
get('/clean') {{ DATABASE.query('select 7 as x').first[:x].to_s + STORE.push('queue', 'v').inspect + STORE.pop('queue').to_s }}
"#,
        url = database.url(),
        silent = silent.local_addr().unwrap(),
    );
    let long = [
        "--limit",
        "request_ms_max=7200000",
        "--limit",
        "client.call_ms_max=7200000",
    ];
    let mut rig = Rig::start(&app, &long);
    for kind in ["sleep", "sql", "http", "kv"] {
        let path = format!("/{kind}");
        let client = rig.begin(&path);
        let shown = rig.waiting(&path, kind);
        assert_eq!(
            (&shown["kind"], &shown["method"]),
            (&json!("request"), &json!("GET"))
        );
        assert_eq!(
            (&shown["path"], &shown["cancellable"]),
            (&json!(path), &json!(true))
        );
        assert!(
            shown["waits_for"]["since_at"].as_u64() >= shown["since_at"].as_u64(),
            "{shown}"
        );
        let outcome = rig.act("requests/cancel", &json!({ "id": shown["id"] }));
        assert_eq!(value(&outcome), json!({ "ok": true }));
        let answer = client.join().unwrap();
        assert_eq!(answer.status(), 503, "{kind}: {}", answer.text());
        assert_eq!(rig.served.word_after("ensured "), kind);
        until("nothing is under way", || {
            rig.data("requests")["requests"] == json!([])
        });
    }
    // The one connection of the pool is clean, and the server of the database has nothing left to do.
    let clean = get(&rig.address, "/clean");
    assert_eq!(clean.status(), 200, "{}", clean.text());
    assert!(
        clean.text().starts_with('7') && clean.text().ends_with('v'),
        "{}",
        clean.text()
    );
    let sleeping = "select count(*) from pg_stat_activity where state = 'active' and query like '%pg_sleep(3600)%' and pid <> pg_backend_pid()";
    until("the statement is over", || {
        Server::shared().psql(sleeping).trim() == "0"
    });
}

#[test]
fn dashboard_answers_while_every_worker_is_stuck() {
    let app = "get('/') { 'x' }\nget('/stuck') { i = 0; i += 1 while i < 30_000_000_000; 'y' }";
    let rig = Rig::start(app, &["--limit", "turn_cpu_ms_max=600000"]);
    get(&rig.address, "/");
    until("it is counted", || rig.counted() == 1);
    let mut stuck = TcpStream::connect(&rig.address).unwrap();
    stuck
        .write_all(raw("GET", "/stuck", "Host: x\r\n", "").as_bytes())
        .unwrap();
    let is_stuck = || {
        let text = get(&rig.admin, "/metrics").text();
        text.contains("tsumugi_http_requests_in_flight{worker=\"0\"} 1")
    };
    until("the worker is stuck", is_stuck);
    for name in ["overview", "requests", "errors", "reloads", "server"] {
        rig.data(name);
    }
    let overview = rig.data("overview");
    assert_eq!(overview["routes"][0]["route"], "GET /");
    // Those who ask see who does not answer, and what only a worker knows is refused with its number.
    until("the worker is named", || {
        rig.data("overview")["silent_workers"][0]["worker"] == 0
    });
    let records = ask(&rig.admin, &call("GET", "records?store=x", "", ""));
    assert_eq!(records.status(), 503);
    assert!(records.text().contains("no answer within 5000 ms"));
}
