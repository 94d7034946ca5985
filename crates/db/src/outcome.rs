//! How a transaction ends, and what becomes of one in which a call was not waited for. Knows no database's commands.
//! Rule: when it is not known what a call did, its transaction ends: whatever it did is undone with everything else.

use std::fmt;
use std::rc::Weak;

use crate::error::{Error, Result};

/// Why a transaction is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndReason {
    Committed,
    RolledBack,
    /// The database did not take the commit, or its answer was not waited for.
    Uncommitted,
    /// A call was not waited for, and it is not known what it did.
    AbandonedCall,
    /// A statement was stopped or failed in a way that leaves no transaction.
    Stopped,
    /// A script in it said COMMIT or ROLLBACK.
    ByScript,
    /// A savepoint was dropped and could not be undone.
    SavepointLost,
    Idle,
}

impl EndReason {
    /// The error of all later calls.
    pub(crate) fn error(self) -> Error {
        let rolled_back = Error::rolled_back;
        let closed = |reason| Error::closed("transaction", reason);
        match self {
            EndReason::Committed => closed("it was committed"),
            EndReason::RolledBack => closed("it was rolled back"),
            EndReason::Uncommitted => closed("its commit failed, or was not waited for"),
            EndReason::ByScript => closed(
                "a script in it ended it by COMMIT or ROLLBACK, which are for the transaction's own methods",
            ),
            EndReason::AbandonedCall => {
                rolled_back("a call in it was not waited for to its end, so what it did is undone")
            }
            EndReason::Stopped => rolled_back("a statement in it was stopped or failed"),
            EndReason::SavepointLost => {
                rolled_back("a savepoint in it was dropped and could not be undone by itself")
            }
            EndReason::Idle => rolled_back("it was idle for longer than idle_timeout"),
        }
    }
}

/// A transaction that can be ended from outside.
pub(crate) trait Abandon {
    /// Rolls it back without waiting, unless it has ended.
    fn abandon(&self);
}

/// Guards a call in a transaction that is under way. Dropped before the call's outcome is known, it ends the transaction.
pub(crate) struct CallGuard(Option<Weak<dyn Abandon>>);

impl CallGuard {
    pub(crate) fn begin(transaction: Weak<dyn Abandon>) -> CallGuard {
        CallGuard(Some(transaction))
    }

    /// The call has come to its end: its caller learns of the outcome.
    pub(crate) fn disarm(mut self) {
        self.0 = None;
    }
}

impl Drop for CallGuard {
    fn drop(&mut self) {
        let transaction = self.0.take().and_then(|transaction| transaction.upgrade());
        if let Some(transaction) = transaction {
            transaction.abandon();
        }
    }
}

/// Awaits a call in a transaction. Where that is given up, the transaction ends before the call is dropped.
/// A macro, because an async function would hold the call twice.
macro_rules! guarded {
    ($owner:expr, $call:expr) => {{
        let owner = $owner;
        let call = ::std::pin::pin!($call);
        let guard = $crate::outcome::CallGuard::begin(owner);
        let outcome = call.await;
        guard.disarm();
        outcome
    }};
}
pub(crate) use guarded;

/// What runs when a transaction has committed.
pub(crate) type CommitCallback = Box<dyn FnOnce()>;

/// The savepoints of a transaction that exist, by their numbers, oldest first, and what waits for its commit. Ending a savepoint ends those within it.
#[derive(Default)]
pub(crate) struct Savepoints {
    last: u32,
    open: Vec<OpenSavepoint>,
    callbacks: Vec<CommitCallback>,
}

#[derive(Debug)]
struct OpenSavepoint {
    number: u32,
    /// How many callbacks there were when it was set.
    callbacks: usize,
}

impl fmt::Debug for Savepoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Savepoints")
            .field("open", &self.open)
            .field("callbacks", &self.callbacks.len())
            .finish_non_exhaustive()
    }
}

impl Savepoints {
    /// Another one. It counts as open from here on, so that it is undone when it is not known whether it was made.
    pub(crate) fn open(&mut self) -> u32 {
        self.last += 1;
        self.open.push(OpenSavepoint {
            number: self.last,
            callbacks: self.callbacks.len(),
        });
        self.last
    }

    /// Ends one and those within it, and keeps what was asked for since.
    pub(crate) fn release(&mut self, number: u32) {
        self.close(number);
    }

    /// Ends one and those within it, and gives what was asked for since and will not run; none when it had ended. To be dropped where the savepoints are
    /// not borrowed, because it may hold one of them.
    #[must_use = "it is dropped where the savepoints are not borrowed"]
    pub(crate) fn undo(&mut self, number: u32) -> Option<Vec<CommitCallback>> {
        let count = self.close(number)?;
        Some(self.callbacks.split_off(count))
    }

    fn close(&mut self, number: u32) -> Option<usize> {
        let place = self.open.iter().position(|open| open.number == number)?;
        let ended = self.open.drain(place..).next()?;
        Some(ended.callbacks.min(self.callbacks.len()))
    }

    /// An error when it has ended.
    pub(crate) fn check(&self, number: u32) -> Result<()> {
        match self.open.iter().any(|open| open.number == number) {
            true => Ok(()),
            false => Err(Error::usage(
                "the savepoint has ended, with the one around it",
            )),
        }
    }

    /// How many there are, one within the other.
    pub(crate) fn depth(&self) -> usize {
        self.open.len()
    }

    /// Has this run when the transaction has committed.
    pub(crate) fn after_commit(&mut self, run: CommitCallback) {
        self.callbacks.push(run);
    }

    /// What waits for the commit, in the order in which it was asked for.
    pub(crate) fn take_callbacks(&mut self) -> Vec<CommitCallback> {
        std::mem::take(&mut self.callbacks)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_savepoint_ends_with_the_one_around_it() {
        let mut savepoints = Savepoints::default();
        let (outer, inner) = (savepoints.open(), savepoints.open());
        assert!(savepoints.undo(outer).is_some());
        assert!(savepoints.undo(inner).is_none());
        let next = savepoints.open();
        assert_ne!(next, inner);
        assert!(savepoints.undo(next).is_some());
        assert!(savepoints.undo(next).is_none());
    }

    #[test]
    fn callbacks_of_a_commit_go_with_the_savepoint_that_is_undone() {
        let mut savepoints = Savepoints::default();
        let add = |savepoints: &mut Savepoints| savepoints.after_commit(Box::new(|| {}));
        add(&mut savepoints);
        let outer = savepoints.open();
        add(&mut savepoints);
        let released = savepoints.open();
        add(&mut savepoints);
        savepoints.release(released);
        assert_eq!(savepoints.callbacks.len(), 3);
        let inner = savepoints.open();
        add(&mut savepoints);
        assert_eq!(savepoints.undo(inner).map(|undone| undone.len()), Some(1));
        // What the inner one has released goes with the outer one.
        assert_eq!(savepoints.undo(outer).map(|undone| undone.len()), Some(2));
        assert_eq!(savepoints.take_callbacks().len(), 1);
    }
}
