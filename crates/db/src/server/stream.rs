//! Rows that arrive in batches, on a connection of the stream's own or in the caller's transaction. Knows no cursor of a database.
//! Rule: a stream gives back what it has as soon as it has ended, also when its owner keeps it. It ends when it is not read for
//! `idle_timeout`.

use std::cell::Cell;
use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::batch::BatchSize;
use crate::error::{Error, Result};
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

/// What a stream and the watch over idle ones share.
struct StreamInner<B: Streaming> {
    /// None after the last batch, and while the next one is awaited.
    open: Cell<Option<OpenStream<B>>>,
    /// When it was last read.
    used: Cell<Instant>,
    idle_timeout: Duration,
    /// It has ended because it was idle, which its reader does not know yet.
    has_expired: Cell<bool>,
}

impl<B: Streaming> Expiry for StreamInner<B> {
    fn end_if_idle(&self) {
        if self.used.get().elapsed() > self.idle_timeout
            && let Some(open) = self.open.take()
        {
            self.has_expired.set(true);
            drop(open);
        }
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
        self.inner.open.set(self.open.take());
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
                    used: Cell::new(Instant::now()),
                    idle_timeout: pool.options.idle_timeout,
                    has_expired: Cell::new(false),
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
                let error = fault.into_error(pool.statement(sql, &values));
                pool.stats.count(Err(error))
            }
        }
    }

    pub(crate) fn columns(&self) -> &Arc<Columns> {
        &self.columns
    }

    pub(crate) async fn next(&mut self) -> Result<Option<Rows>> {
        if self.inner.has_expired.take() {
            return Err(Error::Closed {
                what: "stream",
                reason: "it was idle for longer than idle_timeout",
            });
        }
        let mut reading = Reading {
            inner: &self.inner,
            open: self.inner.open.take(),
        };
        let Some(open) = &mut reading.open else {
            return Ok(None);
        };
        let next = open.cursor.next(&self.pool).await;
        if matches!(next, Err(Fault::Late))
            && let Some(lock) = &open.lock
        {
            lock.stop();
        }
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
            fault.into_error(statement)
        });
        let next = self.pool.stats.count(next)?;
        Ok(next.map(|batch| batch.rows))
    }
}

impl<B: Streaming> std::fmt::Debug for RowStream<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowStream").finish_non_exhaustive()
    }
}
