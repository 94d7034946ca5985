//! Transactions, savepoints and streams of rows: each on a connection of its own, until it ends or is dropped.
//! Rule: the connection goes back to the pool when its last holder has gone, and the pool rolls back what is open.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;

use tsumugi_pg::limits::{BATCH_ROWS_FIRST, BATCH_ROWS_MAX};
use tsumugi_pg::{Access as ServerAccess, Atomicity, Isolation as ServerIsolation};
use tsumugi_pg_proto::TransactionStatus;

use super::bind::Binds;
use super::copy::{CopyIn, CopyOut};
use super::failure::Fault;
use super::link::ExclusiveConnection;
use super::plan::{self, Effect, Plan};
use super::pool::{COPY_IN, Inner, Limits, executed, kept, planned};
use super::rows::Rows as DriverRows;
use super::settings;
use crate::batch::BatchSize;
use crate::error::{Error, Result};
use crate::options::{Access, Isolation, Options, TransactionOptions};
use crate::outcome::{Abandon, Ended, Savepoints};
use crate::rows::{Columns, Rows};
use crate::sql_text::SqlText;
use crate::sqlite::Executed;
use crate::value::Value;

const NESTED: &str = "BEGIN, COMMIT, ROLLBACK and SAVEPOINT are for the transaction's own methods";

/// A transaction. See [`crate::Transaction`].
pub struct Transaction(Rc<TransactionInner>);

pub(super) struct TransactionInner {
    pool: Rc<Inner>,
    /// None once it has ended.
    own: RefCell<Option<ExclusiveConnection>>,
    ended: Cell<Ended>,
    savepoints: RefCell<Savepoints>,
    streaming: Cell<bool>,
    lender: Lender,
}

/// Knows whether a transaction is running.
#[derive(Default)]
pub(super) struct Watch(Weak<TransactionInner>);

impl Watch {
    pub(super) fn is_running(&self) -> bool {
        let held = self.0.upgrade();
        held.is_some_and(|held| held.own.borrow().is_some())
    }
}

/// Who has the connection after the transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lender {
    /// The pool, which rolls back what is open.
    Pool,
    /// A session that goes on, so that a dropped transaction is rolled back by itself.
    Session,
}

impl Transaction {
    pub(super) async fn begin(
        pool: &Rc<Inner>,
        own: ExclusiveConnection,
        options: TransactionOptions,
    ) -> Result<Transaction> {
        Transaction::lent(pool, own, options, Lender::Pool).await
    }

    /// Begins on a connection that the caller keeps.
    pub(super) async fn begin_within(
        pool: &Rc<Inner>,
        own: ExclusiveConnection,
        options: TransactionOptions,
    ) -> Result<Transaction> {
        Transaction::lent(pool, own, options, Lender::Session).await
    }

    async fn lent(
        pool: &Rc<Inner>,
        own: ExclusiveConnection,
        options: TransactionOptions,
        lender: Lender,
    ) -> Result<Transaction> {
        let begin = tsumugi_pg::TransactionOptions {
            isolation: match options.isolation {
                Isolation::Default => ServerIsolation::Server,
                Isolation::ReadCommitted => ServerIsolation::ReadCommitted,
                Isolation::RepeatableRead => ServerIsolation::RepeatableRead,
                Isolation::Serializable => ServerIsolation::Serializable,
            },
            access: match options.access {
                Access::ReadWrite => ServerAccess::ReadWrite,
                Access::ReadOnly => ServerAccess::ReadOnly,
            },
        };
        // Made before it is asked for, so that a future dropped meanwhile undoes it.
        let held = TransactionInner {
            pool: Rc::clone(pool),
            own: RefCell::new(Some(Rc::clone(&own))),
            ended: Cell::new(Ended::RolledBack),
            savepoints: RefCell::default(),
            streaming: Cell::new(false),
            lender,
        };
        let begun = pool.account.begun();
        let run = pool.bounded(own.begin_unguarded(begin)).await;
        pool.account
            .log(begun, "BEGIN", &[], run.as_ref().map(|()| None));
        if let Err(fault) = run {
            return Err(pool.attempt("BEGIN".into(), Vec::new()).fault(fault));
        }
        if pool.limits == Limits::Ours {
            let sql = settings::limits_of_transaction(&pool.options);
            let told = pool.bounded(own.script(&sql)).await;
            told.map_err(|fault| pool.attempt(sql.into(), Vec::new()).fault(fault))?;
        }
        Ok(Transaction(Rc::new(held)))
    }

    /// Tells whether it is running, for as long as that matters.
    pub(super) fn watch(&self) -> Watch {
        Watch(Rc::downgrade(&self.0))
    }

    pub(crate) async fn copy_in(&self, sql: Arc<str>) -> Result<CopyIn> {
        let copy = CopyIn::begin(&self.0.pool, self.0.own()?, sql).await?;
        Ok(copy.within(Rc::downgrade(&self.0)))
    }

    pub(crate) async fn copy_out(&self, sql: Arc<str>) -> Result<CopyOut> {
        CopyOut::begin(&self.0.pool, self.0.own()?, sql).await
    }

    pub(crate) async fn query(&self, sql: SqlText, values: Vec<Value>) -> Result<Rows> {
        self.0.run(sql, values).await.map(Rows::from)
    }

    pub(crate) async fn execute(&self, sql: SqlText, values: Vec<Value>) -> Result<Executed> {
        self.0.run(sql, values).await.map(|rows| executed(&rows))
    }

    pub(crate) async fn execute_script(&self, sql: SqlText) -> Result<()> {
        let own = self.0.own()?;
        own.changed.set(true);
        let run = self.0.pool.script_on(&own, sql).await;
        if run.is_ok() && own.status() == TransactionStatus::Idle {
            self.0.end(Ended::ByScript);
            return Err(Ended::ByScript.error());
        }
        self.0.judged(run)
    }

    pub(crate) async fn stream(
        &self,
        sql: SqlText,
        values: Vec<Value>,
        by: BatchSize,
    ) -> Result<RowStream> {
        let own = self.0.own()?;
        let stream = RowStream::begin(&self.0.pool, own, sql, values, by).await;
        let mut stream = self.0.judged(stream)?;
        self.0.streaming.set(true);
        stream.transaction = Rc::downgrade(&self.0);
        Ok(stream)
    }

    pub(crate) async fn pipeline(
        &self,
        statements: Vec<(SqlText, Vec<Value>)>,
    ) -> Result<Vec<Result<Rows>>> {
        let own = self.0.own()?;
        let pool = &self.0.pool;
        let plans = planned(&statements, |sql, values| {
            permitted(pool, &own, sql, values)
        })?;
        let outcomes = pool.pipelined(&own, &plans, statements, Atomicity::All, kept);
        self.0.judged(outcomes.await)
    }

    pub(crate) async fn savepoint(&self) -> Result<Savepoint> {
        let number = self.0.savepoints.borrow_mut().open();
        let savepoint = Savepoint {
            transaction: Rc::downgrade(&self.0),
            number,
        };
        let made = self.0.command(&format!("SAVEPOINT s{number}")).await;
        if made.is_err() {
            self.0.savepoints.borrow_mut().close(number);
        }
        made.map(|()| savepoint)
    }

    pub(crate) fn options(&self) -> &Options {
        &self.0.pool.options
    }

    pub(crate) async fn commit(&self) -> Result<()> {
        let own = self.0.own()?;
        let begun = self.0.pool.account.begun();
        self.0.ended.set(Ended::Uncommitted);
        let committed = self.0.pool.bounded(own.commit_unguarded()).await;
        self.0
            .pool
            .account
            .log(begun, "COMMIT", &[], committed.as_ref().map(|()| None));
        match committed {
            Ok(()) => self.0.end(Ended::Committed),
            // The answer never came.
            Err(Fault::Late) => self.0.end(Ended::Uncommitted),
            Err(_) if own.status() == TransactionStatus::Idle => self.0.end(Ended::Uncommitted),
            Err(_) => self.0.ended.set(Ended::RolledBack),
        }
        committed.map_err(|fault| {
            self.0
                .pool
                .attempt("COMMIT".into(), Vec::new())
                .fault(fault)
        })
    }

    pub(crate) fn is_spoiled(&self) -> bool {
        let own = self.0.own.borrow();
        own.as_ref()
            .is_some_and(|own| own.status() == TransactionStatus::Failed)
    }

    pub(crate) async fn roll_back(&self) -> Result<()> {
        self.0.command("ROLLBACK").await?;
        self.0.end(Ended::RolledBack);
        Ok(())
    }

    pub(crate) fn owner(&self) -> Weak<impl Abandon + use<>> {
        Rc::downgrade(&self.0)
    }
}

impl Abandon for TransactionInner {
    fn abandon(&self) {
        self.end(match self.ended.get() {
            Ended::Uncommitted => Ended::Uncommitted,
            _ => Ended::Unattended,
        });
    }
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction").finish_non_exhaustive()
    }
}

impl TransactionInner {
    fn own(&self) -> Result<ExclusiveConnection> {
        if self.streaming.get() {
            return Err(Error::usage(
                "a stream of this transaction is open: read it to its end or drop it first",
            ));
        }
        let own = self.own.borrow().clone();
        own.ok_or_else(|| self.ended.get().error())
    }

    /// Gives the connection back, unless that was done. What is open on it is rolled back before anybody else has it.
    fn end(&self, how: Ended) {
        let Some(own) = self.own.borrow_mut().take() else {
            return;
        };
        self.ended.set(how);
        if self.lender == Lender::Session && own.status() != TransactionStatus::Idle {
            own.roll_back_unguarded();
        }
    }

    async fn run(&self, sql: SqlText, values: Vec<Value>) -> Result<DriverRows> {
        let own = self.own()?;
        let plan = permitted(&self.pool, &own, &sql, &values)?;
        let rows = self.pool.run_on(&own, &plan, sql, values).await;
        self.judged(rows)
    }

    /// What we gave up for its time ends the transaction, because it may have run to its end just then. What the server gave up failed.
    fn judged<T>(&self, outcome: Result<T>) -> Result<T> {
        if self.pool.limits == Limits::Ours && matches!(outcome, Err(Error::Timeout { .. })) {
            self.end(Ended::Stopped);
        }
        outcome
    }

    async fn command(&self, sql: &str) -> Result<()> {
        let own = self.own()?;
        let begun = self.pool.account.begun();
        let run = self.pool.bounded(own.script(sql)).await;
        self.pool
            .account
            .log(begun, sql, &[], run.as_ref().map(|()| None));
        self.judged(run.map_err(|fault| self.pool.attempt(sql.into(), Vec::new()).fault(fault)))
    }
}

impl Drop for TransactionInner {
    fn drop(&mut self) {
        if let (Lender::Session, Some(own)) = (self.lender, self.own.get_mut().take()) {
            own.roll_back_unguarded();
        }
    }
}

/// The plan of a statement on a connection that nobody shares, unless the statement is for another method.
pub(super) fn permitted(
    pool: &Inner,
    own: &ExclusiveConnection,
    sql: &SqlText,
    values: &[Value],
) -> Result<Rc<Plan>> {
    let plan = pool.plans.of(sql);
    let refusal = match plan.effect {
        Effect::None | Effect::Lock => return Ok(plan),
        Effect::Session | Effect::Procedure => {
            own.changed.set(true);
            return Ok(plan);
        }
        Effect::Transaction => NESTED,
        Effect::CopyIn => COPY_IN,
        Effect::Mixed => plan::MIXED,
    };
    Err(pool.attempt(sql.clone(), values.to_vec()).usage(refusal))
}

/// A point in a transaction. See [`crate::Savepoint`].
pub struct Savepoint {
    transaction: Weak<TransactionInner>,
    number: u32,
}

impl Savepoint {
    pub(crate) async fn release(self) -> Result<()> {
        let sql = format!("RELEASE SAVEPOINT s{}", self.number);
        self.finish(&sql).await
    }

    pub(crate) async fn roll_back(self) -> Result<()> {
        let sql = undo(self.number);
        self.finish(&sql).await
    }

    pub(crate) fn forget(self) {
        if let Some(transaction) = self.transaction.upgrade() {
            transaction.savepoints.borrow_mut().close(self.number);
        }
    }

    async fn finish(self, sql: &str) -> Result<()> {
        let Some(transaction) = self.transaction.upgrade() else {
            return Err(Error::Closed {
                what: "transaction",
                reason: "it was dropped before its savepoint",
            });
        };
        transaction.savepoints.borrow().check(self.number)?;
        transaction.command(sql).await?;
        transaction.savepoints.borrow_mut().close(self.number);
        Ok(())
    }

    pub(crate) fn owner(&self) -> Weak<impl Abandon + use<>> {
        self.transaction.clone()
    }
}

impl std::fmt::Debug for Savepoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Savepoint").finish_non_exhaustive()
    }
}

impl Drop for Savepoint {
    fn drop(&mut self) {
        let Some(transaction) = self.transaction.upgrade() else {
            return;
        };
        let existed = transaction.savepoints.borrow_mut().close(self.number);
        let own = transaction.own.borrow().clone();
        if let Some(own) = own.filter(|_| existed) {
            // It is sent before whatever the transaction does next.
            own.tell(&undo(self.number));
        }
    }
}

/// Released as well, because the next savepoint would else be one within it, and so on for as long as the transaction lasts.
fn undo(number: u32) -> String {
    format!("ROLLBACK TO SAVEPOINT s{number}; RELEASE SAVEPOINT s{number}")
}

/// Rows that arrive in batches. See [`crate::RowStream`].
pub struct RowStream {
    rows: tsumugi_pg::RowStream,
    columns: Arc<Columns>,
    pool: Rc<Inner>,
    sql: SqlText,
    values: Vec<Value>,
    transaction: Weak<TransactionInner>,
    /// After `rows`, so that the pool gets it back when they are gone.
    own: ExclusiveConnection,
}

impl RowStream {
    pub(super) async fn begin(
        pool: &Rc<Inner>,
        own: ExclusiveConnection,
        sql: SqlText,
        values: Vec<Value>,
        by: BatchSize,
    ) -> Result<RowStream> {
        let plan = pool.plans.of(&sql);
        let begun = pool.account.begun();
        let binds = Binds(&values);
        let rows_max = by.said().map_or(BATCH_ROWS_MAX, u32::from);
        let first = rows_max.min(BATCH_ROWS_FIRST);
        let rows = batch(pool, &own, own.stream_by(&plan.sql, &binds, first)).await;
        // Its rows are still to come.
        pool.account
            .log(begun, &sql, &values, rows.as_ref().map(|_| None));
        let mut rows = match rows {
            Ok(rows) => rows,
            Err(fault) => return Err(pool.attempt(sql, values).fault(fault)),
        };
        rows.limit(rows_max);
        let columns = rows
            .columns()
            .derived(|columns| Arc::new(Columns::new(columns.iter().map(|column| &*column.name))));
        Ok(RowStream {
            rows,
            columns,
            pool: Rc::clone(pool),
            sql,
            values,
            transaction: Weak::new(),
            own,
        })
    }

    pub(crate) fn columns(&self) -> &Arc<Columns> {
        &self.columns
    }

    pub(crate) async fn next(&mut self) -> Result<Option<Rows>> {
        let next = batch(&self.pool, &self.own, self.rows.next()).await;
        let next = next.and_then(|rows| Ok(rows.map(DriverRows::new).transpose()?));
        let next = next.map_err(|fault| {
            let attempt = self.pool.attempt(self.sql.clone(), self.values.clone());
            attempt.fault(fault)
        });
        if !matches!(next, Ok(Some(_))) {
            self.finish();
        }
        next.map(|rows| rows.map(Rows::from))
    }

    fn finish(&self) {
        if let Some(transaction) = self.transaction.upgrade() {
            transaction.streaming.set(false);
        }
    }
}

/// Bounds the time of one batch, where the server does not watch over all of them together.
async fn batch<T>(
    pool: &Inner,
    own: &ExclusiveConnection,
    asked: impl Future<Output = tsumugi_pg::Result<T>>,
) -> std::result::Result<T, Fault> {
    if own.is_timeless() {
        pool.timed(asked).await
    } else {
        pool.bounded(asked).await
    }
}

impl Drop for RowStream {
    fn drop(&mut self) {
        self.finish();
    }
}

impl std::fmt::Debug for RowStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowStream").finish_non_exhaustive()
    }
}
