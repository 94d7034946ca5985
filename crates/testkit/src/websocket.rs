//! WebSockets as bytes: a client on a blocking socket, and a table of what an echo has to answer to what a client may send (RFC 6455 sections 5 to 7),
//! after the groups of the Autobahn suite. Knows no implementation. Rule: every expectation stands in bytes.

use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(120);

/// A client that frames its messages itself.
#[derive(Debug)]
pub struct WebSocketPeer {
    stream: TcpStream,
}

/// What a server sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ServerFrame {
    /// Text.
    Text(String),
    /// Bytes.
    Binary(Vec<u8>),
    /// The answer to a ping.
    Pong(Vec<u8>),
    /// A question whether the client is there.
    Ping(Vec<u8>),
    /// The end with its code and its reason; no code when there was none.
    Close(Option<u16>, String),
    /// The connection ended.
    Gone,
}

/// Which answer a case expects last.
#[derive(Clone, Copy, Debug)]
enum End {
    /// The conversation goes on.
    Open,
    /// It is closed with this code.
    Close(u16),
    /// It is closed without a code.
    Plain,
}

impl WebSocketPeer {
    /// Opens a WebSocket; the head of the response when it is refused. `fields` are whole lines.
    pub fn open(address: SocketAddr, path: &str, fields: &str) -> Result<WebSocketPeer, String> {
        let stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(PATIENCE)).expect("a socket");
        stream.set_write_timeout(Some(PATIENCE)).expect("a socket");
        let mut peer = WebSocketPeer { stream };
        let wish = format!(
            "GET {path} HTTP/1.1\r\nhost: test\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
             sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n{fields}\r\n"
        );
        peer.write(wish.as_bytes());
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            peer.stream.read_exact(&mut byte).expect("a response");
            head.extend(byte);
        }
        let head = String::from_utf8_lossy(&head).into_owned();
        match head.starts_with("HTTP/1.1 101 ") {
            true => Ok(peer),
            false => Err(head),
        }
    }

    /// Sends these bytes. A server that refuses them may have closed already.
    pub fn write(&mut self, bytes: &[u8]) {
        drop(self.stream.write_all(bytes));
    }

    /// Sends a text.
    pub fn send(&mut self, text: &str) {
        self.write(&frame(0x81, text.as_bytes()));
    }

    /// What comes next, pings left out.
    pub fn receive(&mut self) -> ServerFrame {
        loop {
            match self.read_frame() {
                Ok(ServerFrame::Ping(_)) => {}
                Ok(frame) => return frame,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    panic!("no frame within {PATIENCE:?}")
                }
                Err(_) => return ServerFrame::Gone,
            }
        }
    }

    /// The next text; panics with what came in its place.
    #[track_caller]
    pub fn text(&mut self) -> String {
        match self.receive() {
            ServerFrame::Text(text) => text,
            other => panic!("a text is expected: {other:?}"),
        }
    }

    /// Closes in the agreed manner.
    pub fn close(&mut self, code: u16, reason: &str) {
        self.write(&frame(
            0x88,
            &[&code.to_be_bytes(), reason.as_bytes()].concat(),
        ));
    }

    /// Ends the connection without a word.
    pub fn hang_up(self) {}

    fn read_frame(&mut self) -> io::Result<ServerFrame> {
        let mut head = [0; 2];
        self.stream.read_exact(&mut head)?;
        let length = match head[1] {
            126 => {
                let mut length = [0; 2];
                self.stream.read_exact(&mut length)?;
                u64::from(u16::from_be_bytes(length))
            }
            127 => {
                let mut length = [0; 8];
                self.stream.read_exact(&mut length)?;
                u64::from_be_bytes(length)
            }
            short => u64::from(short),
        };
        let mut payload = Vec::new();
        (&mut self.stream).take(length).read_to_end(&mut payload)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(match head[0] {
            0x81 => ServerFrame::Text(text(&payload)),
            0x82 => ServerFrame::Binary(payload),
            0x88 => match payload.split_first_chunk::<2>() {
                Some((code, reason)) => {
                    ServerFrame::Close(Some(u16::from_be_bytes(*code)), text(reason))
                }
                None => ServerFrame::Close(None, String::new()),
            },
            0x89 => ServerFrame::Ping(payload),
            0x8a => ServerFrame::Pong(payload),
            other => panic!("a server sends whole messages, not {other:#x}"),
        })
    }
}

/// A frame of a client, masked with a key that changes its bytes; `first` has the bit of the end and the opcode.
pub fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![first];
    match payload.len() {
        length @ ..126 => frame.push(0x80 | length as u8),
        length @ ..0x1_0000 => {
            frame.push(0x80 | 126);
            frame.extend((length as u16).to_be_bytes());
        }
        length => {
            frame.push(0x80 | 127);
            frame.extend((length as u64).to_be_bytes());
        }
    }
    let key = [0x37, 0xfa, 0x21, 0x3d];
    frame.extend(key);
    frame.extend(
        payload
            .iter()
            .zip(key.iter().cycle())
            .map(|(byte, key)| byte ^ key),
    );
    frame
}

/// What is sent, what comes back before the end, and the end.
type Case = (&'static str, Vec<u8>, Vec<ServerFrame>, End);

/// Runs the whole table against an echo, a connection for each case. Blocks: not for the thread that serves.
///
/// # Panics
/// With the name of the first case that is answered otherwise.
pub fn check_websocket_echo(address: SocketAddr, path: &str) {
    for (name, bytes, answers, end) in messages()
        .into_iter()
        .chain(fragments_and_closes())
        .chain(lengths())
        .chain(violations())
    {
        let mut peer = WebSocketPeer::open(address, path, "").expect("a WebSocket");
        peer.write(&bytes);
        for expected in answers {
            let came = peer.receive();
            assert!(came == expected, "{name}: {}", shown(&came));
        }
        match end {
            End::Open => {
                peer.send("still there");
                assert_eq!(peer.text(), "still there", "{name}");
            }
            End::Plain => assert_eq!(
                peer.receive(),
                ServerFrame::Close(None, String::new()),
                "{name}"
            ),
            End::Close(code) => match peer.receive() {
                ServerFrame::Close(Some(came), _) if came == code => {}
                other => panic!("{name}: closed with {code} is expected: {}", shown(&other)),
            },
        }
    }
}

fn shown(frame: &ServerFrame) -> String {
    format!("{frame:?}").chars().take(200).collect()
}

/// What an echo answers and stays open.
fn messages() -> Vec<Case> {
    let text = |text: &str| ServerFrame::Text(text.to_owned());
    vec![
        (
            "1.1 text",
            frame(0x81, b"hello"),
            vec![text("hello")],
            End::Open,
        ),
        (
            "1.1 text without bytes",
            frame(0x81, b""),
            vec![text("")],
            End::Open,
        ),
        (
            "6.2 text in UTF-8",
            frame(0x81, "Hello-µ@ßöäüàá-UTF-8!! 日本".as_bytes()),
            vec![text("Hello-µ@ßöäüàá-UTF-8!! 日本")],
            End::Open,
        ),
        (
            "2.1 ping without bytes",
            frame(0x89, b""),
            vec![ServerFrame::Pong(Vec::new())],
            End::Open,
        ),
        (
            "2.4 ping with 125 bytes",
            frame(0x89, &[0xfe; 125]),
            vec![ServerFrame::Pong(vec![0xfe; 125])],
            End::Open,
        ),
        (
            "2.7 pong that answers nothing",
            frame(0x8a, b"?"),
            vec![],
            End::Open,
        ),
    ]
}

/// Messages in fragments, and how a client closes.
fn fragments_and_closes() -> Vec<Case> {
    let text = |text: &str| ServerFrame::Text(text.to_owned());
    vec![
        (
            "5.3 text in two fragments",
            [frame(0x01, b"frag"), frame(0x80, b"ment")].concat(),
            vec![text("fragment")],
            End::Open,
        ),
        (
            "5.7 ping between fragments",
            [
                frame(0x01, b"a"),
                frame(0x89, b"p"),
                frame(0x00, b"b"),
                frame(0x80, b"c"),
            ]
            .concat(),
            vec![ServerFrame::Pong(b"p".to_vec()), text("abc")],
            End::Open,
        ),
        (
            "6.2 character cut by fragments",
            [frame(0x01, &[0xc3]), frame(0x80, &[0xa9])].concat(),
            vec![text("é")],
            End::Open,
        ),
        (
            "7.1 close with 1000",
            frame(0x88, &[3, 0xe8]),
            vec![],
            End::Close(1000),
        ),
        (
            "7.1 close without a code",
            frame(0x88, b""),
            vec![],
            End::Plain,
        ),
        (
            "7.7 close with 4999",
            frame(0x88, &[0x13, 0x87, b'x']),
            vec![],
            End::Close(4999),
        ),
    ]
}

/// Messages at the edges of the three forms of a length.
fn lengths() -> Vec<Case> {
    let cases = [
        ("1.2 125 bytes", 125),
        ("1.2 126 bytes", 126),
        ("1.2 65,535 bytes", 65_535),
        ("1.2 65,536 bytes", 65_536),
    ];
    let case = |(name, length): (&'static str, usize)| {
        let bytes = vec![0xfe; length];
        let sent = frame(0x82, &bytes);
        (name, sent, vec![ServerFrame::Binary(bytes)], End::Open)
    };
    cases.map(case).into()
}

/// What ends a conversation because it breaks a rule.
fn violations() -> Vec<Case> {
    let ends = |name, bytes, code| (name, bytes, vec![], End::Close(code));
    vec![
        ends("3.1 reserved bit", frame(0xc1, b"x"), 1002),
        ends("4.1 reserved opcode", frame(0x83, b"x"), 1002),
        ends("4.2 reserved control opcode", frame(0x8b, b"x"), 1002),
        ends("2.5 ping with 126 bytes", frame(0x89, &[0; 126]), 1002),
        ends("5.1 ping in fragments", frame(0x09, b"x"), 1002),
        ends("5.9 continuation of nothing", frame(0x80, b"x"), 1002),
        ends(
            "5.18 text within a text",
            [frame(0x01, b"a"), frame(0x81, b"b")].concat(),
            1002,
        ),
        ends("5.1 frame that is not masked", vec![0x81, 1, b'x'], 1002),
        ends(
            "5.2 length in more bytes than it needs",
            vec![0x81, 0xfe, 0, 1, 0, 0, 0, 0, b'x'],
            1002,
        ),
        ends(
            "6.3 text that is no UTF-8",
            frame(0x81, &[0xce, 0xba, 0xff]),
            1007,
        ),
        ends("7.3 close with one byte", frame(0x88, &[3]), 1002),
        ends(
            "7.9 close with a code that is never sent",
            frame(0x88, &[3, 0xed]),
            1002,
        ),
    ]
}
