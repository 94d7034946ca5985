//! Which transactions were ended after something was opened in them. Knows no server.
//! The server closes what was opened in a transaction with it, and gives its number to the next that is opened.
//! Rule: an end counts from the moment its request is written.

use std::collections::HashMap;

use tsumugi_firebird_proto::handle::Transaction;

/// The transactions that were ended: of each the number of the last request that did. The server uses numbers again, so that they are few.
#[derive(Debug, Default)]
pub(crate) struct EndedTransactions {
    written: u64,
    last: HashMap<u32, u64>,
}

/// One of the transactions that a number stands for in turn: after its end another may have the number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TransactionEpoch {
    transaction: Transaction,
    since: u64,
}

impl EndedTransactions {
    /// This transaction as it is now.
    pub(crate) fn epoch(&self, transaction: Transaction) -> TransactionEpoch {
        TransactionEpoch {
            transaction,
            since: self.written,
        }
    }

    /// A request that ends it was written.
    pub(crate) fn end(&mut self, transaction: Transaction) {
        self.written += 1;
        self.last.insert(transaction.0, self.written);
    }

    /// Whether nothing has ended it since.
    pub(crate) fn is_open(&self, epoch: TransactionEpoch) -> bool {
        let last = self.last.get(&epoch.transaction.0);
        last.is_none_or(|last| *last <= epoch.since)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn number_that_is_used_again_is_another_transaction() {
        let mut ends = EndedTransactions::default();
        let (first, other) = (ends.epoch(Transaction(1)), ends.epoch(Transaction(2)));
        assert!(ends.is_open(first));
        ends.end(Transaction(1));
        let next = ends.epoch(Transaction(1));
        assert!(!ends.is_open(first));
        assert!(ends.is_open(other) && ends.is_open(next));
        ends.end(Transaction(1));
        assert!(!ends.is_open(first) && !ends.is_open(next));
        assert!(ends.is_open(other));
    }
}
