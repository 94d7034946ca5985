//! Ports with options of their own: TLS on some of them, one protocol agreed on, HTTP/2 alone; and the words of what is refused.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;

use crate::rig::{Answer, PATIENCE, Served, ask, folder, request, serve, until};
use crate::tls::{certify, tls};

const APP: &[u8] = b"get('/') { \"#{request.version}\" }";
const CERTIFICATE: [&str; 4] = ["--tls-cert", "cert.pem", "--tls-key", "key.pem"];

/// The body of `GET /` over HTTP/2 with prior knowledge, or what came instead.
fn over_http2(mut stream: impl Read + Write) -> String {
    // SETTINGS, then HEADERS of stream 1 with END_STREAM and END_HEADERS: GET, http, / of the static table, and an authority.
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0".to_vec();
    bytes.extend_from_slice(b"\0\0\x06\x01\x05\0\0\0\x01\x82\x86\x84\x41\x01x");
    stream.write_all(&bytes).unwrap();
    loop {
        let mut head = [0; 9];
        if let Err(error) = stream.read_exact(&mut head) {
            return error.to_string();
        }
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]);
        let mut payload = vec![0; length as usize];
        stream.read_exact(&mut payload).unwrap();
        // DATA
        if head[3] == 0 {
            return String::from_utf8(payload).unwrap();
        }
    }
}

fn connect(address: &str) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream
}

/// What a client of HTTP/1.1 without TLS gets.
fn over_http1(address: &str) -> Vec<u8> {
    let mut stream = connect(address);
    stream
        .write_all(request("GET", "/", "").as_bytes())
        .unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer); // a reset is a refusal as well
    answer
}

fn over_tls(address: &str, certificate: &str, protocols: &[&str]) -> (Option<String>, String) {
    let mut stream = tls(address, certificate, protocols).unwrap();
    let agreed = stream.conn.alpn_protocol().map(<[u8]>::to_vec);
    let agreed = agreed.map(|name| String::from_utf8(name).unwrap());
    if agreed.as_deref() == Some("h2") {
        return (agreed, over_http2(stream));
    }
    stream
        .write_all(request("GET", "/", "").as_bytes())
        .unwrap();
    (agreed, Answer::read(stream).text())
}

/// What a program that cannot start says.
#[track_caller]
fn check_refused(options: &[&str], code: i32, expected: &str) {
    let folder = folder(&[("app.rb", APP)]);
    certify(folder.path());
    let mut served = serve(folder, options);
    let mut text = String::new();
    served.log.read_to_string(&mut text).unwrap();
    assert!(text.contains(expected), "{options:?}: {text}");
    assert_eq!(served.child.wait().unwrap().code(), Some(code), "{text}");
}

#[test]
fn port_speaks_what_its_options_say() {
    let folder = folder(&[("app.rb", APP)]);
    let certificate = certify(folder.path());
    let socket = folder.path().join("app.sock");
    let unix = format!("unix:{},h2c", socket.display());
    let ports = [
        "127.0.0.1:0",
        "127.0.0.1:0,tls",
        "127.0.0.1:0,tls,alpn=http/1.1",
        "127.0.0.1:0,tls,alpn=h2",
        "127.0.0.1:0,h2c",
        &unix,
    ];
    let mut options = CERTIFICATE.to_vec();
    options.extend(ports.iter().flat_map(|port| ["--listen", port]));
    let mut served = serve(folder, &options);
    let plain = served.word_after("listening on http://");
    let whole = served.word_after("listening on https://");
    let first = served.word_after("listening on https://");
    let second = served.word_after("listening on https://");
    let cleartext = served.word_after("listening on http://");
    served.word_after("HTTP/2 only");

    // Once a port says tls, one without options is plain.
    assert_eq!(ask(&plain, "GET", "/", "").text(), "1.1");
    assert_eq!(over_http2(connect(&plain)), "2");

    let agreed = |name: &str, version: &str| (Some(name.to_owned()), version.to_owned());
    let both = ["h2", "http/1.1"];
    assert_eq!(over_tls(&whole, &certificate, &both), agreed("h2", "2"));
    assert_eq!(
        over_tls(&first, &certificate, &both),
        agreed("http/1.1", "1.1")
    );
    assert_eq!(
        over_tls(&first, &certificate, &[]),
        (None, "1.1".to_owned())
    );
    assert!(tls(&first, &certificate, &["h2"]).is_err());
    assert_eq!(over_tls(&second, &certificate, &both), agreed("h2", "2"));
    // Where HTTP/2 is the only one, a client that agrees on nothing speaks it.
    assert_eq!(over_http2(tls(&second, &certificate, &[]).unwrap()), "2");

    assert_eq!(over_http2(connect(&cleartext)), "2");
    assert_eq!(over_http2(UnixStream::connect(&socket).unwrap()), "2");
    let refused = over_http1(&cleartext);
    assert!(!refused.starts_with(b"HTTP"), "{refused:?}");
    for port in [&whole, &first, &second] {
        let refused = over_http1(port);
        assert!(!refused.starts_with(b"HTTP"), "{refused:?}");
    }
    reload_keeps_options(served, &first);
}

/// A certificate that is read again is that of every port, and each keeps its protocols.
fn reload_keeps_options(served: Served, first: &str) {
    let renewed = certify(served.folder.path());
    served.signal("-HUP");
    until("the new certificate", || tls(first, &renewed, &[]).is_ok());
    let agreed = over_tls(first, &renewed, &["h2", "http/1.1"]);
    assert_eq!(agreed, (Some("http/1.1".to_owned()), "1.1".to_owned()));
}

#[test]
fn certificate_without_tls_option_is_for_every_ip_address() {
    let folder = folder(&[("app.rb", APP)]);
    let certificate = certify(folder.path());
    let ports = ["--listen", "127.0.0.1:0", "--listen", "127.0.0.1:0,h2c"];
    let mut served = serve(folder, &[&ports[..], &CERTIFICATE].concat());
    let encrypted = served.word_after("listening on https://");
    let cleartext = served.word_after("listening on http://");
    let (agreed, version) = over_tls(&encrypted, &certificate, &["h2", "http/1.1"]);
    assert_eq!((agreed.as_deref(), version.as_str()), (Some("h2"), "2"));
    assert_eq!(over_http2(connect(&cleartext)), "2");
}

#[test]
fn option_that_cannot_be_used_ends_the_start_with_what_to_write() {
    for (port, expected) in [
        ("127.0.0.1:0,ssl", "`ssl` is no option of an address"),
        (
            "127.0.0.1:0,tls,alpn=spdy/3",
            "`spdy/3` is no protocol of alpn",
        ),
        ("127.0.0.1:0,alpn=h2", "127.0.0.1:0,tls,alpn=h2"),
        ("127.0.0.1:0,tls,h2c", "h2c is HTTP/2 without TLS"),
        ("unix:app.sock,tls", "a UNIX socket speaks no TLS"),
    ] {
        let options = [&["--listen", port][..], &CERTIFICATE].concat();
        check_refused(&options, 2, expected);
    }
    check_refused(
        &["--listen", "127.0.0.1:0,tls"],
        1,
        "--listen 127.0.0.1:0,tls needs a certificate; give --tls-cert and --tls-key",
    );
    let twice = ["--listen", "127.0.0.1:1,h2c", "--listen", "127.0.0.1:1"];
    check_refused(&twice, 1, "127.0.0.1:1 twice with different options");
}
