//! The answers of an open connection: which come next, and where in the stream each ends. Knows no socket and no meaning of an answer.
//! The server answers strictly in the order of the requests. Whoever writes a request says here what it expects.
//! Rule: an answer says no length and not whose it is; one that is not what the head of the queue expects ends the connection.

mod poll;

use std::collections::VecDeque;
use std::sync::Arc;

use crate::error::Misuse;
use crate::limits::PIPELINE_MAX;
use crate::response::Outcome;
use crate::row::{Format, Rows};
use crate::status::ServerError;

/// What a request is answered with.
#[derive(Debug, Clone)]
pub enum Expect {
    /// One response.
    Response,
    /// One response that the server keeps until it answers something else: to allocating and to freeing a statement.
    Deferred,
    /// At most one row of this form, then a response: execute2 and its immediate form.
    Sql(Arc<Format>),
    /// Rows of this form and how the batch ended: fetch.
    Fetch(Arc<Format>),
}

/// A message of the server. `T` is the caller's token of its request.
#[derive(Debug, Clone)]
pub enum Event<T> {
    /// The answer to what expected [`Expect::Response`] or [`Expect::Deferred`].
    Response {
        /// Whose.
        token: T,
        /// Yes, or why not. The connection is usable in either case.
        outcome: Outcome,
    },
    /// The answer to what expected [`Expect::Sql`].
    Sql {
        /// Whose.
        token: T,
        /// The row, if there is one.
        row: Option<Rows>,
        /// Yes, or why not. The connection is usable in either case.
        outcome: Outcome,
    },
    /// Rows for what expected [`Expect::Fetch`]: a batch, or a piece of one.
    Rows {
        /// Whose.
        token: T,
        /// Maybe none.
        rows: Rows,
        /// How the batch ended; `None` while there is more of it.
        end: Option<Result<FetchEnd, Box<ServerError>>>,
    },
}

/// Why there are no more rows in a batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FetchEnd {
    /// As many as were asked for came, or as many as the server sends at once. Fetch again.
    More,
    /// There are no more. The server refuses a fetch that is already under way: the cursor has no more rows.
    Eof,
}

/// The replies that are expected before a request's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PendingReplies {
    /// How many answers.
    pub awaited: usize,
    /// Whether any comes without another request: false when there are none, or only those that the server keeps.
    pub will_answer: bool,
}

/// What is expected of one server.
#[derive(Debug)]
pub struct Connection<T> {
    expected: VecDeque<(T, Expect)>,
    /// How many at the end of the queue are deferred: they alone would never be answered.
    owed: usize,
    scan: Scan,
    missing: usize,
}

/// How far the answer at the head of the queue has been looked at.
#[derive(Debug, Default, Clone, Copy)]
struct Scan {
    /// Bytes of the input that are whole packets of it.
    at: usize,
    /// Rows among them.
    rows: usize,
    /// Bytes there must be before it is worth looking again.
    wanted: usize,
}

impl<T: Clone> Connection<T> {
    /// A connection that is attached, or about to be.
    pub fn new() -> Self {
        Self {
            expected: VecDeque::new(),
            owed: 0,
            scan: Scan::default(),
            missing: 0,
        }
    }

    /// What the request that is being written expects. In the order of the requests.
    ///
    /// # Errors
    /// [`Misuse::PipelineFull`]; do not write it.
    pub fn expect(&mut self, token: T, what: Expect) -> Result<(), Misuse> {
        if self.expected.len() >= PIPELINE_MAX {
            return Err(Misuse::PipelineFull);
        }
        self.owed = match what {
            Expect::Deferred => self.owed + 1,
            _ => 0,
        };
        self.expected.push_back((token, what));
        Ok(())
    }

    /// How many answers are expected.
    pub fn awaited(&self) -> usize {
        self.expected.len()
    }

    /// Whether an answer will come without another request: false when nothing is expected, or only what the server keeps.
    pub fn will_answer(&self) -> bool {
        self.expected.len() > self.owed
    }

    /// What is expected before the first request whose token `is_fence` accepts; everything when there is none.
    pub fn before(&self, is_fence: impl Fn(&T) -> bool) -> PendingReplies {
        let mut before = PendingReplies::default();
        let expected = self.expected.iter();
        for (_, what) in expected.take_while(|(token, _)| !is_fence(token)) {
            before.awaited += 1;
            before.will_answer |= !matches!(what, Expect::Deferred);
        }
        before
    }

    /// Whose answer comes next.
    pub fn next(&self) -> Option<&T> {
        self.expected.front().map(|(token, _)| token)
    }

    /// At least this many bytes must come before [`Connection::poll`] has something to say. Meaningful after it said `None`.
    pub fn missing(&self) -> usize {
        self.missing
    }

    /// All that are awaited, when the connection has failed.
    pub fn abandon(&mut self) -> impl Iterator<Item = T> + use<'_, T> {
        self.owed = 0;
        self.scan = Scan::default();
        self.expected.drain(..).map(|(token, _)| token)
    }
}

impl<T: Clone> Default for Connection<T> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests;
