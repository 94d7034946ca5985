//! A worker whose memory is full of parked requests, from the outside: more are refused, none is lost, and all is given back.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use tsumugi_ruby::Settings;

use crate::rig::{Answer, Rig};

/// Requests park until the gate opens.
const APP: &str = r#"
$open = false
$parked = 0
$read = 0
helpers { def park = ($parked += 1; sleep 0.05 until $open; $parked -= 1) }
get("/now") { "now" }
get("/parked") { $parked.to_s }
post("/gate") { $open = false; body.each_chunk { |piece| piece }; $open = true; "open" }
get("/park") { text = "x" * 20_000; park; text.bytesize.to_s }
post("/park") { text = body.text; park; text.bytesize.to_s }
post("/returned") { text = body.text; park; text }
post("/pieces") { body.each_chunk { |piece| $read += piece.bytesize }; "read" }
get("/read") { $read.to_s }
post("/form") { form = body.to_h; park; form.size.to_s }
get("/bytes") { GC.start; Tsumugi.vm_bytes.to_s }
"#;

fn serve(set: impl FnOnce(&mut Settings)) -> Rig {
    Rig::with(APP, |settings| {
        settings.http.body_timeout_ms = 600_000;
        set(settings);
    })
}

/// A request under way whose last byte opens the gate: when the worker is full, no other may begin.
struct Gate(TcpStream);

impl Gate {
    fn close(rig: &Rig) -> Gate {
        let mut stream = rig.connect();
        let head = b"POST /gate HTTP/1.1\r\nhost: example.org\r\nconnection: close\r\ncontent-length: 1\r\n\r\n";
        stream.write_all(head).unwrap();
        // What comes after it is read after it.
        assert_eq!(rig.get("/now").text(), "now");
        Gate(stream)
    }

    fn open(mut self) {
        self.0.write_all(b"x").unwrap();
        assert_eq!(end(self.0).text(), "open");
    }
}

/// A request on a connection of its own, whose answer is read later.
fn begin(rig: &Rig, method: &str, path: &str, body: &[u8]) -> TcpStream {
    let mut stream = rig.connect();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nhost: example.org\r\nconnection: close\r\ncontent-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    // A server that refuses a body may close before it has all of it.
    let _ = stream
        .write_all(head.as_bytes())
        .and_then(|()| stream.write_all(body));
    stream
}

/// None when the connection was reset: a client that goes on sending much more than the server discards may not see the answer.
fn answer(mut stream: TcpStream) -> Option<Answer> {
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Err(error) if error.kind() == ErrorKind::ConnectionReset && bytes.is_empty() => None,
        _ => Some(Answer::parse(&bytes)),
    }
}

fn end(stream: TcpStream) -> Answer {
    answer(stream).expect("an answer")
}

fn has_answer(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let has_answer = stream.peek(&mut [0]).is_ok();
    stream.set_nonblocking(false).unwrap();
    has_answer
}

/// Counts of the statuses that are expected; panics for others.
fn statuses(streams: Vec<TcpStream>) -> (usize, usize) {
    let (mut served, mut refused) = (0, 0);
    for stream in streams {
        let Some(answer) = answer(stream) else {
            refused += 1;
            continue;
        };
        match answer.status {
            200 => served += 1,
            503 => {
                refused += 1;
                assert_eq!(answer.header("retry-after"), Some("1"), "{answer:?}");
            }
            status => panic!("{status}: {}", answer.text()),
        }
    }
    (served, refused)
}

fn bytes(rig: &Rig) -> usize {
    let bytes = rig.get("/bytes");
    bytes.text().parse().unwrap_or(usize::MAX)
}

#[expect(clippy::disallowed_methods, reason = "this thread serves nobody")]
fn until(what: &str, done: impl Fn() -> bool) {
    for _ in 0..2_400 {
        if done() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    panic!("waited for ever: {what}");
}

/// A worker that has nothing else to do collects what was left.
fn until_at_most(rig: &Rig, bytes_max: usize) {
    until(&format!("at most {bytes_max} bytes are held"), || {
        bytes(rig) <= bytes_max
    });
}

#[test]
fn piece_of_an_upload_is_not_held_while_the_next_is_waited_for() {
    const UPLOADS: usize = 40;
    const PIECE: usize = 30_000;
    let rig = serve(|_| ());
    let begin_upload = || {
        let mut stream = rig.connect();
        let head = format!(
            "POST /pieces HTTP/1.1\r\nhost: example.org\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            PIECE + 1
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(b"x").unwrap();
        stream
    };
    let waiting: Vec<_> = (0..UPLOADS).map(|_| begin_upload()).collect();
    let read = |bytes: usize| {
        until("the pieces are read", || {
            rig.get("/read").text() == bytes.to_string()
        });
    };
    read(UPLOADS);
    let before = bytes(&rig);
    for mut stream in &waiting {
        stream.write_all(&vec![b'x'; PIECE - 1]).unwrap();
    }
    read(UPLOADS * PIECE);
    until_at_most(&rig, before + UPLOADS * PIECE / 4);
    for mut stream in waiting {
        stream.write_all(b"x").unwrap();
        assert_eq!(end(stream).text(), "read");
    }
}

#[test]
fn parked_requests_fill_the_vm_and_the_rest_is_refused() {
    let rig = serve(|settings| settings.limits.vm_bytes_max = 8_000_000);
    let before = bytes(&rig);
    for _ in 0..3 {
        let gate = Gate::close(&rig);
        let parked: Vec<_> = (0..500).map(|_| begin(&rig, "GET", "/park", b"")).collect();
        until("one of 500 requests of 20 KB is refused", || {
            parked.iter().any(has_answer)
        });
        gate.open();
        let (served, refused) = statuses(parked);
        assert!(served > 20 && refused > 0, "{served} and {refused}");
        until("requests begin again", || rig.get("/now").text() == "now");
    }
    // Idle fibres are kept.
    until_at_most(&rig, before + 2_000_000);
}

#[test]
fn parked_bodies_beyond_their_limit_are_refused_by_its_name() {
    let rig = serve(|settings| {
        settings.limits.vm_bytes_max = 64 << 20;
        settings.http.bodies_bytes_max = 1 << 20;
    });
    let before = bytes(&rig);
    let body = vec![b'x'; 300 << 10];
    for path in ["/park", "/returned", "/form"] {
        let gate = Gate::close(&rig);
        let streams: Vec<TcpStream> = (0..3).map(|_| begin(&rig, "POST", path, &body)).collect();
        until(&format!("three are parked in {path}"), || {
            rig.get("/parked").text() == "3"
        });
        for _ in 0..3 {
            let refused = end(begin(&rig, "POST", path, &body));
            assert_eq!(refused.status, 503, "{path}");
            assert_eq!(refused.header("retry-after"), Some("1"), "{path}");
            let text = refused.text();
            assert!(text.contains("bodies_bytes_max (1048576 bytes)"), "{text}");
        }
        gate.open();
        assert_eq!(statuses(streams), (3, 0), "{path}");
        assert_eq!(end(begin(&rig, "POST", path, b"small")).status, 200);
    }
    until_at_most(&rig, before + (400 << 10));
}

#[test]
fn body_that_never_finds_room_is_too_large() {
    let rig = serve(|settings| settings.http.bodies_bytes_max = 1_000);
    Gate::close(&rig).open();
    assert_eq!(rig.send("POST", "/park", &[], &[b'x'; 1_000]).status, 200);
    let refused = rig.send("POST", "/park", &[], &[b'x'; 1_001]);
    assert_eq!(refused.status, 413);
    assert!(
        refused.text().contains("bodies_bytes_max"),
        "{}",
        refused.text()
    );
}

/// Resident memory of this process, in bytes.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = text.split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4_096
}

#[test]
fn large_and_tiny_bodies_at_default_limits_leave_the_worker_alive() {
    let rig = serve(|_| {});
    let before = bytes(&rig);
    let sizes = [(15, 16 << 20), (16, 1 << 20), (300, 10)];
    for _ in 0..2 {
        let gate = Gate::close(&rig);
        let streams = sizes.iter().flat_map(|&(count, size)| {
            let body = vec![b'x'; size];
            (0..count).map(move |_| body.clone())
        });
        let streams = streams.map(|body| begin(&rig, "POST", "/park", &body));
        let streams = streams.collect();
        assert_eq!(rig.get("/now").text(), "now", "the worker is alive");
        gate.open();
        let (served, refused) = statuses(streams);
        assert!(served >= 7 && refused > 0, "{served} and {refused}");
        until("requests begin again", || rig.get("/now").text() == "now");
        until_at_most(&rig, before + (8 << 20));
    }
    // Other tests of this process have their part in it. That what was taken is given back is tested where the allocator is the
    // server's: crates/cli/tests/acceptance/memory.rs.
    assert!(resident() < 700 << 20, "{} bytes are resident", resident());
}

#[test]
fn uploads_that_are_read_in_pieces_take_no_memory_of_their_size() {
    let app = r#"
        def most = $most = [$most || 0, Tsumugi.vm_bytes].max
        post("/pieces") { body.each_chunk { |piece| most }; "read" }
        post("/whole") { body.text; most; "read" }
        get("/most") { most.to_s }
        get("/now") { Tsumugi.vm_bytes.to_s }
    "#;
    let rig = Rig::with(app, |_| {});
    let number = |path: &str| rig.get(path).text().parse::<usize>().unwrap();
    let before = number("/now");
    let body = vec![b'x'; 2 << 20];
    for path in ["/pieces", "/whole"] {
        for _ in 0..60 {
            assert_eq!(rig.post(path, "text/plain", &body).text(), "read");
        }
    }
    let growth = number("/most") - before;
    assert!(growth < 32 << 20, "{growth}");
}

#[test]
fn channel_that_is_reached_from_its_own_values_is_collected() {
    let rig = Rig::serve(
        "get('/own') { c = Tsumugi::Channel.new; text = 'x' * 100_000; c << [c, text]; c << -> { c }; c.size.to_s }
         get('/bytes') { GC.start; GC.start; Tsumugi.vm_bytes.to_s }
         get('/order') do
           c = Tsumugi::Channel.new(2)
           found = []
           20.times { |round| c << round; c << -round; found << c.pop << c.pop }
           parallel(-> { 5.times { |i| c << i } ; c.close }, -> { 5.times { found << c.pop } })
           (found + [(c.pop rescue 'closed')]).join(' ')
         end",
    );
    let bytes = || rig.get("/bytes").text().parse::<usize>().unwrap();
    for _ in 0..5 {
        rig.get("/own");
    }
    let before = bytes();
    for _ in 0..100 {
        assert_eq!(rig.get("/own").text(), "2");
    }
    let after = bytes();
    assert!(after < before + 1_000_000, "{before} became {after}");
    let rounds: Vec<String> = (0..20).map(|i| format!("{i} {}", -i)).collect();
    let expected = format!("{} 0 1 2 3 4 closed", rounds.join(" "));
    assert_eq!(rig.get("/order").text(), expected);
}
