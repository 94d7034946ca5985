//! A question to a member's REST API, of which only the status counts. Knows HTTP as far as that.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};

use super::limits::REST_ANSWER_MAX;

/// Whether the answer is 200; one that does not come is none.
pub fn agrees(port: u16, path: &str) -> bool {
    ask(port, path).is_some_and(|head| head.split(' ').nth(1) == Some("200"))
}

/// The first line.
fn ask(port: u16, path: &str) -> Option<String> {
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let mut stream = TcpStream::connect_timeout(&address, REST_ANSWER_MAX).ok()?;
    stream.set_read_timeout(Some(REST_ANSWER_MAX)).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n").ok()?;
    let mut head = Vec::new();
    let mut buffer = [0; 512];
    while !head.contains(&b'\n') {
        let count = stream.read(&mut buffer).ok().filter(|count| *count > 0)?;
        head.extend_from_slice(buffer.get(..count)?);
    }
    let line = head.split(|byte| *byte == b'\r').next()?;
    Some(String::from_utf8_lossy(line).into_owned())
}
