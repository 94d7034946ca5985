//! How a transaction ends, and what becomes of one in which a call was not waited for. Knows no database's commands.
//! Rule: when it is not known what a call did, its transaction ends: whatever it did is undone with everything else.

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
    pub(crate) fn begin<T: Abandon + 'static>(transaction: Weak<T>) -> CallGuard {
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

/// The savepoints of a transaction that exist, by their numbers, oldest first. Ending one ends those within it.
#[derive(Debug, Default)]
pub(crate) struct Savepoints {
    last: u32,
    open: Vec<u32>,
}

impl Savepoints {
    /// Another one. It counts as open from here on, so that it is undone when it is not known whether it was made.
    pub(crate) fn open(&mut self) -> u32 {
        self.last += 1;
        self.open.push(self.last);
        self.last
    }

    /// Ends one and those within it; false when it had ended.
    pub(crate) fn close(&mut self, number: u32) -> bool {
        let place = self.open.iter().position(|open| *open == number);
        if let Some(place) = place {
            self.open.truncate(place);
        }
        place.is_some()
    }

    /// An error when it has ended.
    pub(crate) fn check(&self, number: u32) -> Result<()> {
        match self.open.contains(&number) {
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
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_savepoint_ends_with_the_one_around_it() {
        let mut savepoints = Savepoints::default();
        let (outer, inner) = (savepoints.open(), savepoints.open());
        assert!(savepoints.close(outer));
        assert!(!savepoints.close(inner));
        let next = savepoints.open();
        assert_ne!(next, inner);
        assert!(savepoints.close(next));
        assert!(!savepoints.close(next));
    }
}
