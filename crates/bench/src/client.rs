//! The smallest HTTP/1.1 client that can tell a right answer from a wrong one. Not fast, not general: it reads what the servers here send.
//! A response that is cut short, late or not understood is an error with its reason.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::limits::{ANSWER_MS_MAX, RESPONSE_BYTES_MAX};

/// A connection to a server.
pub struct Client {
    stream: TcpStream,
    read: Vec<u8>,
}

/// A response.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: Vec<u8>,
    /// The server closes the connection after it.
    pub closes: bool,
}

impl Client {
    /// Connects.
    pub fn connect(address: SocketAddr) -> io::Result<Client> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_millis(ANSWER_MS_MAX)))?;
        Ok(Client {
            stream,
            read: Vec::new(),
        })
    }

    /// Sends a request without reading its answer.
    pub fn send(&mut self, path: &str) -> io::Result<()> {
        let request = format!("GET {path} HTTP/1.1\r\nhost: bench\r\n\r\n");
        self.stream.write_all(request.as_bytes())
    }

    /// Sends a request with a body without reading its answer. In one piece: a handler may answer without a look at the body, and a server
    /// that has answered before the body came closes the connection.
    pub fn post(&mut self, path: &str, media_type: &str, body: &str) -> io::Result<()> {
        let length = body.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: bench\r\ncontent-type: {media_type}\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        self.stream.write_all(request.as_bytes())
    }

    /// Reads the next answer.
    pub fn answer(&mut self) -> io::Result<Answer> {
        loop {
            if let Some((answer, length)) = parse(&self.read)? {
                self.read.drain(..length);
                return Ok(answer);
            }
            if self.read.len() > RESPONSE_BYTES_MAX {
                return Err(malformed("the response is too long"));
            }
            let mut piece = [0; 16 * 1024];
            match self.stream.read(&mut piece)? {
                0 => {
                    return Err(io::Error::new(
                        io::ErrorKind::UnexpectedEof,
                        "closed before the answer was complete",
                    ));
                }
                length => self.read.extend_from_slice(&piece[..length]),
            }
        }
    }

    /// Asks and reads the answer.
    pub fn fetch(&mut self, path: &str) -> io::Result<Answer> {
        self.send(path)?;
        self.answer()
    }
}

/// One request on a connection of its own.
pub fn fetch(address: SocketAddr, path: &str) -> io::Result<Answer> {
    Client::connect(address)?.fetch(path)
}

/// The first response in `bytes` and its length; `None` while it is incomplete.
fn parse(bytes: &[u8]) -> io::Result<Option<(Answer, usize)>> {
    let Some(end) = bytes.windows(4).position(|window| window == b"\r\n\r\n") else {
        return Ok(None);
    };
    let head = std::str::from_utf8(&bytes[..end]).map_err(|_| malformed("the head is not text"))?;
    let mut lines = head.split("\r\n");
    let status = lines
        .next()
        .and_then(|line| line.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok())
        .ok_or_else(|| malformed("the status line is malformed"))?;
    let (mut length, mut closes, mut chunked) = (None, false, false);
    for line in lines {
        let (name, value) = line
            .split_once(':')
            .ok_or_else(|| malformed("a header line has no colon"))?;
        let value = value.trim();
        if name.eq_ignore_ascii_case("content-length") {
            let number = value.parse::<usize>();
            length = Some(number.map_err(|_| malformed("the content length is no number"))?);
        } else if name.eq_ignore_ascii_case("connection") {
            closes = value.eq_ignore_ascii_case("close");
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            chunked = value.eq_ignore_ascii_case("chunked");
        }
    }
    let rest = &bytes[end + 4..];
    let found = match length {
        _ if chunked => chunks(rest)?,
        Some(length) => rest.get(..length).map(|body| (body.to_vec(), length)),
        None if status == 204 || status == 304 => Some((Vec::new(), 0)),
        None => return Err(malformed("there is no content length")),
    };
    let answer = |(body, length)| {
        let answer = Answer {
            status,
            body,
            closes,
        };
        (answer, end + 4 + length)
    };
    Ok(found.map(answer))
}

/// A chunked body without trailers, and the bytes it took; `None` while it is incomplete.
fn chunks(bytes: &[u8]) -> io::Result<Option<(Vec<u8>, usize)>> {
    let (mut body, mut at) = (Vec::new(), 0);
    loop {
        let rest = &bytes[at..];
        let Some(line) = rest.windows(2).position(|window| window == b"\r\n") else {
            return Ok(None);
        };
        let size = std::str::from_utf8(&rest[..line])
            .ok()
            .and_then(|size| usize::from_str_radix(size, 16).ok())
            .filter(|size| *size <= RESPONSE_BYTES_MAX)
            .ok_or_else(|| malformed("the size of a chunk is no number"))?;
        let Some(chunk) = rest.get(line + 2..line + 2 + size + 2) else {
            return Ok(None);
        };
        at += line + 2 + size + 2;
        if size == 0 {
            return Ok(Some((body, at)));
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
            Ok(Some((answer, length))) => {
                let body = String::from_utf8(answer.body).unwrap();
                format!("{} {body} {} {length}", answer.status, answer.closes)
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
    fn a_part_of_an_answer_is_incomplete() {
        check(
            "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nh",
            "incomplete",
        );
        check("HTTP/1.1 200 OK\r\ncontent-le", "incomplete");
    }

    #[test]
    fn what_is_no_answer_is_an_error() {
        check("SSH-2.0\r\n\r\n", "the status line is malformed");
        check("HTTP/1.1 200 OK\r\n\r\n", "there is no content length");
        check(
            "HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n",
            "the content length is no number",
        );
    }
}
