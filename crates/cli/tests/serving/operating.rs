//! What an operator sees: the access log, the admin pages, the sockets. Not what the log says of handlers.
//! The server is one process with one worker, ended by signals as an operator ends it.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::rig::{Answer, ask, folder, get, request, serve, start, until};

#[test]
fn the_access_log_has_a_line_for_every_request() {
    let app = "get('/users/:id', id: Integer) { |id| sleep 0.05; log.info \"seen\"; request.id }";
    let (mut served, address) = start(app, &[], &["--access-log", "access.log"]);
    let log = served.path("access.log");
    let lines = |path: &Path| -> Vec<String> {
        fs::read_to_string(path)
            .unwrap_or_default()
            .lines()
            .map(str::to_owned)
            .collect()
    };
    let given = ask(
        &address,
        "GET",
        "/users/7?token=secret",
        "x-request-id: mine-1\r\n",
    );
    assert_eq!(given.text(), "mine-1");
    assert_eq!(served.word_after("seen request_id="), "mine-1");
    let made = get(&address, "/users/8").text();
    get(&address, "/missing");
    until("three lines", || lines(&log).len() == 3);
    let all = lines(&log);
    for piece in [
        "\"method\":\"GET\",\"path\":\"/users/7\",\"pattern\":\"/users/:id\",\"status\":200",
        "\"id\":\"mine-1\",\"trace_id\":\"",
        "\"ip\":\"127.0.0.1\"",
        "\"bytes\":6",
    ] {
        assert!(all[0].contains(piece), "{piece} in {}", all[0]);
    }
    assert!(!all[0].contains("secret"));
    let number = |name: &str| -> f64 {
        let (_, rest) = all[0].split_once(&format!("\"{name}\":")).unwrap();
        rest.split(',').next().unwrap().parse().unwrap()
    };
    assert!(
        number("wait_ms") >= 50.0 && number("ms") >= number("wait_ms"),
        "{}",
        all[0]
    );
    assert!(
        all[1].contains(&format!("\"id\":\"{made}\"")),
        "{made} in {}",
        all[1]
    );
    assert!(
        all[2].contains("\"pattern\":null,\"status\":404"),
        "{}",
        all[2]
    );

    let moved = served.path("access.log.1");
    fs::rename(&log, &moved).unwrap();
    served.signal("-HUP");
    until("a new file", || log.exists());
    get(&address, "/users/9");
    // What is queued at the end is written.
    served.signal("-TERM");
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
    assert_eq!((lines(&moved).len(), lines(&log).len()), (3, 1));
}

#[test]
fn admin_pages_answer_while_the_worker_is_stuck_and_say_when_it_drains() {
    let app = "DATABASE = DB.connect('sqlite::memory:')\nDATABASE.query('select 1')\nget('/') { 'x' }\nget('/stuck') { i = 0; i += 1 while i < 3_000_000_000; 'y' }\nget('/slow') { sleep 8; 'z' }";
    let all: &[(&str, &[u8])] = &[("app.rb", app.as_bytes())];
    let options = ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
    let mut served = serve(folder(all), &options);
    let address = served.word_after("listening on http://");
    let admin = served.word_after("admin pages on http://");
    until("ready", || get(&admin, "/ready").status() == 200);
    for _ in 0..5 {
        get(&address, "/");
    }
    get(&address, "/missing");
    // A request is counted once its answer has gone.
    until("all are counted", || {
        let text = get(&admin, "/metrics").text();
        text.contains("tsumugi_http_request_duration_seconds_count 6\n")
    });
    let metrics = get(&admin, "/metrics");
    assert_eq!(
        metrics.field("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    let text = metrics.text();
    for line in [
        "tsumugi_http_requests_total{method=\"GET\",status=\"2xx\"} 5",
        "tsumugi_http_requests_total{method=\"GET\",status=\"4xx\"} 1",
        "tsumugi_http_request_duration_seconds_count 6",
        "tsumugi_http_requests_in_flight{worker=\"0\"} 0",
        "# TYPE tsumugi_connections_open gauge",
        "tsumugi_connections_refused_total{worker=\"0\"} 0",
        "# TYPE tsumugi_worker_stalls_total counter",
        "tsumugi_offload_queued 0",
        "tsumugi_output_dropped_total{stream=\"stderr\"} 0",
    ] {
        assert!(text.lines().any(|known| known == line), "{line} in\n{text}");
    }
    until("figures of the VM", || {
        let text = get(&admin, "/metrics").text();
        text.lines().any(|line| {
            line.starts_with("tsumugi_vm_bytes{worker=\"0\"} ") && !line.ends_with(" 0")
        })
    });
    let line = "tsumugi_database_statements_total{database=\":memory:\"} 1\n";
    until("figures of the database", || {
        get(&admin, "/metrics").text().contains(line)
    });
    let is_in_flight = || {
        let text = get(&admin, "/metrics").text();
        text.contains("tsumugi_http_requests_in_flight{worker=\"0\"} 1")
    };
    let mut stuck = TcpStream::connect(&address).unwrap();
    stuck
        .write_all(request("GET", "/stuck", "").as_bytes())
        .unwrap();
    until("the stuck request", is_in_flight);
    assert_eq!(get(&admin, "/healthz").text(), "alive\n");
    assert_eq!(Answer::read(stuck).status(), 500);
    assert_eq!(get(&admin, "/other").status(), 404);

    let mut slow = TcpStream::connect(&address).unwrap();
    slow.write_all(request("GET", "/slow", "").as_bytes())
        .unwrap();
    until("the slow request", is_in_flight);
    served.signal("-TERM");
    until("the drain", || get(&admin, "/ready").status() == 503);
    assert_eq!(get(&admin, "/healthz").status(), 200);
    assert_eq!(Answer::read(slow).text(), "z");
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
}

#[test]
fn figures_of_key_value_stores_are_shown() {
    let app = "plugin(:kv) { KV.open 'memory:seen' }\nplugin(:disk) { KV.open 'data/kv' }\nget('/') { kv['a'] = 'b'; disk['a'] = 'b'; kv['a'] + disk['a'] }";
    let all: &[(&str, &[u8])] = &[("app.rb", app.as_bytes())];
    let options = ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
    let mut served = serve(folder(all), &options);
    let address = served.word_after("listening on http://");
    let admin = served.word_after("admin pages on http://");
    assert_eq!(get(&address, "/").text(), "bb");
    let place = served.path("data/kv").canonicalize().unwrap();
    for (line, value) in [
        ("writes_total{store=\"memory:seen\"}", "1"),
        ("hits_total{store=\"memory:seen\"}", "1"),
        ("read_bytes_total{store=\"memory:seen\"}", "1"),
        ("records{store=\"memory:seen\"}", "1"),
        ("commits_total{store=\"DISK\"}", "1"),
        ("committed_total{store=\"DISK\"}", "1"),
        ("write_duration_seconds_count{store=\"DISK\"}", "1"),
        (
            "write_duration_seconds_bucket{store=\"DISK\",le=\"+Inf\"}",
            "1",
        ),
    ] {
        let line = line.replace("DISK", place.to_str().unwrap());
        let line = format!("tsumugi_kv_{line} {value}");
        until(&line, || {
            let text = get(&admin, "/metrics").text();
            text.lines().any(|known| known == line)
        });
    }
}

#[test]
fn ipv6_and_unix_sockets_are_listened_on_side_by_side() {
    let folder = folder(&[("app.rb", b"get('/') { request.ip.inspect }")]);
    let socket = folder.path().join("app.sock");
    let unix = format!("unix:{}", socket.display());
    let mut served = serve(folder, &["--listen", "[::1]:0", "--listen", &unix]);
    let address = served.word_after("listening on http://");
    assert_eq!(get(&address, "/").text(), "\"::1\"");
    let mut stream = UnixStream::connect(&socket).unwrap();
    stream
        .write_all(request("GET", "/", "").as_bytes())
        .unwrap();
    assert_eq!(Answer::read(stream).text(), "nil");
    served.signal("-TERM");
    assert_eq!(served.child.wait().unwrap().code(), Some(0));
    assert!(!socket.exists(), "the socket is left behind");
}
