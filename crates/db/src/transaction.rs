//! Transactions and their savepoints on whichever database: each call goes to the driver that the URL chose. Sends nothing itself.
//! Rule: what a method promises here holds for every driver.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Weak;

use futures_util::future::{FutureExt as _, LocalBoxFuture};

use crate::batch::BatchSize;
use crate::error::{Error, Result};
use crate::execution::ExecuteResult;
use crate::on_each::{on_database, on_server};
use crate::outcome::{Abandon, CommitCallback, guarded};
use crate::postgres::Postgres;
use crate::row_stream::RowStream;
use crate::rows::Rows;
use crate::sql_text::SqlText;
use crate::statement_span::{changed, note_failure, note_outcome, statement_span};
use crate::value::{Value, bounded, bounded_together};
use crate::{server, sqlite};

/// A transaction. Dropped without [`Transaction::commit`] it is rolled back, before another caller gets its connection.
///
/// On SQLite and Firebird a statement that fails leaves the transaction usable; on PostgreSQL all that follow fail as well, until it is rolled back
/// to a savepoint or to its beginning. One that writes and is stopped by `statement_timeout` ends the transaction (on PostgreSQL it is a
/// failure like any other).
///
/// A call whose future is dropped after it was first polled and before it has ended, as by `select!` or a timeout around it, ends the
/// transaction on all databases: what it did is not known, not even whether it only reads, so everything is rolled back at once, and all later calls,
/// `commit` too, say [`Error::RolledBack`]. Of a `commit` itself it is not known how it ended. A [`RowStream`] may be dropped, and so may the futures of its [`RowStream::next`].
#[non_exhaustive]
#[derive(Debug)]
pub enum Transaction {
    /// Of an SQLite database.
    Sqlite(sqlite::Transaction),
    /// Of a PostgreSQL database.
    Postgres(server::Transaction<Postgres>),
    /// Of a Firebird database. Needs the feature `firebird`.
    #[cfg(feature = "firebird")]
    Firebird(server::Transaction<crate::firebird::Firebird>),
}

impl Transaction {
    /// Like [`Database::query`](crate::Database::query), inside the transaction.
    ///
    /// # Errors
    /// As [`Database::query`](crate::Database::query). [`Error::Closed`] or [`Error::RolledBack`] once the transaction is over, [`Error::Usage`] while a stream of it is open.
    pub fn query(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
    ) -> impl Future<Output = Result<Rows>> {
        self.query_text(sql.into(), values.into())
    }

    pub(crate) async fn query_text(&self, sql: SqlText, values: Vec<Value>) -> Result<Rows> {
        let values = bounded(values)?;
        let span = statement_span(&sql, self.dialect());
        let outcome = on_database!(
            Transaction, self,
            own => guarded!(self.owner(), own.query(sql, values));
            Firebird => guarded!(self.owner(), own.query_boxed(sql, values))
        );
        note_outcome(&span, &outcome, Rows::len);
        outcome
    }

    /// Like [`Database::execute`](crate::Database::execute), inside the transaction.
    ///
    /// # Errors
    /// As [`Transaction::query`].
    pub fn execute(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
    ) -> impl Future<Output = Result<ExecuteResult>> {
        self.execute_text(sql.into(), values.into())
    }

    pub(crate) async fn execute_text(
        &self,
        sql: SqlText,
        values: Vec<Value>,
    ) -> Result<ExecuteResult> {
        let values = bounded(values)?;
        let span = statement_span(&sql, self.dialect());
        let outcome = on_database!(
            Transaction, self,
            own => guarded!(self.owner(), own.execute(sql, values));
            Firebird => guarded!(self.owner(), own.execute_boxed(sql, values))
        );
        note_outcome(&span, &outcome, changed);
        outcome
    }

    /// The transaction of a PostgreSQL server, by which goes what no other database has: pipelines in one write, COPY, and that no statement runs behind one
    /// that failed. A driver that is added is named here; with `None` its callers get what SQLite's get.
    pub(crate) fn as_postgres(&self) -> Option<&server::Transaction<Postgres>> {
        match self {
            Transaction::Postgres(own) => Some(own),
            Transaction::Sqlite(_) => None,
            #[cfg(feature = "firebird")]
            Transaction::Firebird(_) => None,
        }
    }

    /// What a call ends that is not waited for.
    fn owner(&self) -> Weak<dyn Abandon> {
        on_database!(Transaction, self, own => own.owner())
    }

    /// Like [`Database::execute_script`](crate::Database::execute_script), inside the transaction, so it must not say `BEGIN` or `COMMIT`.
    ///
    /// # Errors
    /// As [`Transaction::query`], of the first statement that fails; those after it do not run.
    pub fn execute_script(&self, sql: impl Into<SqlText>) -> LocalBoxFuture<'_, Result<()>> {
        self.script_text(sql.into())
    }

    fn script_text(&self, sql: SqlText) -> LocalBoxFuture<'_, Result<()>> {
        async move {
            let span = statement_span(&sql, self.dialect());
            let outcome = on_database!(
                Transaction, self,
                own => guarded!(own.owner(), own.execute_script(sql))
            );
            note_failure(&span, &outcome);
            outcome
        }
        .boxed_local()
    }

    /// Like [`Database::stream_by`](crate::Database::stream_by), inside the transaction, which can do nothing else until the stream ends or is dropped. A stream that is kept beyond
    /// the end of the transaction holds nothing, and its next batch is the error that says so.
    ///
    /// # Errors
    /// As [`Transaction::query`] of what fails before the first batch; later errors come from [`RowStream::next`].
    pub fn stream_by(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
        by: BatchSize,
    ) -> LocalBoxFuture<'_, Result<RowStream>> {
        self.stream_text(sql.into(), values.into(), by)
    }

    fn stream_text(
        &self,
        sql: SqlText,
        values: Vec<Value>,
        by: BatchSize,
    ) -> LocalBoxFuture<'_, Result<RowStream>> {
        async move {
            let values = bounded(values)?;
            let span = statement_span(&sql, self.dialect());
            let outcome = on_database!(
                Transaction => RowStream, self,
                own => guarded!(own.owner(), own.stream(sql, values, by))
            );
            note_failure(&span, &outcome);
            outcome
        }
        .boxed_local()
    }

    /// Like [`Database::pipeline`](crate::Database::pipeline), inside the transaction; nothing runs after the first that fails. PostgreSQL gets them in one write,
    /// and then all others have errors as well.
    ///
    /// # Errors
    /// Where nothing could be sent, as [`Transaction::query`]. What fails in a statement stands in its place among the outcomes.
    pub fn pipeline(
        &self,
        statements: Vec<(SqlText, Vec<Value>)>,
    ) -> LocalBoxFuture<'_, Result<Vec<Result<Rows>>>> {
        self.run_pipeline(statements).boxed_local()
    }

    async fn run_pipeline(
        &self,
        statements: Vec<(SqlText, Vec<Value>)>,
    ) -> Result<Vec<Result<Rows>>> {
        let statements = bounded_together(statements)?;
        if let Some(own) = self.as_postgres() {
            return guarded!(own.owner(), own.pipeline(statements));
        }
        let mut outcomes = Vec::with_capacity(statements.len());
        for (sql, values) in statements {
            let outcome = self.query(sql, values).await;
            let failed = outcome.is_err();
            outcomes.push(outcome);
            if failed {
                break;
            }
        }
        Ok(outcomes)
    }

    /// Marks a point to which the transaction can be rolled back. They nest.
    ///
    /// # Errors
    /// [`Error::Closed`] or [`Error::RolledBack`] once the transaction is over, [`Error::Usage`] while a stream of it is open, [`Error::Lost`]; on PostgreSQL
    /// also after a statement that failed.
    pub fn savepoint(&self) -> LocalBoxFuture<'_, Result<Savepoint>> {
        async move {
            on_database!(
                Transaction => Savepoint, self,
                own => guarded!(own.owner(), own.savepoint())
            )
        }
        .boxed_local()
    }

    /// Runs this when the transaction has committed, in the order in which it was asked for. Nothing runs where the transaction is rolled back or dropped,
    /// where its commit fails or it is not known whether it was committed, nor what was asked for within a savepoint that is rolled back or dropped.
    /// What it keeps is kept until the transaction has ended. One that panics ends the commit's future, behind the others.
    pub fn after_commit(&self, run: impl FnOnce() + 'static) {
        let savepoints = on_database!(Transaction, self, own => own.savepoints());
        savepoints.borrow_mut().after_commit(Box::new(run));
    }

    /// Drops what waits for the commit of a transaction that will not be committed, which it would keep open if it held it.
    pub fn forget_after_commit(&self) {
        drop(self.take_after_commit());
    }

    fn take_after_commit(&self) -> Vec<CommitCallback> {
        let savepoints = on_database!(Transaction, self, own => own.savepoints());
        savepoints.borrow_mut().take_callbacks()
    }

    /// Makes the changes permanent and ends the transaction. On a server the commit goes on where its future is dropped, and the log says what has become
    /// of it if that takes long. Where it fails because of a deferred constraint or a
    /// lock, an SQLite transaction is still open; on a server it is rolled back then.
    ///
    /// # Errors
    /// What the database says: a deferred constraint, a conflict with another transaction. [`Error::LostUncommitted`] where the server was lost and
    /// nothing was kept, [`Error::CommitUnknown`] where it is not known whether it was committed: on PostgreSQL the primary is asked before, and a
    /// promotion is waited for within `acquire_timeout`.
    /// [`Error::Closed`] or [`Error::RolledBack`] once the transaction is over, [`Error::Usage`] while a stream of it is open or a statement of it runs for
    /// longer than `statement_timeout`.
    pub fn commit(&self) -> LocalBoxFuture<'_, Result<()>> {
        async move {
            let span = statement_span("COMMIT", self.dialect());
            let outcome =
                on_database!(Transaction, self, own => guarded!(own.owner(), own.commit()));
            note_failure(&span, &outcome);
            if outcome.is_ok() {
                run_all(self.take_after_commit());
            }
            outcome
        }
        .boxed_local()
    }

    /// Undoes the changes and ends the transaction. One that was rolled back already is as it is wanted.
    ///
    /// # Errors
    /// [`Error::Closed`] once the transaction was committed, [`Error::Usage`] while a stream of it is open, [`Error::Lost`].
    pub fn roll_back(&self) -> LocalBoxFuture<'_, Result<()>> {
        async move {
            let span = statement_span("ROLLBACK", self.dialect());
            let rolled_back =
                on_database!(Transaction, self, own => guarded!(own.owner(), own.roll_back()));
            note_failure(&span, &rolled_back);
            self.forget_after_commit();
            match rolled_back {
                Err(Error::RolledBack { .. }) => Ok(()),
                other => other,
            }
        }
        .boxed_local()
    }
}

/// Runs each, whatever another one does; the first panic goes on when all have run.
fn run_all(callbacks: Vec<CommitCallback>) {
    let mut first = None;
    for run in callbacks {
        if let Err(panic) = catch_unwind(AssertUnwindSafe(run)) {
            first.get_or_insert(panic);
        }
    }
    if let Some(panic) = first {
        resume_unwind(panic);
    }
}

/// A point in a transaction. Dropped without [`Savepoint::release`] the transaction is rolled back to it, before it does anything
/// else: also when a stream or a COPY of the transaction is open, as soon as that has ended. Ending one ends those made after it.
#[non_exhaustive]
#[derive(Debug)]
pub enum Savepoint {
    /// Of an SQLite transaction.
    Sqlite(sqlite::Savepoint),
    /// Of a PostgreSQL transaction.
    Postgres(server::Savepoint<Postgres>),
    /// Of a Firebird transaction. Needs the feature `firebird`.
    #[cfg(feature = "firebird")]
    Firebird(server::Savepoint<crate::firebird::Firebird>),
}

impl Savepoint {
    /// Keeps what was done since, as a part of the transaction.
    ///
    /// # Errors
    /// [`Error::Closed`] or [`Error::RolledBack`] where the transaction, or a savepoint around this one, has ended; [`Error::Lost`].
    pub fn release(self) -> LocalBoxFuture<'static, Result<()>> {
        async move { on_database!(Savepoint, self, own => guarded!(own.owner(), own.release())) }
            .boxed_local()
    }

    /// Drops it, but leaves a transaction as it is of which a statement has failed after which the server takes no other one: the savepoint then
    /// ends with it or with the one around it.
    pub(crate) fn drop_unless_spoiled(self) {
        on_server!(Savepoint, self, Sqlite(own) => drop(own), own => own.drop_unless_spoiled());
    }

    /// Undoes what was done since.
    ///
    /// # Errors
    /// As [`Savepoint::release`].
    pub fn roll_back(self) -> LocalBoxFuture<'static, Result<()>> {
        async move { on_database!(Savepoint, self, own => guarded!(own.owner(), own.roll_back())) }
            .boxed_local()
    }
}
