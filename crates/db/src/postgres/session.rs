//! A connection in the hands of one caller, who may leave what he likes in its session.
//! Rule: the session counts as changed from the beginning, so the pool makes it as new before the next caller has it.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use tsumugi_pg::Atomicity;
use tsumugi_pg_proto::TransactionStatus;

use super::copy::{CopyIn, CopyOut};
use super::link::ExclusiveConnection;
use super::pool::{Inner, Limits, Pool, executed, kept, planned};
use super::rows::Rows as DriverRows;
use super::transaction::{RowStream, Transaction, Watch, permitted};
use crate::batch::BatchSize;
use crate::error::{Error, Result};
use crate::options::TransactionOptions;
use crate::rows::Rows;
use crate::sql_text::SqlText;
use crate::sqlite::Executed;
use crate::value::Value;

/// A connection of one's own. See [`crate::Session`].
pub struct Session {
    pool: Rc<Inner>,
    own: ExclusiveConnection,
    transaction: RefCell<Watch>,
}

impl Pool {
    pub(crate) async fn session(&self) -> Result<Session> {
        if self.inner().limits == Limits::Ours {
            return Err(Error::Unsupported {
                database: "a pooler in transaction mode",
                what: "sessions of one's own: connect past it",
            });
        }
        let own = self.inner().own().await?;
        own.changed.set(true);
        Ok(Session {
            pool: Rc::clone(self.inner()),
            own,
            transaction: RefCell::default(),
        })
    }
}

impl Session {
    pub(crate) async fn query(&self, sql: SqlText, values: Vec<Value>) -> Result<Rows> {
        self.run(sql, values).await.map(Rows::from)
    }

    pub(crate) async fn execute(&self, sql: SqlText, values: Vec<Value>) -> Result<Executed> {
        self.run(sql, values).await.map(|rows| executed(&rows))
    }

    pub(crate) async fn execute_script(&self, sql: SqlText) -> Result<()> {
        self.pool.script_on(&self.own, sql).await
    }

    pub(crate) async fn stream(
        &self,
        sql: SqlText,
        values: Vec<Value>,
        by: BatchSize,
    ) -> Result<RowStream> {
        RowStream::begin(&self.pool, Rc::clone(&self.own), sql, values, by).await
    }

    pub(crate) async fn pipeline(
        &self,
        statements: Vec<(SqlText, Vec<Value>)>,
        atomicity: Atomicity,
    ) -> Result<Vec<Result<Rows>>> {
        let plans = planned(&statements, |sql, values| {
            permitted(&self.pool, &self.own, sql, values)
        })?;
        self.pool
            .pipelined(&self.own, &plans, statements, atomicity, kept)
            .await
    }

    pub(crate) async fn begin(&self, options: TransactionOptions) -> Result<Transaction> {
        if self.is_in_transaction().await? && !self.transaction.borrow().is_running() {
            let refusal = "a transaction that SQL began is open in this session: end it first";
            return Err(Error::usage(refusal));
        }
        if self.transaction.borrow().is_running() {
            let refusal =
                "a transaction of this session is open: end it first, or use its savepoints";
            return Err(Error::usage(refusal));
        }
        let own = Rc::clone(&self.own);
        let transaction = Transaction::begin_within(&self.pool, own, options).await?;
        self.transaction.replace(transaction.watch());
        Ok(transaction)
    }

    pub(crate) async fn copy_in(&self, sql: Arc<str>) -> Result<CopyIn> {
        CopyIn::begin(&self.pool, Rc::clone(&self.own), sql).await
    }

    pub(crate) async fn copy_out(&self, sql: Arc<str>) -> Result<CopyOut> {
        CopyOut::begin(&self.pool, Rc::clone(&self.own), sql).await
    }

    /// Whether a transaction is open, whoever began it.
    pub(crate) async fn is_in_transaction(&self) -> Result<bool> {
        // The end of one that was dropped may be on its way.
        if self.own.awaited() > 0 {
            self.pool.script_on(&self.own, "".into()).await?;
        }
        Ok(self.own.status() != TransactionStatus::Idle)
    }

    /// Marks a point of the transaction that is open.
    pub(crate) async fn mark(&self) -> Result<Mark> {
        let mark = Mark(Some(Rc::clone(&self.own)));
        let sql = format!("SAVEPOINT {MARK}");
        self.pool.script_on(&self.own, sql.into()).await?;
        Ok(mark)
    }

    /// Keeps what was done since.
    pub(crate) async fn release(&self, mut mark: Mark) -> Result<()> {
        mark.0 = None;
        let sql = format!("RELEASE SAVEPOINT {MARK}");
        self.pool.script_on(&self.own, sql.into()).await
    }

    async fn run(&self, sql: SqlText, values: Vec<Value>) -> Result<DriverRows> {
        let plan = permitted(&self.pool, &self.own, &sql, &values)?;
        self.pool.run_on(&self.own, &plan, sql, values).await
    }
}

/// Within it there may be another of this name, which is then the one that is meant.
const MARK: &str = "tsumugi_several";

/// A point in a transaction. Dropped, what was done since is undone, before anything else is, unless an error of the server's has spoiled
/// the transaction: then it stays so.
pub(crate) struct Mark(Option<ExclusiveConnection>);

impl Drop for Mark {
    fn drop(&mut self) {
        let own = self.0.take();
        if let Some(own) = own.filter(|own| own.status() == TransactionStatus::InTransaction) {
            own.tell(&format!(
                "ROLLBACK TO SAVEPOINT {MARK}; RELEASE SAVEPOINT {MARK}"
            ));
        }
    }
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}
