//! What the server replied to one request, what the request did that matters when no caller takes the reply, and what is then left to undo.
//! Undoes nothing itself. Rule: what was created and has no owner is named by its number, once.

use tsumugi_firebird_proto::connection::FetchEnd;
use tsumugi_firebird_proto::handle::Transaction;
use tsumugi_firebird_proto::row::Rows;
use tsumugi_firebird_proto::{GdsCode, Outcome, ServerError};
use tsumugi_wire::{Item, Ticket};

use super::ends::TransactionEpoch;

/// One answer, as the protocol cut it.
#[derive(Debug)]
pub(crate) enum Answer {
    Response(Outcome),
    Sql(Option<Rows>, Outcome),
    /// A batch has come to its end when that is there.
    Rows(Rows, Option<Result<FetchEnd, Box<ServerError>>>),
}

/// What comes for a caller.
#[derive(Debug)]
pub(crate) struct EffectAnswer {
    pub(super) effect: Effect,
    pub(super) answer: Answer,
}

impl Item for EffectAnswer {
    fn unread_bytes(&self) -> usize {
        match &self.answer {
            Answer::Rows(rows, _) => rows.size_bytes(),
            Answer::Response(_) | Answer::Sql(..) => 0,
        }
    }
}

/// What a request does that matters when no caller takes its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Nothing,
    BeginsTransaction,
    AllocatesStatement,
    /// Allocates a statement that no caller wants; see [`super::driver::Writer::guard_last`].
    Guards,
    /// In this transaction, whose end closes it.
    OpensBlob(TransactionEpoch),
    /// Begins a transaction for the next statement that needs one.
    BeginsSpare,
    /// Only the answer says whether the transaction has ended. Until then its number is neither free nor another's.
    Commits(Transaction),
    RollsBack(Transaction),
}

/// The token that the protocol keeps for one reply.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Token {
    pub(super) ticket: Ticket,
    pub(super) effect: Effect,
}

/// Something on the server that has no owner, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Orphan {
    Transaction(u32),
    Statement(u32),
    /// A statement without a text.
    Guard(u32),
    Blob(u32, TransactionEpoch),
    /// A transaction for the next statement; none when it could not be begun.
    Spare(Option<u32>),
}

impl Effect {
    /// What has no owner when no caller takes this answer.
    pub(super) fn orphan(self, answer: &Answer) -> Option<Orphan> {
        let Answer::Response(outcome) = answer else {
            return None;
        };
        match (self, outcome) {
            (Effect::BeginsTransaction, Ok(begun)) => Some(Orphan::Transaction(begun.object)),
            (Effect::AllocatesStatement, Ok(allocated)) => {
                Some(Orphan::Statement(allocated.object))
            }
            (Effect::Guards, Ok(allocated)) => Some(Orphan::Guard(allocated.object)),
            (Effect::OpensBlob(epoch), Ok(opened)) => Some(Orphan::Blob(opened.object, epoch)),
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
