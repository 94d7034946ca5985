//! A question to a server over HTTP of which only the status counts, as a balancer asks. Knows HTTP as far as that.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use crate::limits::STATUS_ANSWER_MAX;

/// The status of an answer; one that does not come within a second is none.
pub fn http_status(server: SocketAddr, path: &str) -> Option<u16> {
    let mut stream = TcpStream::connect_timeout(&server, STATUS_ANSWER_MAX).ok()?;
    stream.set_read_timeout(Some(STATUS_ANSWER_MAX)).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nhost: {server}\r\n\r\n").ok()?;
    let mut head = Vec::new();
    let mut buffer = [0; 512];
    while !head.contains(&b'\n') {
        let count = stream.read(&mut buffer).ok().filter(|count| *count > 0)?;
        head.extend_from_slice(buffer.get(..count)?);
    }
    let line = String::from_utf8_lossy(head.split(|byte| *byte == b'\r').next()?).into_owned();
    line.split(' ').nth(1)?.parse().ok()
}
