//! WebSockets over real connections: the handshake, messages, closes, and every limit at one more than it allows.

mod memory;
#[path = "../rig/mod.rs"]
mod rig;

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    time::Duration,
};

use bytes::Bytes;
use rig::{Build, GET, Rig, rig, rig_with};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    net::TcpStream,
};
use tsumugi_http::{
    Error, HttpBody, HttpLimits, HttpResponse, Request, RequestOutcome, Result, Switch,
    websocket::{Close, Message, WebSocket, WebSocketClient, WebSocketOffer, converse},
};

const WISH: &str = "GET /chat HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/// How a conversation ended: what its handler gave, `dropped` when it had to be.
type ConversationEnd = Rc<RefCell<Option<String>>>;

/// A server whose only route is this conversation.
fn server(
    limits: HttpLimits,
    handler: impl AsyncFn(&WebSocket) -> Result<()> + 'static,
) -> (Build, ConversationEnd) {
    let ended = ConversationEnd::default();
    let (handler, ending, inner) = (Rc::new(handler), Rc::clone(&ended), limits.clone());
    let answer = async move |request: Request| {
        let offer = match WebSocketOffer::of(&request) {
            Ok(offer) => offer,
            Err(error) => return HttpResponse::from_error(&error),
        };
        let (handler, ending, limits) = (Rc::clone(&handler), Rc::clone(&ending), inner.clone());
        let switch = Switch::new(async move |upgraded| {
            let never = std::future::pending();
            let outcome = converse(upgraded, None, &limits, never, async |socket| {
                handler(socket).await
            });
            let text = match outcome.await {
                Some(Ok(())) => "ended".to_owned(),
                Some(Err(error)) => error.to_string(),
                None => "dropped".to_owned(),
            };
            ending.replace(Some(text));
        });
        let mut response = offer.accept(None);
        response.body = HttpBody::Switch(switch);
        response
    };
    (rig_with(limits, answer), ended)
}

/// A connection that has been switched.
async fn switched(rig: &Rig) -> TcpStream {
    let mut stream = TcpStream::connect(rig.address).await.unwrap();
    stream.write_all(WISH.as_bytes()).await.unwrap();
    head(&mut stream).await;
    stream
}

/// The same over a connection that is there.
async fn switch_over(stream: &mut (impl AsyncRead + AsyncWrite + Unpin)) {
    stream.write_all(WISH.as_bytes()).await.unwrap();
    head(stream).await;
}

/// Reads the answer to the handshake, and nothing after it.
async fn head(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    head
}

async fn echo(socket: &WebSocket) -> Result<()> {
    while let Some(message) = socket.receive().await? {
        socket.send(message).await?;
    }
    Ok(())
}

/// Sends this and reads what comes back for it.
async fn ask(stream: &mut TcpStream, bytes: &[u8], answer: &[u8]) {
    stream.write_all(bytes).await.unwrap();
    let mut got = vec![0; answer.len()];
    stream.read_exact(&mut got).await.unwrap();
    assert!(got == answer, "another answer: {:?}", got.get(..200));
}

/// A frame of a client, masked with zeros.
fn frame(opcode: u8, payload: &[u8]) -> Vec<u8> {
    let length = u8::try_from(payload.len()).unwrap();
    assert!(length < 126);
    [&[0x80 | opcode, 0x80 | length, 0, 0, 0, 0], payload].concat()
}

async fn ended(rig: &Rig, ended: &ConversationEnd) -> String {
    rig.until(|| ended.borrow().is_some()).await;
    ended.take().unwrap()
}

#[test]
fn messages_go_both_ways_until_the_client_closes() {
    let why = Rc::new(RefCell::new(None));
    let said = Rc::clone(&why);
    let handler = async move |socket: &WebSocket| {
        echo(socket).await?;
        said.replace(socket.closed());
        Ok(())
    };
    let (server, outcome) = server(HttpLimits::default(), handler);
    server.run(async |rig: &Rig| {
        let mut client = WebSocketClient::over(switched(rig).await).await;
        let long = "é".repeat(100_000);
        for message in [
            Message::from("a"),
            Message::from(long.as_str()),
            vec![0, 255].into(),
        ] {
            client.send(message.clone()).await.unwrap();
            assert_eq!(client.receive().await, Ok(message));
        }
        client.close(4001, "bye").await.unwrap();
        assert_eq!(ended(rig, &outcome).await, "ended");
        let close = why.take().unwrap();
        assert_eq!((close.code, close.reason.as_str()), (4001, "bye"));
        rig.until(|| rig.open() == 0).await;
        assert_eq!(rig.finished(), [(101, RequestOutcome::Complete, 0)]);
    });
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the client of the table blocks, and its thread serves nobody"
)]
fn echo_answers_every_case_of_the_table() {
    let (server, _) = server(HttpLimits::default(), echo);
    server.run(async |rig: &Rig| {
        let address = rig.address;
        let cases = move || tsumugi_testkit::websocket::check_websocket_echo(address, "/chat");
        tokio::task::spawn_blocking(cases).await.unwrap();
    });
}

#[test]
fn bytes_behind_the_handshake_belong_to_the_conversation() {
    let (server, _) = server(HttpLimits::default(), echo);
    server.run(async |rig: &Rig| {
        let mut stream = TcpStream::connect(rig.address).await.unwrap();
        let bytes = [WISH.as_bytes(), &frame(1, b"early")].concat();
        stream.write_all(&bytes).await.unwrap();
        let head = head(&mut stream).await;
        assert!(
            head.contains("sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo="),
            "{head}"
        );
        let mut answer = [0; 7];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"\x81\x05early");
    });
}

#[test]
fn a_ping_is_answered_and_a_handler_says_why_it_ends() {
    let handler = async |socket: &WebSocket| {
        socket.receive().await?;
        assert!(matches!(
            socket.close(1005, "").await,
            Err(Error::CloseFrame(_))
        ));
        socket.send("last").await?;
        socket.close(3000, "enough").await
    };
    let (server, outcome) = server(HttpLimits::default(), handler);
    server.run(async |rig: &Rig| {
        let mut stream = switched(rig).await;
        stream.write_all(&frame(9, b"there?")).await.unwrap();
        let mut pong = [0; 8];
        stream.read_exact(&mut pong).await.unwrap();
        assert_eq!(&pong, b"\x8a\x06there?");
        let mut client = WebSocketClient::over(stream).await;
        client.send("x").await.unwrap();
        assert_eq!(client.receive().await, Ok(Message::from("last")));
        let close = client.receive().await.unwrap_err();
        assert_eq!((close.code, close.reason.as_str()), (3000, "enough"));
        assert_eq!(ended(rig, &outcome).await, "ended");
    });
}

#[test]
fn a_message_has_a_limit_and_one_byte_more_closes() {
    let limits = HttpLimits {
        websocket_message_bytes_max: 1000,
        ..HttpLimits::default()
    };
    let (server, outcome) = server(limits, echo);
    server.run(async |rig: &Rig| {
        let mut client = WebSocketClient::over(switched(rig).await).await;
        client.send(vec![7; 1000]).await.unwrap();
        assert_eq!(client.receive().await, Ok(vec![7; 1000].into()));
        client.send(vec![7; 1001]).await.unwrap();
        let close = client.receive().await.unwrap_err();
        assert_eq!(close.code, 1009);
        assert!(close.reason.contains("websocket_message_bytes_max"));
        let ending = ended(rig, &outcome).await;
        assert!(
            ending.contains("websocket_message_bytes_max allows (1000)"),
            "{ending}"
        );
    });
}

/// What a client that sends these bytes is closed with.
fn check_violation(bytes: Vec<u8>, code: u16) {
    let (server, outcome) = server(HttpLimits::default(), echo);
    server.run(async |rig: &Rig| {
        let mut stream = switched(rig).await;
        stream.write_all(&bytes).await.unwrap();
        let mut client = WebSocketClient::over(stream).await;
        let close = loop {
            // What came before is answered.
            if let Err(close) = client.receive().await {
                break close;
            }
        };
        assert_eq!(close.code, code);
        let ending = ended(rig, &outcome).await;
        assert!(ending.contains("of a WebSocket"), "{ending}");
        rig.until(|| rig.open() == 0).await;
    });
}

#[test]
fn protocol_violation_closes_with_its_code() {
    check_violation(b"\x81\x01a".to_vec(), 1002); // not masked
    check_violation(frame(1, b"\xff\xfe"), 1007);
    check_violation(frame(3, b""), 1002); // no such frame
    check_violation(vec![0xf1, 0x80, 0, 0, 0, 0], 1002); // reserved bits
    // Lengths that take more bytes than they need, or are none.
    check_violation(vec![0x82, 0xfe, 0, 125], 1002);
    check_violation([&frame(2, b"a")[..], &[0x82, 0xfe, 0, 0]].concat(), 1002);
    check_violation(vec![0x82, 0xff, 0, 0, 0, 0, 0, 0, 0xff, 0xff], 1002);
    check_violation(vec![0x82, 0xff, 0x80, 0, 0, 0, 0, 0, 0, 0], 1002);
}

#[test]
fn client_closes_for_a_length_of_the_server_that_is_not_in_the_fewest_bytes() {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(async {
        for byte_by_byte in [false, true] {
            let (mut server, io) = tokio::io::duplex(1 << 16);
            let mut client = WebSocketClient::over(io).await;
            let bytes = [&[0x82, 1, b'a'][..], &[0x82, 126, 0, 1, b'b']].concat();
            let sending = async {
                for part in bytes.chunks(if byte_by_byte { 1 } else { bytes.len() }) {
                    server.write_all(part).await.unwrap();
                    tokio::task::yield_now().await;
                }
                let mut head = [0; 2];
                server.read_exact(&mut head).await.unwrap();
                assert_eq!(head[0], 0x88, "a close");
            };
            let receiving = async {
                assert_eq!(client.receive().await, Ok(vec![b'a'].into()));
                assert_eq!(client.receive().await.unwrap_err().code, 1002);
            };
            tokio::join!(sending, receiving);
        }
    });
}

#[test]
fn a_silent_client_is_pinged_and_then_closed() {
    let limits = HttpLimits {
        websocket_idle_ms: 1_000,
        ..HttpLimits::default()
    };
    let (server, outcome) = server(limits, echo);
    server.run(async |rig: &Rig| {
        // Answers pings, because it waits for messages.
        let mut awake = WebSocketClient::over(switched(rig).await).await;
        let mut silent = switched(rig).await;
        let listening = tokio::time::timeout(Duration::from_millis(4_000), awake.receive());
        let (heard, ping) = tokio::join!(listening, async {
            let mut ping = [0; 2];
            silent.read_exact(&mut ping).await.unwrap();
            ping
        });
        assert!(heard.is_err(), "{heard:?}");
        awake.send("still there").await.unwrap();
        assert_eq!(awake.receive().await, Ok("still there".into()));
        assert_eq!(&ping, b"\x89\x00");
        let mut client = WebSocketClient::over(silent).await;
        let close = client.receive().await.unwrap_err();
        assert_eq!(close.code, 1001);
        assert!(close.reason.contains("websocket_idle_ms (1000 ms)"));
        assert_eq!(ended(rig, &outcome).await, "ended");
    });
}

#[test]
fn a_client_is_not_silent_while_its_message_waits_for_the_handler() {
    let limits = HttpLimits {
        websocket_idle_ms: 300,
        websocket_close_ms: 100,
        ..HttpLimits::default()
    };
    // Sends for a while, then listens.
    let handler = async |socket: &WebSocket| {
        for _ in 0..50 {
            socket.send("tick").await?;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        echo(socket).await
    };
    let (server, outcome) = server(limits, handler);
    server.run(async |rig: &Rig| {
        let mut stream = switched(rig).await;
        stream.write_all(&frame(1, b"early")).await.unwrap();
        // Reads what comes, and answers no ping.
        let mut got = Vec::new();
        while !got.ends_with(b"\x81\x05early") {
            got.push(stream.read_u8().await.unwrap());
        }
        let ticks = got.windows(6).filter(|got| got == b"\x81\x04tick");
        assert_eq!(ticks.count(), 50);
        assert!(got.windows(2).any(|got| got == b"\x89\x00"), "no ping");
        // From now on it is listened to, and is silent.
        let mut end = Vec::new();
        stream.read_to_end(&mut end).await.unwrap();
        assert_eq!(&end[..2], b"\x89\x00");
        assert_eq!((end[2], &end[4..6]), (0x88, &1001_u16.to_be_bytes()[..]));
        assert_eq!(ended(rig, &outcome).await, "ended");
    });
}

#[test]
fn a_client_that_goes_while_its_message_waits_is_noticed() {
    let limits = HttpLimits {
        websocket_idle_ms: 100,
        websocket_close_ms: 50,
        ..HttpLimits::default()
    };
    let handler = async |_: &WebSocket| std::future::pending().await;
    let (server, outcome) = server(limits, handler);
    server.run(async |rig: &Rig| {
        let mut stream = switched(rig).await;
        stream.write_all(&frame(1, b"x")).await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
        drop(stream);
        assert_eq!(ended(rig, &outcome).await, "dropped");
    });
}

#[test]
fn a_client_that_does_not_read_makes_the_sender_wait_and_is_left() {
    let limits = HttpLimits {
        send_timeout_ms: 300,
        websocket_close_ms: 100,
        ..HttpLimits::default()
    };
    let sent = Rc::new(Cell::new(0));
    let counter = Rc::clone(&sent);
    let handler = async move |socket: &WebSocket| {
        loop {
            socket.send(Bytes::from(vec![0; 100_000])).await?;
            counter.set(counter.get() + 1);
        }
    };
    let (server, outcome) = server(limits, handler);
    server.run(async |rig: &Rig| {
        let stream = switched(rig).await;
        let ending = ended(rig, &outcome).await;
        assert!(ending.contains("closed"), "{ending}");
        // The kernel's buffers, and two messages.
        assert!(sent.get() < 500, "{} messages", sent.get());
        rig.until(|| rig.open() == 0).await;
        drop(stream);
    });
}

/// What the pipe of a test holds in each direction.
const PIPE_BYTES: usize = 16 * 1024;

#[test]
fn a_client_that_pings_and_takes_no_pong_is_read_no_more_and_left() {
    let limits = HttpLimits {
        send_timeout_ms: 300,
        websocket_close_ms: 100,
        ..HttpLimits::default()
    };
    let (server, outcome) = server(limits, echo);
    server.run_over(PIPE_BYTES, async |mut client| {
        switch_over(&mut client).await;
        let ping = frame(9, &[b'p'; 125]);
        let mut sent = 0;
        while client.write_all(&ping).await.is_ok() {
            sent += ping.len();
            // What the pipe holds in both directions, what is read at a time, and the pongs that may wait.
            assert!(sent < 2 * PIPE_BYTES + 8 * 1024 + 20 * 131, "{sent} bytes");
        }
        while outcome.borrow().is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(outcome.take().unwrap(), "ended");
    });
}

#[test]
fn pings_of_a_client_that_reads_late_are_all_answered() {
    const PINGS: usize = 2_000;
    let limits = HttpLimits {
        websocket_idle_ms: 1_500,
        ..HttpLimits::default()
    };
    let (server, _) = server(limits, echo);
    server.run_over(PIPE_BYTES, async |mut client| {
        switch_over(&mut client).await;
        let (mut reading, mut writing) = tokio::io::split(client);
        let sending = async {
            let bytes = [frame(9, b"ping").repeat(PINGS), frame(1, b"last")].concat();
            writing.write_all(&bytes).await.unwrap();
        };
        let taking = async {
            // Longer than a client may be silent: one that is not read is not.
            tokio::time::sleep(Duration::from_millis(2_000)).await;
            let mut got = vec![0; PINGS * 6 + 6];
            reading.read_exact(&mut got).await.unwrap();
            got
        };
        let ((), got) = tokio::join!(sending, taking);
        let expected = [b"\x8a\x04ping".repeat(PINGS), b"\x81\x04last".to_vec()].concat();
        assert!(got == expected, "another order or other pongs");
    });
}

#[test]
fn message_that_does_not_end_closes_after_the_idle_time() {
    let limits = HttpLimits {
        websocket_idle_ms: 300,
        ..HttpLimits::default()
    };
    let (server, outcome) = server(limits, echo);
    server.run(async |rig: &Rig| {
        let mut stream = switched(rig).await;
        stream.write_all(&frame(1, b"whole")).await.unwrap();
        stream
            .write_all(&[1, 0x81, 0, 0, 0, 0, b'a'])
            .await
            .unwrap();
        let (mut reading, mut writing) = stream.split();
        let trickling = async {
            while writing
                .write_all(&[0, 0x81, 0, 0, 0, 0, b'b'])
                .await
                .is_ok()
            {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let closing = async {
            let mut got = Vec::new();
            let _ = reading.read_to_end(&mut got).await;
            got
        };
        let ((), got) = tokio::join!(trickling, closing);
        assert!(got.starts_with(b"\x81\x05whole"), "{got:?}");
        let said = String::from_utf8_lossy(&got);
        assert!(
            said.contains("a message had no end within websocket_idle_ms (300 ms)"),
            "{said}"
        );
        assert_eq!(ended(rig, &outcome).await, "ended");
    });
}

#[test]
fn a_handler_that_waits_elsewhere_is_dropped_when_its_client_has_gone() {
    let limits = HttpLimits {
        websocket_close_ms: 50,
        ..HttpLimits::default()
    };
    let handler = async |_: &WebSocket| std::future::pending().await;
    let (server, outcome) = server(limits, handler);
    server.run(async |rig: &Rig| {
        drop(switched(rig).await);
        assert_eq!(ended(rig, &outcome).await, "dropped");
        let client = WebSocketClient::over(switched(rig).await).await;
        client.close(1000, "").await.unwrap();
        assert_eq!(ended(rig, &outcome).await, "dropped");
    });
}

#[test]
fn a_server_that_leaves_says_so() {
    let leave = Rc::new(tokio::sync::Notify::new());
    let notice = Rc::clone(&leave);
    let answer = async move |request: Request| {
        let offer = WebSocketOffer::of(&request).unwrap();
        let notice = Rc::clone(&notice);
        let switch = Switch::new(async move |upgraded| {
            let limits = HttpLimits::default();
            let outcome = converse(upgraded, None, &limits, notice.notified(), async |socket| {
                echo(socket).await
            })
            .await;
            assert!(matches!(outcome, Some(Ok(()))));
        });
        let mut response = offer.accept(None);
        response.body = HttpBody::Switch(switch);
        response
    };
    rig(answer).run(async |rig: &Rig| {
        let mut client = WebSocketClient::over(switched(rig).await).await;
        client.send("x").await.unwrap();
        client.receive().await.unwrap();
        leave.notify_one();
        let expected = Close {
            code: 1001,
            reason: "the server is leaving: connect again".to_owned(),
        };
        assert_eq!(client.receive().await, Err(expected));
        rig.until(|| rig.open() == 0).await;
    });
}

#[test]
fn request_without_an_upgrade_gets_426() {
    let (server, _) = server(HttpLimits::default(), echo);
    server.run(async |rig: &Rig| {
        let mut client = rig.connect().await;
        let answer = client.ask(GET).await;
        assert!(answer.starts_with("HTTP/1.1 426 "), "{answer}");
        assert!(answer.contains("sec-websocket-version: 13"), "{answer}");
        // The connection goes on.
        let answer = client.ask(GET).await;
        assert!(answer.starts_with("HTTP/1.1 426 "), "{answer}");
    });
}

#[test]
fn an_upgrade_that_is_not_taken_is_a_request_like_others() {
    let handler = async |_: Request| HttpResponse::text(http::StatusCode::OK, "plain");
    rig(handler).run(async |rig: &Rig| {
        let mut client = rig.connect().await;
        for _ in 0..2 {
            let answer = client.ask(WISH).await;
            assert!(answer.ends_with("\r\n\r\nplain"), "{answer}");
        }
    });
}
