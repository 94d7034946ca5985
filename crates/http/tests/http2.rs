//! HTTP/2 with prior knowledge on the port that also speaks HTTP/1.

mod rig;

use std::{
    cell::Cell,
    pin::pin,
    rc::Rc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use h2::client::SendRequest;
use http::{HeaderName, Method, StatusCode, header::TRAILER};
use rig::{GET, Rig, rig, rig_with};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::Notify,
    task::spawn_local,
};
use tsumugi_http::{
    HttpBody, HttpLimits, HttpResponse, Request, RequestOutcome, trailers::announcement,
};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

async fn connect(rig: &Rig) -> (SendRequest<Bytes>, Rc<Cell<bool>>) {
    let stream = TcpStream::connect(rig.address).await.unwrap();
    let (client, connection) = h2::client::handshake(stream).await.unwrap();
    let closed = Rc::new(Cell::new(false));
    let flag = Rc::clone(&closed);
    spawn_local(async move {
        let _ = connection.await;
        flag.set(true);
    });
    (client.ready().await.unwrap(), closed)
}

fn request(method: Method, path: &str) -> http::Request<()> {
    http::Request::builder()
        .method(method)
        .uri(format!("http://localhost{path}"))
        .body(())
        .unwrap()
}

async fn body_of(response: http::Response<h2::RecvStream>) -> Result<String, h2::Error> {
    let mut body = response.into_body();
    let mut text = Vec::new();
    while let Some(data) = body.data().await {
        let data = data?;
        body.flow_control().release_capacity(data.len()).unwrap();
        text.extend_from_slice(&data);
    }
    Ok(String::from_utf8(text).unwrap())
}

#[test]
fn requests_on_one_connection_run_side_by_side() {
    let answered = Rc::new(Notify::new());
    let notice = Rc::clone(&answered);
    let handler = async move |mut request: Request| {
        if request.uri.path() == "/slow" {
            notice.notified().await;
        }
        let body = request.body.read_all().await.unwrap();
        assert_eq!(request.version, http::Version::HTTP_2);
        HttpResponse::text(
            StatusCode::OK,
            format!("{} {}", request.uri.path(), body.len()),
        )
    };
    rig(handler).run(async |rig: &Rig| {
        let (mut client, _) = connect(rig).await;
        let (slow, _) = client
            .send_request(request(Method::GET, "/slow"), true)
            .unwrap();
        let (fast, mut upload) = client
            .send_request(request(Method::POST, "/fast"), false)
            .unwrap();
        upload
            .send_data(Bytes::from_static(b"12345"), true)
            .unwrap();
        assert_eq!(body_of(fast.await.unwrap()).await.unwrap(), "/fast 5");
        answered.notify_one();
        assert_eq!(body_of(slow.await.unwrap()).await.unwrap(), "/slow 0");
        assert_eq!(rig.finished().len(), 2);
    });
}

#[test]
fn a_reset_drops_the_handler_and_leaves_the_connection() {
    let dropped = Rc::new(Cell::new(false));
    struct Flag(Rc<Cell<bool>>);
    impl Drop for Flag {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    let flag = Rc::clone(&dropped);
    let begun = Rc::new(Cell::new(false));
    let begins = Rc::clone(&begun);
    let handler = async move |request: Request| {
        if request.uri.path() == "/wait" {
            let _flag = Flag(Rc::clone(&flag));
            begins.set(true);
            std::future::pending::<()>().await;
        }
        HttpResponse::text(StatusCode::OK, "hello")
    };
    rig(handler).run(async |rig: &Rig| {
        let (mut client, _) = connect(rig).await;
        let (answer, mut stream) = client
            .send_request(request(Method::GET, "/wait"), true)
            .unwrap();
        rig.until(|| begun.get()).await;
        stream.send_reset(h2::Reason::CANCEL);
        drop(answer);
        rig.until(|| dropped.get()).await;
        let (answer, _) = client
            .send_request(request(Method::GET, "/"), true)
            .unwrap();
        assert_eq!(body_of(answer.await.unwrap()).await.unwrap(), "hello");
        assert_eq!(
            rig.finished(),
            [
                (200, RequestOutcome::Unanswered, 0),
                (200, RequestOutcome::Complete, 5)
            ]
        );
    });
}

#[test]
fn a_broken_off_stream_is_reset() {
    let handler = async |_: Request| {
        let (mut sender, body) = HttpBody::channel(&HttpLimits::default());
        spawn_local(async move {
            sender.send(Bytes::from_static(b"one")).await.unwrap();
            tokio::time::sleep(Duration::from_millis(50)).await;
            sender.abort();
        });
        HttpResponse::new(StatusCode::OK, body)
    };
    rig(handler).run(async |rig: &Rig| {
        let (mut client, closed) = connect(rig).await;
        let (answer, _) = client
            .send_request(request(Method::GET, "/"), true)
            .unwrap();
        assert!(body_of(answer.await.unwrap()).await.unwrap_err().is_reset());
        assert!(!closed.get());
    });
}

#[test]
fn a_body_past_the_limit_is_413() {
    let limits = HttpLimits {
        body_bytes_max: 10,
        ..HttpLimits::default()
    };
    let handler = async |mut request: Request| match request.body.read_all().await {
        Ok(body) => HttpResponse::new(StatusCode::OK, body),
        Err(error) => HttpResponse::from_error(&error),
    };
    rig_with(limits, handler).run(async |rig: &Rig| {
        let (mut client, _) = connect(rig).await;
        let (answer, mut upload) = client
            .send_request(request(Method::POST, "/"), false)
            .unwrap();
        upload
            .send_data(Bytes::from_static(b"12345678901"), false)
            .unwrap();
        let answer = answer.await.unwrap();
        assert_eq!(answer.status(), StatusCode::PAYLOAD_TOO_LARGE);
        assert!(answer.headers().get("connection").is_none());
        let (answer, _) = client
            .send_request(request(Method::GET, "/"), true)
            .unwrap();
        assert_eq!(answer.await.unwrap().status(), StatusCode::OK);
    });
}

#[test]
fn settings_announce_how_many_streams_a_client_may_open() {
    let limits = HttpLimits {
        streams_max: 7,
        ..HttpLimits::default()
    };
    rig_with(limits, async |_: Request| {
        HttpResponse::text(StatusCode::OK, "x")
    })
    .run(async |rig: &Rig| {
        let (mut client, _) = connect(rig).await;
        let (answer, _) = client
            .send_request(request(Method::GET, "/"), true)
            .unwrap();
        answer.await.unwrap();
        assert_eq!(client.current_max_send_streams(), 7);
    });
}

#[test]
fn one_stream_more_than_streams_max_is_refused_and_its_request_never_begins() {
    let limits = HttpLimits {
        streams_max: 7,
        ..HttpLimits::default()
    };
    let handler = async |_: Request| {
        tokio::time::sleep(Duration::from_millis(200)).await;
        HttpResponse::text(StatusCode::OK, "x")
    };
    rig_with(limits, handler).run(async |rig: &Rig| {
        let stream = TcpStream::connect(rig.address).await.unwrap();
        let (mut client, connection) = h2::client::handshake(stream).await.unwrap();
        // All of them leave before the client has learnt how many it may open.
        let answers: Vec<_> = (0..8)
            .map(|_| {
                client
                    .send_request(request(Method::GET, "/"), true)
                    .unwrap()
                    .0
            })
            .collect();
        spawn_local(connection);
        let mut refused = 0;
        for answer in answers {
            match answer.await {
                Ok(answer) => assert_eq!(answer.status(), StatusCode::OK),
                Err(error) => {
                    assert_eq!(error.reason(), Some(h2::Reason::REFUSED_STREAM));
                    refused += 1;
                }
            }
        }
        assert_eq!((refused, rig.finished().len()), (1, 7));
    });
}

#[test]
fn idle_connections_get_goaway_and_are_closed() {
    let limits = HttpLimits {
        keep_alive_ms: 1_000,
        linger_ms: 300,
        ..HttpLimits::default()
    };
    rig_with(limits, async |_: Request| {
        HttpResponse::text(StatusCode::OK, "x")
    })
    .run(async |rig: &Rig| {
        let (mut client, closed) = connect(rig).await;
        let begun = Instant::now();
        let (answer, _) = client
            .send_request(request(Method::GET, "/"), true)
            .unwrap();
        answer.await.unwrap();
        rig.until(|| closed.get() && rig.open() == 0).await;
        let elapsed = begun.elapsed();
        assert!(elapsed >= Duration::from_millis(950), "{elapsed:?}");
    });
}

/// A connection closes although this frame, which is of no stream, comes again and again.
fn check_idle(frame: &'static [u8]) {
    let limits = HttpLimits {
        keep_alive_ms: 800,
        send_timeout_ms: 800,
        header_timeout_ms: 800,
        ..HttpLimits::default()
    };
    for asks_first in [true, false] {
        rig_with(limits.clone(), async |_: Request| {
            HttpResponse::text(StatusCode::OK, "x")
        })
        .run(async |rig: &Rig| {
            const GET_HEADERS: &[u8] = b"\0\0\x06\x01\x05\0\0\0\x01\x82\x86\x84\x41\x01x";
            let mut stream = TcpStream::connect(rig.address).await.unwrap();
            let hello = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
            stream.write_all(hello).await.unwrap();
            if asks_first {
                stream.write_all(GET_HEADERS).await.unwrap();
                rig.until(|| rig.finished().len() == 1).await;
            } else {
                rig.until(|| rig.open() == 1).await;
            }
            // What the server answers is read, so that it never waits for room.
            let (mut reader, mut writer) = stream.into_split();
            spawn_local(async move {
                let _ = tokio::io::copy(&mut reader, &mut tokio::io::sink()).await;
            });
            let closes = async {
                while rig.open() > 0 {
                    // It fails once the other side has closed.
                    let _ = writer.write_all(frame).await;
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            };
            let closed = tokio::time::timeout(PATIENCE, closes).await;
            closed.expect("an idle connection is closed");
        });
    }
}

#[test]
fn ping_keeps_no_idle_connection_open() {
    check_idle(b"\0\0\x08\x06\0\0\0\0\0pingpong");
}

#[test]
fn settings_keep_no_idle_connection_open() {
    check_idle(b"\0\0\0\x04\0\0\0\0\0");
}

#[test]
fn window_updates_keep_no_idle_connection_open() {
    check_idle(b"\0\0\x04\x08\0\0\0\0\0\0\0\0\x01");
}

#[test]
fn ping_beside_a_stream_ends_neither() {
    let limits = HttpLimits {
        keep_alive_ms: 600,
        ..HttpLimits::default()
    };
    rig_with(limits, async |_: Request| {
        tokio::time::sleep(Duration::from_millis(1_500)).await;
        HttpResponse::text(StatusCode::OK, "x")
    })
    .run(async |rig: &Rig| {
        let stream = TcpStream::connect(rig.address).await.unwrap();
        let (client, mut connection) = h2::client::handshake(stream).await.unwrap();
        let mut pings = connection.ping_pong().unwrap();
        spawn_local(connection);
        let mut client: SendRequest<Bytes> = client.ready().await.unwrap();
        let (answer, _) = client
            .send_request(request(Method::GET, "/"), true)
            .unwrap();
        let mut answer = pin!(answer);
        let mut answered = 0;
        let asks = async {
            loop {
                pings.ping(h2::Ping::opaque()).await.unwrap();
                answered += 1;
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let answer = tokio::select! {
            answer = &mut answer => answer.unwrap(),
            () = asks => unreachable!("pings are sent until the answer is there"),
            () = tokio::time::sleep(PATIENCE) => panic!("no answer beside {answered} pings"),
        };
        assert_eq!(body_of(answer).await.unwrap(), "x");
        assert!(answered > 2, "{answered}");
    });
}

#[test]
fn host_is_that_of_the_authority() {
    let handler = async |request: Request| {
        let host = request
            .headers
            .get("host")
            .map(|host| host.to_str().unwrap().to_owned());
        HttpResponse::text(StatusCode::OK, format!("{host:?}"))
    };
    rig(handler).run(async |rig: &Rig| {
        let (mut client, _) = connect(rig).await;
        let mut check = async |host: &[&str], status: u16, body: &str| {
            let mut request = request(Method::GET, "/");
            for host in host {
                request.headers_mut().append("host", host.parse().unwrap());
            }
            let (answer, _) = client.send_request(request, true).unwrap();
            let answer = answer.await.unwrap();
            assert_eq!(answer.status(), status, "{host:?}");
            assert!(body_of(answer).await.unwrap().contains(body), "{host:?}");
        };
        check(&[], 200, "Some(\"localhost\")").await;
        check(&["localhost"], 200, "Some(\"localhost\")").await;
        check(&["LOCALHOST:80"], 200, "LOCALHOST").await;
        check(
            &["other"],
            400,
            "malformed request: Host and :authority differ",
        )
        .await;
        check(&["localhost", "localhost"], 400, "more than one Host").await;
        check(&["a b"], 400, "malformed Host").await;
        check(&["localhost:65536"], 400, "malformed Host").await;
        for authority in ["localhost:65536", "localhost:99999", "[::1]:65536"] {
            let mut request = request(Method::GET, "/");
            *request.uri_mut() = format!("http://{authority}/").parse().unwrap();
            let (answer, _) = client.send_request(request, true).unwrap();
            assert_eq!(answer.await.unwrap().status(), 400, "{authority}");
        }
    });
}

#[test]
fn a_shutdown_finishes_what_runs_and_closes() {
    let begun = Rc::new(Cell::new(false));
    let begins = Rc::clone(&begun);
    let handler = async move |_: Request| {
        begins.set(true);
        tokio::time::sleep(Duration::from_millis(300)).await;
        HttpResponse::text(StatusCode::OK, "done")
    };
    rig(handler).run(async |rig: &Rig| {
        let (mut client, closed) = connect(rig).await;
        let (answer, _) = client
            .send_request(request(Method::GET, "/"), true)
            .unwrap();
        rig.until(|| begun.get()).await;
        rig.shut_down();
        assert_eq!(body_of(answer.await.unwrap()).await.unwrap(), "done");
        rig.until(|| closed.get() && rig.open() == 0).await;
    });
}

#[test]
fn http_1_is_still_spoken_beside_it() {
    rig(async |_: Request| HttpResponse::text(StatusCode::OK, "hello")).run(async |rig: &Rig| {
        let (_client, _) = connect(rig).await;
        assert!(rig.ask(GET).await.ends_with("hello"));
        // Methods that begin like the preface of HTTP/2.
        assert!(
            rig.ask("PRI / HTTP/1.1\r\nHost: x\r\n\r\n")
                .await
                .ends_with("hello")
        );
        assert!(
            rig.ask("PUT / HTTP/1.1\r\nHost: x\r\n\r\n")
                .await
                .ends_with("hello")
        );
    });
}

#[test]
fn a_client_that_opens_no_window_is_cut_off() {
    let limits = HttpLimits {
        send_timeout_ms: 600,
        keep_alive_ms: 600,
        ..HttpLimits::default()
    };
    let stalled = Rc::new(Cell::new(false));
    let flag = Rc::clone(&stalled);
    let own = limits.clone();
    let handler = async move |_: Request| {
        let (mut sender, body) = HttpBody::channel(&own);
        let flag = Rc::clone(&flag);
        spawn_local(async move {
            while let Ok(()) = sender.send(Bytes::from_static(&[b'x'; 4096])).await {}
            flag.set(true);
        });
        HttpResponse::new(StatusCode::OK, body)
    };
    rig_with(limits, handler).run(async |rig: &Rig| {
        let (mut client, closed) = connect(rig).await;
        let (answer, _) = client
            .send_request(request(Method::GET, "/"), true)
            .unwrap();
        // Nothing of the body is ever taken.
        let answer = answer.await.unwrap();
        rig.until(|| stalled.get() && closed.get() && rig.open() == 0)
            .await;
        drop(answer);
    });
}

#[test]
fn a_slow_download_outlives_keep_alive() {
    const LENGTH: usize = 1024 * 1024;
    let limits = HttpLimits {
        keep_alive_ms: 800,
        ..HttpLimits::default()
    };
    let handler =
        async |_: Request| HttpResponse::new(StatusCode::OK, Bytes::from(vec![b'x'; LENGTH]));
    rig_with(limits, handler).run(async |rig: &Rig| {
        let (mut client, _) = connect(rig).await;
        let (answer, _) = client
            .send_request(request(Method::GET, "/"), true)
            .unwrap();
        let mut body = answer.await.unwrap().into_body();
        let mut received = 0;
        while let Some(data) = body.data().await {
            let length = data.unwrap().len();
            received += length;
            tokio::time::sleep(Duration::from_millis(20)).await;
            body.flow_control().release_capacity(length).unwrap();
        }
        assert_eq!(received, LENGTH);
    });
}

#[test]
fn headers_past_the_limit_are_431() {
    let limits = HttpLimits {
        header_bytes_max: 2000,
        ..HttpLimits::default()
    };
    rig_with(limits, async |_: Request| {
        HttpResponse::text(StatusCode::OK, "x")
    })
    .run(async |rig: &Rig| {
        let (mut client, _) = connect(rig).await;
        let mut large = request(Method::GET, "/");
        large
            .headers_mut()
            .insert("x-large", "x".repeat(2000).parse().unwrap());
        let (answer, _) = client.send_request(large, true).unwrap();
        assert_eq!(
            answer.await.unwrap().status(),
            StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
        );
        let (answer, _) = client
            .send_request(request(Method::GET, "/"), true)
            .unwrap();
        assert_eq!(answer.await.unwrap().status(), StatusCode::OK);
    });
}

/// A client whose streams begin with a window of so many bytes.
async fn connect_with_window(rig: &Rig, bytes: u32) -> SendRequest<Bytes> {
    let stream = TcpStream::connect(rig.address).await.unwrap();
    let (client, connection) = h2::client::Builder::new()
        .initial_window_size(bytes)
        .handshake(stream)
        .await
        .unwrap();
    spawn_local(async move {
        let _ = connection.await;
    });
    client.ready().await.unwrap()
}

/// Whole responses, pieces that were all sent before, and pieces that come one by one, by path.
fn bodies(limits: &HttpLimits) -> impl AsyncFn(Request) -> HttpResponse + 'static {
    let limits = limits.clone();
    async move |request: Request| {
        let path = request.uri.path().to_owned();
        if path == "/full" {
            return HttpResponse::new(StatusCode::OK, Bytes::from(vec![b'x'; 1000]));
        }
        let (mut sender, body) = HttpBody::channel(&limits);
        let pause = if path == "/ticks" { 100 } else { 0 };
        spawn_local(async move {
            for _ in 0..20 {
                tokio::time::sleep(Duration::from_millis(pause)).await;
                if sender.send(Bytes::from_static(b"x")).await.is_err() {
                    return;
                }
            }
            sender.finish();
        });
        HttpResponse::new(StatusCode::OK, body)
    }
}

#[test]
fn responses_to_a_client_without_windows_end_after_send_timeout() {
    for path in ["/full", "/pieces", "/ticks"] {
        let limits = HttpLimits {
            send_timeout_ms: 200,
            ..HttpLimits::default()
        };
        let handler = bodies(&limits);
        rig_with(limits, handler).run(async |rig: &Rig| {
            let mut client = connect_with_window(rig, 0).await;
            let (answer, _) = client
                .send_request(request(Method::GET, path), true)
                .unwrap();
            let answer = answer.await.unwrap();
            rig.until(|| rig.open() == 0 && rig.finished().len() == 1)
                .await;
            drop(answer);
        });
    }
}

#[test]
fn responses_behind_a_full_window_of_the_connection_end_after_send_timeout() {
    let limits = HttpLimits {
        send_timeout_ms: 200,
        ..HttpLimits::default()
    };
    let handler =
        async |_: Request| HttpResponse::new(StatusCode::OK, Bytes::from(vec![b'x'; 100_000]));
    rig_with(limits, handler).run(async |rig: &Rig| {
        let mut client = connect_with_window(rig, 1 << 20).await;
        let mut answers = Vec::new();
        for _ in 0..20 {
            let (answer, _) = client
                .send_request(request(Method::GET, "/"), true)
                .unwrap();
            answers.push(answer.await.unwrap());
        }
        rig.until(|| rig.open() == 0 && rig.finished().len() == 20)
            .await;
    });
}

#[test]
fn a_response_that_lies_beside_one_that_is_taken_keeps_its_connection() {
    // Less than all ticks take, and much more than one.
    let limits = HttpLimits {
        send_timeout_ms: 1_500,
        ..HttpLimits::default()
    };
    let handler = bodies(&limits);
    rig_with(limits, handler).run(async |rig: &Rig| {
        let mut client = connect_with_window(rig, 500).await;
        let (wrong_length, _) = client
            .send_request(request(Method::GET, "/full"), true)
            .unwrap();
        let wrong_length = wrong_length.await.unwrap();
        let (ticks, _) = client
            .send_request(request(Method::GET, "/ticks"), true)
            .unwrap();
        assert_eq!(body_of(ticks.await.unwrap()).await.unwrap().len(), 20);
        assert_eq!(body_of(wrong_length).await.unwrap().len(), 1000);
    });
}

#[test]
fn a_stream_that_rests_longer_than_send_timeout_goes_on() {
    let limits = HttpLimits {
        send_timeout_ms: 500,
        keep_alive_ms: 500,
        ..HttpLimits::default()
    };
    let own = limits.clone();
    let handler = async move |_: Request| {
        let (mut sender, body) = HttpBody::channel(&own);
        spawn_local(async move {
            for _ in 0..3 {
                sender.send(Bytes::from_static(b"x")).await.unwrap();
                tokio::time::sleep(Duration::from_millis(1_000)).await;
            }
            sender.finish();
        });
        HttpResponse::new(StatusCode::OK, body)
    };
    rig_with(limits, handler).run(async |rig: &Rig| {
        let (mut client, _) = connect(rig).await;
        let (answer, _) = client
            .send_request(request(Method::GET, "/"), true)
            .unwrap();
        assert_eq!(body_of(answer.await.unwrap()).await.unwrap(), "xxx");
    });
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// What the server says of so many bytes of two bodies that nobody reads: the code of its GOAWAY, none while it waits for more.
async fn code_of_unread(rig: &Rig, bytes: usize, patience: Duration) -> Option<u32> {
    const POST: &[u8] = b"\x83\x86\x84\x41\x01x";
    let mut stream = TcpStream::connect(rig.address).await.unwrap();
    stream
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        .await
        .unwrap();
    let settings = [frame(4, 0, 0, b""), frame(4, 1, 0, b"")].concat();
    stream.write_all(&settings).await.unwrap();
    // The window of the connection, which begins with 65,535.
    until(&mut stream, 8).await;
    let mut sent = [frame(1, 4, 1, POST), frame(1, 4, 3, POST)].concat();
    let body = vec![b'x'; bytes];
    for (index, piece) in body.chunks(10_000).enumerate() {
        sent.extend(frame(0, 0, if index % 2 == 0 { 1 } else { 3 }, piece));
    }
    stream.write_all(&sent).await.unwrap();
    let goaway = until(&mut stream, 7);
    let payload = tokio::time::timeout(patience, goaway).await;
    let code = payload.ok()?[4..8].try_into().unwrap();
    Some(u32::from_be_bytes(code))
}

/// What the next frame of this kind carries.
async fn until(stream: &mut TcpStream, kind: u8) -> Vec<u8> {
    loop {
        let mut head = [0; 9];
        stream.read_exact(&mut head).await.unwrap();
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload).await.unwrap();
        if head[3] == kind {
            return payload;
        }
    }
}

#[test]
fn unread_bodies_of_a_connection_have_a_limit_and_one_byte_more_ends_it() {
    let handler = async |_: Request| std::future::pending().await;
    let limits = HttpLimits {
        connection_window_bytes_max: 100_000,
        ..HttpLimits::default()
    };
    rig_with(limits, handler).run(async |rig: &Rig| {
        let a_while = Duration::from_millis(500);
        assert_eq!(code_of_unread(rig, 100_000, a_while).await, None);
        // FLOW_CONTROL_ERROR
        assert_eq!(code_of_unread(rig, 100_001, PATIENCE).await, Some(3));
    });
}

#[test]
fn trailers_come_and_go_behind_bodies() {
    let handler = async |mut request: Request| {
        let whole = request.body.read_all().await.unwrap();
        let trailers = request.body.trailers().cloned().unwrap_or_default();
        let (mut sender, body) = HttpBody::channel(&HttpLimits::default());
        let mut response = HttpResponse::new(StatusCode::OK, body);
        let announced = announcement(["x-sum"]).unwrap().unwrap();
        response.headers.insert(TRAILER, announced);
        sender.announce(&response.headers);
        spawn_local(async move {
            sender.send(whole).await.unwrap();
            let value = trailers["x-one"].clone();
            sender
                .set_trailer(HeaderName::from_static("x-sum"), value)
                .unwrap();
            sender.finish();
        });
        response
    };
    rig(handler).run(async |rig: &Rig| {
        let (mut client, _) = connect(rig).await;
        let (answer, mut upload) = client
            .send_request(request(Method::POST, "/"), false)
            .unwrap();
        upload.send_data(Bytes::from_static(b"abc"), false).unwrap();
        let mut trailers = http::HeaderMap::new();
        trailers.insert("x-one", http::HeaderValue::from_static("1"));
        upload.send_trailers(trailers).unwrap();
        let mut body = answer.await.unwrap().into_body();
        let data = body.data().await.unwrap().unwrap();
        body.flow_control().release_capacity(data.len()).unwrap();
        assert_eq!(data, "abc");
        assert!(body.data().await.is_none());
        let trailers = body.trailers().await.unwrap().unwrap();
        assert_eq!(trailers["x-sum"], "1");
        rig.until(|| rig.finished().len() == 1).await;
        assert_eq!(rig.finished()[0], (200, RequestOutcome::Complete, 3));
    });
}
