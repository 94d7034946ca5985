//! The smallest HTTP/1.1 client that can tell a right answer from a wrong one: one request at a time, which waits. Not fast, not general.
//! A response that is cut short, late or not understood is an error with its reason.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use crate::limits::ANSWER_MS_MAX;
use crate::message;

/// A connection to a server.
pub struct ProbeClient {
    stream: TcpStream,
    read: Vec<u8>,
}

/// A response.
#[derive(Debug, PartialEq, Eq)]
pub struct ProbeResponse {
    /// The status.
    pub status: u16,
    /// The lines before the body.
    pub head: String,
    /// The body.
    pub body: Vec<u8>,
    /// The server closes the connection after it.
    pub closes: bool,
}

impl ProbeClient {
    /// Connects.
    pub fn connect(address: SocketAddr) -> io::Result<ProbeClient> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(Duration::from_millis(ANSWER_MS_MAX)))?;
        Ok(ProbeClient {
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

    /// Asks for a page in a language, and reads it.
    pub fn fetch_in(&mut self, path: &str, language: &str) -> io::Result<ProbeResponse> {
        let request =
            format!("GET {path} HTTP/1.1\r\nhost: bench\r\naccept-language: {language}\r\n\r\n");
        self.stream.write_all(request.as_bytes())?;
        self.answer()
    }

    /// Sends a form in a session, and reads the answer, which is in English.
    pub fn submit(&mut self, path: &str, cookie: &str, form: &str) -> io::Result<ProbeResponse> {
        let length = form.len();
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: bench\r\naccept-language: en\r\ncookie: {cookie}\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {length}\r\n\r\n{form}"
        );
        self.stream.write_all(request.as_bytes())?;
        self.answer()
    }

    /// Reads the next answer.
    pub fn answer(&mut self) -> io::Result<ProbeResponse> {
        loop {
            if let Some(message) = message::parse(&self.read)? {
                let end = memchr::memmem::find(&self.read, b"\r\n\r\n").unwrap_or_default();
                let answer = ProbeResponse {
                    status: message.status,
                    head: String::from_utf8_lossy(&self.read[..end]).into_owned(),
                    closes: message.closes,
                    body: message.body.into_owned(),
                };
                let length = message.length;
                self.read.drain(..length);
                return Ok(answer);
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

    /// Waits for the first byte of the next answer, without reading further.
    pub fn await_byte(&mut self) -> io::Result<()> {
        let mut byte = [0; 1];
        if self.read.is_empty() && self.stream.read(&mut byte)? == 1 {
            self.read.extend_from_slice(&byte);
        }
        Ok(())
    }

    /// Asks and reads the answer.
    pub fn fetch(&mut self, path: &str) -> io::Result<ProbeResponse> {
        self.send(path)?;
        self.answer()
    }
}

/// One request on a connection of its own.
pub fn fetch(address: SocketAddr, path: &str) -> io::Result<ProbeResponse> {
    ProbeClient::connect(address)?.fetch(path)
}
