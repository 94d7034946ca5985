//! Traces from end to end: what a collector gets, what the log says, and what a collector that does not take them costs. The server has one worker.

use std::io::{BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::collector::{SpanCollection, over_grpc, over_http, over_https, silent, slow};
use crate::rig::{Answer, Served, ask, folder, get, request, until};
use crate::tls::certify;

const HTTP: &str = "http/protobuf";
const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\ntracestate: shop=7\r\n";

const APP: &str = r#"
DATABASE = DB.connect("sqlite::memory:", log: true)
get("/caller/:port") do |port|
  rows = DATABASE.query("select 1 as one")
  code = Tsumugi.span("ask") { http.get("http://127.0.0.1:#{port}/called").status }
  log.info "seen"
  [request.trace_id, code, rows[0][:one]].join(" ")
end
get("/called") { request.headers["tracestate"] }
get("/") { "x" }
"#;

/// A server that sends its traces to this endpoint, and its address.
fn traced(endpoint: &str, protocol: &str, options: &[&str]) -> (Served, String) {
    traced_in(folder(&[]), endpoint, protocol, options)
}

/// The same in a folder that may have the certificate of the collector.
fn traced_in(
    folder: tempfile::TempDir,
    endpoint: &str,
    protocol: &str,
    options: &[&str],
) -> (Served, String) {
    std::fs::write(folder.path().join("app.rb"), APP).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_tsumugi"))
        .args([
            "serve",
            "app.rb",
            "--workers",
            "1",
            "--listen",
            "127.0.0.1:0",
        ])
        .args(options)
        .current_dir(folder.path())
        .env("NO_COLOR", "1")
        .env("TSUMUGI_LOG", "info,tsumugi_db=debug")
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint)
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", protocol)
        .env("OTEL_EXPORTER_OTLP_HEADERS", "x-key=geheim")
        .env(
            "OTEL_EXPORTER_OTLP_CERTIFICATE",
            folder.path().join("cert.pem"),
        )
        .env("OTEL_SERVICE_NAME", "shop")
        .stderr(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let log = BufReader::new(child.stderr.take().unwrap());
    let mut served = Served { child, log, folder };
    let address = served.word_after("listening on http://");
    (served, address)
}

/// A call that makes another one, and what became of their spans.
fn check(address: &str, collected: &SpanCollection) {
    let (_, port) = address.rsplit_once(':').unwrap();
    let answer = ask(address, "GET", &format!("/caller/{port}"), PARENT);
    assert_eq!(answer.text(), format!("{TRACE} 200 1"));
    let outgoing = format!("GET 127.0.0.1:{port}");
    let all = [
        "GET /caller/:port",
        "GET /called",
        "select ? as one",
        "ask",
        &outgoing,
    ];
    until("all spans", || {
        all.iter().all(|name| !collected.named(name).is_empty())
    });
    let only = |name: &str| {
        let spans = collected.named(name);
        assert_eq!(spans.len(), 1, "{name}: {spans:?}");
        spans[0].clone()
    };
    let request = only("GET /caller/:port");
    assert_eq!(request.parent, "00f067aa0ba902b7");
    assert_eq!((&*request.state, &*request.service), ("shop=7", "shop"));
    assert_eq!(request.attribute("http.response.status_code"), "200");
    let statement = only("select ? as one");
    assert_eq!(statement.parent, request.id);
    assert_eq!(statement.attribute("db.system.name"), "sqlite");
    assert_eq!(statement.attribute("code.file.path"), "app.rb");
    assert_eq!(statement.attribute("code.line.number"), "4");
    let named = only("ask");
    assert_eq!(named.parent, request.id);
    let call = only(&outgoing);
    assert_eq!(call.parent, named.id);
    let called = only("GET /called");
    assert_eq!((&called.parent, &*called.state), (&call.id, "shop=7"));
    for span in [&request, &statement, &named, &call, &called] {
        assert_eq!(span.trace_id, TRACE);
    }
}

#[test]
fn request_statement_and_call_are_one_trace_over_http() {
    let (collected, collector) = over_http();
    let (mut served, address) = traced(&format!("http://{collector}"), HTTP, &[]);
    check(&address, &collected);
    let head = collected.head();
    assert!(head.starts_with("post /v1/traces http/1.1\r\n"), "{head}");
    assert!(head.contains("x-key: geheim\r\n"), "{head}");
    served.signal("-TERM");
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
    // Lines of the statement and of the author have the names of the request.
    let mut log = String::new();
    served.log.read_to_string(&mut log).unwrap();
    for piece in ["select 1 as one", "app: seen"] {
        let line = log.lines().find(|line| line.contains(piece));
        let line = line.unwrap_or_else(|| panic!("no {piece:?} in {log}"));
        assert!(line.contains(" request_id="), "{line}");
        assert!(line.ends_with(&format!(" trace_id={TRACE}")), "{line}");
    }
    assert!(!log.contains("geheim"), "{log}");
}

#[test]
fn request_statement_and_call_are_one_trace_over_grpc() {
    let (collected, collector) = over_grpc();
    let (mut served, address) = traced(&format!("http://{collector}"), "grpc", &[]);
    check(&address, &collected);
    let path = "/opentelemetry.proto.collector.trace.v1.TraceService/Export\n";
    assert!(collected.head().starts_with(path), "{}", collected.head());
    // What is queued at the end is sent.
    get(&address, "/");
    served.signal("-TERM");
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
    assert_eq!(collected.named("GET /").len(), 1);
}

/// A figure of the admin pages on this socket.
fn figure(socket: &Path, name: &str) -> u64 {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream
        .write_all(request("GET", "/metrics", "").as_bytes())
        .unwrap();
    let text = Answer::read(stream).text();
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(&format!("{name} ")));
    line.unwrap_or_else(|| panic!("no {name} in {text}"))
        .parse()
        .unwrap()
}

#[test]
fn dead_collector_is_counted_and_named_once_without_secrets() {
    // A port that was free a moment ago, with nobody behind it.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let dead = listener.local_addr().unwrap();
    drop(listener);
    let admin = ["--admin", "unix:admin.sock"];
    let (mut served, address) = traced(&format!("http://{dead}"), HTTP, &admin);
    for _ in 0..20 {
        assert_eq!(get(&address, "/").status(), 200);
    }
    let said = served.word_after("traces are dropped until ");
    assert_eq!(said, format!("http://{dead}"));
    let socket = served.path("admin.sock");
    until("all spans are counted", || {
        figure(&socket, "tsumugi_trace_spans_failed_total") == 20
    });
    assert_eq!(figure(&socket, "tsumugi_traces_recorded_total"), 20);
    assert_eq!(figure(&socket, "tsumugi_trace_spans_sent_total"), 0);
}

#[test]
fn collector_that_never_answers_costs_no_request() {
    let (mut served, address) = traced(&format!("http://{}", silent()), HTTP, &[]);
    for _ in 0..300 {
        assert_eq!(get(&address, "/").status(), 200);
    }
    served.signal("-TERM");
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
}

#[test]
fn traces_go_over_tls_to_a_collector_whose_certificate_is_known() {
    let folder = folder(&[]);
    certify(folder.path());
    let (collected, collector) = over_https(folder.path());
    let (_served, address) = traced_in(folder, &format!("https://{collector}"), HTTP, &[]);
    assert_eq!(get(&address, "/").status(), 200);
    until("the span", || !collected.named("GET /").is_empty());
    assert!(collected.head().starts_with("post /v1/traces http/1.1\r\n"));
}

#[test]
fn trace_of_a_caller_over_http2_goes_on() {
    let (collected, collector) = over_http();
    let (_served, address) = traced(&format!("http://{collector}"), HTTP, &[]);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let stream = tokio::net::TcpStream::connect(&address).await.unwrap();
        let (client, connection) = h2::client::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        let mut client = client.ready().await.unwrap();
        for (parent, version) in [("00f067aa0ba902b7", "00"), ("00f067aa0ba902b8", "ff")] {
            let request = http::Request::builder()
                .uri(format!("http://{address}/"))
                .header("traceparent", format!("{version}-{TRACE}-{parent}-01"))
                .body(())
                .unwrap();
            let (answer, _) = client.send_request(request, true).unwrap();
            assert_eq!(answer.await.unwrap().status(), 200);
        }
    });
    until("both spans", || collected.named("GET /").len() == 2);
    let spans = collected.named("GET /");
    let mut of_caller = spans.iter().filter(|span| span.trace_id == TRACE);
    assert_eq!(of_caller.next().unwrap().parent, "00f067aa0ba902b7");
    // What cannot be read begins a trace of its own.
    assert!(of_caller.next().is_none(), "{spans:?}");
}

#[test]
fn slow_collector_costs_no_request_and_every_span_is_accounted_for() {
    let (collected, collector, gate) = slow();
    let admin = ["--admin", "unix:admin.sock"];
    let (served, address) = traced(&format!("http://{collector}"), HTTP, &admin);
    for _ in 0..300 {
        assert_eq!(get(&address, "/").status(), 200);
    }
    drop(gate);
    let socket = served.path("admin.sock");
    let of = |name: &str| figure(&socket, &format!("tsumugi_{name}_total"));
    until("all are sent or counted", || {
        let counted = of("trace_spans_sent") + of("trace_spans_failed") + of("traces_dropped");
        counted == 300 && of("traces_recorded") == 300
    });
    get(&address, "/caller/1");
    until("the collector takes what comes later", || {
        !collected.named("GET /caller/:port").is_empty()
    });
}
