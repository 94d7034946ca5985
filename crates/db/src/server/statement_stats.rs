//! What one worker's pool of connections to a server counts and logs of its statements, the same for every server.
//! Not the pool's own figures, which it is given. Rule: a statement that is not to be logged costs no look at the clock.

use std::cell::Cell;
use std::sync::Arc;
use std::time::Instant;

use tsumugi_sql::scan::Lexicon;

use crate::bookkeeping::StatementPurpose;
use crate::log::Line;
use crate::metrics::Snapshot;
use crate::options::StatementLog;
use crate::route_scope;
use crate::statement_table::{self, EndedStatement};
use crate::value::Value;

use super::connections::Figures;

pub(crate) struct StatementStats {
    log: StatementLog,
    database: Arc<str>,
    lexicon: Lexicon,
    statements: Cell<u64>,
    errors: Cell<u64>,
    transactions: Cell<u64>,
    commits_unknown: Cell<u64>,
}

impl StatementStats {
    /// Of a database of this name, whose SQL is read so.
    pub(crate) fn new(log: StatementLog, database: Arc<str>, lexicon: Lexicon) -> StatementStats {
        StatementStats {
            log,
            database,
            lexicon,
            statements: Cell::new(0),
            errors: Cell::new(0),
            transactions: Cell::new(0),
            commits_unknown: Cell::new(0),
        }
    }

    /// The time now, if statements are logged or counted by their form.
    pub(crate) fn start(&self) -> Option<Instant> {
        (self.log == StatementLog::Statements || statement_table::are_kept()).then(Instant::now)
    }

    /// Logs a statement that has ended, if it had a [`StatementStats::start`], with the number of its rows where it has one.
    pub(crate) fn log(
        &self,
        started: Option<Instant>,
        sql: &str,
        values: &[Value],
        outcome: Result<Option<usize>, &impl std::fmt::Debug>,
    ) {
        let Some(started) = started else { return };
        let (rows, took) = (outcome.ok().flatten(), started.elapsed());
        if statement_table::are_kept() {
            statement_table::count(&EndedStatement {
                database: &self.database,
                lexicon: self.lexicon,
                sql,
                rows,
                took,
                is_failed: outcome.is_err(),
                place: route_scope::source_location(),
            });
        }
        if self.log != StatementLog::Statements {
            return;
        }
        let line = Line {
            sql,
            values,
            rows,
            took,
            fault: outcome.err().map(|fault| fault as &dyn std::fmt::Debug),
            purpose: StatementPurpose::current(),
        };
        line.write();
    }

    /// Counts a statement that has ended.
    pub(crate) fn count<T, E>(&self, outcome: Result<T, E>) -> Result<T, E> {
        self.statements.set(self.statements.get() + 1);
        if outcome.is_err() {
            self.errors.set(self.errors.get() + 1);
        }
        outcome
    }

    /// Counts a caller that got no connection.
    pub(crate) fn count_refusal(&self) {
        self.errors.set(self.errors.get() + 1);
    }

    pub(crate) fn count_transaction(&self) {
        self.transactions.set(self.transactions.get() + 1);
    }

    /// Counts a transaction of which it is not known whether it was committed.
    pub(crate) fn count_unknown_commit(&self) {
        self.commits_unknown.set(self.commits_unknown.get() + 1);
    }

    pub(crate) fn snapshot(&self, figures: Figures) -> Snapshot {
        Snapshot {
            statements: self.statements.get(),
            errors: self.errors.get(),
            transactions: self.transactions.get(),
            commits_unknown: self.commits_unknown.get(),
            acquired: figures.acquired,
            wait: figures.wait,
            waiting: figures.waiting,
            connections: figures.open,
            connections_busy: figures.busy,
            ..Snapshot::default()
        }
    }
}
