//! Where answers wait for their callers, by ticket. Places are used again, with their memory.
//! Rule: a place is free when its last answer has come *and* its caller has gone; what an answer says was done for a caller who has gone
//! is handed back, to be undone.

use std::collections::VecDeque;
use std::task::{Context, Poll, Waker};

use tokio::time::Instant;
use tsumugi_firebird_proto::connection::{Event, FetchEnd};
use tsumugi_firebird_proto::handle::Transaction;
use tsumugi_firebird_proto::row::Rows;
use tsumugi_firebird_proto::{GdsCode, Outcome, ServerError};

use super::{Lost, Within};
use crate::error::{Error, Result, StatementFate};

/// By what the protocol knows a request.
pub(crate) type Ticket = u32;

/// Of requests whose answers nobody wants.
pub(crate) const NOBODY: Ticket = u32::MAX;

/// Of the question that takes up a request to cancel which came too late.
pub(crate) const CANCEL_FENCE: Ticket = u32::MAX - 1;

/// One answer, as the protocol cut it.
#[derive(Debug)]
pub(crate) enum Answer {
    Response(Outcome),
    Sql(Option<Rows>, Outcome),
    /// A batch has come to its end when that is there.
    Rows(Rows, Option<Result<FetchEnd, Box<ServerError>>>),
}

/// What a request does that matters when nobody takes its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Nothing,
    BeginsTransaction,
    AllocatesStatement,
    /// Allocates a statement that nobody has asked for; see [`super::Writer::guard_last`].
    Guards,
    /// In this transaction, whose end closes it.
    OpensBlob(Within),
    /// Begins a transaction for whichever statement needs one next.
    BeginsSpare,
    /// Only the answer says whether the transaction has ended. Until then its number is neither free nor anybody's.
    Commits(Transaction),
    RollsBack(Transaction),
}

/// By what the protocol knows one answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) ticket: Ticket,
    pub(super) effect: Effect,
}

/// Something on the server that nobody owns, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Orphan {
    Transaction(u32),
    Statement(u32),
    /// A statement without a text.
    Guard(u32),
    Blob(u32, Within),
    /// A transaction for the next statement; none when it could not be begun.
    Spare(Option<u32>),
}

#[derive(Debug, Default)]
struct Slot {
    /// Answers that are still to come.
    due: u32,
    taken: bool,
    gone: bool,
    answers: VecDeque<(Effect, Answer)>,
    /// Bytes of the rows in `answers`.
    bytes: usize,
    lost: Option<(Lost, StatementFate)>,
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
    pub(super) fn open(&mut self, offset: u64) -> Ticket {
        let ticket = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            Ticket::try_from(self.slots.len() - 1).unwrap_or(NOBODY)
        });
        if let Some(slot) = self.slot(ticket) {
            slot.taken = true;
            slot.asked_at = Some(Instant::now());
            slot.offset = offset;
        }
        ticket
    }

    /// A place for an answer that nobody waits for, and without which the connection is not clean.
    pub(super) fn open_abandoned(&mut self, offset: u64) -> Ticket {
        let ticket = self.open(offset);
        if let Some(slot) = self.slot(ticket) {
            slot.gone = true;
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
    pub(super) fn answer(&mut self, event: Event<Token>) -> Option<Orphan> {
        let (Token { ticket, effect }, answer) = match event {
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
                orphan = effect.orphan(&answer);
            } else {
                slot.bytes += answer.bytes();
                slot.answers.push_back((effect, answer));
                if let Some(waker) = slot.waker.take() {
                    waker.wake();
                }
            }
            if slot.gone && slot.due == 0 {
                self.release(ticket);
            }
        } else {
            orphan = effect.orphan(&answer);
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
                StatementFate::No
            } else {
                StatementFate::Perhaps
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
        if let Some((_, answer)) = slot.answers.pop_front() {
            slot.bytes -= answer.bytes();
            return Poll::Ready(Ok(answer));
        }
        if let Some((lost, ran)) = &slot.lost {
            return Poll::Ready(Err(Error::lost(lost, *ran)));
        }
        debug_assert!(slot.due > 0, "nobody waits for what was not asked");
        slot.waker = Some(cx.waker().clone());
        Poll::Pending
    }

    /// The caller leaves: whether answers are still to come for it, and what those say that it has not taken.
    pub(super) fn leave(&mut self, ticket: Ticket) -> (bool, Vec<Orphan>) {
        let Some(slot) = self.slot(ticket) else {
            return (false, Vec::new());
        };
        let left = slot.answers.drain(..);
        let orphans = left.filter_map(|(effect, answer)| effect.orphan(&answer));
        let orphans = orphans.collect();
        slot.gone = true;
        slot.bytes = 0;
        slot.waker = None;
        slot.lost = None;
        let due = slot.due > 0;
        if !due {
            self.release(ticket);
        }
        (due, orphans)
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

impl Effect {
    /// What is nobody's when nobody takes this answer.
    fn orphan(self, answer: &Answer) -> Option<Orphan> {
        let Answer::Response(outcome) = answer else {
            return None;
        };
        match (self, outcome) {
            (Effect::BeginsTransaction, Ok(begun)) => Some(Orphan::Transaction(begun.object)),
            (Effect::AllocatesStatement, Ok(allocated)) => {
                Some(Orphan::Statement(allocated.object))
            }
            (Effect::Guards, Ok(allocated)) => Some(Orphan::Guard(allocated.object)),
            (Effect::OpensBlob(within), Ok(opened)) => Some(Orphan::Blob(opened.object, within)),
            (Effect::BeginsSpare, Ok(begun)) => Some(Orphan::Spare(Some(begun.object))),
            (Effect::BeginsSpare, Err(_)) => Some(Orphan::Spare(None)),
            // It is open still.
            (Effect::Commits(transaction), Err(_)) => Some(Orphan::Transaction(transaction.0)),
            // A request to cancel hit it instead of what that was meant for.
            (Effect::RollsBack(transaction), Err(error)) if error.has(GdsCode::CANCELLED) => {
                Some(Orphan::Transaction(transaction.0))
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
