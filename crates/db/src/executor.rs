//! What runs statements: a database on a connection of its choice, a session, a transaction. Both faces run everything through it.
//! Knows no driver. Rule: several statements of one call all run or none, and leave a transaction as one statement would, also where one fails.

use std::rc::Rc;
use std::sync::Arc;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_sql::{Dialect, Name, Statement};
use tsumugi_trace::Span;

use crate::batch::BatchSize;
use crate::database::Database;
use crate::error::{Error, Result};
use crate::execution::ExecuteResult;
use crate::keys::{PrimaryKey, PrimaryKeys};
use crate::options::{PipelineAtomicity, TransactionOptions};
use crate::postgres::{CopyIn, CopyOut, Session};
use crate::row_stream::RowStream;
use crate::rows::Rows;
use crate::sequence::{in_turn, mark_rolled_back};
use crate::sql_text::SqlText;
use crate::statement_span::{changed, note_failure, note_outcome, statement_span};
use crate::transaction::{Savepoint, Transaction};
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

/// Calls the method of whichever it is, or what it is for reads.
macro_rules! on_executor {
    ($self:ident, $method:ident($($argument:expr),*), $database:ident => $read:expr) => {
        match $self {
            Executor::Database(database) => database.$method($($argument),*).await,
            Executor::Read($database) => $read,
            Executor::Session(session) => session.$method($($argument),*).await,
            Executor::Transaction(transaction) => transaction.$method($($argument),*).await,
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
    pub fn query(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
    ) -> impl Future<Output = Result<Rows>> {
        self.query_text(sql.into(), values.into())
    }

    /// Only the arm of `Database` is unboxed: most statements run there, and the others would make this future larger.
    pub(crate) async fn query_text(&self, sql: SqlText, values: Vec<Value>) -> Result<Rows> {
        let span = self.own_span(&sql);
        let outcome = match self {
            Executor::Database(database) => database.query(sql, values).await,
            Executor::Read(database) => database.read(sql, values).await,
            Executor::Session(session) => session.query(sql, values).await,
            Executor::Transaction(transaction) => transaction.query_boxed(sql, values).await,
        };
        note_outcome(&span, &outcome, Rows::len);
        outcome
    }

    /// See [`Database::execute`].
    ///
    /// # Errors
    /// As [`Executor::query`].
    pub fn execute(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
    ) -> impl Future<Output = Result<ExecuteResult>> {
        self.execute_text(sql.into(), values.into())
    }

    async fn execute_text(&self, sql: SqlText, values: Vec<Value>) -> Result<ExecuteResult> {
        let span = self.own_span(&sql);
        let outcome = match self {
            Executor::Database(database) => database.execute(sql, values).await,
            Executor::Read(database) => database.refuse_write(),
            Executor::Session(session) => session.execute(sql, values).await,
            Executor::Transaction(transaction) => transaction.execute_boxed(sql, values).await,
        };
        note_outcome(&span, &outcome, changed);
        outcome
    }

    /// See [`Database::execute_script`].
    ///
    /// # Errors
    /// As there, and in a transaction as [`Transaction::execute_script`].
    pub fn execute_script(&self, sql: impl Into<SqlText>) -> LocalBoxFuture<'_, Result<()>> {
        self.script_text(sql.into())
    }

    fn script_text(&self, sql: SqlText) -> LocalBoxFuture<'_, Result<()>> {
        async move {
            let span = self.own_span(&sql);
            let outcome =
                on_executor!(self, execute_script(sql), database => database.refuse_write());
            note_failure(&span, &outcome);
            outcome
        }
        .boxed_local()
    }

    /// See [`Database::stream_by`].
    ///
    /// # Errors
    /// As there, and in a transaction as [`Transaction::stream_by`].
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
            let span = self.own_span(&sql);
            let outcome = on_executor!(
                self, stream_by(sql, values, by),
                database => database.read_stream(sql, values, by).await
            );
            note_failure(&span, &outcome);
            outcome
        }
        .boxed_local()
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
        match keys.known(table) {
            Some(key) => Ok(Some(key)),
            None => self.ask_for_key(keys, table).await,
        }
    }

    fn ask_for_key<'e>(
        &'e self,
        keys: &'e PrimaryKeys,
        table: &'e Name,
    ) -> LocalBoxFuture<'e, Result<Option<Rc<PrimaryKey>>>> {
        keys.find(table, self.describe(table.clone())).boxed_local()
    }

    /// Runs statements of the builder, all or none, and says how many rows they changed. One statement is all or none by itself.
    ///
    /// # Errors
    /// Of the first that fails; those before it are undone then. A transaction of the caller's is what it is after one statement that fails:
    /// see [`Transaction`].
    pub async fn run_all(&self, statements: Vec<Statement>) -> Result<u64> {
        match <[Statement; 1]>::try_from(statements) {
            Ok([only]) => Ok(self.run(only).await?.affected),
            Err(several) => self.run_several(several).await,
        }
    }

    fn run_several(&self, statements: Vec<Statement>) -> LocalBoxFuture<'_, Result<u64>> {
        let run =
            async |executor: &Executor, statement| Ok(executor.run(statement).await?.affected);
        let run = async move { Ok(self.atomically(statements, run).await?.iter().sum()) };
        run.boxed_local()
    }

    /// The rows of statements of the builder, of which all run or none.
    ///
    /// # Errors
    /// As [`Executor::run_all`].
    pub async fn fetch_all(&self, statements: Vec<Statement>) -> Result<Vec<Rows>> {
        match <[Statement; 1]>::try_from(statements) {
            Ok([only]) => Ok(vec![self.fetch(only).await?]),
            Err(several) => self.fetch_several(several).await,
        }
    }

    fn fetch_several(&self, statements: Vec<Statement>) -> LocalBoxFuture<'_, Result<Vec<Rows>>> {
        let fetch = async |executor: &Executor, statement| executor.fetch(statement).await;
        self.atomically(statements, fetch).boxed_local()
    }

    async fn atomically<T>(
        &self,
        statements: Vec<Statement>,
        run: impl AsyncFn(&Executor, Statement) -> Result<T>,
    ) -> Result<Vec<T>> {
        if statements.is_empty() {
            return Ok(Vec::new());
        }
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
    pub fn pipeline(
        &self,
        statements: Vec<(SqlText, Vec<Value>)>,
        atomicity: PipelineAtomicity,
    ) -> LocalBoxFuture<'_, Result<Vec<Result<Rows>>>> {
        self.run_pipeline(statements, atomicity).boxed_local()
    }

    async fn run_pipeline(
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
            Executor::Read(database) => database.read_pipeline(statements, atomicity).await,
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
    pub fn begin(&self, options: TransactionOptions) -> LocalBoxFuture<'_, Result<Transaction>> {
        self.begin_spanned(options).boxed_local()
    }

    async fn begin_spanned(&self, options: TransactionOptions) -> Result<Transaction> {
        let span = statement_span("BEGIN", self.dialect());
        let outcome = match self {
            Executor::Database(database) => database.begin(options).await,
            Executor::Read(database) => database.read_begin(options).await,
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
    pub fn copy_in(&self, sql: impl Into<Arc<str>>) -> LocalBoxFuture<'_, Result<CopyIn>> {
        self.copy_in_text(sql.into())
    }

    fn copy_in_text(&self, sql: Arc<str>) -> LocalBoxFuture<'_, Result<CopyIn>> {
        async { on_executor!(self, copy_in(sql), database => database.refuse_write()) }
            .boxed_local()
    }

    /// See [`Database::copy_out`].
    ///
    /// # Errors
    /// As [`Executor::copy_in`].
    pub fn copy_out(&self, sql: impl Into<Arc<str>>) -> LocalBoxFuture<'_, Result<CopyOut>> {
        self.copy_out_text(sql.into())
    }

    fn copy_out_text(&self, sql: Arc<str>) -> LocalBoxFuture<'_, Result<CopyOut>> {
        async { on_executor!(self, copy_out(sql), database => database.copy_out(sql).await) }
            .boxed_local()
    }

    /// Runs a statement about no table that the transaction has changed.
    ///
    /// # Errors
    /// As [`Executor::query`].
    pub fn run_beside_changes(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
    ) -> LocalBoxFuture<'_, Result<Rows>> {
        match self {
            Executor::Transaction(transaction) => transaction.run_beside_changes(sql, values),
            Executor::Database(_) | Executor::Read(_) | Executor::Session(_) => {
                self.query_boxed(sql.into(), values.into())
            }
        }
    }

    /// Asks the catalog, which has what the transaction has changed.
    pub(crate) fn query_catalog(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
    ) -> LocalBoxFuture<'_, Result<Rows>> {
        match self {
            Executor::Database(database) | Executor::Read(database) => {
                database.query_catalog(sql, values)
            }
            Executor::Session(_) | Executor::Transaction(_) => self.run_beside_changes(sql, values),
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
        if atomicity == PipelineAtomicity::Each || self.as_postgres().is_some() {
            return self.pipeline(statements).await;
        }
        let count = statements.len();
        let savepoint = self.savepoint().await?;
        let outcomes = self.pipeline(statements).await?;
        if outcomes.iter().any(Result::is_err) {
            savepoint.roll_back().await?;
            return Ok(mark_rolled_back(outcomes, count));
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
