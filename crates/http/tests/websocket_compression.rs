//! Compressed messages of WebSockets (RFC 7692): none are agreed on, so that nothing of a client is ever inflated there.

mod rig;

use std::rc::Rc;

use flate2::{Compression, write::DeflateEncoder};
use rig::{Rig, rig};
use std::io::Write as _;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tsumugi_http::{
    HttpBody, HttpLimits, HttpResponse, Request, Result, Switch,
    websocket::{Message, WebSocketOffer, converse},
};

const WISH: &str = "GET /chat HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
                    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
                    Sec-WebSocket-Extensions: permessage-deflate; client_max_window_bits\r\n\r\n";

/// Bytes of the bomb when it is inflated.
const INFLATED: usize = 64 << 20;

/// A WebSocket that panics at every message.
async fn answer(request: Request) -> HttpResponse {
    let offer = WebSocketOffer::of(&request).unwrap();
    let switch = Switch::new(async move |upgraded| {
        let limits = Rc::new(HttpLimits::default());
        let never = std::future::pending();
        let talk = converse(upgraded, None, &limits, never, async |socket| {
            let message: Option<Message> = socket.receive().await?;
            panic!("{} bytes came", format!("{message:?}").len())
        });
        let outcome: Option<Result<()>> = talk.await;
        assert!(matches!(outcome, Some(Err(_))), "{outcome:?}");
    });
    let mut response = offer.accept(None);
    response.body = HttpBody::Switch(switch);
    response
}

/// Masked by zeros, with the first reserved bit, which says that it is compressed.
fn compressed(payload: &[u8]) -> Vec<u8> {
    let length = (payload.len() as u64).to_be_bytes();
    [b"\xc2\xff".as_slice(), &length, &[0; 4], payload].concat()
}

fn bomb() -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&vec![0; INFLATED]).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn compressed_message_that_inflates_past_every_limit_closes_with_1002_uninflated() {
    let bomb = compressed(&bomb());
    assert!(bomb.len() < INFLATED / 500);
    rig(answer).run(async |rig: &Rig| {
        let mut stream = TcpStream::connect(rig.address).await.unwrap();
        stream.write_all(WISH.as_bytes()).await.unwrap();
        // The connection may be closed before the bomb was taken.
        let _ = stream.write_all(&bomb).await;
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply).await;
        let end = reply.windows(4).position(|four| four == b"\r\n\r\n");
        let (head, frames) = reply.split_at(end.unwrap() + 4);
        let head = String::from_utf8_lossy(head).to_ascii_lowercase();
        assert!(head.starts_with("http/1.1 101 "), "{head}");
        assert!(!head.contains("sec-websocket-extensions"), "{head}");
        let [first, _, high, low, ..] = frames else {
            panic!("no close: {frames:?}");
        };
        assert_eq!((*first, [*high, *low]), (0x88, 1002_u16.to_be_bytes()));
    });
}
