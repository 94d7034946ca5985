//! A connection that one caller has alone and whose session may be changed.
//! Rule: the session counts as changed from the beginning, so the pool makes it as new before the next caller has it.

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use tsumugi_pg_proto::TransactionStatus;

use super::backend::{Inner, Postgres};
use super::bind::Binds;
use super::copy::{CopyIn, CopyOut};
use super::link::ExclusiveConnection;
use super::pipeline::{Statements, pipeline_on};
use super::stream::PortalRows;
use super::transaction::{begin_within, begun_on};
use crate::batch::BatchSize;
use crate::error::{Error, Result};
use crate::execution::ExecuteResult;
use crate::options::{Options, PipelineAtomicity, TransactionOptions};
use crate::rows::Rows;
use crate::server::{Answer, Limits, Pool, RowStream, Scope, Transaction, TransactionInner};
use crate::sql_text::SqlText;
use crate::value::Value;

/// A connection that its caller has alone. See [`crate::Session`].
pub struct Session {
    pool: Rc<Inner>,
    connection: ExclusiveConnection,
    /// The last one that was begun here.
    transaction: RefCell<Weak<TransactionInner<Postgres>>>,
}

impl Pool<Postgres> {
    pub(crate) async fn session(&self) -> Result<Session> {
        if self.inner().backend.limits == Limits::Client {
            return Err(Error::Unsupported {
                database: "a pooler in transaction mode",
                what: "exclusive sessions: connect past it",
            });
        }
        let connection = self.inner().exclusive("", &[]).await?;
        connection.changed.set(true);
        Ok(Session {
            pool: Rc::clone(self.inner()),
            connection: Rc::new(connection),
            transaction: RefCell::default(),
        })
    }
}

impl Session {
    pub(crate) async fn query(&self, sql: SqlText, values: Vec<Value>) -> Result<Rows> {
        self.run(sql, values).await.map(|answer| answer.rows)
    }

    pub(crate) async fn execute(&self, sql: SqlText, values: Vec<Value>) -> Result<ExecuteResult> {
        let answer = self.run(sql, values).await;
        answer.map(|answer| answer.executed())
    }

    pub(crate) async fn execute_script(&self, sql: SqlText) -> Result<()> {
        let run = self.pool.script(&self.connection, &sql, &sql).await;
        self.pool.finish_script(&sql, run)
    }

    pub(crate) async fn stream(
        &self,
        sql: SqlText,
        values: Vec<Value>,
        by: BatchSize,
    ) -> Result<RowStream<Postgres>> {
        let plan = self.pool.plan(&sql, &values, Scope::Exclusive)?;
        let started = self.pool.stats.start();
        let (connection, binds) = (Rc::clone(&self.connection), Binds(&values));
        let cursor = PortalRows::open(&self.pool, connection, &plan, &binds, by).await;
        RowStream::new(&self.pool, started, sql, values, cursor, None)
    }

    pub(crate) async fn pipeline(
        &self,
        statements: Statements,
        atomicity: PipelineAtomicity,
    ) -> Result<Vec<Result<Rows>>> {
        let outcomes = pipeline_on(&self.pool, &self.connection, statements, atomicity).await?;
        outcomes.map_err(|fault| self.pool.error("", fault))
    }

    pub(crate) fn options(&self) -> &Options {
        &self.pool.options
    }

    pub(crate) async fn begin(&self, options: TransactionOptions) -> Result<Transaction<Postgres>> {
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
        let open = begin_within(&self.pool, &self.connection, options).await?;
        self.pool.stats.count_transaction();
        let transaction = Transaction::new(&self.pool, open, ());
        self.transaction.replace(Rc::downgrade(transaction.inner()));
        Ok(transaction)
    }

    pub(crate) async fn copy_in(&self, sql: Arc<str>) -> Result<CopyIn> {
        CopyIn::begin(&self.pool, Rc::clone(&self.connection), sql).await
    }

    pub(crate) async fn copy_out(&self, sql: Arc<str>) -> Result<CopyOut> {
        CopyOut::begin(&self.pool, Rc::clone(&self.connection), sql).await
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
    pub(crate) fn open_transaction(&self) -> Transaction<Postgres> {
        Transaction::new(&self.pool, begun_on(&self.connection), ())
    }

    async fn command(&self, sql: &str) -> Result<()> {
        let run = self.pool.command(sql, self.connection.script(sql)).await;
        run.map_err(|fault| self.pool.error(sql, fault))
    }

    async fn run(&self, sql: SqlText, values: Vec<Value>) -> Result<Answer> {
        let plan = self.pool.plan(&sql, &values, Scope::Exclusive)?;
        let pool = &self.pool;
        pool.run_on(&self.connection, &plan, &sql, &values).await
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}
