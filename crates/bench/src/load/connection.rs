//! A connection of the load: one request at a time, or several that leave together, without waiting for the socket. It knows what it still
//! has to send and to read, not when.

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
    /// Which of the requests of the plan is sent next.
    pub next: usize,
    /// Requests that were sent on it.
    pub sent: usize,
    /// Answers that are still to come.
    awaited: usize,
    /// Bytes of the request that the socket did not take yet.
    unsent: usize,
    /// The beginning of an answer.
    pending: Vec<u8>,
}

/// What a look at the socket gave.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ReadProgress {
    /// Answers are still to come.
    Part,
    /// The last awaited answer came.
    All {
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
            next: 0,
            sent: 0,
            awaited: 0,
            unsent: 0,
            pending: Vec::new(),
        })
    }

    /// Begins `count` requests that were due then, all of them in `request`.
    pub fn ask(&mut self, request: &[u8], count: usize, due: Instant) -> io::Result<SendProgress> {
        self.due = Some(due);
        self.awaited = count;
        self.sent += count;
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

    /// Reads once, by way of `room`, and has each answer judged that is complete.
    pub fn read(
        &mut self,
        room: &mut [u8],
        mut judge: impl FnMut(&ParsedResponse<'_>),
    ) -> io::Result<ReadProgress> {
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
        let is_whole = self.pending.is_empty();
        if !is_whole {
            self.pending.extend_from_slice(came);
        }
        let mut bytes = if is_whole { came } else { &self.pending };
        let mut closes = false;
        while !bytes.is_empty() {
            let Some(message) = message::parse(bytes)? else {
                break;
            };
            if self.awaited == 0 || closes {
                let reason = "more came than was asked for";
                return Err(io::Error::new(ErrorKind::InvalidData, reason));
            }
            judge(&message);
            self.awaited -= 1;
            closes = message.closes;
            bytes = &bytes[message.length..];
        }
        if self.awaited == 0 && !bytes.is_empty() {
            let reason = "more came than was asked for";
            return Err(io::Error::new(ErrorKind::InvalidData, reason));
        }
        if closes && self.awaited > 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let left = bytes.len();
        if is_whole {
            self.pending.extend_from_slice(&came[length - left..]);
        } else {
            self.pending.drain(..self.pending.len() - left);
        }
        Ok(match self.awaited {
            0 => ReadProgress::All { closes },
            _ => ReadProgress::Part,
        })
    }
}
