//! What requests, streams and conversations wait for, as the dashboard shows it, and how streams and conversations are cancelled: `ensure` runs, the
//! client learns that there is no more. Not what is alike for requests that wait for databases, stores and calls.

use std::io::{Read, Write};
use std::net::TcpStream;

use serde_json::{Value, json};
use tsumugi_testkit::postgres;

use super::{Rig, raw, value};
use crate::rig::{PATIENCE, get, until};

fn app(url: &str) -> String {
    format!(
        r##"DATABASE = DB.connect("{url}", pool: 1, acquire: 600, timeout: 600)
QUEUE = Tsumugi::Channel.new(1)
NEWS = channel("news")
helpers do
  def report(what)
    yield
  ensure
    log.info "ensured #{{what}}"
  end
end
get("/lock") {{ Tsumugi.lock("report:7") {{ sleep 3600 }} }}
get("/pop") {{ QUEUE.pop.to_s }}
get("/hold") {{ DATABASE.transaction {{ DATABASE.query("select pg_sleep(3600)") }} }}
get("/pool") {{ DATABASE.query("select 1"); "x" }}
post("/body") {{ body.text.size.to_s }}
get("/events") {{ events {{ |out| report("events") {{ out.event "one"; NEWS.subscribe {{ |text| out.event text }} }} }} }}
get("/pieces") {{ stream {{ |out| report("pieces") {{ out << "one"; sleep 3600 }} }} }}
get("/talk") {{ websocket {{ |socket| report("talk") {{ socket.receive }} }} }}
get("/asleep") {{ websocket {{ |socket| report("asleep") {{ sleep 3600 }} }} }}
get("/cleanup") do
  sleep 3600
ensure
  log.info "cleaning"
  QUEUE.pop
  log.info "ensured cleanup"
end
get("/push") {{ QUEUE.push(7); "x" }}
"##
    )
}

const LONG: [&str; 4] = [
    "--limit",
    "request_ms_max=7200000",
    "--limit",
    "cancel_ms_max=600000",
];

fn begin(rig: &Rig, head: &str) -> TcpStream {
    let mut stream = TcpStream::connect(&rig.address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    stream
}

fn cancel(rig: &Rig, shown: &Value) {
    let outcome = rig.act("requests/cancel", &json!({ "id": shown["id"] }));
    assert_eq!(value(&outcome), json!({ "ok": true }), "{shown}");
}

/// All that a server sends before it closes or breaks the connection.
fn rest(mut stream: TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    bytes
}

fn rig() -> Rig {
    Rig::start(&app("sqlite::memory:"), &LONG)
}

#[test]
fn wait_is_shown_with_its_kind_its_name_and_its_place() {
    let database = postgres::Server::shared().database();
    let rig = Rig::start(&app(&database.url()), &LONG);
    let plain = |path: &str| raw("GET", path, "Host: x\r\n", "");
    let check = |route: &str, kind: &str, what: &str, line: &str| {
        let shown = rig.waiting(route, kind);
        let wait = &shown["waits_for"];
        assert_eq!(
            (&wait["what"], &wait["place"]),
            (&json!(what), &json!(line))
        );
        shown
    };
    let _pop = begin(&rig, &plain("/pop"));
    cancel(&rig, &check("/pop", "channel", "pop", "app.rb:12"));

    let _holder = begin(&rig, &plain("/lock"));
    let holds = rig.waiting("/lock", "sleep");
    let _waiter = begin(&rig, &plain("/lock"));
    cancel(&rig, &check("/lock", "lock", "lock report:…", "app.rb:11"));
    cancel(&rig, &holds);

    let _holder = begin(&rig, &plain("/hold"));
    let holds = rig.waiting("/hold", "sql");
    let _waiter = begin(&rig, &plain("/pool"));
    cancel(&rig, &check("/pool", "pool", "connection", "app.rb:14"));
    cancel(&rig, &holds);

    let head = "POST /body HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf";
    let _client = begin(&rig, head);
    let shown = rig.waiting("/body", "body");
    cancel(&rig, &shown);
    until("nothing is under way", || {
        rig.data("requests")["requests"] == json!([])
    });
    // What was waited for is in the traces, and statements are known by their places.
    let traces = rig.data("traces").to_string();
    assert!(traces.contains("GET /pop"), "{traces}");
    assert_eq!(get(&rig.address, "/pool").status(), 200);
    let statements = rig.data("statements");
    let mut rows = statements["statements"].as_array().unwrap().iter();
    let found = rows.find(|row| row["sql"] == "select ?").unwrap();
    assert_eq!(found["place"], "app.rb:14", "{found}");
}

#[test]
fn stream_is_under_way_until_it_is_cancelled() {
    let mut rig = rig();
    for (route, kind) in [("/events", "channel"), ("/pieces", "sleep")] {
        let client = begin(&rig, &raw("GET", route, "Host: x\r\n", ""));
        let shown = rig.waiting(route, kind);
        assert_eq!(
            (&shown["kind"], &shown["cancellable"]),
            (&json!("stream"), &json!(true)),
            "{shown}"
        );
        cancel(&rig, &shown);
        assert_eq!(rig.served.word_after("ensured "), route[1..]);
        let text = String::from_utf8(rest(client)).unwrap();
        assert!(
            text.contains("one") && !text.ends_with("0\r\n\r\n"),
            "{text}"
        );
        until("nothing is under way", || {
            rig.data("requests")["requests"] == json!([])
        });
    }
}

#[test]
fn conversation_is_under_way_until_it_is_cancelled() {
    let mut rig = rig();
    for (route, kind) in [("/talk", "client"), ("/asleep", "sleep")] {
        let fields = "Host: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
            Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
        let client = begin(&rig, &format!("GET {route} HTTP/1.1\r\n{fields}\r\n"));
        let shown = rig.waiting(route, kind);
        assert_eq!(
            (&shown["kind"], &shown["cancellable"], &shown["path"]),
            (&json!("websocket"), &json!(true), &json!(route)),
            "{shown}"
        );
        cancel(&rig, &shown);
        assert_eq!(rig.served.word_after("ensured "), route[1..]);
        // The close frame: its length, 1008, and the reason.
        let mut client = client;
        let mut came = Vec::new();
        let mut piece = [0; 1024];
        while !came.ends_with(b"by the operator of the server") {
            let read = client.read(&mut piece).unwrap();
            assert!(read > 0, "{:?}", String::from_utf8_lossy(&came));
            came.extend_from_slice(&piece[..read]);
        }
        assert!(came.windows(2).any(|two| two == 1008_u16.to_be_bytes()));
        drop(client);
        until("nothing is under way", || {
            rig.data("requests")["requests"] == json!([])
        });
    }
}

#[test]
fn ensure_of_a_cancelled_request_is_shown_until_it_has_ended() {
    let mut rig = rig();
    let client = begin(&rig, &raw("GET", "/cleanup", "Host: x\r\n", ""));
    let shown = rig.waiting("/cleanup", "sleep");
    cancel(&rig, &shown);
    assert!(rest(client).starts_with(b"HTTP/1.1 503"));
    let shown = rig.waiting("/cleanup", "channel");
    assert_eq!(
        (&shown["cancellable"], &shown["waits_for"]["place"]),
        (&json!(false), &json!("app.rb:24")),
        "{shown}"
    );
    get(&rig.address, "/push");
    assert_eq!(rig.served.word_after("ensured "), "cleanup");
    until("nothing is under way", || {
        rig.data("requests")["requests"] == json!([])
    });
    let trace = shown["trace_id"].as_str().unwrap();
    let spans = rig.data(&format!("trace?id={trace}"));
    let mut kinds = spans["spans"].as_array().unwrap().iter();
    assert!(kinds.any(|span| span["kind"] == "channel"), "{spans}");
}
