//! Which host a request is for: RFC 9112 section 3.2 and RFC 9113 section 8.3.1. Knows no name of a host of ours.
//! Rule: a handler finds one valid `Host`, which is that of the target where the target names one; what leaves two answers is refused.

use std::net::Ipv6Addr;

use http::{
    HeaderMap, HeaderValue, Method, Uri, Version,
    header::HOST,
    uri::{Authority, Scheme},
};

use crate::error::{Error, Result};

/// Sees that there is one host, and has `Host` name it.
pub(crate) fn settle(
    method: &Method,
    uri: &Uri,
    version: Version,
    headers: &mut HeaderMap,
) -> Result<()> {
    let host = headers.get(HOST);
    // A walk through the fields of a name is for requests that have several of any name.
    let has_repeated = headers.len() > headers.keys_len();
    if has_repeated && headers.get_all(HOST).iter().nth(1).is_some() {
        return Err(Error::Malformed("request: it has more than one Host"));
    }
    if host.is_some_and(|host| !is_valid(host.as_bytes())) {
        return Err(Error::Malformed("Host"));
    }
    if *method == Method::CONNECT
        && uri
            .authority()
            .is_some_and(|target| !is_valid(target.as_str().as_bytes()))
    {
        return Err(Error::Malformed("host of the request's target"));
    }
    // CONNECT names where to connect to, not whom it asks.
    let target = uri.authority().filter(|_| *method != Method::CONNECT);
    match (host, target) {
        // The form of CONNECT, which names no path.
        (_, Some(_)) if uri.scheme().is_none() && version < Version::HTTP_2 => {
            Err(Error::Malformed("request: its target is no path"))
        }
        (None, None) if version > Version::HTTP_10 => {
            Err(Error::Malformed("request: it has no Host"))
        }
        (None, Some(_)) if version == Version::HTTP_11 => {
            Err(Error::Malformed("request: it has no Host"))
        }
        (_, None) => Ok(()),
        (_, Some(target)) if !is_valid(target.as_str().as_bytes()) => {
            Err(Error::Malformed("host of the request's target"))
        }
        // What is at another scheme's place is not here: this is no proxy.
        (_, Some(_)) if !uri.scheme().is_none_or(is_http) => Err(Error::Malformed(
            "request: its target is neither http nor https",
        )),
        (Some(host), Some(target)) if version == Version::HTTP_2 => {
            match is_same(host.as_bytes(), target, uri.scheme()) {
                true => Ok(()),
                false => Err(Error::Malformed("request: Host and :authority differ")),
            }
        }
        (_, Some(target)) => {
            let host = HeaderValue::from_str(target.as_str());
            headers.insert(HOST, host.map_err(|_| Error::Malformed("Host"))?);
            Ok(())
        }
    }
}

/// `host` of `host[:port]`, with the brackets of an address of version 6; none where there is no host, or something else behind it.
pub fn host_without_port(host: &str) -> Option<&str> {
    let end = match host.rfind(']') {
        Some(end) => end + 1,
        None => host.find(':').unwrap_or(host.len()),
    };
    let (name, rest) = host.split_at_checked(end)?;
    let port = rest.strip_prefix(':').unwrap_or(rest);
    let is_whole = port.is_empty() || (rest.len() > port.len() && is_port(port.as_bytes()));
    (is_whole && !name.is_empty()).then_some(name)
}

fn is_http(scheme: &Scheme) -> bool {
    let is = |known: &str| scheme.as_str().eq_ignore_ascii_case(known);
    is("http") || is("https")
}

/// `uri-host [ ":" port ]` of RFC 3986 section 3.2, which may be empty, but not with a port: RFC 9110 section 4.2 has no such host.
pub(crate) fn is_valid(host: &[u8]) -> bool {
    let rest = match host.first() {
        Some(b':') => return false,
        Some(b'[') => {
            let Some(end) = host.iter().position(|byte| *byte == b']') else {
                return false;
            };
            let (literal, rest) = host.split_at(end);
            if !is_address(literal.get(1..).unwrap_or_default()) {
                return false;
            }
            rest.get(1..).unwrap_or_default()
        }
        _ => after_name(host),
    };
    rest.is_empty() || rest.strip_prefix(b":").is_some_and(is_port)
}

/// Digits, of which there may be none, of a number that a port can have.
fn is_port(digits: &[u8]) -> bool {
    let number = digits.iter().fold(0_u32, |number, digit| {
        let digit = u32::from(digit.wrapping_sub(b'0'));
        number.saturating_mul(10).saturating_add(digit)
    });
    digits.iter().all(u8::is_ascii_digit) && number <= u32::from(u16::MAX)
}

/// An address of version 6, or of a version to come.
fn is_address(literal: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(literal) else {
        return false;
    };
    if let Some((version, address)) = text
        .strip_prefix(['v', 'V'])
        .and_then(|text| text.split_once('.'))
    {
        let plain = |byte: u8| is_plain(byte) || byte == b':';
        return !version.is_empty()
            && version.bytes().all(|byte| byte.is_ascii_hexdigit())
            && !address.is_empty()
            && address.bytes().all(plain);
    }
    text.parse::<Ipv6Addr>().is_ok()
}

/// What follows the longest name that these bytes begin with.
fn after_name(mut name: &[u8]) -> &[u8] {
    let is_end = |byte: &u8| PLAIN.get(usize::from(*byte)) != Some(&true);
    while let Some(at) = name.iter().position(is_end) {
        name = match name.get(at..).unwrap_or_default() {
            [b'%', high, low, rest @ ..] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => {
                rest
            }
            rest => return rest,
        };
    }
    &[]
}

/// Unreserved characters and the delimiters within a part.
const fn is_plain(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~')
        || matches!(byte, b'!' | b'$' | b'&'..=b',' | b';' | b'=')
}

/// The same as a table, since this is asked of every byte of every request's host.
#[allow(
    clippy::indexing_slicing,
    reason = "it is computed by the compiler, which would say so"
)]
static PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0;
    while byte < plain.len() {
        plain[byte] = is_plain(byte as u8);
        byte += 1;
    }
    plain
};

/// Whether both name the same host and port.
fn is_same(host: &[u8], target: &Authority, scheme: Option<&Scheme>) -> bool {
    let usual: &[u8] = match scheme {
        Some(scheme) if scheme.as_str().eq_ignore_ascii_case("https") => b":443",
        _ => b":80",
    };
    fn bare<'h>(host: &'h [u8], usual: &[u8]) -> &'h [u8] {
        let host = host.strip_suffix(usual).unwrap_or(host);
        host.strip_suffix(b":").unwrap_or(host)
    }
    let target = target.as_str().as_bytes();
    bare(host, usual).eq_ignore_ascii_case(bare(target, usual))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_is_a_name_or_an_address_with_or_without_a_port() {
        for host in [
            "",
            "a",
            "a.example",
            "a.example:8080",
            "a:",
            "127.0.0.1:1",
            "[::1]",
            "[::1]:443",
            "a_b",
            "a%20b",
            "xn--bcher-kva.example",
            "[v1.a:b]",
            "a:0",
            "a:65535",
            "a:00065535",
            "[::1]:65535",
        ] {
            assert!(is_valid(host.as_bytes()), "{host}");
        }
        for host in [
            "a b",
            "a/b",
            "a?b",
            "a#b",
            "user@a",
            "a:b",
            "a:1:2",
            "[::1",
            "[::1]x",
            "[]",
            "[1.2.3.4]",
            "a%2",
            "a%zz",
            "a\\b",
            "é",
            "a<b",
            "[v.a]",
            "::1",
            ":80",
            ":",
            "a:80 ",
            "a:65536",
            "a:99999",
            "a:4294967376",
            "a:18446744073709551696",
            "[::1]:65536",
            "a:-1",
            "a:+1",
        ] {
            assert!(!is_valid(host.as_bytes()), "{host}");
        }
    }

    #[test]
    fn host_is_taken_without_its_port() {
        for (host, expected) in [
            ("a.example", Some("a.example")),
            ("a.example:80", Some("a.example")),
            ("a.example:", Some("a.example")),
            ("[::1]:80", Some("[::1]")),
            ("[::1]", Some("[::1]")),
            (":80", None),
            ("", None),
            ("::1", None),
            ("a:1:2", None),
            ("localhost:evil", None),
            ("[::1]x", None),
        ] {
            assert_eq!(host_without_port(host), expected, "{host}");
        }
    }

    #[test]
    fn usual_port_and_case_of_a_host_do_not_matter() {
        let check = |host: &str, target: &'static str, scheme: Scheme, same: bool| {
            let target = Authority::from_static(target);
            assert_eq!(
                is_same(host.as_bytes(), &target, Some(&scheme)),
                same,
                "{host} {target}"
            );
        };
        check("A.example", "a.example", Scheme::HTTP, true);
        check("a.example:80", "a.example", Scheme::HTTP, true);
        check("a.example", "a.example:443", Scheme::HTTPS, true);
        check("a.example:80", "a.example", Scheme::HTTPS, false);
        check("a.example", "b.example", Scheme::HTTP, false);
    }
}
