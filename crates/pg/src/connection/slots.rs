//! Where answers wait for their callers, by ticket. Places are used again, with their memory, so that a request in steady
//! state allocates nothing. Rule: a place is free when its last answer has come *and* its caller has taken or left it.

use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::{fmt, io};

use bytes::Bytes;
use tokio::time::Instant;
use tsumugi_pg_proto::Violation;
use tsumugi_pg_proto::backend::ServerError;

use super::outbox::Near;
use super::{ServerReply, Ticket};
use crate::error::{Error, Result, StatementFate};
use crate::limits;

/// Why a connection ended.
#[derive(Clone, Debug)]
pub(crate) struct Lost(pub(crate) Rc<Reason>);

#[derive(Debug)]
pub(crate) enum Reason {
    /// The server closed it, perhaps saying why.
    Closed(Option<Box<ServerError>>),
    /// The socket failed.
    Io(io::Error),
    /// The server broke the protocol.
    Protocol(Violation),
    /// We closed it, and why.
    Aborted(&'static str),
}

impl Lost {
    pub(crate) fn unclean() -> Self {
        Lost::aborted("it could not be made clean in time and was closed")
    }

    pub(crate) fn aborted(reason: &'static str) -> Self {
        Lost(Rc::new(Reason::Aborted(reason)))
    }

    /// What the server said, if it did.
    pub(crate) fn server(&self) -> Option<&ServerError> {
        match &*self.0 {
            Reason::Closed(error) => error.as_deref(),
            Reason::Io(_) | Reason::Protocol(_) | Reason::Aborted(_) => None,
        }
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Reason::Closed(Some(error)) => write!(f, "{error}"),
            Reason::Closed(None) => f.write_str("the server closed it"),
            Reason::Io(error) => write!(f, "{error}"),
            Reason::Protocol(violation) => write!(f, "the server broke the protocol: {violation}"),
            Reason::Aborted(reason) => f.write_str(reason),
        }
    }
}

/// For so many answers a place keeps its memory.
const REPLIES_KEPT_MAX: usize = 64;

/// What came for a caller who reads an answer bit by bit.
#[derive(Debug)]
pub(crate) enum ReplyChunk {
    /// Whole messages of one kind.
    Part { tag: u8, bytes: Bytes },
    /// A piece of a long message; so much of it is still to come.
    Fragment { bytes: Bytes, left: usize },
    /// The server waits for COPY data.
    CopyIn(Bytes),
    /// ReadyForQuery.
    End,
}

#[derive(Debug, Default)]
struct Slot {
    /// Answers that are still to come.
    due: u32,
    caller: Caller,
    replies: VecDeque<Result<ServerReply>>,
    bits: VecDeque<ReplyChunk>,
    /// Bytes in `bits`.
    bit_bytes: usize,
    lost: Option<Error>,
    waker: Option<Waker>,
    asked_at: Option<Instant>,
    /// Where in the stream of sent bytes the request begins.
    offset: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Caller {
    /// The place is free.
    #[default]
    None,
    Whole,
    Bits,
    /// Left before the answer came.
    Gone,
}

#[derive(Debug, Default)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    free: Vec<Ticket>,
    /// Requests whose callers still wait.
    live: usize,
    /// Answers that have come.
    answered: u64,
    watchers: Vec<Waker>,
    near: Near,
}

impl Slots {
    /// A place for the answers to `requests` requests.
    pub(super) fn open(&mut self, requests: u32, offset: u64) -> Ticket {
        let ticket = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            Ticket::try_from(self.slots.len() - 1)
                .expect("a connection awaits at most 65,536 answers")
        });
        let slot = &mut self.slots[ticket as usize];
        slot.due = requests;
        slot.caller = Caller::Whole;
        slot.asked_at = Some(Instant::now());
        slot.offset = offset;
        self.live += 1;
        ticket
    }

    /// The answer shall be handed out bit by bit.
    pub(super) fn stream(&mut self, ticket: Ticket) {
        self.slots[ticket as usize].caller = Caller::Bits;
    }

    /// Its requests were taken back: the place is free again.
    pub(super) fn take_back(&mut self, ticket: Ticket) {
        self.slots[ticket as usize].due = 0;
        self.leave(ticket);
    }

    pub(super) fn asked_at(&self, ticket: Ticket) -> Option<Instant> {
        self.slots.get(ticket as usize)?.asked_at
    }

    /// Whether somebody waits for an answer.
    pub(super) fn has_callers(&self) -> bool {
        self.live > 0
    }

    /// Wakes `waker` at the next end of an answer.
    pub(super) fn watch(&mut self, waker: &Waker) {
        self.watchers.push(waker.clone());
    }

    /// One answer, or its failure, has come.
    pub(super) fn reply(&mut self, ticket: Ticket, reply: Result<ServerReply>) {
        let slot = &mut self.slots[ticket as usize];
        if slot.caller == Caller::Whole {
            slot.replies.push_back(reply);
        }
        self.answered(ticket);
    }

    /// The answer was too large: an error takes its place, the end is still to come.
    pub(super) fn fail(&mut self, ticket: Ticket, error: Error) {
        let slot = &mut self.slots[ticket as usize];
        match slot.caller {
            Caller::Whole => slot.replies.push_back(Err(error)),
            Caller::Bits => {
                slot.lost = Some(error);
                // Its end may depend on what the caller does now.
                if let Some(waker) = slot.waker.take() {
                    waker.wake();
                }
            }
            Caller::None | Caller::Gone => {}
        }
    }

    /// A bit of an answer has come.
    pub(super) fn bit(&mut self, ticket: Ticket, bit: ReplyChunk) {
        let slot = &mut self.slots[ticket as usize];
        if slot.caller == Caller::Bits {
            slot.bit_bytes += bit.len();
            slot.bits.push_back(bit);
            if let Some(waker) = slot.waker.take() {
                waker.wake();
            }
        }
    }

    /// ReadyForQuery of an answer that came in bits or was given up.
    pub(super) fn end(&mut self, ticket: Ticket) {
        self.bit(ticket, ReplyChunk::End);
        self.answered(ticket);
    }

    /// Whether the caller reads bit by bit.
    pub(super) fn reads_bits(&self, ticket: Ticket) -> bool {
        self.slots[ticket as usize].caller == Caller::Bits
    }

    /// How many bytes wait for the caller.
    pub(super) fn waiting_bytes(&self, ticket: Ticket) -> usize {
        self.slots[ticket as usize].bit_bytes
    }

    /// Whether an answer has come so quickly that the server must be near.
    pub(super) fn near(&self) -> Near {
        self.near
    }

    fn answered(&mut self, ticket: Ticket) {
        let slot = &mut self.slots[ticket as usize];
        if self.near == Near::Unknown
            && slot
                .asked_at
                .is_some_and(|asked_at| asked_at.elapsed() <= limits::NEAR)
        {
            self.near = Near::Yes;
        }
        slot.due = slot.due.saturating_sub(1);
        if slot.due == 0 {
            if slot.caller == Caller::Gone {
                self.free(ticket);
            } else if let Some(waker) = slot.waker.take() {
                waker.wake();
            }
        }
        self.answered += 1;
        self.wake_watchers();
    }

    /// How many answers have come so far.
    pub(super) fn answers(&self) -> u64 {
        self.answered
    }

    /// Something ended: an answer, or the connection.
    pub(super) fn wake_watchers(&mut self) {
        for watcher in self.watchers.drain(..) {
            watcher.wake();
        }
    }

    /// The connection has ended before the answer came.
    pub(super) fn lose(&mut self, ticket: Ticket, lost: &Lost, sent: u64) {
        let slot = &mut self.slots[ticket as usize];
        let ran = if slot.offset >= sent {
            StatementFate::No
        } else {
            StatementFate::Perhaps
        };
        if slot.lost.is_none() {
            slot.lost = Some(Error::lost(lost, ran));
        }
        slot.due = 1;
        self.answered(ticket);
    }

    /// The caller's answers, when all are there. The place is free afterwards.
    pub(super) fn poll_replies(
        &mut self,
        ticket: Ticket,
        cx: &mut Context<'_>,
        take: impl FnOnce(&mut VecDeque<Result<ServerReply>>),
    ) -> Poll<Result<()>> {
        let slot = &mut self.slots[ticket as usize];
        if slot.due > 0 {
            slot.waker = Some(cx.waker().clone());
            return Poll::Pending;
        }
        let result = match slot.lost.take() {
            Some(error) => Err(error),
            None => {
                take(&mut slot.replies);
                Ok(())
            }
        };
        self.live -= 1;
        self.free(ticket);
        Poll::Ready(result)
    }

    /// The next bit of the caller's answer. After [`ReplyChunk::End`] or an error there is no more.
    pub(super) fn poll_bit(
        &mut self,
        ticket: Ticket,
        cx: &mut Context<'_>,
    ) -> Poll<Result<ReplyChunk>> {
        let slot = &mut self.slots[ticket as usize];
        if let Some(bit) = slot.bits.pop_front() {
            slot.bit_bytes -= bit.len();
            return Poll::Ready(Ok(bit));
        }
        if let Some(error) = slot.lost.take() {
            return Poll::Ready(Err(error));
        }
        slot.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// Whether something waits for the caller who reads bit by bit.
    pub(super) fn has_news(&self, ticket: Ticket) -> bool {
        let slot = &self.slots[ticket as usize];
        !slot.bits.is_empty() || slot.lost.is_some()
    }

    /// Whether answers are still to come.
    pub(super) fn is_due(&self, ticket: Ticket) -> bool {
        self.slots[ticket as usize].due > 0
    }

    /// The caller leaves; true when answers are still to come for it.
    pub(super) fn leave(&mut self, ticket: Ticket) -> bool {
        self.live -= 1;
        let slot = &mut self.slots[ticket as usize];
        if slot.due == 0 {
            self.free(ticket);
            return false;
        }
        slot.caller = Caller::Gone;
        slot.replies.clear();
        slot.bits.clear();
        slot.bit_bytes = 0;
        slot.waker = None;
        true
    }

    fn free(&mut self, ticket: Ticket) {
        let slot = &mut self.slots[ticket as usize];
        slot.caller = Caller::None;
        slot.replies.clear();
        if slot.replies.capacity() > REPLIES_KEPT_MAX {
            slot.replies = VecDeque::new();
        }
        slot.bits.clear();
        slot.bit_bytes = 0;
        slot.lost = None;
        slot.waker = None;
        slot.asked_at = None;
        self.free.push(ticket);
    }
}

impl ReplyChunk {
    fn len(&self) -> usize {
        match self {
            ReplyChunk::Part { bytes, .. }
            | ReplyChunk::Fragment { bytes, .. }
            | ReplyChunk::CopyIn(bytes) => bytes.len(),
            ReplyChunk::End => 0,
        }
    }
}
