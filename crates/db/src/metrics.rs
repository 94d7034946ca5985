//! Plain counters of a database. Knows no exporter: exporters read a `Snapshot`.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

/// Figures of one database since it was opened: of SQLite for all connects of this process together, of a server for this
/// pool. What is counted only grows; what is "now" is of the moment.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Statements that ran, well or not. A batch of a stream counts as one, `BEGIN` and `COMMIT` do not.
    pub statements: u64,
    /// Statements that failed, and callers turned away before theirs ran.
    pub errors: u64,
    /// Transactions begun.
    pub transactions: u64,
    /// Of those, transactions of which it is not known whether they were committed.
    pub commits_unknown: u64,
    /// Callers that have got a connection so far.
    pub acquired: u64,
    /// How long those waited for it, added up.
    pub wait: Duration,
    /// Callers waiting for a connection now.
    pub waiting: usize,
    /// Of those, callers waiting for SQLite's writer.
    pub writer_waiting: usize,
    /// Connections that are open now.
    pub connections: usize,
    /// Of those, connections at work or kept by a transaction or stream.
    pub connections_busy: usize,
    /// Of those, SQLite's writer: 0 or 1.
    pub writer_busy: usize,
}

/// What has figures.
pub(crate) trait Figures: std::fmt::Debug {
    /// Those of now.
    fn snapshot(&self) -> Snapshot;
}

impl std::ops::AddAssign for Snapshot {
    fn add_assign(&mut self, other: Snapshot) {
        self.statements += other.statements;
        self.errors += other.errors;
        self.transactions += other.transactions;
        self.commits_unknown += other.commits_unknown;
        self.acquired += other.acquired;
        self.wait += other.wait;
        self.waiting += other.waiting;
        self.writer_waiting += other.writer_waiting;
        self.connections += other.connections;
        self.connections_busy += other.connections_busy;
        self.writer_busy += other.writer_busy;
    }
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) statements: AtomicU64,
    pub(crate) errors: AtomicU64,
    pub(crate) transactions: AtomicU64,
    pub(crate) commits_unknown: AtomicU64,
    pub(crate) acquired: AtomicU64,
    pub(crate) wait_ns: AtomicU64,
    pub(crate) readers_busy: AtomicUsize,
    pub(crate) writer_busy: AtomicUsize,
}

impl Counters {
    pub(crate) fn acquired(&self, wait: Duration) {
        self.acquired.fetch_add(1, Relaxed);
        self.wait_ns
            .fetch_add(wait.as_nanos().try_into().unwrap_or(u64::MAX), Relaxed);
    }

    pub(crate) fn ran<T, E>(&self, outcome: &Result<T, E>) {
        self.statements.fetch_add(1, Relaxed);
        if outcome.is_err() {
            self.errors.fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn turned_away(&self) {
        self.errors.fetch_add(1, Relaxed);
    }

    /// The counters alone; the queues and connections are for the caller to fill in.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let writer_busy = self.writer_busy.load(Relaxed);
        Snapshot {
            statements: self.statements.load(Relaxed),
            errors: self.errors.load(Relaxed),
            transactions: self.transactions.load(Relaxed),
            commits_unknown: self.commits_unknown.load(Relaxed),
            acquired: self.acquired.load(Relaxed),
            wait: Duration::from_nanos(self.wait_ns.load(Relaxed)),
            connections_busy: self.readers_busy.load(Relaxed) + writer_busy,
            writer_busy,
            ..Snapshot::default()
        }
    }
}
