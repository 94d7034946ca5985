//! Transactions as their callers have them: begun, used, ended. Knows no database's commands.
//! Rule: the open transaction is taken away before the commit or the rollback is sent, so that no statement can come after it. Both wait for
//! calls that are still running.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use crate::batch::BatchSize;
use crate::error::{Error, Result};
use crate::execution::ExecuteResult;
use crate::log::opaque;
use crate::options::{Options, TransactionOptions};
use crate::outcome::{Abandon, EndReason, Savepoints};
use crate::rows::Rows;
use crate::sql_text::SqlText;
use crate::value::Value;

use super::backend::{PoolInner, Scope};
use super::pending_commit::PendingCommit;
use super::savepoint::Savepoint;
use super::step::{NextStep, SavepointCommand, SavepointName};
use super::stream::{RowStream, StreamLock};
use super::transactional::{Running, TransactionInner, Transactional};

/// A transaction. See [`crate::Transaction`].
pub struct Transaction<B: Transactional>(Rc<TransactionInner<B>>);

impl<B: Transactional> Transaction<B> {
    pub(super) async fn begin(
        pool: &Rc<PoolInner<B>>,
        options: TransactionOptions,
    ) -> Result<Transaction<B>> {
        let connection = pool.exclusive("BEGIN", &[]).await?;
        let begun = B::begin(pool, connection, options).await;
        let (open, state) = begun.map_err(Error::into_rolled_back)?;
        pool.stats.count_transaction();
        Ok(Transaction::new(pool, open, state))
    }

    /// One that has begun.
    pub(crate) fn new(pool: &Rc<PoolInner<B>>, open: B::Open, state: B::State) -> Transaction<B> {
        Transaction(TransactionInner::new(pool, open, state))
    }

    pub(crate) fn inner(&self) -> &Rc<TransactionInner<B>> {
        &self.0
    }

    pub(crate) async fn query(&self, sql: SqlText, values: Vec<Value>) -> Result<Rows> {
        let answer = self.0.run(sql, values).await?;
        Ok(answer.map_or_else(Rows::none, |answer| answer.rows))
    }

    pub(crate) async fn execute(&self, sql: SqlText, values: Vec<Value>) -> Result<ExecuteResult> {
        let answer = self.0.run(sql, values).await?;
        Ok(answer.map_or_else(ExecuteResult::default, |answer| answer.executed()))
    }

    pub(crate) async fn execute_script(&self, sql: SqlText) -> Result<()> {
        let run = B::script_within(&self.0, sql).await;
        run.map_err(|error| self.0.rolled_back_error(error))
    }

    pub(crate) fn options(&self) -> &Options {
        &self.0.pool.options
    }

    /// Whether a part of it was committed before its end.
    pub(crate) fn has_kept(&self) -> bool {
        B::has_kept(&self.0.state)
    }

    pub(crate) async fn stream(
        &self,
        sql: SqlText,
        values: Vec<Value>,
        by: BatchSize,
    ) -> Result<RowStream<B>> {
        let (inner, pool) = (&self.0, &self.0.pool);
        inner.check()?;
        let plan = pool.plan(&sql, &values, Scope::Exclusive)?;
        if B::prepare(inner, Some(&plan)).await? != NextStep::Run {
            return Err(Error::unsupported(
                B::NAME,
                "cursors in a trial that has changed tables",
            ));
        }
        let open = inner.ready().await?;
        let call = Running::begin(inner);
        inner.is_streaming.set(true);
        let lock = StreamLock::new(inner);
        let started = pool.stats.start();
        let binds = B::binds(&values);
        let cursor = B::cursor_within(pool, open, &plan, &sql, binds, by).await;
        drop(call);
        inner.settle(&cursor);
        let stream = RowStream::new(pool, started, sql, values, cursor, Some(lock));
        let stream = stream.map_err(|error| inner.rolled_back_error(error))?;
        inner.stream.replace(stream.handle());
        Ok(stream)
    }

    pub(crate) async fn savepoint(&self) -> Result<Savepoint<B>> {
        B::prepare(&self.0, None).await?;
        let open = self.0.ready().await?;
        let number = self.0.savepoints.borrow_mut().open();
        let depth = self.0.savepoint_depth();
        let name = SavepointName { number, depth };
        // Made before the command is sent, so that a future dropped meanwhile undoes it.
        let savepoint = Savepoint::new(&self.0, name);
        let sql = B::savepoint_sql(SavepointCommand::Set, number, depth);
        let set = self.0.command(&open, &sql).await;
        if set.is_err() {
            drop(self.0.undo_savepoint(number));
        }
        set.map(|()| savepoint)
    }

    pub(crate) fn savepoints(&self) -> &RefCell<Savepoints> {
        &self.0.savepoints
    }

    pub(crate) async fn commit(&self) -> Result<()> {
        drop(self.0.ready().await?);
        let closing = self.0.take().await?;
        self.0.note_commit();
        let (pool, inquiry) = (&self.0.pool, B::inquiry(&closing));
        let call = conclude(Rc::clone(pool), closing, inquiry.clone());
        let committed = PendingCommit::new(&pool.name, inquiry, call)
            .outcome()
            .await;
        match &committed {
            Ok(()) => self.0.ended.set(EndReason::Committed),
            Err(Error::LostUncommitted { .. }) => self.0.ended.set(EndReason::RolledBack),
            Err(_) => {}
        }
        committed.map_err(|error| self.0.partly_committed(error))
    }

    pub(crate) async fn roll_back(&self) -> Result<()> {
        self.0.check()?;
        let closing = self.0.take().await?;
        let pool = &self.0.pool;
        let rolled_back = pool.command("ROLLBACK", B::roll_back(closing)).await;
        rolled_back.map_err(|fault| pool.error("ROLLBACK", fault))
    }

    pub(crate) fn owner(&self) -> Weak<dyn Abandon> {
        let own: Weak<TransactionInner<B>> = Rc::downgrade(&self.0);
        own
    }
}

/// Commits, and finds out what has become of that where it is not answered. Needs nothing of the transaction, which may be gone by then.
async fn conclude<B: Transactional>(
    pool: Rc<PoolInner<B>>,
    closing: B::Closing,
    inquiry: B::Inquiry,
) -> Result<()> {
    let committed = match pool.command("COMMIT", B::commit(closing)).await {
        Ok(()) => Ok(()),
        // Boxed, so that the future of what is answered stays small.
        Err(fault) if fault.is_unanswered() => Box::pin(B::inquire(&pool, inquiry, fault)).await,
        // What was not sent has not happened.
        Err(fault) if fault.is_unsent() => {
            let reason = pool.error("COMMIT", fault).into_reason();
            Err(Error::LostUncommitted { reason })
        }
        Err(fault) => Err(pool.error("COMMIT", fault)),
    };
    if matches!(committed, Err(Error::CommitUnknown { .. })) {
        pool.stats.count_unknown_commit();
    }
    committed
}

opaque!(Transaction<B: Transactional>);
