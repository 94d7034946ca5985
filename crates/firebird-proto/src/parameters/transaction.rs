//! The transaction parameter block: how a transaction sees others and waits for them. Tables reserved beforehand are left out.
//! Rule: every combination that can be built is one the server knows.

use bytes::Bytes;

use crate::clumplet::Clumplets;

const VERSION: u8 = 3;

/// Tags, by their names in the server's interface.
mod tag {
    pub const CONSISTENCY: u8 = 1;
    pub const CONCURRENCY: u8 = 2;
    pub const WAIT: u8 = 6;
    pub const NOWAIT: u8 = 7;
    pub const READ: u8 = 8;
    pub const WRITE: u8 = 9;
    pub const READ_COMMITTED: u8 = 15;
    pub const AUTOCOMMIT: u8 = 16;
    pub const REC_VERSION: u8 = 17;
    pub const NO_REC_VERSION: u8 = 18;
    pub const LOCK_TIMEOUT: u8 = 21;
    pub const READ_CONSISTENCY: u8 = 22;
}

/// What a transaction sees of others.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// What was committed when it began.
    #[default]
    Snapshot,
    /// As [`Isolation::Snapshot`], and no other writes to tables it has touched.
    Consistency,
    /// What was committed when a row is read; a row that another transaction is changing is read as it was.
    ReadCommitted,
    /// What was committed when a row is read; waits for, or fails at, a row that another transaction is changing.
    ReadCommittedNoRecordVersion,
    /// What was committed when the statement began. Firebird 4.
    ReadConsistency,
}

/// What a transaction may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Access {
    /// Read and write.
    #[default]
    ReadWrite,
    /// Read only. With [`Isolation::ReadCommitted`] it can stay open for long: it holds nothing back.
    ReadOnly,
}

/// What happens at a row that another transaction has changed and not committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Wait {
    /// Waits until the other ends.
    #[default]
    Forever,
    /// Waits this many seconds, then fails.
    Seconds(u32),
    /// Fails.
    No,
}

/// How a transaction is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TransactionParameters {
    /// What it sees.
    pub isolation: Isolation,
    /// What it may do.
    pub access: Access,
    /// How it waits.
    pub wait: Wait,
    /// Whether the server commits, retaining, after every statement.
    pub autocommit: Autocommit,
}

/// Which side ends what a statement began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Autocommit {
    /// The client.
    #[default]
    Off,
    /// The server, after every statement.
    On,
}

impl TransactionParameters {
    /// The block.
    pub fn block(&self) -> Bytes {
        let mut block = Clumplets::versioned(VERSION);
        block.flag(match self.access {
            Access::ReadWrite => tag::WRITE,
            Access::ReadOnly => tag::READ,
        });
        let isolation: &[u8] = match self.isolation {
            Isolation::Snapshot => &[tag::CONCURRENCY],
            Isolation::Consistency => &[tag::CONSISTENCY],
            Isolation::ReadCommitted => &[tag::READ_COMMITTED, tag::REC_VERSION],
            Isolation::ReadCommittedNoRecordVersion => &[tag::READ_COMMITTED, tag::NO_REC_VERSION],
            Isolation::ReadConsistency => &[tag::READ_COMMITTED, tag::READ_CONSISTENCY],
        };
        isolation.iter().for_each(|tag| block.flag(*tag));
        match self.wait {
            Wait::Forever => block.flag(tag::WAIT),
            Wait::No => block.flag(tag::NOWAIT),
            Wait::Seconds(seconds) => {
                block.flag(tag::WAIT);
                block.number(tag::LOCK_TIMEOUT, seconds);
            }
        }
        if self.autocommit == Autocommit::On {
            block.flag(tag::AUTOCOMMIT);
        }
        block.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(parameters: TransactionParameters, expected: &[u8]) {
        assert_eq!(parameters.block(), expected, "{parameters:?}");
    }

    #[test]
    fn transaction_writes_in_a_snapshot_and_waits_by_default() {
        check(TransactionParameters::default(), &[3, 9, 2, 6]);
    }

    #[test]
    fn long_reader_is_read_only_and_read_committed() {
        check(
            TransactionParameters {
                isolation: Isolation::ReadCommitted,
                access: Access::ReadOnly,
                ..TransactionParameters::default()
            },
            &[3, 8, 15, 17, 6],
        );
    }

    #[test]
    fn every_isolation_has_its_tags() {
        for (isolation, expected) in [
            (Isolation::Consistency, &[3, 9, 1, 7][..]),
            (Isolation::ReadCommittedNoRecordVersion, &[3, 9, 15, 18, 7]),
            (Isolation::ReadConsistency, &[3, 9, 15, 22, 7]),
        ] {
            let wait = Wait::No;
            let parameters = TransactionParameters {
                isolation,
                wait,
                ..TransactionParameters::default()
            };
            check(parameters, expected);
        }
    }

    #[test]
    fn limited_wait_is_in_seconds() {
        check(
            TransactionParameters {
                wait: Wait::Seconds(300),
                autocommit: Autocommit::On,
                ..TransactionParameters::default()
            },
            &[3, 9, 2, 6, 21, 4, 0x2c, 1, 0, 0, 16],
        );
    }
}
