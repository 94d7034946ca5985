//! Where a response of HTTP/1.1 ends, and what it says: status, body, whether the connection goes on. Knows bytes, not sockets.
//! It reads what servers send that were asked with GET or POST; an incomplete response is `Ok(None)`, a malformed one an error.

use std::borrow::Cow;
use std::io;

use memchr::memmem;

use crate::limits::{RESPONSE_BYTES_MAX, SIZE_LINE_BYTES_MAX};

/// A response and the bytes it took.
#[derive(Debug, PartialEq, Eq)]
pub struct ParsedResponse<'a> {
    /// The status.
    pub status: u16,
    /// The body, without the frames of its chunks.
    pub body: Cow<'a, [u8]>,
    /// The server closes the connection after it.
    pub closes: bool,
    /// Bytes from its first to its last.
    pub length: usize,
}

/// How the body's end is marked.
#[derive(Clone, Copy)]
enum Framing {
    Length(usize),
    Chunked,
    None,
}

/// The first response in `bytes`; `None` while it is incomplete.
pub fn parse(bytes: &[u8]) -> io::Result<Option<ParsedResponse<'_>>> {
    let Some(end) = memmem::find(bytes, b"\r\n\r\n") else {
        return if bytes.len() > RESPONSE_BYTES_MAX {
            Err(malformed("the response is too long"))
        } else {
            Ok(None)
        };
    };
    let mut lines = lines(&bytes[..end]);
    let status = lines
        .next()
        .and_then(status)
        .ok_or_else(|| malformed("the status line is malformed"))?;
    let (mut framing, mut closes) = (Framing::None, false);
    for line in lines {
        let colon = memchr::memchr(b':', line);
        let colon = colon.ok_or_else(|| malformed("a header line has no colon"))?;
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        // Of some dozen headers three matter here, of as many lengths.
        match name.len() {
            14 if name.eq_ignore_ascii_case(b"content-length") => {
                let length = number(value, 10)
                    .ok_or_else(|| malformed("the content length is no number"))?;
                if !matches!(framing, Framing::Chunked) {
                    framing = Framing::Length(length);
                }
            }
            17 if name.eq_ignore_ascii_case(b"transfer-encoding")
                && value.eq_ignore_ascii_case(b"chunked") =>
            {
                framing = Framing::Chunked;
            }
            10 if name.eq_ignore_ascii_case(b"connection") => {
                closes = value.eq_ignore_ascii_case(b"close");
            }
            _ => {}
        }
    }
    let rest = &bytes[end + 4..];
    let body = match framing {
        Framing::Chunked => chunks(rest)?,
        Framing::Length(length) if length > RESPONSE_BYTES_MAX => {
            return Err(malformed("the response is too long"));
        }
        Framing::Length(length) => rest.get(..length).map(|body| (Cow::Borrowed(body), length)),
        Framing::None if status == 204 || status == 304 => Some((Cow::Borrowed(&[][..]), 0)),
        Framing::None => return Err(malformed("there is no content length")),
    };
    Ok(body.map(|(body, length)| ParsedResponse {
        status,
        body,
        closes,
        length: end + 4 + length,
    }))
}

fn lines(head: &[u8]) -> impl Iterator<Item = &[u8]> {
    head.split(|byte| *byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
}

fn status(line: &[u8]) -> Option<u16> {
    let digits = line.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    u16::try_from(number(digits, 10)?).ok()
}

fn number(digits: &[u8], radix: u32) -> Option<usize> {
    usize::from_str_radix(std::str::from_utf8(digits).ok()?, radix).ok()
}

/// A chunked body without trailers, and the bytes it took; `None` while it is incomplete.
fn chunks(bytes: &[u8]) -> io::Result<Option<(Cow<'_, [u8]>, usize)>> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let rest = &bytes[at..];
        let Some(line) = memmem::find(&rest[..rest.len().min(SIZE_LINE_BYTES_MAX)], b"\r\n") else {
            return if rest.len() < SIZE_LINE_BYTES_MAX {
                Ok(None)
            } else {
                Err(malformed("the size of a chunk has no end"))
            };
        };
        let size = number(&rest[..line], 16)
            .ok_or_else(|| malformed("the size of a chunk is no number"))?;
        if size.saturating_add(body.len()) > RESPONSE_BYTES_MAX {
            return Err(malformed("the response is too long"));
        }
        let Some(chunk) = rest.get(line + 2..line + 2 + size + 2) else {
            return Ok(None);
        };
        at += line + 2 + size + 2;
        if size == 0 {
            return Ok(Some((body.into(), at)));
        }
        body.extend_from_slice(&chunk[..size]);
    }
}

fn malformed(reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `expected` is `status body closes length`, "incomplete" or the error.
    fn check(bytes: &str, expected: &str) {
        let shown = match parse(bytes.as_bytes()) {
            Ok(None) => "incomplete".to_owned(),
            Ok(Some(message)) => {
                let body = String::from_utf8_lossy(&message.body);
                let ParsedResponse {
                    status,
                    closes,
                    length,
                    ..
                } = message;
                format!("{status} {body} {closes} {length}")
            }
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expected);
    }

    #[test]
    fn an_answer_ends_where_its_length_says() {
        check(
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhiHTTP",
            "200 hi false 40",
        );
        check(
            "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            "200  true 57",
        );
        check("HTTP/1.1 204 No Content\r\n\r\n", "204  false 27");
    }

    #[test]
    fn chunks_are_joined() {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        check(
            &format!("{head}2\r\nhi\r\n1\r\n!\r\n0\r\n\r\n"),
            "200 hi! false 65",
        );
        check(&format!("{head}2\r\nhi\r\n0\r\n"), "incomplete");
        check(
            &format!("{head}x\r\nhi"),
            "the size of a chunk is no number",
        );
    }

    #[test]
    fn chunks_have_a_bound() {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let endless = "0".repeat(SIZE_LINE_BYTES_MAX);
        check(&format!("{head}{}", &endless[1..]), "incomplete");
        check(
            &format!("{head}{endless}"),
            "the size of a chunk has no end",
        );
        let too_long = "the response is too long";
        check(&format!("{head}100001\r\n"), too_long);
        check(&format!("{head}1\r\n!\r\n100000\r\n"), too_long);
        check(&format!("{head}1\r\n!\r\nffffffffffffffff\r\n"), too_long);
    }

    #[test]
    fn a_part_of_an_answer_is_incomplete() {
        check(
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nh",
            "incomplete",
        );
        check("HTTP/1.1 200 OK\r\ncontent-le", "incomplete");
    }

    #[test]
    fn malformed_response_is_an_error() {
        check("SSH-2.0\r\n\r\n", "the status line is malformed");
        check("HTTP/1.1 200 OK\r\n\r\n", "there is no content length");
        check(
            "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
            "the content length is no number",
        );
    }
}
