//! What a database behind a server says of its transactions, and what is done around each call in one: time, stream, savepoints, its end.
//! Knows no database's commands. Rule: whatever was given up for its time ends the transaction, because it may have run to its end just then.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::batch::BatchSize;
use crate::error::{Error, Result};
use crate::options::TransactionOptions;
use crate::outcome::{Abandon, CommitCallback, EndReason, Savepoints};
use crate::sql_text::SqlText;
use crate::value::Value;

use super::backend::{Answer, Outcome, PoolInner, Scope};
use super::connections::Exclusive;
use super::expiry::Expiry;
use super::fault::Fault;
use super::pending_commit::CommitSubject;
use super::step::{NextStep, SavepointCommand, SavepointName};
use super::stream::{StreamHandle, StreamOwner, Streaming};

/// A backend that has transactions.
pub(crate) trait Transactional: Streaming {
    /// The name of the database in messages.
    const NAME: &'static str;
    /// Whether the server leaves an idle transaction open.
    const KEEPS_IDLE: bool;
    /// A transaction that is open. Clones are the same one.
    type Open: Clone;
    /// The only one of the clones.
    type Closing;
    /// What belongs to a transaction beside, also when it has ended.
    type State;
    /// What finds out what has become of a commit.
    type Inquiry: CommitSubject;

    fn begin(
        pool: &PoolInner<Self>,
        connection: Exclusive<Self::Link>,
        options: TransactionOptions,
    ) -> impl Future<Output = Result<(Self::Open, Self::State)>>;

    /// Called when a transaction has begun.
    fn on_begin(_: &Rc<TransactionInner<Self>>) {}

    /// The only one, or all of them back while a call is running.
    fn close(open: Self::Open) -> Result<Self::Closing, Self::Open>;

    /// Called before the commit.
    fn inquiry(closing: &Self::Closing) -> Self::Inquiry;

    fn commit(closing: Self::Closing) -> impl Future<Output = Result<(), Self::Error>>;

    /// What has become of a transaction whose commit was sent and not answered: as if it had been answered now, or
    /// [`Error::CommitUnknown`]. `fault` is why there was no answer.
    fn inquire(
        pool: &PoolInner<Self>,
        inquiry: Self::Inquiry,
        fault: Fault<Self::Error>,
    ) -> impl Future<Output = Result<()>>;

    /// Whether a part of it was committed before its end.
    fn has_kept(_: &Self::State) -> bool {
        false
    }

    fn roll_back(closing: Self::Closing) -> impl Future<Output = Result<(), Self::Error>>;

    /// Rolls back without waiting.
    fn abandon(open: Self::Open) {
        drop(open);
    }

    /// Whether a statement has failed after which the server takes no other one.
    fn is_spoiled(_: &Self::Open) -> bool {
        false
    }

    /// What has to happen before a statement, or before a command where there is no plan.
    fn prepare(
        _: &TransactionInner<Self>,
        _: Option<&Self::Plan>,
    ) -> impl Future<Output = Result<NextStep>> {
        std::future::ready(Ok(NextStep::Run))
    }

    fn query_within(
        transaction: &TransactionInner<Self>,
        open: &Self::Open,
        plan: &Self::Plan,
        sql: &str,
        binds: &Self::Binds<'_>,
    ) -> impl Future<Output = Result<Self::Reply, Self::Error>>;

    fn cursor_within(
        pool: &PoolInner<Self>,
        open: Self::Open,
        plan: &Self::Plan,
        sql: &str,
        binds: Self::Binds<'_>,
        by: BatchSize,
    ) -> impl Future<Output = Outcome<Self, Self::Cursor>>;

    /// Runs a text of several statements; `statement_timeout` is for all of it.
    fn script_within(
        transaction: &TransactionInner<Self>,
        sql: SqlText,
    ) -> impl Future<Output = Result<()>>;

    /// The SQL of a command for the savepoint with this number and this depth: see [`SavepointName`]. They come apart, because a field of the name that only
    /// Firebird reads would be dead code without the feature `firebird`.
    fn savepoint_sql(command: SavepointCommand, number: u32, depth: usize) -> String;

    /// Runs a command without values that returns nothing.
    fn run_command<'c>(
        open: &'c Self::Open,
        sql: &'c str,
    ) -> LocalBoxFuture<'c, Result<(), Self::Error>>;

    /// Sends a command to be run before anything else is; false if that cannot be done without waiting.
    fn send_command(_: &Self::Open, _: &str) -> bool {
        false
    }
}

/// What the owner of a transaction, its savepoints, its streams and the watch over idle ones share.
pub(crate) struct TransactionInner<B: Transactional> {
    pub(crate) pool: Rc<PoolInner<B>>,
    /// None once it has ended.
    open: RefCell<Option<B::Open>>,
    pub(super) ended: Cell<EndReason>,
    pub(super) savepoints: RefCell<Savepoints>,
    /// A savepoint that was dropped, to which the transaction is rolled back before anything else.
    pub(super) undo: Cell<Option<SavepointName>>,
    pub(super) is_streaming: Cell<bool>,
    /// The last stream in it, which ends with it.
    pub(super) stream: RefCell<StreamHandle<B>>,
    running: Cell<usize>,
    /// Whether the end waits for calls, and what wakes it when one has ended.
    is_ending: Cell<bool>,
    idle: Notify,
    /// When it was last used, if that matters.
    used: Cell<Option<Instant>>,
    pub(crate) state: B::State,
    vtable: TransactionVtable<B>,
}

/// What a call in a transaction needs besides its driver, by pointers for the reason given at [`StatementVtable`](super::backend::StatementVtable).
#[expect(
    clippy::type_complexity,
    reason = "a pointer has the type of the function that it points to"
)]
struct TransactionVtable<B: Transactional> {
    roll_back_to: for<'t> fn(
        &'t TransactionInner<B>,
        &'t B::Open,
        SavepointName,
    ) -> LocalBoxFuture<'t, Result<()>>,
    end_open: fn(&TransactionInner<B>, EndReason),
    make_rolled_back_error: fn(&TransactionInner<B>, Error) -> Error,
}

impl<B: Transactional> TransactionVtable<B> {
    const fn new() -> TransactionVtable<B> {
        TransactionVtable {
            roll_back_to: |transaction, open, name| {
                transaction.roll_back_to(open, name).boxed_local()
            },
            end_open: TransactionInner::end_open,
            make_rolled_back_error: TransactionInner::make_rolled_back_error,
        }
    }
}

impl<B: Transactional> Abandon for TransactionInner<B> {
    fn abandon(&self) {
        self.end(EndReason::AbandonedCall);
    }
}

impl<B: Transactional> StreamOwner for TransactionInner<B> {
    fn stream_ended(&self) {
        self.is_streaming.set(false);
        self.note_use();
        if self.is_ending.get() {
            self.idle.notify_waiters();
        }
    }

    fn stop(&self) {
        // Its reader has the error already.
        self.stream.take();
        self.end(EndReason::Stopped);
    }

    fn error_within(&self, error: Error) -> Error {
        self.rolled_back_error(error)
    }
}

impl<B: Transactional> Expiry for TransactionInner<B> {
    fn end_if_idle(&self) {
        let is_idle = self.running.get() == 0 && !self.is_streaming.get();
        let timeout = self.pool.options.idle_timeout;
        if is_idle && self.used.get().is_some_and(|used| used.elapsed() > timeout) {
            self.end(EndReason::Idle);
        }
    }
}

impl<B: Transactional> TransactionInner<B> {
    /// One that has begun.
    pub(super) fn new(pool: &Rc<PoolInner<B>>, open: B::Open, state: B::State) -> Rc<Self> {
        let inner = Rc::new(TransactionInner {
            pool: Rc::clone(pool),
            open: RefCell::new(Some(open)),
            ended: Cell::new(EndReason::RolledBack),
            savepoints: RefCell::default(),
            undo: Cell::new(None),
            is_streaming: Cell::new(false),
            stream: RefCell::default(),
            running: Cell::new(0),
            is_ending: Cell::new(false),
            idle: Notify::new(),
            used: Cell::new(None),
            state,
            vtable: TransactionVtable::new(),
        });
        inner.note_use();
        B::on_begin(&inner);
        inner
    }

    pub(crate) fn open(&self) -> Option<B::Open> {
        self.open.borrow().clone()
    }

    pub(crate) fn is_open(&self) -> bool {
        self.open.borrow().is_some()
    }

    /// An error unless a statement can be sent now.
    pub(crate) fn check(&self) -> Result<()> {
        if self.is_streaming.get() {
            return Err(Error::usage(
                "a stream of this transaction is open: read it to its end or drop it first",
            ));
        }
        match self.is_open() {
            true => Ok(()),
            false => Err(self.ended.get().error()),
        }
    }

    /// The open transaction, rolled back to a savepoint that was dropped, if there is one.
    pub(crate) async fn ready(&self) -> Result<B::Open> {
        self.check()?;
        self.note_use();
        let open = self.open().ok_or_else(|| self.ended.get().error())?;
        if let Some(name) = self.undo.take() {
            (self.vtable.roll_back_to)(self, &open, name).await?;
        }
        Ok(open)
    }

    async fn roll_back_to(&self, open: &B::Open, name: SavepointName) -> Result<()> {
        let sql = B::savepoint_sql(SavepointCommand::RollBack, name.number, name.depth);
        let rolled_back = self.command(open, &sql).await;
        rolled_back.inspect_err(|_| self.end(EndReason::SavepointLost))
    }

    /// Takes the open transaction away from all others, to end it, once nothing is running in it.
    pub(crate) async fn take(&self) -> Result<B::Closing> {
        let until = Instant::now() + self.pool.options.statement_timeout;
        loop {
            let open = self.open.borrow_mut().take();
            let open = open.ok_or_else(|| self.ended.get().error())?;
            let open = match B::close(open) {
                Ok(closing) => return Ok(closing),
                Err(open) => open,
            };
            self.open.replace(Some(open));
            self.is_ending.set(true);
            let idle = tokio::time::timeout_at(until, self.idle.notified()).await;
            idle.map_err(|_| {
                Error::usage("a statement of the transaction is still running: wait for it first")
            })?;
        }
    }

    /// Goes on with another transaction in place of the one that was taken.
    #[cfg(feature = "firebird")]
    pub(crate) fn replace(&self, open: B::Open) {
        self.open.replace(Some(open));
        self.ended.set(EndReason::RolledBack);
    }

    /// Its end is under way, and nothing is known of it if it fails.
    pub(crate) fn note_commit(&self) {
        self.ended.set(EndReason::Uncommitted);
    }

    /// Ends a savepoint, and gives what will not run after the commit; none when it had ended.
    pub(super) fn undo_savepoint(&self, number: u32) -> Option<Vec<CommitCallback>> {
        self.savepoints.borrow_mut().undo(number)
    }

    pub(crate) fn savepoint_depth(&self) -> usize {
        self.savepoints.borrow().depth()
    }

    /// Rolls back without waiting, unless it is over.
    pub(crate) fn end(&self, how: EndReason) {
        (self.vtable.end_open)(self, how);
    }

    fn end_open(&self, how: EndReason) {
        let Some(open) = self.open.borrow_mut().take() else {
            return;
        };
        self.ended.set(how);
        self.leave(open);
    }

    /// The stream closes first: it holds the connection too, and nothing comes before its end there.
    fn leave(&self, open: B::Open) {
        let stream = self.stream.take();
        stream.give_up(|| self.ended.get().error());
        B::abandon(open);
    }

    /// An error of a call in it: what is lost with the connection was rolled back, unless a commit is on its way behind the call.
    pub(crate) fn rolled_back_error(&self, error: Error) -> Error {
        (self.vtable.make_rolled_back_error)(self, error)
    }

    fn make_rolled_back_error(&self, error: Error) -> Error {
        let is_ending = matches!(
            self.ended.get(),
            EndReason::Uncommitted | EndReason::Committed
        );
        match is_ending || B::has_kept(&self.state) {
            true => self.partly_committed(error),
            false => error.into_rolled_back(),
        }
    }

    /// An error of it that says so where a part of it was committed before.
    pub(crate) fn partly_committed(&self, error: Error) -> Error {
        match B::has_kept(&self.state) {
            true => error.partly_committed(),
            false => error,
        }
    }

    /// Ends the transaction if a call in it was given up for its time.
    pub(crate) fn settle<T>(&self, outcome: &Outcome<B, T>) {
        if matches!(outcome, Err(Fault::Late)) {
            self.end(EndReason::Stopped);
        }
    }

    pub(super) async fn run(&self, sql: SqlText, values: Vec<Value>) -> Result<Option<Answer>> {
        self.check()?;
        let plan = self.pool.plan(&sql, &values, Scope::Exclusive)?;
        if B::prepare(self, Some(&plan)).await? != NextStep::Run {
            return Ok(None);
        }
        let answer = self.run_planned(&plan, &sql, &values).await;
        self.pool.stats.count(answer).map(Some)
    }

    /// Runs a statement that nothing has to happen for before, and does not count it.
    pub(crate) async fn run_planned(
        &self,
        plan: &B::Plan,
        sql: &SqlText,
        values: &[Value],
    ) -> Result<Answer> {
        let open = self.ready().await?;
        let started = self.pool.stats.start();
        let call = Running::begin(self);
        let outcome = {
            let binds = B::binds(values);
            let call = std::pin::pin!(B::query_within(self, &open, plan, sql, &binds));
            self.pool.bounded(call).await
        };
        drop(open);
        drop(call);
        self.settle(&outcome);
        let answer = self.pool.log(started, sql, values, outcome);
        answer.map_err(|error| self.rolled_back_error(error))
    }

    pub(crate) async fn command(&self, open: &B::Open, sql: &str) -> Result<()> {
        let call = Running::begin(self);
        let run = self.pool.command(sql, B::run_command(open, sql)).await;
        drop(call);
        self.settle(&run);
        run.map_err(|fault| self.rolled_back_error(self.pool.error(sql, fault)))
    }

    fn note_use(&self) {
        if B::KEEPS_IDLE {
            self.used.set(Some(Instant::now()));
        }
    }
}

impl<B: Transactional> Drop for TransactionInner<B> {
    fn drop(&mut self) {
        if let Some(open) = self.open.get_mut().take() {
            self.leave(open);
        }
    }
}

/// A call under way.
pub(crate) struct Running<'a, B: Transactional>(&'a TransactionInner<B>);

impl<'a, B: Transactional> Running<'a, B> {
    pub(crate) fn begin(transaction: &'a TransactionInner<B>) -> Running<'a, B> {
        transaction.running.set(transaction.running.get() + 1);
        Running(transaction)
    }
}

impl<B: Transactional> Drop for Running<'_, B> {
    fn drop(&mut self) {
        self.0.running.set(self.0.running.get() - 1);
        self.0.note_use();
        if self.0.is_ending.get() {
            self.0.idle.notify_waiters();
        }
    }
}
