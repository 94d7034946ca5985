//! What a caller holds while its answer is on the way: all of it at once, or part by part. Decodes nothing.
//! Rule: dropping it leaves the request to its fate and the connection clean.

use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use bytes::Bytes;

use super::slots::ReplyChunk;
use super::{ServerReply, Shared, Ticket, cancel};
use crate::error::Result;

/// The answer to one or several requests that were written together.
pub struct Answer {
    shared: Rc<Shared>,
    ticket: Option<Ticket>,
}

impl Answer {
    pub(super) fn new(shared: Rc<Shared>, ticket: Ticket) -> Self {
        Answer {
            shared,
            ticket: Some(ticket),
        }
    }

    fn poll_with(
        &mut self,
        cx: &mut Context<'_>,
        take: impl FnOnce(&mut VecDeque<Result<ServerReply>>),
    ) -> Poll<Result<()>> {
        let ticket = self
            .ticket
            .expect("an answer is not polled after it has come");
        let polled = self
            .shared
            .slots
            .borrow_mut()
            .poll_replies(ticket, cx, take);
        if polled.is_ready() {
            self.ticket = None;
        }
        polled
    }

    /// The answers to all requests, in their order. Each may be an error of its own; the outer one is the connection's end.
    pub(crate) async fn all(mut self) -> Result<Vec<Result<ServerReply>>> {
        let mut answers = Vec::new();
        poll_fn(|cx| self.poll_with(cx, |replies| answers.extend(replies.drain(..)))).await?;
        Ok(answers)
    }
}

impl Future for Answer {
    type Output = Result<ServerReply>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<ServerReply>> {
        let mut answer = None;
        let polled = self.poll_with(cx, |replies| answer = replies.pop_front());
        polled.map(|ended| ended.and_then(|()| answer.expect("one request has one answer")))
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        if let Some(ticket) = self.ticket.take()
            && self.shared.slots.borrow_mut().leave(ticket)
        {
            cancel::abandoned(&self.shared);
        }
        self.shared.let_go(2);
    }
}

/// A part of an answer that is read while it comes.
#[derive(Debug)]
pub enum Part {
    /// Whole messages, all of this tag.
    Messages {
        /// One of [`tsumugi_pg_proto::backend::tag`].
        tag: u8,
        /// The messages.
        bytes: Bytes,
    },
    /// A piece of a message that is too long to keep; the first begins with the message's head of five bytes.
    Fragment {
        /// The piece.
        bytes: Bytes,
        /// Whether it is the first of its message.
        first: bool,
        /// Bytes of the message still to come.
        left: usize,
    },
    /// The server waits for COPY data.
    CopyIn(Bytes),
}

/// An answer that is read while it comes. Reading slowly makes the server wait.
pub struct Parts {
    shared: Rc<Shared>,
    ticket: Option<Ticket>,
    /// No other request may follow meanwhile.
    reserves: bool,
    /// Pieces of a long message have come and more are to come.
    in_message: bool,
}

impl Parts {
    pub(super) fn new(shared: Rc<Shared>, ticket: Ticket) -> Self {
        shared.reserved.set(true);
        Parts {
            shared,
            ticket: Some(ticket),
            reserves: true,
            in_message: false,
        }
    }

    /// The next part; none when ReadyForQuery has come.
    pub(crate) async fn next(&mut self) -> Result<Option<Part>> {
        let Some(ticket) = self.ticket else {
            return Ok(None);
        };
        let bit = poll_fn(|cx| self.shared.slots.borrow_mut().poll_bit(ticket, cx)).await;
        // The pump may have stopped reading because this caller was slow.
        self.shared.ring();
        match bit {
            Ok(ReplyChunk::Part { tag, bytes }) => Ok(Some(Part::Messages { tag, bytes })),
            Ok(ReplyChunk::Fragment { bytes, left }) => {
                let first = !std::mem::replace(&mut self.in_message, left > 0);
                Ok(Some(Part::Fragment { bytes, first, left }))
            }
            Ok(ReplyChunk::CopyIn(bytes)) => Ok(Some(Part::CopyIn(bytes))),
            Ok(ReplyChunk::End) => {
                self.end();
                Ok(None)
            }
            Err(error) => {
                self.end();
                Err(error)
            }
        }
    }

    /// Throws away what is still to come.
    pub(crate) async fn drain(&mut self) -> Result<()> {
        while self.next().await?.is_some() {}
        Ok(())
    }

    /// Whether the caller has not been told of the end.
    pub(crate) fn is_open(&self) -> bool {
        self.ticket.is_some()
    }

    /// Whether ReadyForQuery is still to come.
    pub(crate) fn is_due(&self) -> bool {
        let slots = self.shared.slots.borrow();
        self.ticket.is_some_and(|ticket| slots.is_due(ticket))
    }

    /// Whether there is something to be read, were it an error.
    pub(crate) fn has_news(&self) -> bool {
        let slots = self.shared.slots.borrow();
        self.ticket.is_none_or(|ticket| slots.has_news(ticket))
    }

    /// From now on other requests may follow.
    pub(crate) fn release(&mut self) {
        if std::mem::take(&mut self.reserves) {
            self.shared.end_reservation();
        }
    }

    /// Leaves the rest of the answer to itself; the server is not asked to stop.
    pub(crate) fn let_run(&mut self) {
        if self.end() {
            self.shared.ring();
        }
    }

    fn end(&mut self) -> bool {
        self.release();
        let ticket = self.ticket.take();
        ticket.is_some_and(|ticket| self.shared.slots.borrow_mut().leave(ticket))
    }
}

impl Drop for Parts {
    fn drop(&mut self) {
        if self.end() {
            self.shared.ring();
            cancel::abandoned(&self.shared);
        }
        self.shared.let_go(2);
    }
}
