//! The load against servers that are known: what they do to requests must be what it tells. Times are compared from below, or loosely:
//! a busy machine makes everything slower.

#![expect(
    clippy::disallowed_methods,
    reason = "the servers of these tests have a thread for each connection"
)]

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::*;

const HELLO: &[u8] = b"hello\n";

/// A server that asks `answer` for the body of each request, by its number.
fn serve(answer: impl Fn(u64) -> Vec<u8> + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (answer, count) = (Arc::new(answer), Arc::new(AtomicU64::new(0)));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let (answer, count) = (Arc::clone(&answer), Arc::clone(&count));
            thread::spawn(move || {
                converse(stream, &|| answer(count.fetch_add(1, Ordering::SeqCst)))
            });
        }
    });
    address
}

fn converse(stream: TcpStream, answer: &dyn Fn() -> Vec<u8>) {
    stream.set_nodelay(true).unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    let mut stream = stream;
    // A request ends with an empty line; the load may leave at any time.
    while let Some(Ok(line)) = lines.next() {
        if line.is_empty() {
            let body = answer();
            let mut text = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            text.push_str(&String::from_utf8(body).unwrap());
            if stream.write_all(text.as_bytes()).is_err() {
                return;
            }
        }
    }
}

fn hello() -> LoadRequest {
    LoadRequest::get("/hello", ExpectedBody::Same(HELLO.to_vec()))
}

fn load(address: SocketAddr, connections: usize, pace: Pace, milliseconds: u64) -> LoadOutcome {
    let plan = LoadPlan {
        address,
        transport: LoadTransport::default(),
        requests: &[hello()],
        connection_use: ConnectionUse::default(),
        connections,
        threads: 2,
        pace,
        warm_up: Duration::from_millis(200),
        length: Duration::from_millis(milliseconds),
    };
    run(&plan, &StopFlag::default(), || Ok(0.0)).unwrap()
}

fn percentile(outcome: &LoadOutcome, percentile: f64) -> f64 {
    outcome.tally.latency.value_at_percentile(percentile) as f64 / 1e6
}

#[test]
fn delays_of_some_requests_are_their_percentiles() {
    // One request in ten waits far longer than others do on a crowded machine.
    let address = serve(|number| {
        if number.is_multiple_of(10) {
            thread::sleep(Duration::from_millis(1_500));
        }
        HELLO.to_vec()
    });
    let outcome = load(address, 32, Pace::Open(100.0), 2_000);
    assert_eq!((outcome.tally.errors, outcome.tally.requests), (0, 200));
    assert!(percentile(&outcome, 80.0) < 1_500.0);
    assert!(percentile(&outcome, 92.0) >= 1_500.0);
}

#[test]
fn stall_is_charged_to_all_requests_due_meanwhile() {
    // For 800 ms no request is answered; four connections ask 500 times a second, 400 times meanwhile.
    let gate = std::sync::Mutex::new(());
    let address = serve(move |number| {
        let _held = gate.lock().unwrap();
        if number == 300 {
            thread::sleep(Duration::from_millis(800));
        }
        HELLO.to_vec()
    });
    let outcome = load(address, 4, Pace::Open(500.0), 2_000);
    assert_eq!((outcome.tally.errors, outcome.tally.requests), (0, 1_000));
    // They waited from 0 to 800 ms: two in five of all requests, evenly. The middle of them waited 400 ms, a tenth of them 720 ms.
    assert!(percentile(&outcome, 80.0) >= 380.0);
    assert!(percentile(&outcome, 96.0) >= 700.0);
    // Without omission: a load that waits for its four answers would have sent four requests into the stall.
    let waited = outcome.tally.latency.iter_recorded();
    let waited: u64 = waited
        .filter(|value| value.value_iterated_to() > 100_000_000)
        .map(|value| value.count_at_value())
        .sum();
    assert!(waited >= 330, "{waited} waited");
}

#[test]
fn due_request_without_answer_counts() {
    let gate = Arc::new(std::sync::Mutex::new(()));
    let held = Arc::clone(&gate);
    let address = serve(move |number| {
        if number == 0 {
            return HELLO.to_vec();
        }
        drop(gate.lock().unwrap());
        HELLO.to_vec()
    });
    let _held = held.lock().unwrap();
    let plan = LoadPlan {
        address,
        transport: LoadTransport::default(),
        requests: &[LoadRequest::get("/hello", ExpectedBody::Any)],
        connection_use: ConnectionUse::default(),
        connections: 2,
        threads: 1,
        pace: Pace::Open(50.0),
        warm_up: Duration::ZERO,
        length: Duration::from_millis(1_000),
    };
    let outcome = run(&plan, &StopFlag::default(), || Ok(0.0)).unwrap();
    assert_eq!(outcome.tally.requests + outcome.tally.unanswered, 50);
    assert!(outcome.tally.unanswered >= 48);
}

#[test]
fn a_wrong_answer_is_an_error() {
    let address = serve(|number| {
        let wrong = number.is_multiple_of(10);
        let body: &[u8] = if wrong { b"hell\n" } else { HELLO };
        body.to_vec()
    });
    let outcome = load(address, 2, Pace::Open(500.0), 500);
    assert!(outcome.tally.errors >= 3);
    let first = outcome.tally.first.unwrap();
    assert_eq!(first, "another body than expected: hell\n");
}

#[test]
fn at_the_closed_pace_each_connection_has_one_request() {
    let most = Arc::new(AtomicU64::new(0));
    let (now, seen) = (AtomicU64::new(0), Arc::clone(&most));
    let address = serve(move |_| {
        seen.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        thread::sleep(Duration::from_millis(20));
        now.fetch_sub(1, Ordering::SeqCst);
        HELLO.to_vec()
    });
    let outcome = load(address, 8, Pace::Closed, 1_000);
    assert_eq!(outcome.tally.errors, 0);
    assert!(most.load(Ordering::SeqCst) <= 8);
    // Eight at once, 20 ms each: at most 400 in a second.
    assert!((8..=400).contains(&outcome.tally.requests));
    assert!(percentile(&outcome, 0.0) >= 20.0);
}

/// A server that reads what it is sent and answers each request with its method, its path and its body.
fn mirror() -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let connections = Arc::new(AtomicU64::new(0));
    let opened = Arc::clone(&connections);
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            opened.fetch_add(1, Ordering::SeqCst);
            thread::spawn(move || reflect(stream));
        }
    });
    (address, connections)
}

fn reflect(mut stream: TcpStream) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    loop {
        let (mut line, mut length) = (String::new(), 0);
        // The load leaves at any time.
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return;
        }
        let mut words = line.split(' ').map(str::to_owned);
        let asked = format!("{} {}", words.next().unwrap(), words.next().unwrap());
        loop {
            let mut field = String::new();
            if reader.read_line(&mut field).unwrap_or(0) == 0 {
                return;
            }
            if field == "\r\n" {
                break;
            }
            if let Some(text) = field.strip_prefix("content-length: ") {
                length = text.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        if std::io::Read::read_exact(&mut reader, &mut body).is_err() {
            return;
        }
        let body = format!("{asked} {}", String::from_utf8(body).unwrap());
        let text = format!(
            "HTTP/1.1 201 Created\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        if stream.write_all(text.as_bytes()).is_err() {
            return;
        }
    }
}

fn mixed(address: SocketAddr, connection_use: ConnectionUse) -> LoadOutcome {
    let request = |method: Method, path: &str, body: &str| LoadRequest {
        method: method.clone(),
        path: path.to_owned(),
        fields: "content-type: text/plain\r\n".to_owned(),
        body: body.as_bytes().to_vec(),
        status: 201,
        expected: ExpectedBody::Same(format!("{method} {path} {body}").into_bytes()),
    };
    let requests = [
        request(Method::GET, "/a", ""),
        request(Method::POST, "/b", "text"),
        request(Method::PUT, "/c?d", &"x".repeat(100_000)),
    ];
    let plan = LoadPlan {
        address,
        transport: LoadTransport::default(),
        requests: &requests,
        connection_use,
        connections: 4,
        threads: 2,
        pace: Pace::Closed,
        warm_up: Duration::ZERO,
        length: Duration::from_millis(500),
    };
    run(&plan, &StopFlag::default(), || Ok(0.0)).unwrap()
}

#[test]
fn requests_of_a_plan_are_sent_in_turn_with_their_bodies() {
    let (address, connections) = mirror();
    let outcome = mixed(address, ConnectionUse::default());
    assert_eq!((outcome.tally.errors, outcome.tally.first), (0, None));
    assert!(outcome.tally.requests >= 12);
    assert_eq!(connections.load(Ordering::SeqCst), 4);
}

#[test]
fn pipelined_requests_are_answered_each_for_itself() {
    let (address, _) = mirror();
    let connection_use = ConnectionUse {
        depth: 16,
        requests_max: None,
    };
    let outcome = mixed(address, connection_use);
    assert_eq!((outcome.tally.errors, outcome.tally.first), (0, None));
    // Those of one write are counted one by one.
    assert!(outcome.tally.requests >= 64, "{}", outcome.tally.requests);
}

#[test]
fn connection_is_replaced_after_its_requests() {
    let (address, connections) = mirror();
    let connection_use = ConnectionUse {
        depth: 1,
        requests_max: Some(10),
    };
    let outcome = mixed(address, connection_use);
    assert_eq!((outcome.tally.errors, outcome.tally.first), (0, None));
    let (opened, answered) = (connections.load(Ordering::SeqCst), outcome.tally.requests);
    assert!(
        opened >= answered / 10,
        "{opened} connections for {answered} answers"
    );
    assert!(
        opened <= answered / 10 + 8,
        "{opened} connections for {answered} answers"
    );
}
