//! Transactions and savepoints: each on a connection of its own, until it ends or is dropped.
//! Rule: a statement that writes and was stopped ends its transaction, because nobody can say whether it ran.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;

use tokio::time::Instant;
use tsumugi_firebird::{
    Access as ServerAccess, Isolation as ServerIsolation, TransactionOptions as Parameters,
};

use super::bind;
use super::blobs::Source;
use super::failure::{self, Fault};
use super::link::Own;
use super::plan::{self, Effect};
use super::pool::{Inner, executed};
use super::rows::Rows as Lying;
use super::settings;
use super::stream::RowStream;
use crate::error::{Error, Result};
use crate::options::{Access, Isolation, TransactionOptions};
use crate::rows::Rows;
use crate::sqlite::Executed;
use crate::value::Value;

/// A transaction. See [`crate::Transaction`].
pub struct Transaction(Rc<Held>);

/// What its owner, its savepoints and the watch over idle ones share.
pub(super) struct Held {
    pub(super) pool: Rc<Inner>,
    /// None once it has ended.
    live: RefCell<Option<Rc<Live>>>,
    ended: Cell<Ended>,
    /// Those that can be gone back to, the last one last.
    savepoints: RefCell<Vec<u32>>,
    /// One that was dropped, to which the transaction goes back before anything else.
    undo: Cell<Option<u32>>,
    pub(super) streaming: Cell<bool>,
    running: Cell<usize>,
    used: Cell<Instant>,
}

/// An open transaction on its connection, which the pool gets back afterwards.
pub(super) struct Live {
    pub(super) transaction: Rc<tsumugi_firebird::Transaction>,
    pub(super) own: Own,
}

/// Why a transaction is over.
#[derive(Clone, Copy)]
enum Ended {
    Committed,
    RolledBack,
    /// The server did not take the commit, or its answer was not waited for.
    Uncommitted,
    Stopped,
    Idle,
}

impl Ended {
    fn error(self) -> Error {
        let reason = match self {
            Ended::Committed => "it was committed",
            Ended::RolledBack => "it was rolled back",
            Ended::Uncommitted => "its commit failed, or was not waited for",
            Ended::Stopped => {
                return Error::RolledBack {
                    reason: "a statement in it was stopped or failed",
                };
            }
            Ended::Idle => {
                return Error::RolledBack {
                    reason: "it was idle for longer than idle_timeout",
                };
            }
        };
        Error::Closed {
            what: "transaction",
            reason,
        }
    }
}

impl Transaction {
    pub(super) async fn begin(
        pool: &Rc<Inner>,
        options: TransactionOptions,
    ) -> Result<Transaction> {
        let isolation = match options.isolation {
            Isolation::Default | Isolation::ReadCommitted => ServerIsolation::ReadCommitted,
            Isolation::RepeatableRead => ServerIsolation::Snapshot,
            // The server's own reserve whole tables, and never get one that a shared connection of any process has used.
            Isolation::Serializable => {
                return Err(Error::Unsupported {
                    database: "Firebird",
                    what: "serializable transactions beside statements that share connections: use repeatable read",
                });
            }
        };
        let own = pool.own().await?;
        let parameters = Parameters {
            isolation,
            access: match options.access {
                Access::ReadWrite => ServerAccess::ReadWrite,
                Access::ReadOnly => ServerAccess::ReadOnly,
            },
            wait: settings::wait(&pool.options),
            ..Parameters::default()
        };
        let begun = pool.account.begun();
        let transaction = pool.timed(own.begin(parameters)).await;
        let logged = transaction.as_ref().map(|_| None);
        pool.account.log(begun, "SET TRANSACTION", &[], logged);
        let transaction = transaction.map_err(|fault| told(pool, "SET TRANSACTION", fault))?;
        let session = Rc::clone(&own);
        let live = Live {
            transaction: Rc::new(transaction),
            own,
        };
        let held = Rc::new(Held {
            pool: Rc::clone(pool),
            live: RefCell::new(Some(Rc::new(live))),
            ended: Cell::new(Ended::RolledBack),
            savepoints: RefCell::default(),
            undo: Cell::new(None),
            streaming: Cell::new(false),
            running: Cell::new(0),
            used: Cell::new(Instant::now()),
        });
        session.transaction.replace(Rc::downgrade(&held));
        Ok(Transaction(held))
    }

    pub(crate) async fn query(&self, sql: Arc<str>, values: Vec<Value>) -> Result<Rows> {
        self.0.run(sql, values).await.map(Rows::from)
    }

    pub(crate) async fn execute(&self, sql: Arc<str>, values: Vec<Value>) -> Result<Executed> {
        self.0.run(sql, values).await.map(|rows| executed(&rows))
    }

    pub(crate) async fn execute_script(&self, sql: Arc<str>) -> Result<()> {
        for statement in plan::statements(&sql) {
            self.0.run(statement.into(), Vec::new()).await?;
        }
        Ok(())
    }

    pub(crate) async fn stream(&self, sql: Arc<str>, values: Vec<Value>) -> Result<RowStream> {
        self.0.pool.permitted(&sql, &values)?;
        let live = self.0.ready().await?;
        RowStream::begin(&self.0, live, sql, values).await
    }

    /// A stream that has the transaction for itself.
    pub(super) async fn into_stream(self, sql: Arc<str>, values: Vec<Value>) -> Result<RowStream> {
        let mut stream = self.stream(sql, values).await?;
        stream.keep(self.0);
        Ok(stream)
    }

    pub(crate) async fn savepoint(&self) -> Result<Savepoint> {
        let live = self.0.ready().await?;
        let number = self.0.savepoints.borrow().last().copied().unwrap_or(0) + 1;
        self.0.savepoints.borrow_mut().push(number);
        // Made before it is asked for, so that a future dropped meanwhile undoes it.
        let savepoint = Savepoint {
            transaction: Rc::downgrade(&self.0),
            number,
        };
        self.0
            .command(&live, &format!("SAVEPOINT S{number}"))
            .await?;
        Ok(savepoint)
    }

    pub(crate) async fn commit(&self) -> Result<()> {
        drop(self.0.ready().await?);
        let (transaction, own) = self.0.take()?;
        self.0.ended.set(Ended::Uncommitted);
        let begun = self.0.pool.account.begun();
        let committed = self.0.pool.timed(transaction.commit()).await;
        drop(own);
        let logged = committed.as_ref().map(|()| None);
        self.0.pool.account.log(begun, "COMMIT", &[], logged);
        committed.map_err(|fault| told(&self.0.pool, "COMMIT", fault))?;
        self.0.ended.set(Ended::Committed);
        Ok(())
    }

    pub(crate) async fn roll_back(&self) -> Result<()> {
        drop(self.0.live()?);
        let (transaction, own) = self.0.take()?;
        let begun = self.0.pool.account.begun();
        let rolled_back = self.0.pool.timed(transaction.roll_back()).await;
        drop(own);
        let logged = rolled_back.as_ref().map(|()| None);
        self.0.pool.account.log(begun, "ROLLBACK", &[], logged);
        rolled_back.map_err(|fault| told(&self.0.pool, "ROLLBACK", fault))
    }
}

fn told(pool: &Inner, sql: &str, fault: Fault) -> Error {
    failure::told(pool.attempt(sql.into(), Vec::new()), fault)
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction").finish_non_exhaustive()
    }
}

impl Held {
    fn live(&self) -> Result<Rc<Live>> {
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
    async fn ready(&self) -> Result<Rc<Live>> {
        let live = self.live()?;
        if let Some(number) = self.undo.take() {
            let sql = format!("ROLLBACK TO SAVEPOINT S{number}");
            self.command(&live, &sql).await?;
        }
        Ok(live)
    }

    /// Takes the open transaction away from everybody, to end it.
    fn take(&self) -> Result<(tsumugi_firebird::Transaction, Own)> {
        let live = self.live.borrow_mut().take();
        let live = live.ok_or_else(|| self.ended.get().error())?;
        let Live { transaction, own } = match Rc::try_unwrap(live) {
            Ok(live) => live,
            Err(live) => {
                self.live.replace(Some(live));
                return Err(still_running());
            }
        };
        match Rc::try_unwrap(transaction) {
            Ok(transaction) => Ok((transaction, own)),
            Err(transaction) => {
                self.live.replace(Some(Rc::new(Live { transaction, own })));
                Err(still_running())
            }
        }
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

    async fn run(&self, sql: Arc<str>, values: Vec<Value>) -> Result<Lying> {
        let effect = self.pool.permitted(&sql, &values)?;
        let live = self.ready().await?;
        let begun = self.pool.account.begun();
        let running = Running::begin(self, effect);
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
        self.pool.ended(begun, &sql, &values, outcome)
    }

    async fn command(&self, live: &Live, sql: &str) -> Result<()> {
        let begun = self.pool.account.begun();
        let running = Running::begin(self, Effect::Write);
        let run = self.pool.timed(live.transaction.immediate(sql)).await;
        if run.is_ok() {
            running.answered();
        }
        let logged = run.as_ref().map(|()| None);
        self.pool.account.log(begun, sql, &[], logged);
        run.map_err(|fault| told(&self.pool, sql, fault))
    }
}

fn still_running() -> Error {
    Error::usage("a statement of the transaction is still running: wait for it first")
}

/// A statement under way. Dropped before its answer, it ends the transaction unless it only reads.
struct Running<'a> {
    held: &'a Held,
    effect: Effect,
    answered: bool,
}

impl<'a> Running<'a> {
    fn begin(held: &'a Held, effect: Effect) -> Running<'a> {
        held.running.set(held.running.get() + 1);
        Running {
            held,
            effect,
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
        if !self.answered && self.effect != Effect::Read {
            self.held.end(Ended::Stopped);
        }
    }
}

/// A point in a transaction. See [`crate::Savepoint`].
pub struct Savepoint {
    transaction: Weak<Held>,
    number: u32,
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
        let number = self.number;
        held.command(&live, &format!("{word} S{number}")).await?;
        held.savepoints.borrow_mut().retain(|other| *other < number);
        Ok(())
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
        let mut savepoints = held.savepoints.borrow_mut();
        if savepoints.contains(&self.number) {
            savepoints.retain(|other| *other < self.number);
            held.undo.set(Some(self.number));
        }
    }
}
