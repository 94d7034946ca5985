//! A collector of traces for tests, over HTTP/1.1 or gRPC: takes what is sent, by its own reading of OTLP's messages. Not a test.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use tsumugi_testkit::tls_server;

/// A span as it was sent.
#[derive(Clone, Debug, Default)]
pub struct SentSpan {
    pub trace_id: String,
    pub id: String,
    pub parent: String,
    pub state: String,
    pub name: String,
    pub attributes: Vec<(String, String)>,
    pub service: String,
}

impl SentSpan {
    pub fn attribute(&self, name: &str) -> &str {
        let found = self.attributes.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }
}

/// What came so far.
#[derive(Clone, Default)]
pub struct SpanCollection {
    spans: Arc<Mutex<Vec<SentSpan>>>,
    heads: Arc<Mutex<String>>,
}

impl SpanCollection {
    /// The spans of this name.
    pub fn named(&self, name: &str) -> Vec<SentSpan> {
        let spans = self.spans.lock().unwrap();
        spans
            .iter()
            .filter(|span| span.name == name)
            .cloned()
            .collect()
    }

    pub fn head(&self) -> String {
        self.heads.lock().unwrap().clone()
    }

    fn add(&self, message: &[u8]) {
        self.spans.lock().unwrap().extend(read(message));
    }
}

/// A collector over HTTP/1.1; its address.
pub fn over_http() -> (SpanCollection, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let collected = SpanCollection::default();
    let own = collected.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            answer(stream.unwrap(), &own);
        }
    });
    (collected, address)
}

/// The same that answers its first message when what is returned last is dropped.
pub fn slow() -> (SpanCollection, String, Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let (gate, held) = channel();
    let collected = SpanCollection::default();
    let own = collected.clone();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let stream = stream.unwrap();
            let _ = held.recv();
            answer(stream, &own);
        }
    });
    (collected, address, gate)
}

/// The same over TLS, with the certificate and the key of this folder; its address by name.
pub fn over_https(folder: &Path) -> (SpanCollection, String) {
    let (certificate, key) = (folder.join("cert.pem"), folder.join("key.pem"));
    let collected = SpanCollection::default();
    let own = collected.clone();
    let address = tls_server(&certificate, &key, move |stream| answer(stream, &own));
    (collected, format!("localhost:{}", address.port()))
}

fn answer(stream: impl Read + Write, collected: &SpanCollection) {
    let mut reader = BufReader::new(stream);
    let (mut head, mut line) = (String::new(), String::new());
    while reader.read_line(&mut line).is_ok_and(|read| read > 0) && line != "\r\n" {
        head.push_str(&line.to_ascii_lowercase());
        line.clear();
    }
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let Some(length) = length.and_then(|length| length.trim().parse().ok()) else {
        return;
    };
    let mut body = vec![0; length];
    if reader.read_exact(&mut body).is_ok() {
        collected.heads.lock().unwrap().push_str(&head);
        collected.add(&body);
        let stream = reader.get_mut();
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n");
        let _ = stream.flush();
    }
}

/// One that takes connections and never answers; its address.
pub fn silent() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming() {
            open.push(stream);
        }
    });
    address
}

/// A collector over gRPC; its address.
pub fn over_grpc() -> (SpanCollection, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let collected = SpanCollection::default();
    let own = collected.clone();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(async move {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(converse(stream, own.clone()));
            }
        });
    });
    (collected, address)
}

async fn converse(stream: tokio::net::TcpStream, collected: SpanCollection) {
    let Ok(mut connection) = h2::server::handshake(stream).await else {
        return;
    };
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let collected = collected.clone();
        tokio::spawn(async move {
            let path = format!("{}\n", request.uri().path());
            let mut body = request.into_body();
            let mut bytes = Vec::new();
            while let Some(Ok(piece)) = body.data().await {
                let _ = body.flow_control().release_capacity(piece.len());
                bytes.extend_from_slice(&piece);
            }
            collected.heads.lock().unwrap().push_str(&path);
            collected.add(bytes.get(5..).unwrap_or_default());
            let head = http::Response::builder().header("content-type", "application/grpc");
            let mut stream = respond
                .send_response(head.body(()).unwrap(), false)
                .unwrap();
            // An empty message: everything was taken.
            stream.send_data(vec![0; 5].into(), false).unwrap();
            let mut trailers = http::HeaderMap::new();
            trailers.insert("grpc-status", "0".parse().unwrap());
            stream.send_trailers(trailers).unwrap();
        });
    }
}

/// A field of a message: bytes with their number, or the value of a number.
enum Field<'b> {
    Bytes(u64, &'b [u8]),
    Number(u64),
}

fn fields(mut bytes: &[u8]) -> Vec<Field<'_>> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = bytes[0];
            *bytes = &bytes[1..];
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                break;
            }
        }
        value
    }
    let mut all = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        match tag & 7 {
            0 => all.push(Field::Number(varint(&mut bytes))),
            1 => {
                let (value, rest) = bytes.split_at(8);
                bytes = rest;
                let value = u64::from_le_bytes(value.try_into().unwrap());
                all.push(Field::Number(value));
            }
            2 => {
                let length = varint(&mut bytes) as usize;
                let (value, rest) = bytes.split_at(length);
                bytes = rest;
                all.push(Field::Bytes(tag >> 3, value));
            }
            other => panic!("wire type {other}"),
        }
    }
    all
}

/// The messages in a field.
fn within(bytes: &[u8], number: u64) -> Vec<&[u8]> {
    let matching = |field| match field {
        Field::Bytes(known, value) if known == number => Some(value),
        _ => None,
    };
    fields(bytes).into_iter().filter_map(matching).collect()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn text(bytes: &[u8], number: u64) -> String {
    let found = within(bytes, number);
    String::from_utf8(found.first().copied().unwrap_or_default().to_vec()).unwrap()
}

fn attributes(bytes: &[u8], number: u64) -> Vec<(String, String)> {
    let pair = |pair: &[u8]| {
        let value = within(pair, 2);
        let value = match fields(value[0]).first() {
            Some(Field::Bytes(_, value)) => String::from_utf8_lossy(value).into_owned(),
            Some(Field::Number(value)) => value.to_string(),
            None => String::new(),
        };
        (text(pair, 1), value)
    };
    within(bytes, number).into_iter().map(pair).collect()
}

fn read(message: &[u8]) -> Vec<SentSpan> {
    let mut spans = Vec::new();
    for group in within(message, 1) {
        let resource = attributes(within(group, 1)[0], 1);
        let service = resource.iter().find(|(name, _)| name == "service.name");
        let service = service.map(|(_, value)| value.clone()).unwrap_or_default();
        for scope in within(group, 2) {
            for span in within(scope, 2) {
                let id = |number| hex(within(span, number).first().copied().unwrap_or_default());
                spans.push(SentSpan {
                    trace_id: id(1),
                    id: id(2),
                    parent: id(4),
                    state: text(span, 3),
                    name: text(span, 5),
                    attributes: attributes(span, 9),
                    service: service.clone(),
                });
            }
        }
    }
    spans
}
