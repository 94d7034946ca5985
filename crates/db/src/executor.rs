//! What runs statements: a database on a connection of its choice, a session, a transaction. Both faces run everything through it.
//! Knows no driver. Rule: several statements of one call all run or none, and leave a transaction as one statement would, also where one fails.

use std::rc::Rc;
use std::sync::Arc;

use tsumugi_sql::{Dialect, Name, Statement};
use tsumugi_trace::Span;

use crate::batch::BatchSize;
use crate::database::{Database, RowStream, Savepoint, Transaction};
use crate::error::{Error, Result};
use crate::execution::ExecuteResult;
use crate::keys::{PrimaryKey, PrimaryKeys};
use crate::options::{PipelineAtomicity, TransactionOptions};
use crate::postgres::{CopyIn, CopyOut, Session};
use crate::rows::Rows;
use crate::sequence::{in_turn, undone};
use crate::sql_text::SqlText;
use crate::statement_span::{changed, note_failure, note_outcome, statement_span};
use crate::value::Value;

/// Where a statement runs. Cheap to clone.
#[derive(Clone, Debug)]
pub enum Executor {
    /// On a connection of the database's choice.
    Database(Database),
    /// On a replica of the database that has all that the user of the request has written and seen, else on the primary; on a database without replicas on
    /// itself. What writes is refused. See [`Recency`](crate::Recency).
    Read(Database),
    /// On a connection of the caller's own.
    Session(Rc<Session>),
    /// In a transaction.
    Transaction(Rc<Transaction>),
}

/// Calls the method of whichever it is, or what it is for reads. What is boxed keeps the future of the first, which most callers wait for, small.
macro_rules! on_each {
    ($self:ident, $method:ident($($argument:expr),*), $database:ident => $read:expr) => {
        match $self {
            Executor::Database(database) => database.$method($($argument),*).await,
            Executor::Read($database) => Box::pin($read).await,
            Executor::Session(session) => Box::pin(session.$method($($argument),*)).await,
            Executor::Transaction(transaction) => Box::pin(transaction.$method($($argument),*)).await,
        }
    };
}

impl Executor {
    /// The SQL that the builder writes for this database.
    pub fn dialect(&self) -> &'static Dialect {
        match self {
            Executor::Database(database) | Executor::Read(database) => database.dialect(),
            Executor::Session(session) => session.dialect(),
            Executor::Transaction(transaction) => transaction.dialect(),
        }
    }

    /// The span of a statement on what has none of its own.
    fn own_span(&self, sql: &str) -> Span {
        match self {
            Executor::Read(_) | Executor::Session(_) => statement_span(sql, self.dialect()),
            Executor::Database(_) | Executor::Transaction(_) => Span::default(),
        }
    }

    /// See [`Database::query`].
    ///
    /// # Errors
    /// As there, and in a transaction as [`Transaction::query`].
    pub async fn query(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
    ) -> Result<Rows> {
        let sql = sql.into();
        let span = self.own_span(&sql);
        let outcome = on_each!(self, query(sql, values), database => database.read(sql, values));
        note_outcome(&span, &outcome, Rows::len);
        outcome
    }

    /// See [`Database::execute`].
    ///
    /// # Errors
    /// As [`Executor::query`].
    pub async fn execute(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
    ) -> Result<ExecuteResult> {
        let sql = sql.into();
        let span = self.own_span(&sql);
        let outcome =
            on_each!(self, execute(sql, values), database => async { database.refuse_write() });
        note_outcome(&span, &outcome, changed);
        outcome
    }

    /// See [`Database::execute_script`].
    ///
    /// # Errors
    /// As there, and in a transaction as [`Transaction::execute_script`].
    pub async fn execute_script(&self, sql: impl Into<SqlText>) -> Result<()> {
        let sql = sql.into();
        let span = self.own_span(&sql);
        let outcome =
            on_each!(self, execute_script(sql), database => async { database.refuse_write() });
        note_failure(&span, &outcome);
        outcome
    }

    /// See [`Database::stream_by`].
    ///
    /// # Errors
    /// As there, and in a transaction as [`Transaction::stream_by`].
    pub async fn stream_by(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
        by: BatchSize,
    ) -> Result<RowStream> {
        let sql = sql.into();
        let span = self.own_span(&sql);
        let outcome = on_each!(self, stream_by(sql, values, by), database => database.read_stream(sql, values, by));
        note_failure(&span, &outcome);
        outcome
    }

    /// The primary key of a table, which the database is asked for unless it is known; none where there is no such table.
    ///
    /// # Errors
    /// As [`Executor::describe`].
    pub async fn primary_key(
        &self,
        keys: &PrimaryKeys,
        table: &Name,
    ) -> Result<Option<Rc<PrimaryKey>>> {
        keys.find(table, self.describe(table.clone())).await
    }

    /// Runs statements of the builder, all or none, and says how many rows they changed. One statement is all or none by itself.
    ///
    /// # Errors
    /// Of the first that fails; those before it are undone then. A transaction of the caller's is what it is after one statement that fails:
    /// see [`Transaction`].
    pub async fn run_all(&self, statements: Vec<Statement>) -> Result<u64> {
        let run =
            async |executor: &Executor, statement| Ok(executor.run(statement).await?.affected);
        Ok(self.all_or_none(statements, run).await?.iter().sum())
    }

    /// The rows of statements of the builder, of which all run or none.
    ///
    /// # Errors
    /// As [`Executor::run_all`].
    pub async fn fetch_all(&self, statements: Vec<Statement>) -> Result<Vec<Rows>> {
        let fetch = async |executor: &Executor, statement| executor.fetch(statement).await;
        self.all_or_none(statements, fetch).await
    }

    async fn all_or_none<T>(
        &self,
        statements: Vec<Statement>,
        run: impl AsyncFn(&Executor, Statement) -> Result<T>,
    ) -> Result<Vec<T>> {
        match <[Statement; 1]>::try_from(statements) {
            Ok([only]) => Ok(vec![run(self, only).await?]),
            Err(several) if several.is_empty() => Ok(Vec::new()),
            Err(several) => self.atomically(several, run).await,
        }
    }

    async fn atomically<T>(
        &self,
        statements: Vec<Statement>,
        run: impl AsyncFn(&Executor, Statement) -> Result<T>,
    ) -> Result<Vec<T>> {
        let here = async |statement| run(self, statement).await;
        match self {
            Executor::Transaction(transaction) => transaction.atomically(statements, here).await,
            Executor::Session(session) if session.is_in_transaction().await? => {
                let within = session.open_transaction();
                // Where this is dropped the savepoint is undone, and the transaction goes on.
                let savepoint = Savepoint::Postgres(within.savepoint().await?);
                behind(savepoint, statements, here).await
            }
            Executor::Database(_) | Executor::Read(_) | Executor::Session(_) => {
                let options = match self {
                    Executor::Read(_) => TransactionOptions::read_only(),
                    _ => TransactionOptions::default(),
                };
                let transaction = Rc::new(self.begin(options).await?);
                let inside = Executor::Transaction(Rc::clone(&transaction));
                let within = async |statement| run(&inside, statement).await;
                let results = in_turn(statements, within).await?;
                transaction.commit().await?;
                Ok(results)
            }
        }
    }

    /// See [`Database::pipeline`]. In a transaction [`PipelineAtomicity::All`] undoes what ran before the first that fails, and the transaction goes
    /// on as [`Transaction`] says.
    ///
    /// # Errors
    /// As there.
    pub async fn pipeline(
        &self,
        statements: Vec<(SqlText, Vec<Value>)>,
        atomicity: PipelineAtomicity,
    ) -> Result<Vec<Result<Rows>>> {
        let text = || -> Vec<&str> { statements.iter().map(|(sql, _)| &**sql).collect() };
        let span = match tsumugi_trace::is_observed() {
            true => statement_span(&text().join("; "), self.dialect()),
            false => Span::default(),
        };
        let outcome = match self {
            Executor::Database(database) => database.pipeline(statements, atomicity).await,
            Executor::Read(database) => {
                Box::pin(database.read_pipeline(statements, atomicity)).await
            }
            Executor::Session(session) => session.pipeline(statements, atomicity).await,
            Executor::Transaction(transaction) => {
                transaction.pipeline_by(statements, atomicity).await
            }
        };
        note_failure(&span, &outcome);
        outcome
    }

    /// See [`Transaction::savepoint`].
    ///
    /// # Errors
    /// [`Error::Closed`] outside a transaction.
    pub async fn savepoint(&self) -> Result<Savepoint> {
        match self {
            Executor::Transaction(transaction) => transaction.savepoint().await,
            Executor::Database(_) | Executor::Read(_) | Executor::Session(_) => Err(Error::closed(
                "transaction",
                "there is none to mark a point in",
            )),
        }
    }

    /// Begins a transaction.
    ///
    /// # Errors
    /// [`Error::Closed`] in a transaction: they do not nest.
    pub async fn begin(&self, options: TransactionOptions) -> Result<Transaction> {
        let span = statement_span("BEGIN", self.dialect());
        let outcome = match self {
            Executor::Database(database) => database.begin(options).await,
            Executor::Read(database) => Box::pin(database.read_begin(options)).await,
            Executor::Session(session) => session.begin(options).await,
            Executor::Transaction(_) => {
                Err(Error::closed("transaction", "another one is running in it"))
            }
        };
        note_failure(&span, &outcome);
        outcome
    }

    /// See [`Database::copy_in`].
    ///
    /// # Errors
    /// As there; [`Error::Unsupported`] by SQLite and Firebird.
    pub async fn copy_in(&self, sql: impl Into<Arc<str>>) -> Result<CopyIn> {
        on_each!(self, copy_in(sql), database => async { database.refuse_write() })
    }

    /// See [`Database::copy_out`].
    ///
    /// # Errors
    /// As [`Executor::copy_in`].
    pub async fn copy_out(&self, sql: impl Into<Arc<str>>) -> Result<CopyOut> {
        on_each!(self, copy_out(sql), database => database.copy_out(sql))
    }

    /// Runs a statement about no table that the transaction has changed.
    ///
    /// # Errors
    /// As [`Executor::query`].
    pub async fn run_beside_changes(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
    ) -> Result<Rows> {
        match self {
            Executor::Transaction(transaction) => transaction.run_beside_changes(sql, values).await,
            Executor::Database(_) | Executor::Read(_) | Executor::Session(_) => {
                self.query(sql, values).await
            }
        }
    }

    /// Asks the catalog, which has what the transaction has changed.
    pub(crate) async fn query_catalog(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
    ) -> Result<Rows> {
        match self {
            Executor::Database(database) | Executor::Read(database) => {
                database.query_catalog(sql, values).await
            }
            Executor::Session(_) | Executor::Transaction(_) => {
                self.run_beside_changes(sql, values).await
            }
        }
    }

    /// Whether changes of tables have been committed before the end of the transaction.
    pub fn has_kept_changes(&self) -> bool {
        match self {
            Executor::Transaction(transaction) => transaction.has_kept_changes(),
            Executor::Database(_) | Executor::Read(_) | Executor::Session(_) => false,
        }
    }
}

impl Transaction {
    /// Runs statements in turn, as [`behind`] a savepoint.
    pub(crate) async fn atomically<T>(
        &self,
        statements: Vec<Statement>,
        run: impl AsyncFn(Statement) -> Result<T>,
    ) -> Result<Vec<T>> {
        behind(self.savepoint().await?, statements, run).await
    }

    async fn pipeline_by(
        &self,
        statements: Vec<(SqlText, Vec<Value>)>,
        atomicity: PipelineAtomicity,
    ) -> Result<Vec<Result<Rows>>> {
        // PostgreSQL does nothing more in a transaction of which a statement has failed, and commits none of it.
        if atomicity == PipelineAtomicity::Each || matches!(self, Transaction::Postgres(_)) {
            return self.pipeline(statements).await;
        }
        let count = statements.len();
        let savepoint = self.savepoint().await?;
        let outcomes = self.pipeline(statements).await?;
        if outcomes.iter().any(Result::is_err) {
            savepoint.roll_back().await?;
            return Ok(undone(outcomes, count));
        }
        savepoint.release().await?;
        Ok(outcomes)
    }
}

/// Runs statements in turn behind a savepoint. Of those before one that fails nothing is kept; a transaction that one statement would have spoiled
/// is left so.
async fn behind<T>(
    savepoint: Savepoint,
    statements: Vec<Statement>,
    run: impl AsyncFn(Statement) -> Result<T>,
) -> Result<Vec<T>> {
    let results = in_turn(statements, run).await;
    match results.is_ok() {
        true => savepoint.release().await?,
        false => savepoint.drop_unless_spoiled(),
    }
    results
}
