//! Where answers wait for their callers, by ticket. Places are used again, with their memory.
//! Rule: a place is free when its last answer has come *and* its caller has gone; what an answer created for a caller who has gone
//! is handed back, to be undone.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use tokio::time::Instant;
use tsumugi_firebird_proto::connection::{Event, FetchEnd};
use tsumugi_firebird_proto::row::Rows;
use tsumugi_firebird_proto::{GdsCode, Outcome, ServerError};

use super::Lost;
use crate::error::{Error, Ran, Result};

/// By what the protocol knows a request.
pub(crate) type Ticket = u32;

/// Of requests whose answers nobody wants.
pub(crate) const NOBODY: Ticket = u32::MAX;

/// Of the question that takes up a request to cancel which came too late.
pub(crate) const SPONGE: Ticket = u32::MAX - 1;

/// One answer, as the protocol cut it.
#[derive(Debug)]
pub(crate) enum Answer {
    Response(Outcome),
    Sql(Option<Rows>, Outcome),
    /// A batch has come to its end when that is there.
    Rows(Rows, Option<Result<FetchEnd, Box<ServerError>>>),
}

/// What the first answer to a request creates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Creates {
    #[default]
    Nothing,
    Transaction,
    Statement,
    Blob,
}

/// Something on the server that nobody owns: its kind and its handle.
pub(super) type Orphan = (Creates, u32);

#[derive(Debug, Default)]
struct Slot {
    /// Answers that are still to come.
    due: u32,
    taken: bool,
    gone: bool,
    creates: Creates,
    /// The transaction that it rolls back, for nobody.
    ends: Option<u32>,
    answers: VecDeque<Answer>,
    /// Bytes of the rows in `answers`.
    bytes: usize,
    lost: Option<(Lost, Ran)>,
    waker: Option<Waker>,
    asked_at: Option<Instant>,
    /// Where in the stream of written bytes the first request begins.
    offset: u64,
}

#[derive(Debug, Default)]
pub(super) struct Slots {
    slots: Vec<Slot>,
    free: Vec<Ticket>,
    /// Requests whose callers are still there and still wait.
    watchers: Vec<Waker>,
}

impl Slots {
    /// A place for answers.
    pub(super) fn open(&mut self, creates: Creates, offset: u64) -> Ticket {
        let ticket = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            Ticket::try_from(self.slots.len() - 1).unwrap_or(NOBODY)
        });
        if let Some(slot) = self.slot(ticket) {
            slot.taken = true;
            slot.creates = creates;
            slot.asked_at = Some(Instant::now());
            slot.offset = offset;
        }
        ticket
    }

    /// A place for the answer to a rollback that nobody waits for. One that was cancelled in its stead is an orphan again.
    pub(super) fn open_rollback(&mut self, transaction: u32, offset: u64) -> Ticket {
        let ticket = self.open(Creates::Nothing, offset);
        if let Some(slot) = self.slot(ticket) {
            slot.gone = true;
            slot.ends = Some(transaction);
        }
        ticket
    }

    fn slot(&mut self, ticket: Ticket) -> Option<&mut Slot> {
        self.slots.get_mut(usize::try_from(ticket).ok()?)
    }

    fn look(&self, ticket: Ticket) -> Option<&Slot> {
        self.slots.get(usize::try_from(ticket).ok()?)
    }

    /// So many more answers will come.
    pub(super) fn expect(&mut self, ticket: Ticket, answers: u32) {
        if let Some(slot) = self.slot(ticket) {
            slot.due += answers;
            slot.asked_at = Some(Instant::now());
        }
    }

    pub(super) fn asked_at(&self, ticket: Ticket) -> Option<Instant> {
        self.look(ticket)?.asked_at
    }

    /// Whether somebody waits for an answer.
    pub(super) fn has_callers(&self) -> bool {
        self.slots
            .iter()
            .any(|slot| slot.taken && !slot.gone && slot.due > 0)
    }

    /// Wakes `waker` when anything ends.
    pub(super) fn watch(&mut self, waker: &Waker) {
        self.watchers.push(waker.clone());
    }

    pub(super) fn wake_watchers(&mut self) {
        for watcher in self.watchers.drain(..) {
            watcher.wake();
        }
    }

    /// How many bytes of rows wait for the caller.
    pub(super) fn waiting_bytes(&self, ticket: Ticket) -> usize {
        self.look(ticket).map_or(0, |slot| slot.bytes)
    }

    /// Whether something waits for the caller.
    pub(super) fn has_news(&self, ticket: Ticket) -> bool {
        self.look(ticket)
            .is_some_and(|slot| !slot.answers.is_empty() || slot.lost.is_some())
    }

    /// An answer has come. What it created and nobody owns is returned.
    pub(super) fn answer(&mut self, event: Event<Ticket>) -> Option<Orphan> {
        let (ticket, answer) = match event {
            Event::Response { token, outcome } => (token, Answer::Response(outcome)),
            Event::Sql {
                token,
                row,
                outcome,
            } => (token, Answer::Sql(row, outcome)),
            Event::Rows { token, rows, end } => (token, Answer::Rows(rows, end)),
        };
        let last = !matches!(answer, Answer::Rows(_, None));
        let mut orphan = None;
        if let Some(slot) = self.slot(ticket) {
            if last {
                slot.due = slot.due.saturating_sub(1);
            }
            if slot.gone {
                orphan = slot.orphan(&answer);
            } else {
                slot.bytes += answer.bytes();
                slot.answers.push_back(answer);
                if let Some(waker) = slot.waker.take() {
                    waker.wake();
                }
            }
            if slot.gone && slot.due == 0 {
                self.release(ticket);
            }
        }
        if last {
            self.wake_watchers();
        }
        orphan
    }

    /// The connection has ended: whoever waits is told.
    pub(super) fn lose(&mut self, lost: &Lost, sent: u64) {
        for ticket in 0..self.slots.len() {
            let Ok(ticket) = Ticket::try_from(ticket) else {
                continue;
            };
            let Some(slot) = self.slot(ticket).filter(|slot| slot.taken) else {
                continue;
            };
            let ran = if slot.offset >= sent {
                Ran::No
            } else {
                Ran::Perhaps
            };
            slot.due = 0;
            slot.lost = Some((lost.clone(), ran));
            if let Some(waker) = slot.waker.take() {
                waker.wake();
            }
            if slot.gone {
                self.release(ticket);
            }
        }
        self.wake_watchers();
    }

    /// The caller's next answer.
    pub(super) fn poll(&mut self, ticket: Ticket, cx: &mut Context<'_>) -> Poll<Result<Answer>> {
        let Some(slot) = self.slot(ticket) else {
            return Poll::Pending;
        };
        if let Some(answer) = slot.answers.pop_front() {
            slot.bytes -= answer.bytes();
            slot.creates = Creates::Nothing;
            return Poll::Ready(Ok(answer));
        }
        if let Some((lost, ran)) = &slot.lost {
            return Poll::Ready(Err(Error::lost(lost, *ran)));
        }
        debug_assert!(slot.due > 0, "nobody waits for what was not asked");
        slot.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// The caller leaves: whether answers are still to come for it, and what was created and not taken.
    pub(super) fn leave(&mut self, ticket: Ticket) -> (bool, Option<Orphan>) {
        let Some(slot) = self.slot(ticket) else {
            return (false, None);
        };
        let orphan = match slot.answers.pop_front() {
            Some(answer) => slot.orphan(&answer),
            None => None,
        };
        slot.gone = true;
        slot.answers.clear();
        slot.bytes = 0;
        slot.waker = None;
        slot.lost = None;
        let due = slot.due > 0;
        if !due {
            self.release(ticket);
        }
        (due, orphan)
    }

    fn release(&mut self, ticket: Ticket) {
        if let Some(slot) = self.slot(ticket) {
            let mut answers = std::mem::take(&mut slot.answers);
            answers.clear();
            *slot = Slot {
                answers,
                ..Slot::default()
            };
            self.free.push(ticket);
        }
    }
}

impl Slot {
    /// What the first answer created, if this is it.
    fn orphan(&mut self, answer: &Answer) -> Option<Orphan> {
        let creates = std::mem::take(&mut self.creates);
        match answer {
            Answer::Response(Err(error)) if error.has(GdsCode::CANCELLED) => {
                Some((Creates::Transaction, self.ends?))
            }
            Answer::Response(Ok(response)) if creates != Creates::Nothing => {
                Some((creates, response.object))
            }
            _ => None,
        }
    }
}

impl Answer {
    fn bytes(&self) -> usize {
        match self {
            Answer::Rows(rows, _) => rows.size_bytes(),
            Answer::Response(_) | Answer::Sql(..) => 0,
        }
    }
}
