//! Transactions and savepoints: each on a connection of its own, until it ends or is dropped.
//! Rule: a statement that was stopped ends its transaction, a query too: nobody can say what the code that it calls has written.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;

use tokio::time::Instant;
use tsumugi_firebird::{
    Access as ServerAccess, Isolation as ServerIsolation, TransactionOptions as Parameters,
};

use super::bind;
use super::blobs::Source;
use super::change::Change;
use super::failure::{self, Fault};
use super::link::ExclusiveConnection;
use super::plan::{self, Effect};
use super::pool::{Inner, executed};
use super::rows::Rows as DriverRows;
use super::settings;
use super::stream::RowStream;
use crate::batch::BatchSize;
use crate::error::{Error, Result};
use crate::options::{Access, Isolation, Options, TransactionOptions};
use crate::outcome::{Abandon, Ended, Savepoints};
use crate::rows::Rows;
use crate::sqlite::Executed;
use crate::value::Value;

/// A transaction. See [`crate::Transaction`].
pub struct Transaction(Rc<TransactionInner>);

/// What its owner, its savepoints and the watch over idle ones share.
pub(super) struct TransactionInner {
    pub(super) pool: Rc<Inner>,
    /// None once it has ended.
    live: RefCell<Option<Rc<OpenTransaction>>>,
    ended: Cell<Ended>,
    savepoints: RefCell<Savepoints>,
    /// The depth of one that was dropped, to which the transaction goes back before anything else.
    undo: Cell<Option<usize>>,
    pub(super) streaming: Cell<bool>,
    running: Cell<usize>,
    used: Cell<Instant>,
    parameters: Parameters,
    pub(super) change: Change,
}

/// An open transaction on its connection, which the pool gets back afterwards.
pub(super) struct OpenTransaction {
    pub(super) transaction: Rc<tsumugi_firebird::Transaction>,
    /// Others on the same connection that hold locks of ours, and end after this one.
    pub(super) locks: Locks,
    pub(super) own: ExclusiveConnection,
}

/// What is left of an open transaction when it is taken to be ended. The locks end before the pool has the connection.
struct Rest {
    locks: Locks,
    own: ExclusiveConnection,
}

/// Transactions that hold a row of the table of locks.
pub(super) type Locks = RefCell<Vec<tsumugi_firebird::Transaction>>;

/// Whether a statement can run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Settled {
    Runs,
    LeftOut,
}

impl Transaction {
    pub(super) async fn begin(
        pool: &Rc<Inner>,
        options: TransactionOptions,
    ) -> Result<Transaction> {
        let own = pool.own().await?;
        let turn = match options.isolation {
            Isolation::Serializable => Some(super::change::turn(pool, &own).await?),
            _ => None,
        };
        let parameters = parameters(pool, &options);
        let begun = pool.account.begun();
        let transaction = pool.timed(own.begin(parameters)).await;
        let logged = transaction.as_ref().map(|_| None);
        pool.account.log(begun, "SET TRANSACTION", &[], logged);
        let transaction =
            transaction.map_err(|fault| transaction_error(pool, "SET TRANSACTION", fault))?;
        let session = Rc::clone(&own);
        let live = OpenTransaction {
            transaction: Rc::new(transaction),
            locks: RefCell::new(turn.into_iter().collect()),
            own,
        };
        let held = Rc::new(TransactionInner {
            pool: Rc::clone(pool),
            live: RefCell::new(Some(Rc::new(live))),
            ended: Cell::new(Ended::RolledBack),
            savepoints: RefCell::default(),
            undo: Cell::new(None),
            streaming: Cell::new(false),
            running: Cell::new(0),
            used: Cell::new(Instant::now()),
            parameters,
            change: Change::of(options.mode),
        });
        session.transaction.replace(Rc::downgrade(&held));
        Ok(Transaction(held))
    }

    pub(crate) async fn query(&self, sql: Arc<str>, values: Vec<Value>) -> Result<Rows> {
        match self.0.settled(plan::effect(&sql)).await? {
            Settled::LeftOut => Ok(Rows::none()),
            Settled::Runs => self.0.run(sql, values).await.map(Rows::from),
        }
    }

    pub(crate) async fn execute(&self, sql: Arc<str>, values: Vec<Value>) -> Result<Executed> {
        match self.0.settled(plan::effect(&sql)).await? {
            Settled::LeftOut => Ok(Executed::default()),
            Settled::Runs => self.0.run(sql, values).await.map(|rows| executed(&rows)),
        }
    }

    pub(crate) async fn execute_script(&self, sql: Arc<str>) -> Result<()> {
        for statement in plan::statements(&sql) {
            self.execute(statement.into(), Vec::new()).await?;
        }
        Ok(())
    }

    /// Runs a statement about what the transaction has not changed, beside changes of tables that are not committed yet.
    pub(crate) async fn beside(&self, sql: Arc<str>, values: Vec<Value>) -> Result<Rows> {
        self.0.run(sql, values).await.map(Rows::from)
    }

    /// Takes the lock of the schema until the end, unless somebody else has it.
    pub(crate) async fn has_schema(&self) -> Result<bool> {
        let live = self.0.ready().await?;
        super::change::locked(&self.0.pool, &live, &self.0.change).await
    }

    pub(crate) fn options(&self) -> &Options {
        &self.0.pool.options
    }

    /// Whether changes of tables have been committed before the end.
    pub(crate) fn has_kept(&self) -> bool {
        self.0.change.kept.get()
    }

    pub(crate) async fn stream(
        &self,
        sql: Arc<str>,
        values: Vec<Value>,
        by: BatchSize,
    ) -> Result<RowStream> {
        self.0.pool.permitted(&sql, &values)?;
        if self.0.settled(Effect::Read).await? == Settled::LeftOut {
            return Err(Error::Unsupported {
                database: "Firebird",
                what: "cursors in a trial that has changed tables",
            });
        }
        let live = self.0.ready().await?;
        let running = Running::begin(&self.0);
        let stream = RowStream::begin(&self.0, live, sql, values).await;
        if !matches!(stream, Err(Error::Timeout { .. })) {
            running.answered();
        }
        Ok(stream?.by(by))
    }

    pub(crate) async fn savepoint(&self) -> Result<Savepoint> {
        self.0.settled(Effect::Write).await?;
        let live = self.0.ready().await?;
        let number = self.0.savepoints.borrow_mut().open();
        let depth = self.0.savepoints.borrow().depth();
        // Made before it is asked for, so that a future dropped meanwhile undoes it.
        let savepoint = Savepoint {
            transaction: Rc::downgrade(&self.0),
            number,
            depth,
        };
        let made = self.0.command(&live, &format!("SAVEPOINT S{depth}")).await;
        if made.is_err() {
            self.0.savepoints.borrow_mut().close(number);
        }
        made.map(|()| savepoint)
    }

    pub(crate) async fn commit(&self) -> Result<()> {
        drop(self.0.ready().await?);
        let (transaction, rest) = self.0.take()?;
        self.0.ended.set(Ended::Uncommitted);
        let begun = self.0.pool.account.begun();
        let committed = self.0.pool.timed(transaction.commit()).await;
        drop(rest);
        let logged = committed.as_ref().map(|()| None);
        self.0.pool.account.log(begun, "COMMIT", &[], logged);
        committed.map_err(|fault| transaction_error(&self.0.pool, "COMMIT", fault))?;
        self.0.ended.set(Ended::Committed);
        Ok(())
    }

    pub(crate) async fn roll_back(&self) -> Result<()> {
        drop(self.0.live()?);
        let (transaction, rest) = self.0.take()?;
        let begun = self.0.pool.account.begun();
        let rolled_back = self.0.pool.timed(transaction.roll_back()).await;
        drop(rest);
        let logged = rolled_back.as_ref().map(|()| None);
        self.0.pool.account.log(begun, "ROLLBACK", &[], logged);
        rolled_back.map_err(|fault| transaction_error(&self.0.pool, "ROLLBACK", fault))
    }

    pub(crate) fn owner(&self) -> Weak<impl Abandon + use<>> {
        Rc::downgrade(&self.0)
    }
}

/// What the server is told of a transaction.
pub(super) fn parameters(pool: &Inner, options: &TransactionOptions) -> Parameters {
    let isolation = match options.isolation {
        Isolation::Default | Isolation::ReadCommitted => ServerIsolation::ReadCommitted,
        // The server's own serializable ones reserve whole tables, and never get one that a shared connection of any process has
        // used. Ours take turns.
        Isolation::RepeatableRead | Isolation::Serializable => ServerIsolation::Snapshot,
    };
    Parameters {
        isolation,
        access: match options.access {
            Access::ReadWrite => ServerAccess::ReadWrite,
            Access::ReadOnly => ServerAccess::ReadOnly,
        },
        wait: settings::wait(&pool.options),
        ..Parameters::default()
    }
}

pub(super) fn transaction_error(pool: &Inner, sql: &str, fault: Fault) -> Error {
    failure::into_error(pool.attempt(sql.into(), Vec::new()), fault)
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction").finish_non_exhaustive()
    }
}

impl Abandon for TransactionInner {
    fn abandon(&self) {
        self.end(Ended::Unattended);
    }
}

impl TransactionInner {
    fn live(&self) -> Result<Rc<OpenTransaction>> {
        if self.streaming.get() {
            return Err(Error::usage(
                "a stream of this transaction is open: read it to its end or drop it first",
            ));
        }
        self.used.set(Instant::now());
        let live = self.live.borrow().clone();
        live.ok_or_else(|| self.ended.get().error())
    }

    /// The transaction, gone back to where a dropped savepoint wants it.
    async fn ready(&self) -> Result<Rc<OpenTransaction>> {
        let live = self.live()?;
        if let Some(depth) = self.undo.take() {
            let sql = format!("ROLLBACK TO SAVEPOINT S{depth}");
            self.command(&live, &sql).await?;
        }
        Ok(live)
    }

    /// Takes the open transaction away from everybody, to end it, and what it had.
    fn take(&self) -> Result<(tsumugi_firebird::Transaction, Rest)> {
        let live = self.live.borrow_mut().take();
        let live = live.ok_or_else(|| self.ended.get().error())?;
        let OpenTransaction {
            transaction,
            locks,
            own,
        } = match Rc::try_unwrap(live) {
            Ok(live) => live,
            Err(live) => {
                self.live.replace(Some(live));
                return Err(still_running());
            }
        };
        match Rc::try_unwrap(transaction) {
            Ok(transaction) => Ok((transaction, Rest { locks, own })),
            Err(transaction) => {
                self.live.replace(Some(Rc::new(OpenTransaction {
                    transaction,
                    locks,
                    own,
                })));
                Err(still_running())
            }
        }
    }

    /// Commits changes of tables that a statement with this effect could not see, where that was wanted.
    async fn settled(&self, effect: Effect) -> Result<Settled> {
        if effect == Effect::Schema || !self.change.is_due() {
            return Ok(Settled::Runs);
        }
        if self.change.is_trial() {
            return Ok(Settled::LeftOut);
        }
        if self.savepoints.borrow().depth() > 0 {
            return Err(Error::usage(
                "Firebird commits a change of tables before the next statement: change tables outside of savepoints",
            ));
        }
        drop(self.ready().await?);
        let (transaction, rest) = self.take()?;
        self.ended.set(Ended::Uncommitted);
        let Rest { locks, own } = rest;
        let next = self.pool.timed(async {
            transaction.commit().await?;
            self.change.committed();
            own.begin(self.parameters).await
        });
        let next = next
            .await
            .map_err(|fault| transaction_error(&self.pool, "COMMIT", fault))?;
        self.live.replace(Some(Rc::new(OpenTransaction {
            transaction: Rc::new(next),
            locks,
            own,
        })));
        self.ended.set(Ended::RolledBack);
        Ok(Settled::Runs)
    }

    /// A stream of it was stopped.
    pub(super) fn stop(&self) {
        self.end(Ended::Stopped);
    }

    /// Rolls it back without waiting.
    fn end(&self, how: Ended) {
        if self.live.borrow_mut().take().is_some() {
            self.ended.set(how);
        }
    }

    /// Rolls it back if nobody has asked anything of it for `idle_timeout`.
    pub(super) fn end_if_idle(&self) {
        let idle = self.running.get() == 0 && !self.streaming.get();
        if idle && self.used.get().elapsed() > self.pool.options.idle_timeout {
            self.end(Ended::Idle);
        }
    }

    async fn run(&self, sql: Arc<str>, values: Vec<Value>) -> Result<DriverRows> {
        let effect = self.pool.permitted(&sql, &values)?;
        let live = self.ready().await?;
        let begun = self.pool.account.begun();
        let running = Running::begin(self);
        let sent = bind::values(&values);
        let outcome = self.pool.timed(async {
            self.pool.make_room_for(effect).await;
            let rows = live.transaction.query(&sql, &sent).await?;
            let source = Source::Transaction(Rc::clone(&live.transaction));
            self.pool.whole(&rows, effect, &source).await
        });
        let outcome = outcome.await;
        drop(live);
        if !matches!(outcome, Err(Fault::Late)) {
            running.answered();
        }
        if effect == Effect::Schema && outcome.is_ok() {
            self.change.made();
        }
        self.pool.ended(begun, &sql, &values, outcome)
    }

    async fn command(&self, live: &OpenTransaction, sql: &str) -> Result<()> {
        let begun = self.pool.account.begun();
        let running = Running::begin(self);
        let run = self.pool.timed(live.transaction.immediate(sql)).await;
        if run.is_ok() {
            running.answered();
        }
        let logged = run.as_ref().map(|()| None);
        self.pool.account.log(begun, sql, &[], logged);
        run.map_err(|fault| transaction_error(&self.pool, sql, fault))
    }
}

fn still_running() -> Error {
    Error::usage("a statement of the transaction is still running: wait for it first")
}

/// A statement under way. Dropped before its answer, it ends the transaction.
struct Running<'a> {
    held: &'a TransactionInner,
    answered: bool,
}

impl<'a> Running<'a> {
    fn begin(held: &'a TransactionInner) -> Running<'a> {
        held.running.set(held.running.get() + 1);
        Running {
            held,
            answered: false,
        }
    }

    fn answered(mut self) {
        self.answered = true;
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.held.running.set(self.held.running.get() - 1);
        self.held.used.set(Instant::now());
        if !self.answered {
            self.held.end(Ended::Stopped);
        }
    }
}

/// A point in a transaction. See [`crate::Savepoint`].
pub struct Savepoint {
    transaction: Weak<TransactionInner>,
    number: u32,
    /// Its name on the server, which a later one at this depth takes over there.
    depth: usize,
}

impl Savepoint {
    pub(crate) async fn release(self) -> Result<()> {
        self.finish("RELEASE SAVEPOINT").await
    }

    pub(crate) async fn roll_back(self) -> Result<()> {
        self.finish("ROLLBACK TO SAVEPOINT").await
    }

    async fn finish(self, word: &str) -> Result<()> {
        let Some(held) = self.transaction.upgrade() else {
            return Err(Error::Closed {
                what: "transaction",
                reason: "it was dropped before its savepoint",
            });
        };
        let live = held.ready().await?;
        held.savepoints.borrow().check(self.number)?;
        let depth = self.depth;
        held.command(&live, &format!("{word} S{depth}")).await?;
        held.savepoints.borrow_mut().close(self.number);
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
        let Some(held) = self.transaction.upgrade() else {
            return;
        };
        if held.savepoints.borrow_mut().close(self.number) {
            held.undo.set(Some(self.depth));
        }
    }
}
