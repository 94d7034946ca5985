//! Compression of what handlers answer: for whom, of what, and that a stream is not held back by it.
//! Answers are decoded by the reference libraries, not by the server's code.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use crate::rig::{Answer, ask, request, start};

fn decode(answer: &Answer) -> String {
    let mut text = String::new();
    match answer.field("content-encoding") {
        Some("gzip") => {
            flate2::read::GzDecoder::new(&answer.body[..])
                .read_to_string(&mut text)
                .unwrap();
        }
        Some("br") => {
            brotli::Decompressor::new(&answer.body[..], 4096)
                .read_to_string(&mut text)
                .unwrap();
        }
        _ => text = answer.text(),
    }
    text
}

const BODIES: &str = "get('/large') { 'abcdefgh' * 20_000 }\nget('/small') { 'x' * 1000 }\nget('/mid') { 'y' * 1500 }\n\
    get('/image') { text 'z' * 5000, type: 'image/png' }\nget('/events') { events { |out| out << 'w' * 5000 } }\n\
    get('/done') { header 'content-encoding', 'br'; 'v' * 5000 }\nget('/tag') { header 'etag', '\"t\"'; 'u' * 5000 }\n\
    get('/stream') { stream('text/plain') { |out| 100.times { |i| out << \"line #{i}\\n\" } } }\n";

#[test]
fn text_is_compressed_for_clients_that_accept_it() {
    let (_served, address) = start(BODIES, &[], &[]);
    let ask = |path: &str, accept: &str| {
        ask(
            &address,
            "GET",
            path,
            &format!("accept-encoding: {accept}\r\n"),
        )
    };
    for (path, length) in [("/large", 160_000), ("/mid", 1_500)] {
        for (accept, coding) in [
            ("gzip", "gzip"),
            ("br", "br"),
            ("gzip, br", "br"),
            ("gzip, br;q=0.1", "gzip"),
        ] {
            let answer = ask(path, accept);
            assert_eq!(
                answer.field("content-encoding"),
                Some(coding),
                "{path} {accept}"
            );
            assert_eq!(answer.field("vary"), Some("accept-encoding"));
            assert!(answer.body.len() < length / 2);
            assert_eq!(decode(&answer).len(), length);
        }
    }
    for path in ["/small", "/image", "/events"] {
        assert_eq!(
            ask(path, "gzip, br").field("content-encoding"),
            None,
            "{path}"
        );
    }
    assert_eq!(ask("/done", "gzip").body.len(), 5000);
    assert_eq!(ask("/large", "identity").field("content-encoding"), None);
    assert_eq!(ask("/tag", "gzip").field("etag"), Some("W/\"t\""));
    let lines: String = (0..100).map(|i| format!("line {i}\n")).collect();
    for accept in ["gzip", "br", "br, gzip"] {
        let answer = ask("/stream", accept);
        assert!(answer.field("content-encoding").is_some());
        assert_eq!(decode(&answer), lines);
    }
}

#[test]
fn a_compressed_stream_is_flushed_piece_by_piece() {
    let app = "get('/') { stream('text/plain') { |out| out << 'first'; sleep 60 } }";
    let (_served, address) = start(app, &[], &[]);
    let mut stream = TcpStream::connect(&address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(30)))
        .unwrap();
    stream
        .write_all(request("GET", "/", "accept-encoding: gzip\r\n").as_bytes())
        .unwrap();
    let mut bytes = Vec::new();
    // The piece has to come long before the stream ends: reading to its end would time out.
    while !decoded_so_far(&bytes).contains("first") {
        let mut buffer = [0; 1024];
        let read = stream.read(&mut buffer).unwrap();
        assert!(read > 0);
        bytes.extend_from_slice(&buffer[..read]);
    }
}

fn decoded_so_far(bytes: &[u8]) -> String {
    let Some(start) = bytes.windows(2).position(|two| two == [0x1F, 0x8B]) else {
        return String::new();
    };
    // Chunk sizes stand between the pieces, so each piece is tried alone with what follows.
    let plain: Vec<u8> = bytes[start..].to_vec();
    let mut text = [0; 64];
    let mut whole = String::new();
    for gap in std::iter::once(None).chain((10..plain.len()).map(Some)) {
        let mut candidate = plain.clone();
        if let Some(gap) = gap
            && let Some(end) = candidate[gap..].windows(2).position(|two| two == b"\r\n")
            && candidate[gap..].starts_with(b"\r\n")
            && let Some(next) = candidate[gap + 2..]
                .windows(2)
                .position(|two| two == b"\r\n")
        {
            candidate.drain(gap + end..gap + 2 + next + 2);
        }
        let read = flate2::read::GzDecoder::new(&candidate[..])
            .read(&mut text)
            .unwrap_or(0);
        whole.push_str(&String::from_utf8_lossy(&text[..read]));
    }
    whole
}

#[test]
fn compression_can_be_switched_off() {
    let (_served, address) = start(&format!("compress false\n{BODIES}"), &[], &[]);
    let answer = ask(&address, "GET", "/large", "accept-encoding: gzip, br\r\n");
    assert_eq!(
        (answer.field("content-encoding"), answer.body.len()),
        (None, 160_000)
    );
}
