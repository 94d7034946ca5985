//! A connection that one caller has alone and whose session may be changed.
//! Rule: the session counts as changed from the beginning, so the pool makes it as new before the next caller has it.

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_pg_proto::TransactionStatus;

use super::backend::{Inner, Postgres};
use super::bind::Binds;
use super::copy::{CopyIn, CopyOut};
use super::link::ExclusiveConnection;
use super::pipeline::pipeline_on;
use super::plan::StatementEffect;
use super::stream::PortalRows;
use super::transaction::{begin_within, begun_on};
use crate::batch::BatchSize;
use crate::error::{Error, Result};
use crate::execution::ExecuteResult;
use crate::log::opaque;
use crate::options::{Options, PipelineAtomicity, TransactionOptions};
use crate::row_stream::RowStream;
use crate::rows::Rows;
use crate::server::{self, Answer, Fault, Limits, Pool, Scope, StreamHandle, TransactionInner};
use crate::sql_text::SqlText;
use crate::transaction::Transaction;
use crate::value::{Value, bounded, bounded_together};

/// A connection that its caller has alone. See [`Database::session`](crate::Database::session).
pub struct Session {
    pool: Rc<Inner>,
    connection: ExclusiveConnection,
    /// The last one that was begun here.
    transaction: RefCell<Weak<TransactionInner<Postgres>>>,
    /// The last stream outside a transaction, which ends with the session.
    stream: RefCell<StreamHandle<Postgres>>,
}

impl Pool<Postgres> {
    pub(crate) async fn session(&self) -> Result<Session> {
        if self.inner().backend.limits == Limits::Client {
            return Err(Error::unsupported(
                "a pooler in transaction mode",
                "exclusive sessions: connect past it",
            ));
        }
        let connection = self.inner().exclusive("", &[]).await?;
        connection.changed.set(true);
        Ok(Session {
            pool: Rc::clone(self.inner()),
            connection: Rc::new(connection),
            transaction: RefCell::default(),
            stream: RefCell::default(),
        })
    }
}

impl Session {
    /// Like [`Database::query`](crate::Database::query), and the statement may change the session.
    ///
    /// # Errors
    /// As [`Database::query`](crate::Database::query), but for the wait for a connection; [`Error::Usage`] while a stream of the session is open.
    pub fn query(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
    ) -> LocalBoxFuture<'_, Result<Rows>> {
        self.query_text(sql.into(), values.into())
    }

    fn query_text(&self, sql: SqlText, values: Vec<Value>) -> LocalBoxFuture<'_, Result<Rows>> {
        async move {
            let answer = self.answer(sql, values).await;
            answer.map(|answer| answer.rows)
        }
        .boxed_local()
    }

    /// Like [`Database::execute`](crate::Database::execute), and the statement may change the session.
    ///
    /// # Errors
    /// As [`Session::query`].
    pub fn execute(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
    ) -> LocalBoxFuture<'_, Result<ExecuteResult>> {
        self.execute_text(sql.into(), values.into())
    }

    fn execute_text(
        &self,
        sql: SqlText,
        values: Vec<Value>,
    ) -> LocalBoxFuture<'_, Result<ExecuteResult>> {
        async move {
            let answer = self.answer(sql, values).await;
            answer.map(|answer| answer.executed())
        }
        .boxed_local()
    }

    /// Like [`Database::execute_script`](crate::Database::execute_script), on this connection.
    ///
    /// # Errors
    /// As [`Session::query`], of the first statement that fails; those after it do not run.
    pub fn execute_script(&self, sql: impl Into<SqlText>) -> LocalBoxFuture<'_, Result<()>> {
        self.script_text(sql.into())
    }

    fn script_text(&self, sql: SqlText) -> LocalBoxFuture<'_, Result<()>> {
        async move {
            let run = self.pool.script(&self.connection, &sql, &sql).await;
            let finished = self.pool.finish_script(&sql, run.map_err(Fault::alone));
            finished.map_err(Error::of_parts)
        }
        .boxed_local()
    }

    /// Like [`Database::stream_by`](crate::Database::stream_by), on this connection, which can do nothing else until the stream ends or is dropped.
    /// It ends with the session.
    ///
    /// # Errors
    /// As [`Session::query`] of what fails before the first batch; later errors come from [`RowStream::next`].
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
            let plan = self.pool.plan(&sql, &values, Scope::Exclusive)?;
            let started = self.pool.stats.start();
            let (connection, binds) = (Rc::clone(&self.connection), Binds(&values));
            let cursor = PortalRows::open(&self.pool, connection, &plan, &binds, by).await;
            let stream = server::RowStream::new(&self.pool, started, sql, values, cursor, None)?;
            self.stream.replace(stream.handle());
            Ok(RowStream::Postgres(stream))
        }
        .boxed_local()
    }

    /// Like [`Database::pipeline`](crate::Database::pipeline), on this connection.
    ///
    /// # Errors
    /// Where nothing could be sent, as [`Session::query`]. What fails in a statement stands in its place among the outcomes.
    pub fn pipeline(
        &self,
        statements: Vec<(SqlText, Vec<Value>)>,
        atomicity: PipelineAtomicity,
    ) -> LocalBoxFuture<'_, Result<Vec<Result<Rows>>>> {
        async move {
            let statements = bounded_together(statements)?;
            let outcomes = pipeline_on(&self.pool, &self.connection, statements, atomicity).await?;
            outcomes.map_err(|fault| self.pool.error("", fault.alone()))
        }
        .boxed_local()
    }

    pub(crate) fn options(&self) -> &Options {
        &self.pool.options
    }

    /// Begins a transaction on this connection, unless SQL has begun one. Until it ends, all statements of the session belong to it; dropped, it is rolled
    /// back before the session's next statement.
    ///
    /// # Errors
    /// [`Error::Usage`] while a transaction of this session is open, by this call or by SQL; [`Error::Lost`].
    pub fn begin(&self, options: TransactionOptions) -> LocalBoxFuture<'_, Result<Transaction>> {
        async move {
            if self.is_in_transaction().await? {
                let running = self.transaction.borrow().upgrade();
                let refusal = match running.is_some_and(|running| running.is_open()) {
                    true => {
                        "a transaction of this session is open: end it first, or use its savepoints"
                    }
                    false => "a transaction that SQL began is open in this session: end it first",
                };
                return Err(Error::usage(refusal));
            }
            let open = begin_within(&self.pool, &self.connection, options).await;
            let open = open.map_err(Error::into_rolled_back)?;
            self.pool.stats.count_transaction();
            let transaction = server::Transaction::new(&self.pool, open, ());
            self.transaction.replace(Rc::downgrade(transaction.inner()));
            Ok(Transaction::Postgres(transaction))
        }
        .boxed_local()
    }

    /// Like [`Database::copy_in`](crate::Database::copy_in), on this connection.
    ///
    /// # Errors
    /// What the server says to the statement.
    pub fn copy_in(&self, sql: impl Into<Arc<str>>) -> LocalBoxFuture<'_, Result<CopyIn>> {
        CopyIn::begin(&self.pool, Rc::clone(&self.connection), sql.into())
    }

    /// Like [`Database::copy_out`](crate::Database::copy_out), on this connection.
    ///
    /// # Errors
    /// As [`Session::copy_in`].
    pub fn copy_out(&self, sql: impl Into<Arc<str>>) -> LocalBoxFuture<'_, Result<CopyOut>> {
        CopyOut::begin(&self.pool, Rc::clone(&self.connection), sql.into())
    }

    /// Whether a transaction is open, also one that SQL began.
    pub(crate) async fn is_in_transaction(&self) -> Result<bool> {
        // The end of one that was dropped may be on its way.
        if self.connection.awaited() > 0 {
            self.command("").await?;
        }
        Ok(self.connection.status() != TransactionStatus::Idle)
    }

    /// The transaction that is open, for savepoints in it. Dropped, it goes on.
    pub(crate) fn open_transaction(&self) -> server::Transaction<Postgres> {
        server::Transaction::new(&self.pool, begun_on(&self.connection), ())
    }

    async fn command(&self, sql: &str) -> Result<()> {
        let run = self.pool.command(sql, self.connection.script(sql)).await;
        run.map_err(|fault| self.pool.error(sql, fault))
    }

    async fn answer(&self, sql: SqlText, values: Vec<Value>) -> Result<Answer> {
        let values = bounded(values)?;
        let plan = self.pool.plan(&sql, &values, Scope::Exclusive)?;
        let pool = &self.pool;
        let run = pool.run_on(&self.connection, &plan, &sql, &values).await;
        match plan.effect {
            StatementEffect::Procedure => run.map_err(Error::of_parts),
            _ => run,
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        self.stream
            .take()
            .give_up(|| Error::closed("session", "it was dropped before its stream"));
    }
}

opaque!(Session);
