//! One connection after its start-up: which answer belongs to which request. Knows no socket and does not decode results.
//! Requests are appended to the caller's buffer; what the socket delivered is cut at ReadyForQuery and handed out in order.
//! Rule: answers come in the order of the requests, one ReadyForQuery each; anything else ends the connection.

mod event;
mod messages;
mod name;
mod request;
mod scan;

use std::collections::VecDeque;

use bytes::BytesMut;

pub use event::{Event, Reply};
pub use messages::Messages;
pub use name::StatementName;
pub use request::Request;

use crate::backend::{ServerError, TransactionStatus};
use crate::error::Misuse;
use crate::frontend;
use crate::limits::PIPELINE_MAX;
use crate::session::{ServerParameters, Session};
use scan::Scan;

/// How the answer to a request shall be handed out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// All of it at once, undecoded, when ReadyForQuery has come. One above the limit of the connection is given up.
    Whole,
    /// Whole messages as they come. One message above the limit of the connection ends it.
    Streamed,
    /// Like [`Shape::Streamed`], but a row or piece of COPY data above
    /// [`FRAGMENT_BYTES_MAX`](crate::limits::FRAGMENT_BYTES_MAX) comes in pieces, so that its size does not matter.
    Fragments,
}

/// An answer that is awaited.
#[derive(Debug, Clone, Copy)]
struct ExpectedReply<T> {
    token: T,
    shape: Shape,
    protocol: Protocol,
    /// If it turns out to be a COPY FROM STDIN, the server knows already that there will be no data.
    given_up: bool,
}

/// By which of the two protocols a statement was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protocol {
    /// Ends with a Sync.
    Extended,
    /// One Query message, which is its own Sync.
    Simple,
}

/// Whether COPY data are being sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CopyIn {
    No,
    /// The server waits for data. It has ignored, or will ignore, the Sync that came with the statement.
    Open,
}

/// The bookkeeping of one connection. `T` is what identifies the requests of the caller.
#[derive(Debug)]
pub struct Connection<T> {
    expected: VecDeque<ExpectedReply<T>>,
    scan: Scan,
    parameters: ServerParameters,
    status: TransactionStatus,
    copy_in: CopyIn,
    fatal: Option<Box<ServerError>>,
    ended: bool,
    statements: u64,
    reply_bytes_max: usize,
}

impl<T: Copy> Connection<T> {
    /// A connection after start-up. An answer above `reply_bytes_max` bytes is given up unless it is streamed.
    pub fn new(session: &Session, reply_bytes_max: usize) -> Self {
        Self {
            expected: VecDeque::new(),
            scan: Scan::default(),
            parameters: session.parameters.clone(),
            status: session.status,
            copy_in: CopyIn::No,
            fatal: None,
            ended: false,
            statements: 0,
            reply_bytes_max,
        }
    }

    /// Begins a request in `out`. Nothing of it stays there unless it is ended by [`Request::sync`].
    pub fn request<'c>(&'c mut self, out: &'c mut BytesMut) -> Request<'c, T> {
        Request::begin(self, out)
    }

    /// Awaits one more answer, up to a ReadyForQuery. For callers that write messages by [`crate::frontend`] that end with one
    /// Sync; [`Self::request`] does both.
    ///
    /// # Errors
    /// [`Misuse::PipelineFull`], [`Misuse::Ended`], [`Misuse::OutOfTurn`] while COPY data are being sent.
    pub fn expect(&mut self, token: T, shape: Shape) -> Result<(), Misuse> {
        self.accepts()?;
        self.push(token, shape, Protocol::Extended);
        Ok(())
    }

    /// Whether a request may be begun now.
    ///
    /// # Errors
    /// As [`Self::expect`].
    fn accepts(&self) -> Result<(), Misuse> {
        if self.ended || self.fatal.is_some() {
            return Err(Misuse::Ended);
        }
        if self.copy_in == CopyIn::Open {
            return Err(Misuse::OutOfTurn("a request during COPY"));
        }
        if self.expected.len() >= PIPELINE_MAX {
            return Err(Misuse::PipelineFull);
        }
        Ok(())
    }

    fn push(&mut self, token: T, shape: Shape, protocol: Protocol) {
        self.expected.push_back(ExpectedReply {
            token,
            shape,
            protocol,
            given_up: false,
        });
    }

    /// Awaits the newest `requests` no longer: the caller took what they had written out of its buffer before any of it was sent.
    pub fn take_back(&mut self, requests: usize) {
        let sent = self.expected.len().saturating_sub(requests);
        self.expected.truncate(sent);
    }

    /// Whether the server waits for COPY data, and owes nothing meanwhile.
    pub fn awaits_copy_data(&self) -> bool {
        self.copy_in == CopyIn::Open
    }

    /// Ends the COPY data of the statement that [`Event::CopyIn`] came for. The rest of its answer follows.
    ///
    /// # Errors
    /// [`Misuse::OutOfTurn`] when the server does not wait for data (any more: it may have refused meanwhile).
    pub fn copy_done(&mut self, out: &mut BytesMut) -> Result<(), Misuse> {
        self.end_copy_in("copy_done", out, |out| {
            frontend::copy_done(out);
            Ok(())
        })
    }

    /// Gives the COPY up that [`Event::CopyIn`] came for: the answer will be an error that quotes `reason`.
    ///
    /// # Errors
    /// [`Misuse::Nul`], and [`Misuse::OutOfTurn`] as [`Self::copy_done`].
    pub fn copy_fail(&mut self, out: &mut BytesMut, reason: &str) -> Result<(), Misuse> {
        self.end_copy_in("copy_fail", out, |out| frontend::copy_fail(out, reason))
    }

    /// Gives up the COPY that the newest request is, a query of the simple protocol, even when [`Event::CopyIn`] has not come
    /// yet. The server refuses the COPY, or ignores this because the statement has failed. Other requests may follow at once.
    ///
    /// # Errors
    /// [`Misuse::Nul`], and [`Misuse::OutOfTurn`] when the newest request is none of the simple protocol.
    pub fn copy_give_up(&mut self, out: &mut BytesMut, reason: &str) -> Result<(), Misuse> {
        if self.copy_in == CopyIn::Open {
            return self.copy_fail(out, reason);
        }
        match self.expected.back_mut() {
            Some(newest) if newest.protocol == Protocol::Simple => {
                frontend::copy_fail(out, reason)?;
                newest.given_up = true;
                Ok(())
            }
            _ => Err(Misuse::OutOfTurn("copy_give_up")),
        }
    }

    fn end_copy_in(
        &mut self,
        name: &'static str,
        out: &mut BytesMut,
        write: impl FnOnce(&mut BytesMut) -> Result<(), Misuse>,
    ) -> Result<(), Misuse> {
        if self.copy_in == CopyIn::No {
            return Err(Misuse::OutOfTurn(name));
        }
        write(out)?;
        // The server ignored the first Sync: it came while data were expected.
        let protocol = self.expected.front().map(|expected| expected.protocol);
        if protocol == Some(Protocol::Extended) {
            frontend::sync(out);
        }
        self.copy_in = CopyIn::No;
        Ok(())
    }

    /// Takes what the connection still owes, oldest first, and accepts no more requests. For when the socket has ended.
    pub fn end(&mut self) -> impl Iterator<Item = T> {
        self.ended = true;
        self.expected.drain(..).map(|expected| expected.token)
    }

    /// Why the server ended the connection, if it said so.
    pub fn fatal(&self) -> Option<&ServerError> {
        self.fatal.as_deref()
    }

    /// The server's settings, as last reported.
    pub fn parameters(&self) -> &ServerParameters {
        &self.parameters
    }

    /// What the last ReadyForQuery said. While answers are awaited it is behind the times.
    pub fn status(&self) -> TransactionStatus {
        self.status
    }

    /// How many answers are awaited.
    pub fn awaited(&self) -> usize {
        self.expected.len()
    }

    /// Whose answer comes next.
    pub fn oldest(&self) -> Option<T> {
        self.expected.front().map(|expected| expected.token)
    }

    /// How many bytes are certainly missing before [`Self::poll`] can go on; a hint for the next read's room.
    pub fn missing(&self) -> usize {
        self.scan.missing
    }

    /// Lets the numbers of statement names begin after `number`. Behind a pooler that gives one server session to several clients,
    /// names that two of them have chosen alike would mix up their statements: begin at random there.
    pub fn number_statements_from(&mut self, number: u64) {
        self.statements = number;
    }

    /// A statement name that this connection has not used.
    pub fn statement_name(&mut self) -> StatementName {
        self.statements += 1;
        StatementName::new(self.statements)
    }
}

#[cfg(test)]
mod tests;
