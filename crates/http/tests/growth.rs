//! What a connection reads, at sizes apart: time grows with the bytes, not with their square. Where a limit ends an input, one more is
//! refused. Client and server share the test's own thread, whose CPU time is what is compared; both take their part of the bytes.

mod rig;

use std::{rc::Rc, time::Duration};

use http::StatusCode;
use rig::{Build, Rig, rig_with};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};
use tsumugi_http::{
    HttpBody, HttpLimits, HttpResponse, Request, Result, Switch,
    websocket::{Message, WebSocketOffer, converse},
};
use tsumugi_testkit::growth::{CpuClock, excess_of_made};

/// For all sizes of one entry; the longest is asked for by a variable.
const PATIENCE: Duration = Duration::from_secs(1_800);

/// Sends the bytes and nothing more, while it reads to the end of the connection. Reset connections have ended too.
async fn exchange(rig: &Rig, bytes: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(rig.address).await.unwrap();
    let (mut reader, mut writer) = stream.split();
    let send = async {
        let _ = writer.write_all(bytes).await;
        let _ = writer.shutdown().await;
    };
    let mut answer = Vec::new();
    let read = async {
        let _ = reader.read_to_end(&mut answer).await;
    };
    tokio::join!(send, read);
    answer
}

/// Room for the longest form, so that growth is seen and not a refusal.
fn wide() -> HttpLimits {
    HttpLimits {
        body_bytes_max: 64 << 20,
        websocket_message_bytes_max: 64 << 20,
        ..HttpLimits::default()
    }
}

fn length_of(message: &Message) -> usize {
    match message {
        Message::Text(text) => text.len(),
        Message::Binary(bytes) => bytes.len(),
    }
}

/// Answers with the number of bytes in the body; `/chat` is a WebSocket that answers each message with its length.
fn server(limits: HttpLimits) -> Build {
    let inner = limits.clone();
    rig_with(limits, async move |mut request: Request| {
        if request.uri.path() != "/chat" {
            return match request.body.read_all().await {
                Ok(body) => HttpResponse::text(StatusCode::OK, body.len().to_string()),
                Err(error) => HttpResponse::from_error(&error),
            };
        }
        let offer = WebSocketOffer::of(&request).unwrap();
        let limits = Rc::new(inner.clone());
        let switch = Switch::new(async move |upgraded| {
            let never = std::future::pending();
            let talk = converse(upgraded, None, &limits, never, async |socket| {
                while let Some(message) = socket.receive().await? {
                    let length = format!("{} bytes", length_of(&message));
                    socket.send(length).await?;
                }
                Ok(())
            });
            let _: Option<Result<()>> = talk.await;
        });
        let mut response = offer.accept(None);
        response.body = HttpBody::Switch(switch);
        response
    })
}

/// Sends what `make` gives for each size; the answer has this text in it.
fn check(entry: &str, expected: &'static str, make: impl Fn(usize) -> Vec<u8>) {
    server(wide()).within(PATIENCE).run(async |rig: &Rig| {
        let send = async |bytes: &[u8]| {
            let answer = exchange(rig, bytes).await;
            let text = String::from_utf8_lossy(&answer);
            let end = text.get(text.len().saturating_sub(300)..);
            assert!(text.contains(expected), "no {expected}: {end:?}");
        };
        let found = excess_of_made(CpuClock::Thread, entry, make, send).await;
        assert!(found.is_none(), "{found:?}");
    });
}

/// The head of a request, then `piece` as often as it fits, then what ends it.
fn repeated(head: &str, piece: &[u8], end: &[u8], size: usize) -> Vec<u8> {
    let times = size.saturating_sub(head.len() + end.len()) / piece.len();
    [head.as_bytes(), &piece.repeat(times), end].concat()
}

const CHUNKED: &str =
    "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n";

#[test]
fn time_for_pipelined_requests_grows_with_their_bytes() {
    let last = b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    check("pipelined requests", "close", |size| {
        repeated("", rig::GET.as_bytes(), last, size)
    });
}

#[test]
fn time_for_tiny_chunks_grows_with_their_bytes() {
    check("chunks", " 200 ", |size| {
        repeated(CHUNKED, b"1\r\na\r\n", b"0\r\n\r\n", size)
    });
}

#[test]
fn time_for_tiny_chunks_of_an_unread_body_grows_with_their_bytes() {
    let head = CHUNKED.replace("POST /", "POST /nothing");
    check("chunks", " 200 ", |size| {
        repeated(&head, b"1\r\na\r\n", b"0\r\n\r\n", size)
    });
}

/// The head and the body of a request that is refused, and the status of the refusal.
fn refused(text: &str, status: &str) {
    server(HttpLimits::default()).run(async |rig: &Rig| {
        let answer = exchange(rig, text.as_bytes()).await;
        let answer = String::from_utf8_lossy(&answer);
        let line = answer.lines().next().unwrap_or_default();
        assert!(line.contains(status), "{line:?} for {:.40}", text);
    });
}

#[test]
fn header_bytes_max_ends_long_heads() {
    let room = HttpLimits::default().header_bytes_max + 1;
    let long = "a".repeat(room);
    let head = |line: &str, fields: &str| format!("GET {line} HTTP/1.1\r\nHost: x\r\n{fields}\r\n");
    refused(&head("/", &format!("x-long: {long}\r\n")), " 431 ");
    refused(&head(&format!("/{long}"), ""), " 431 ");
    refused(
        &head(&format!("/?{}", "a=b&".repeat(room / 4)), ""),
        " 431 ",
    );
    let cookies = "a=b; ".repeat(room / 5);
    refused(&head("/", &format!("Cookie: {cookies}\r\n")), " 431 ");
}

#[test]
fn headers_max_ends_many_headers() {
    let fields = "x: y\r\n".repeat(HttpLimits::default().headers_max + 1);
    let head = format!("GET / HTTP/1.1\r\nHost: x\r\n{fields}\r\n");
    refused(&head, " 431 ");
}

#[test]
fn sixteen_kibibytes_of_extensions_end_a_chunked_body() {
    // Hyper's own limit, for all chunks of a body together.
    let long = "a".repeat(16 * 1024);
    refused(&format!("{CHUNKED}1;x={long}\r\na\r\n0\r\n\r\n"), " 400 ");
    let short = "1;x=yyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\na\r\n".repeat(16 * 1024 / 30);
    refused(&format!("{CHUNKED}{short}0\r\n\r\n"), " 400 ");
}

#[test]
fn header_bytes_max_ends_trailers() {
    let long = "a".repeat(HttpLimits::default().header_bytes_max + 1);
    refused(
        &format!("{CHUNKED}1\r\na\r\n0\r\nx: {long}\r\n\r\n"),
        " 400 ",
    );
}

const WISH: &str = "GET /chat HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";

/// The last fragment, and a close of the client.
const LAST: &[u8] = b"\x80\x81\0\0\0\0z\x88\x80\0\0\0\0";

#[test]
fn time_for_tiny_fragments_of_a_message_grows_with_their_bytes() {
    check("fragments", " bytes", |size| {
        let begin = [WISH.as_bytes(), b"\x02\x81\0\0\0\0a"].concat();
        let piece = b"\x00\x81\x01\x02\x03\x04a";
        let times = size.saturating_sub(begin.len() + LAST.len()) / piece.len();
        [&begin, &piece.repeat(times)[..], LAST].concat()
    });
}

#[test]
fn time_for_pings_between_fragments_grows_with_their_bytes() {
    check("pings between fragments", " bytes", |size| {
        let begin = [WISH.as_bytes(), b"\x02\x81\0\0\0\0a"].concat();
        let piece = b"\x00\x81\x01\x02\x03\x04a\x89\x81\0\0\0\0p";
        let times = size.saturating_sub(begin.len() + LAST.len()) / piece.len();
        [&begin, &piece.repeat(times)[..], LAST].concat()
    });
}

#[test]
fn time_for_tiny_messages_grows_with_their_bytes() {
    check("messages", "1 bytes", |size| {
        repeated(WISH, b"\x82\x81\x01\x02\x03\x04a", LAST, size)
    });
}

#[test]
fn time_for_a_long_masked_message_grows_with_its_bytes() {
    check("a masked message", " bytes", |size| {
        let payload = vec![7; size - WISH.len() - 64];
        let length = (payload.len() as u64).to_be_bytes();
        let close = b"\x88\x80\0\0\0\0";
        let head = [b"\x82\xff".as_slice(), &length, b"\x01\x02\x03\x04"].concat();
        [WISH.as_bytes(), &head, &payload, close].concat()
    });
}

/// How a client of HTTP/2 begins, with settings that say nothing.
const PREFACE: &str = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// A frame of a client, again and again.
fn http2(frame: &[u8], size: usize) -> Vec<u8> {
    repeated(PREFACE, frame, b"", size)
}

#[test]
fn time_for_pings_settings_and_windows_of_http2_grows_with_their_bytes() {
    // The server's own settings come back, whatever it makes of the rest.
    check("PING", "\0", |size| {
        http2(b"\0\0\x08\x06\0\0\0\0\x0012345678", size)
    });
    check("SETTINGS", "\0", |size| {
        http2(b"\0\0\x06\x04\0\0\0\0\0\0\x04\0\0\xff\xff", size)
    });
    check("WINDOW_UPDATE", "\0", |size| {
        http2(b"\0\0\x04\x08\0\0\0\0\0\0\0\0\x01", size)
    });
    check("PRIORITY", "\0", |size| {
        http2(b"\0\0\x05\x02\0\0\0\0\x01\0\0\0\0\x10", size)
    });
}

#[test]
fn time_for_requests_of_http2_with_indexed_fields_grows_with_their_bytes() {
    // GET, http, /, and an authority of one letter: a request in 13 bytes, with streams of their own numbers.
    check("HEADERS", "\0", |size| {
        let mut bytes = PREFACE.as_bytes().to_vec();
        let mut stream = 1u32;
        while bytes.len() + 15 < size {
            bytes.extend_from_slice(b"\0\0\x06\x01\x05");
            bytes.extend_from_slice(&stream.to_be_bytes());
            bytes.extend_from_slice(b"\x82\x86\x84\x41\x01x");
            stream += 2;
        }
        bytes
    });
}

#[test]
fn header_bytes_max_ends_continuations_of_http2() {
    server(HttpLimits::default()).run(async |rig: &Rig| {
        let mut bytes = PREFACE.as_bytes().to_vec();
        bytes.extend_from_slice(b"\0\0\x03\x01\x01\0\0\0\x01\x82\x86\x84");
        // A field of 16,000 bytes that refers to nothing, again and again, and no end of the fields.
        let mut field = b"\0\x01x\x7f\x81\x7c".to_vec();
        field.resize(6 + 16_000, b'a');
        let length = (field.len() as u32).to_be_bytes();
        for _ in 0..1_000 {
            bytes.extend_from_slice(&length[1..]);
            bytes.extend_from_slice(b"\x09\0\0\0\0\x01");
            bytes.extend_from_slice(&field);
        }
        let answer = exchange(rig, &bytes).await;
        // GOAWAY, or a reset: the fields were not waited for.
        let goaway = answer.windows(2).any(|two| two == [8, 7] || two == [7, 0]);
        assert!(goaway || answer.is_empty(), "{answer:?}");
    });
}
