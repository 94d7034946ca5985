//! A connection of the load: one request at a time, without waiting for the socket. It knows what it still has to send and to read,
//! not when.

use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Instant;

use crate::message::{self, ParsedResponse};

/// A connection.
pub struct Connection {
    /// Without waiting.
    pub stream: TcpStream,
    /// When the request under way was due; `None` between two.
    pub due: Option<Instant>,
    /// When the last was answered.
    pub free_since: Instant,
    /// Bytes of the request that the socket did not take yet.
    unsent: usize,
    /// The beginning of an answer.
    pending: Vec<u8>,
}

/// What a look at the socket gave.
pub enum ReadProgress<T> {
    /// A part of an answer, or nothing.
    Part,
    /// An answer, judged.
    Answer {
        /// What the judge said.
        verdict: T,
        /// No other will come on this connection.
        closes: bool,
    },
}

/// How far a request left.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum SendProgress {
    /// Wholly.
    All,
    /// The socket is full.
    Part,
}

impl Connection {
    /// Connects. This waits.
    pub fn open(address: SocketAddr) -> io::Result<Connection> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Connection {
            stream,
            due: None,
            free_since: Instant::now(),
            unsent: 0,
            pending: Vec::new(),
        })
    }

    /// Begins a request that was due then.
    pub fn ask(&mut self, request: &[u8], due: Instant) -> io::Result<SendProgress> {
        self.due = Some(due);
        self.unsent = request.len();
        self.send(request)
    }

    /// Goes on sending.
    pub fn send(&mut self, request: &[u8]) -> io::Result<SendProgress> {
        while self.unsent > 0 {
            match self.stream.write(&request[request.len() - self.unsent..]) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(taken) => self.unsent -= taken,
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Ok(SendProgress::Part);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(SendProgress::All)
    }

    /// Reads once, by way of `room`, and has an answer judged when it is complete.
    pub fn read<T>(
        &mut self,
        room: &mut [u8],
        judge: impl FnOnce(&ParsedResponse<'_>) -> T,
    ) -> io::Result<ReadProgress<T>> {
        let length = match self.stream.read(room) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(length) => length,
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) =>
            {
                return Ok(ReadProgress::Part);
            }
            Err(error) => return Err(error),
        };
        let came = &room[..length];
        // Most answers come whole and are judged where they lie.
        let bytes = if self.pending.is_empty() {
            came
        } else {
            self.pending.extend_from_slice(came);
            &self.pending
        };
        let Some(message) = message::parse(bytes)? else {
            if self.pending.is_empty() {
                self.pending.extend_from_slice(came);
            }
            return Ok(ReadProgress::Part);
        };
        if self.due.is_none() || message.length < bytes.len() {
            let reason = "more came than was asked for";
            return Err(io::Error::new(ErrorKind::InvalidData, reason));
        }
        let answer = ReadProgress::Answer {
            verdict: judge(&message),
            closes: message.closes,
        };
        self.pending.clear();
        Ok(answer)
    }
}
