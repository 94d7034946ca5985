//! What happens over time: streamed responses, clients that go away, clients that do not read, and the end of the server.

mod rig;

use std::{
    cell::Cell,
    rc::Rc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{HeaderName, StatusCode, header::TRAILER};
use rig::{GET, Rig, rig, rig_with};
use tokio::task::spawn_local;
use tsumugi_http::{
    Error, HttpBody, HttpLimits, HttpResponse, Request, RequestOutcome, trailers::announcement,
};

/// Counts when it is dropped.
struct DropCounter(Rc<Cell<u32>>);

impl Drop for DropCounter {
    fn drop(&mut self) {
        self.0.set(self.0.get() + 1);
    }
}

#[test]
fn pieces_arrive_as_they_are_sent() {
    let handler = async |_: Request| {
        let (mut sender, body) = HttpBody::channel(&HttpLimits::default());
        spawn_local(async move {
            for piece in ["one", "two"] {
                sender
                    .send(Bytes::from_static(piece.as_bytes()))
                    .await
                    .unwrap();
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            sender.finish();
        });
        HttpResponse::new(StatusCode::OK, body)
    };
    rig(handler).run(async |rig: &Rig| {
        let mut client = rig.connect().await;
        client.send(GET).await;
        assert!(
            client
                .read_until("3\r\none\r\n")
                .await
                .contains("transfer-encoding: chunked\r\n")
        );
        assert_eq!(
            client.read_until("0\r\n\r\n").await,
            "3\r\ntwo\r\n0\r\n\r\n"
        );
        client.send(GET).await;
        client.read_until("0\r\n\r\n").await;
        assert_eq!(rig.finished()[0], (200, RequestOutcome::Complete, 6));
    });
}

#[test]
fn a_broken_off_stream_has_no_end() {
    for how in ["abort", "drop"] {
        let handler = async move |_: Request| {
            let (mut sender, body) = HttpBody::channel(&HttpLimits::default());
            spawn_local(async move {
                sender.send(Bytes::from_static(b"one")).await.unwrap();
                tokio::time::sleep(Duration::from_millis(50)).await;
                if how == "abort" {
                    sender.abort();
                }
            });
            HttpResponse::new(StatusCode::OK, body)
        };
        rig(handler).run(async |rig: &Rig| {
            let answer = rig.ask_to_end(GET).await;
            assert!(answer.ends_with("3\r\none\r\n"), "{answer}");
            assert_eq!(rig.finished(), [(200, RequestOutcome::BrokenOff, 3)]);
        });
    }
}

#[test]
fn a_client_that_does_not_read_makes_the_sender_wait() {
    let sent = Rc::new(Cell::new(0));
    let count = Rc::clone(&sent);
    let handler = async move |_: Request| {
        let (mut sender, body) = HttpBody::channel(&HttpLimits::default());
        let count = Rc::clone(&count);
        spawn_local(async move {
            while sender
                .send(Bytes::from(vec![b'x'; 16 * 1024]))
                .await
                .is_ok()
            {
                count.set(count.get() + 16 * 1024);
            }
        });
        HttpResponse::new(StatusCode::OK, body)
    };
    rig(handler).run(async |rig: &Rig| {
        let mut client = rig.connect().await;
        client.send(GET).await;
        // It goes on until the sockets are full, and for ever where nothing makes it wait.
        let mut before = 0;
        while before == 0 || sent.get() != before {
            before = sent.get();
            assert!(before < 16 * 1024 * 1024, "{before} without a reader");
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        // Most of it is in the sockets of both ends, whose size the system chooses.
        client.read_bytes(before + 1024 * 1024).await;
        assert!(
            sent.get() > before,
            "the sender did not go on with the reader"
        );
    });
}

#[test]
fn a_client_that_takes_nothing_is_cut_off() {
    let limits = HttpLimits {
        send_timeout_ms: 300,
        ..HttpLimits::default()
    };
    let handler = async |_: Request| {
        HttpResponse::new(StatusCode::OK, Bytes::from(vec![b'x'; 64 * 1024 * 1024]))
    };
    rig_with(limits, handler).run(async |rig: &Rig| {
        let mut client = rig.connect().await;
        client.send(GET).await;
        let begun = Instant::now();
        rig.until(|| rig.open() == 1).await;
        rig.until(|| rig.open() == 0).await;
        assert!(
            begun.elapsed() >= Duration::from_millis(290),
            "{:?}",
            begun.elapsed()
        );
        drop(client);
    });
}

#[test]
fn a_client_that_reads_slowly_gets_everything() {
    let limits = HttpLimits {
        send_timeout_ms: 2_000,
        keep_alive_ms: 2_000,
        ..HttpLimits::default()
    };
    let handler = async |_: Request| {
        HttpResponse::new(StatusCode::OK, Bytes::from(vec![b'x'; 32 * 1024 * 1024]))
    };
    rig_with(limits, handler).run(async |rig: &Rig| {
        let mut client = rig.connect().await;
        client
            .send("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            .await;
        for _ in 0..8 {
            client.read_bytes(2 * 1024 * 1024).await;
            // Together longer than the limits.
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        assert!(client.read_to_end().await.len() > 15 * 1024 * 1024);
    });
}

#[test]
fn a_disconnect_drops_the_waiting_handler() {
    let dropped = Rc::new(Cell::new(0));
    let count = Rc::clone(&dropped);
    let begun = Rc::new(Cell::new(false));
    let begins = Rc::clone(&begun);
    let handler = async move |_: Request| {
        let _dropped = DropCounter(Rc::clone(&count));
        begins.set(true);
        std::future::pending::<HttpResponse>().await
    };
    rig(handler).run(async |rig: &Rig| {
        let mut client = rig.connect().await;
        client.send(GET).await;
        rig.until(|| begun.get()).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(dropped.get(), 0);
        drop(client);
        rig.until(|| dropped.get() == 1).await;
        rig.until(|| rig.open() == 0).await;
        assert_eq!(rig.finished(), [(200, RequestOutcome::Unanswered, 0)]);
    });
}

#[test]
fn a_disconnect_in_the_middle_of_a_body_ends_the_request() {
    let begun = Rc::new(Cell::new(false));
    let begins = Rc::clone(&begun);
    let handler = async move |mut request: Request| {
        begins.set(true);
        let _ = request.body.read_all().await;
        HttpResponse::text(StatusCode::OK, "never")
    };
    rig(handler).run(async |rig: &Rig| {
        let mut client = rig.connect().await;
        client
            .send("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nabc")
            .await;
        rig.until(|| begun.get()).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        drop(client);
        rig.until(|| rig.open() == 0).await;
        assert_eq!(rig.finished().len(), 1);
    });
}

#[test]
fn a_disconnect_reaches_the_sender_of_a_stream() {
    let closed = Rc::new(Cell::new(0));
    let count = Rc::clone(&closed);
    let handler = async move |_: Request| {
        let (mut sender, body) = HttpBody::channel(&HttpLimits::default());
        let count = Rc::clone(&count);
        spawn_local(async move {
            sender.send(Bytes::from_static(b"one")).await.unwrap();
            sender.closed().await;
            assert!(matches!(
                sender.send(Bytes::from_static(b"two")).await,
                Err(Error::Closed)
            ));
            count.set(1);
        });
        HttpResponse::new(StatusCode::OK, body)
    };
    rig(handler).run(async |rig: &Rig| {
        let mut client = rig.connect().await;
        client.send(GET).await;
        client.read_until("one").await;
        drop(client);
        rig.until(|| closed.get() == 1).await;
    });
}

#[test]
fn a_shutdown_finishes_the_running_request_and_closes() {
    let begun = Rc::new(Cell::new(0));
    let begins = Rc::clone(&begun);
    let handler = async move |_: Request| {
        begins.set(begins.get() + 1);
        tokio::time::sleep(Duration::from_millis(300)).await;
        HttpResponse::text(StatusCode::OK, "done")
    };
    rig(handler).run(async |rig: &Rig| {
        let mut running = rig.connect().await;
        running.send(GET).await;
        let mut untouched = rig.connect().await;
        let mut idle = rig.connect().await;
        idle.ask(GET).await;
        running.read_answer().await;
        running.send(GET).await;
        rig.until(|| begun.get() == 3).await;
        rig.shut_down();
        assert_eq!(untouched.read_to_end().await, "");
        assert_eq!(idle.read_to_end().await, "");
        let answer = running.read_to_end().await;
        assert!(
            answer.contains("connection: close\r\n") && answer.ends_with("done"),
            "{answer}"
        );
        rig.until(|| rig.open() == 0).await;
    });
}

#[test]
fn a_shutdown_waits_for_a_stream_that_is_running() {
    let handler = async |_: Request| {
        let (mut sender, body) = HttpBody::channel(&HttpLimits::default());
        spawn_local(async move {
            for _ in 0..4 {
                tokio::time::sleep(Duration::from_millis(100)).await;
                sender.send(Bytes::from_static(b"x")).await.unwrap();
            }
            sender.finish();
        });
        HttpResponse::new(StatusCode::OK, body)
    };
    rig(handler).run(async |rig: &Rig| {
        let mut client = rig.connect().await;
        client.send(GET).await;
        client.read_until("x\r\n").await;
        rig.shut_down();
        assert!(client.read_to_end().await.ends_with("0\r\n\r\n"));
    });
}

/// Refuses every body.
async fn refuse(mut request: Request) -> HttpResponse {
    match request.body.read_all_within("body_bytes_max", 0).await {
        Ok(_) => HttpResponse::text(StatusCode::OK, "empty"),
        Err(error) => HttpResponse::from_error(&error),
    }
}

const ENDLESS: &str = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n";

#[test]
fn a_refused_client_that_keeps_quiet_is_waited_for_only_as_long_as_linger_allows() {
    let limits = HttpLimits {
        linger_ms: 300,
        ..HttpLimits::default()
    };
    rig_with(limits, refuse).run(async |rig: &Rig| {
        let mut client = rig.connect().await;
        client.send(ENDLESS).await;
        let begun = Instant::now();
        assert!(client.read_to_end().await.starts_with("HTTP/1.1 413 "));
        rig.until(|| rig.open() == 0).await;
        assert!(
            begun.elapsed() >= Duration::from_millis(290),
            "{:?}",
            begun.elapsed()
        );
    });
}

#[test]
fn a_refused_client_that_sends_on_is_cut_off_after_linger_bytes() {
    let limits = HttpLimits {
        linger_ms: 60_000,
        linger_bytes_max: 100_000,
        ..HttpLimits::default()
    };
    rig_with(limits, refuse).run(async |rig: &Rig| {
        let mut client = rig.connect().await;
        client.send(ENDLESS).await;
        assert!(client.read_to_end().await.starts_with("HTTP/1.1 413 "));
        client.send(&"x".repeat(90_000)).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(rig.open(), 1);
        client.send(&"x".repeat(20_000)).await;
        rig.until(|| rig.open() == 0).await;
    });
}

/// Answers with a body of two pieces and a trailer, and with what stood behind the request's body.
async fn with_trailers(mut request: Request) -> HttpResponse {
    assert!(request.body.trailers().is_none(), "nothing has been read");
    let whole = match request.body.read_all().await {
        Ok(whole) => whole,
        Err(error) => return HttpResponse::from_error(&error),
    };
    let trailers = request.body.trailers().cloned().unwrap_or_default();
    let (mut sender, body) = HttpBody::channel(&HttpLimits::default());
    let mut response = HttpResponse::new(StatusCode::OK, body);
    let announced = announcement(["x-sum"]).unwrap().unwrap();
    response.headers.insert(TRAILER, announced);
    sender.announce(&response.headers);
    spawn_local(async move {
        let (first, last) = (Bytes::from(format!("{trailers:?}")), whole);
        sender.send(first).await.unwrap();
        sender.send(last.clone()).await.unwrap();
        let name = HeaderName::from_static("x-sum");
        sender.set_trailer(name, last.len().into()).unwrap();
        sender.finish();
    });
    response
}

const TRAILING: &str = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n";

#[test]
fn trailers_are_there_behind_the_body_of_a_request_and_of_a_response() {
    rig(with_trailers).run(async |rig: &Rig| {
        let mut client = rig.connect().await;
        let body = "3\r\nabc\r\n0\r\nX-One: 1\r\nAuthorization: no\r\n\r\n";
        client
            .send(&format!("{TRAILING}TE: trailers\r\n\r\n{body}"))
            .await;
        let answer = client.read_until("\r\n0\r\n").await;
        assert!(answer.contains("trailer: x-sum\r\n"), "{answer}");
        assert!(answer.contains("{\"x-one\": \"1\"}"), "{answer}");
        assert_eq!(client.read_until("\r\n\r\n").await, "x-sum: 3\r\n\r\n");
        // A client that does not ask for trailers gets none; the connection goes on.
        client.send(&format!("{TRAILING}\r\n{body}")).await;
        let answer = client.read_until("0\r\n\r\n").await;
        assert!(!answer.contains("x-sum: "), "{answer}");
        assert_eq!(rig.finished()[0].1, RequestOutcome::Complete);
    });
}

#[test]
fn one_trailer_of_a_request_beyond_the_limit_is_413() {
    rig(with_trailers).run(async |rig: &Rig| {
        for (count, status) in [(64, " 200 "), (65, " 413 ")] {
            let fields: String = (0..count).map(|n| format!("x-{n}: 1\r\n")).collect();
            let body = format!("3\r\nabc\r\n0\r\n{fields}\r\n");
            let answer = rig
                .ask_to_end(&format!("{TRAILING}Connection: close\r\n\r\n{body}"))
                .await;
            assert!(answer.lines().next().unwrap().contains(status), "{answer}");
            assert!(
                count == 64 || answer.contains("trailer_fields_max"),
                "{answer}"
            );
        }
    });
}
