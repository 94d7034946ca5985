//! Rows that arrive in batches, on a connection of the stream's own or in the caller's transaction. Knows no cursor of a database.
//! Rule: a stream gives back what it has as soon as it has ended, also when its owner keeps it. It ends when it is not read for
//! `idle_timeout`, and with its transaction or session.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::batch::BatchSize;
use crate::error::{Error, Result};
use crate::log::opaque;
use crate::rows::{Columns, Rows};
use crate::sql_text::SqlText;
use crate::value::Value;

use super::backend::{Outcome, PoolInner, ServerBackend};
use super::connections::Exclusive;
use super::expiry::Expiry;
use super::fault::Fault;

/// A backend that gives rows in batches.
pub(crate) trait Streaming: ServerBackend {
    type Cursor: RowCursor<Self>;

    /// Opens a stream on a connection of its own. Its rows are of one snapshot.
    fn cursor(
        pool: &PoolInner<Self>,
        connection: Exclusive<Self::Link>,
        plan: &Self::Plan,
        sql: &str,
        binds: Self::Binds<'_>,
        by: BatchSize,
    ) -> impl Future<Output = Outcome<Self, Self::Cursor>>;
}

/// What a server has open for a stream. Dropped, it is closed, and then its connection is given back.
pub(crate) trait RowCursor<B: ServerBackend> {
    fn columns(&self) -> &Arc<Columns>;

    /// The next batch, within `statement_timeout`; none after the last. Dropping the future loses nothing.
    fn next(&mut self, pool: &PoolInner<B>) -> impl Future<Output = Outcome<B, Option<Batch>>>;
}

/// Some rows of a stream.
pub(crate) struct Batch {
    pub(crate) rows: Rows,
    /// Whether it is known that none follow.
    pub(crate) is_last: bool,
}

/// A transaction in which a stream is open.
pub(crate) trait StreamOwner {
    /// No stream is open any more.
    fn stream_ended(&self);

    /// The stream was given up for its time.
    fn stop(&self);

    /// An error of the stream, with what it means for the transaction.
    fn error_within(&self, error: Error) -> Error;
}

/// Keeps other statements out of a transaction for as long as a stream is open in it.
pub(crate) struct StreamLock(Weak<dyn StreamOwner>);

impl StreamLock {
    /// The transaction has noted it.
    pub(super) fn new<T: StreamOwner + 'static>(transaction: &Rc<T>) -> StreamLock {
        let transaction = Rc::downgrade(transaction);
        StreamLock(transaction)
    }

    fn stop(&self) {
        if let Some(transaction) = self.0.upgrade() {
            transaction.stop();
        }
    }

    fn owner(&self) -> Weak<dyn StreamOwner> {
        Weak::clone(&self.0)
    }
}

impl Drop for StreamLock {
    fn drop(&mut self) {
        if let Some(transaction) = self.0.upgrade() {
            transaction.stream_ended();
        }
    }
}

/// Rows that arrive in batches. See [`crate::RowStream`].
pub struct RowStream<B: Streaming> {
    inner: Rc<StreamInner<B>>,
    columns: Arc<Columns>,
    pool: Rc<PoolInner<B>>,
    sql: SqlText,
    values: Vec<Value>,
}

/// What a stream, the transaction or session that it is open in, and the watch over idle ones share.
struct StreamInner<B: Streaming> {
    /// None after the last batch, and while the next one is awaited.
    open: Cell<Option<OpenStream<B>>>,
    is_read: Cell<bool>,
    /// When it was last read.
    used: Cell<Instant>,
    idle_timeout: Duration,
    /// Why it was given up, which its reader does not know yet.
    given_up: RefCell<Option<Error>>,
    /// Wakes a reader whose stream was given up.
    stopped: Notify,
}

impl<B: Streaming> StreamInner<B> {
    /// Closes it at once, unless it has ended; its reader learns why.
    fn give_up(&self, error: Error) {
        let open = self.open.take();
        if open.is_none() && !self.is_read.get() {
            return;
        }
        self.given_up.replace(Some(error));
        self.stopped.notify_one();
        drop(open);
    }
}

impl<B: Streaming> Expiry for StreamInner<B> {
    fn end_if_idle(&self) {
        if self.used.get().elapsed() > self.idle_timeout && !self.is_read.get() {
            self.give_up(Error::closed(
                "stream",
                "it was idle for longer than idle_timeout",
            ));
        }
    }
}

/// A stream as the transaction or session knows it that it is open in.
pub(crate) struct StreamHandle<B: Streaming>(Weak<StreamInner<B>>);

impl<B: Streaming> StreamHandle<B> {
    /// Closes the stream at once, unless it has ended. Its next read fails with this.
    pub(crate) fn give_up(&self, error: impl FnOnce() -> Error) {
        if let Some(stream) = self.0.upgrade() {
            stream.give_up(error());
        }
    }
}

impl<B: Streaming> Default for StreamHandle<B> {
    fn default() -> Self {
        StreamHandle(Weak::new())
    }
}

/// A stream whose next batch is awaited. Dropping it leaves the stream as it is.
struct Reading<'a, B: Streaming> {
    inner: &'a StreamInner<B>,
    open: Option<OpenStream<B>>,
}

impl<B: Streaming> Drop for Reading<'_, B> {
    fn drop(&mut self) {
        self.inner.used.set(Instant::now());
        self.inner.is_read.set(false);
        let open = self.open.take();
        if self.inner.given_up.borrow().is_none() {
            self.inner.open.set(open);
        }
    }
}

/// A cursor closes before the transaction takes other statements.
struct OpenStream<B: Streaming> {
    cursor: B::Cursor,
    lock: Option<StreamLock>,
    /// Whether a batch has come.
    has_rows: bool,
}

impl<B: Streaming> RowStream<B> {
    /// What came of opening a cursor, logged. Its rows are still to come, so it counts only if it failed.
    pub(crate) fn new(
        pool: &Rc<PoolInner<B>>,
        started: Option<Instant>,
        sql: SqlText,
        values: Vec<Value>,
        cursor: Outcome<B, B::Cursor>,
        lock: Option<StreamLock>,
    ) -> Result<RowStream<B>> {
        let logged = cursor.as_ref().map(|_| None);
        pool.stats.log(started, &sql, &values, logged);
        match cursor {
            Ok(cursor) => {
                let columns = Arc::clone(cursor.columns());
                let open = OpenStream {
                    cursor,
                    lock,
                    has_rows: false,
                };
                let inner = Rc::new(StreamInner {
                    open: Cell::new(Some(open)),
                    is_read: Cell::new(false),
                    used: Cell::new(Instant::now()),
                    idle_timeout: pool.options.idle_timeout,
                    given_up: RefCell::default(),
                    stopped: Notify::new(),
                });
                let expiry: Rc<dyn Expiry> = Rc::<StreamInner<B>>::clone(&inner);
                pool.streams.watch(Rc::downgrade(&expiry));
                Ok(RowStream {
                    inner,
                    columns,
                    pool: Rc::clone(pool),
                    sql,
                    values,
                })
            }
            Err(fault) => {
                let fault = match lock {
                    Some(_) => fault,
                    None => fault.alone(),
                };
                let error = fault.into_error(pool.statement(sql, &values));
                pool.stats.count(Err(error))
            }
        }
    }

    pub(crate) fn columns(&self) -> &Arc<Columns> {
        &self.columns
    }

    /// For what it is open in.
    pub(crate) fn handle(&self) -> StreamHandle<B> {
        StreamHandle(Rc::downgrade(&self.inner))
    }

    pub(crate) async fn next(&mut self) -> Result<Option<Rows>> {
        if let Some(error) = self.inner.given_up.take() {
            return Err(error);
        }
        let mut reading = Reading {
            inner: &self.inner,
            open: self.inner.open.take(),
        };
        let Some(open) = &mut reading.open else {
            return Ok(None);
        };
        self.inner.is_read.set(true);
        let next = tokio::select! {
            biased;
            next = open.cursor.next(&self.pool) => next,
            () = self.inner.stopped.notified() => {
                drop(reading);
                return self.inner.given_up.take().map_or(Ok(None), Err);
            }
        };
        if matches!(next, Err(Fault::Late))
            && let Some(lock) = &open.lock
        {
            lock.stop();
        }
        let owner = open.lock.as_ref().map(StreamLock::owner);
        let is_end_alone = matches!(next, Ok(None)) && open.has_rows;
        open.has_rows = true;
        if !matches!(&next, Ok(Some(batch)) if !batch.is_last) {
            reading.open = None;
        }
        drop(reading);
        if is_end_alone {
            return Ok(None);
        }
        let next = next.map_err(|fault| {
            let statement = self.pool.statement(self.sql.clone(), &self.values);
            let Some(owner) = owner else {
                return fault.alone().into_error(statement);
            };
            let error = fault.into_error(statement);
            match owner.upgrade() {
                Some(transaction) => transaction.error_within(error),
                None => error.into_rolled_back(),
            }
        });
        let next = self.pool.stats.count(next)?;
        Ok(next.map(|batch| batch.rows))
    }
}

opaque!(RowStream<B: Streaming>);
