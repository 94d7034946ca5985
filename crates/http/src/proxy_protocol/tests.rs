//! Headers of both versions: whole, byte by byte, cut off, too long, and what is none.

use tokio::io::AsyncWriteExt as _;

use super::*;

const MAX: usize = 512;

fn shown(read: Result<ProxyStep>) -> String {
    match read {
        Ok(ProxyStep::Needs(_)) => "needs more".to_owned(),
        Ok(ProxyStep::Whole(ProxyHeader { source, scheme, .. })) => {
            let source = match source {
                ProxySource::Balancer => "balancer".to_owned(),
                ProxySource::Concealed => "concealed".to_owned(),
                ProxySource::Client(address) => address.to_string(),
            };
            format!("{source} {}", scheme.name())
        }
        Err(error) => error.to_string(),
    }
}

/// What is read of this header: whole, with bytes after it, and piece by piece as it asks for them.
#[track_caller]
fn check(header: &[u8], expected: &str) {
    assert_eq!(shown(read(header, MAX)), expected, "{header:?}");
    let followed = [header, b"GET / HTTP/1.1\r\n"].concat();
    assert_eq!(shown(read(&followed, MAX)), expected, "{header:?} and more");
    let mut at = 0;
    let stepwise = loop {
        match read(&header[..at], MAX) {
            Ok(ProxyStep::Needs(needed)) => {
                assert!(
                    needed > 0 && at + needed <= header.len(),
                    "{header:?} at {at}"
                );
                at += needed;
            }
            other => break other,
        }
    };
    assert_eq!(shown(stepwise), expected, "{header:?} in pieces");
    for end in 0..header.len() {
        let cut = shown(read(&header[..end], MAX));
        assert!(cut == "needs more", "{header:?} cut at {end}: {cut}");
    }
}

/// The reason for which a stream that begins so is refused.
#[track_caller]
fn check_refused(bytes: &[u8], reason: &str) {
    let found = shown(read(bytes, MAX));
    assert!(found.contains(reason), "{bytes:?}: {found}");
}

fn version_2(command: u8, family: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len()).unwrap().to_be_bytes();
    [SIGNATURE, &[command, family], &length, body].concat()
}

const V4: &[u8] = &[192, 0, 2, 1, 192, 0, 2, 2, 0x12, 0x67, 0x01, 0xbb];

fn v6() -> Vec<u8> {
    let source: Ipv6Addr = "2001:db8::1".parse().unwrap();
    let destination: Ipv6Addr = "::1".parse().unwrap();
    let ports = [0x12, 0x67, 0x01, 0xbb];
    [&source.octets()[..], &destination.octets(), &ports].concat()
}

#[test]
fn line_of_version_1_names_the_client() {
    check(
        b"PROXY TCP4 192.0.2.1 192.0.2.2 4711 443\r\n",
        "192.0.2.1:4711 http",
    );
    check(
        b"PROXY TCP6 2001:db8::1 ::1 4711 443\r\n",
        "[2001:db8::1]:4711 http",
    );
    check(
        b"PROXY TCP6 ::ffff:192.0.2.1 ::1 4711 443\r\n",
        "192.0.2.1:4711 http",
    );
    check(b"PROXY UNKNOWN\r\n", "concealed http");
    check(
        b"PROXY UNKNOWN ffff::1 ffff::2 65535 65535\r\n",
        "concealed http",
    );
}

#[test]
fn header_of_version_2_names_the_client() {
    check(&version_2(0x21, 0x11, V4), "192.0.2.1:4711 http");
    check(&version_2(0x21, 0x21, &v6()), "[2001:db8::1]:4711 http");
    check(&version_2(0x20, 0x00, b""), "balancer http");
    check(&version_2(0x20, 0x11, V4), "balancer http");
    check(&version_2(0x20, 0xff, b"anything"), "balancer http");
    check(&version_2(0x21, 0x00, b"\x04\x00\x00"), "concealed http");
    check(&version_2(0x21, 0x31, &[0; 216]), "concealed http");
}

#[test]
fn record_about_tls_says_https_when_the_client_speaks_it() {
    let with = |record: &[u8]| version_2(0x21, 0x11, &[V4, record].concat());
    check(&with(b"\x20\x00\x05\x01\0\0\0\0"), "192.0.2.1:4711 https");
    check(
        &with(b"\x05\x00\x02id\x20\x00\x05\x05\0\0\0\0"),
        "192.0.2.1:4711 https",
    );
    check(&with(b"\x20\x00\x05\x00\0\0\0\0"), "192.0.2.1:4711 http");
    check(&with(b"\x20\x00\x00"), "192.0.2.1:4711 http");
    check_refused(&with(b"\x20\x00\x05\x01"), "a record of it is cut off");
    check_refused(&with(b"\x20"), "a record of it is cut off");
}

#[test]
fn line_of_version_1_that_cannot_be_read_is_refused() {
    for line in [
        "PROXY TCP4 192.0.2.1 192.0.2.2 4711\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 4711 443 1\r\n",
        "PROXY TCP4  192.0.2.1 192.0.2.2 4711 443\r\n",
        "PROXY TCP4 ::1 ::1 4711 443\r\n",
        "PROXY TCP6 192.0.2.1 192.0.2.2 4711 443\r\n",
        "PROXY TCP4 192.0.2.1 x 4711 443\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 65536 443\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 +1 443\r\n",
        "PROXY TCP4 192.0.2.1 192.0.2.2 4711 \r\n",
        "PROXY UDP4 192.0.2.1 192.0.2.2 4711 443\r\n",
        "PROXY UNKNOWNS\r\n",
        "PROXY \r\n",
    ] {
        check_refused(line.as_bytes(), "its line cannot be read");
    }
    check_refused(b"PROXY UNKNOWN\n", "without CR LF");
    check_refused(b"PROXY UNKNOWN\rx", "without CR LF");
    check_refused(b"PROXY \xff\r\n", "no text");
    for other in [
        &b"GET / HTTP/1.1\r\n"[..],
        b"\x16\x03\x01",
        b"P\r",
        b"\r\n\r\n\0\r\nQUIX",
    ] {
        check_refused(other, "it begins with no PROXY header");
    }
}

#[test]
fn header_of_version_2_that_cannot_be_read_is_refused() {
    check_refused(&version_2(0x11, 0x11, V4), "its version is unknown");
    check_refused(&version_2(0x22, 0x11, V4), "its command is unknown");
    check_refused(
        &version_2(0x21, 0x12, V4),
        "its family of addresses is unknown",
    );
    check_refused(
        &version_2(0x21, 0x11, &V4[1..]),
        "its addresses are cut off",
    );
    check_refused(&version_2(0x21, 0x21, V4), "its addresses are cut off");
    check_refused(
        &version_2(0x21, 0x21, &v6()[1..]),
        "its addresses are cut off",
    );
    check_refused(
        &version_2(0x21, 0x31, &[0; 215]),
        "its addresses are cut off",
    );
}

#[test]
fn line_of_108_bytes_is_refused() {
    let line = |length: usize| {
        let filling = "x".repeat(length - b"PROXY UNKNOWN \r\n".len());
        format!("PROXY UNKNOWN {filling}\r\n").into_bytes()
    };
    check(&line(107), "concealed http");
    check_refused(&line(108), "more than 107 bytes");
    check_refused(&line(108)[..106], "more than 107 bytes");
}

#[test]
fn header_of_one_byte_more_than_the_limit_is_refused_before_it_has_come() {
    check(&version_2(0x20, 0, &vec![0; MAX - FIXED]), "balancer http");
    let longer = version_2(0x20, 0, &vec![0; MAX - FIXED + 1]);
    check_refused(&longer[..FIXED], "proxy_header_bytes_max allows (512)");
}

#[tokio::test]
async fn bytes_after_the_header_are_left_in_the_stream() {
    for header in [b"PROXY UNKNOWN\r\n".to_vec(), version_2(0x21, 0x11, V4)] {
        let (mut client, mut server) = tokio::io::duplex(1024);
        client.write_all(&header).await.unwrap();
        client.write_all(b"rest").await.unwrap();
        drop(client);
        accept(&mut server, &HttpLimits::default()).await.unwrap();
        let mut rest = Vec::new();
        server.read_to_end(&mut rest).await.unwrap();
        assert_eq!(rest, b"rest");
    }
}

#[tokio::test]
async fn header_that_does_not_come_in_time_is_refused_with_the_name_of_the_limit() {
    let limits = HttpLimits {
        proxy_header_ms: 20,
        ..HttpLimits::default()
    };
    let (mut client, mut server) = tokio::io::duplex(1024);
    client.write_all(b"PROXY TCP4 192").await.unwrap();
    let error = accept(&mut server, &limits).await.unwrap_err().to_string();
    assert!(error.contains("proxy_header_ms (20 ms)"), "{error}");
    drop(client);
    let error = accept(&mut server, &HttpLimits::default())
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Closed), "{error}");
}
