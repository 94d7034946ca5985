//! Rows that arrive in batches, in a transaction of their own or in the caller's.
//! Rule: a batch is taken from what has arrived; only when that is used up is the server's next answer waited for.

use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Instant;

use super::bind;
use super::blobs::Source;
use super::failure::{self, Fault};
use super::pool::Inner;
use super::rows::Rows as DriverRows;
use super::transaction::{Locks, OpenTransaction, TransactionInner, parameters};
use crate::batch::BatchSize;
use crate::error::Result;
use crate::options::TransactionOptions;
use crate::rows::{Columns, Rows};
use crate::value::Value;

/// Rows that arrive in batches. See [`crate::RowStream`].
pub struct RowStream {
    /// None after the last, as what follows.
    rows: Option<tsumugi_firebird::RowStream>,
    live: Option<Rc<OpenTransaction>>,
    /// What has arrived and was not given yet.
    arrived: Option<DriverRows>,
    columns: Arc<Columns>,
    pool: Rc<Inner>,
    sql: Arc<str>,
    values: Vec<Value>,
    place: StreamScope,
    by: BatchSize,
}

/// Whose transaction it is.
enum StreamScope {
    /// The stream's own, which ends with it.
    Alone,
    /// The caller's.
    Within(Weak<TransactionInner>),
}

impl RowStream {
    /// In a transaction of its own, which sees what was committed when it began.
    pub(super) async fn alone(
        pool: &Rc<Inner>,
        sql: Arc<str>,
        values: Vec<Value>,
    ) -> Result<RowStream> {
        let own = pool.own().await?;
        let options = parameters(pool, &TransactionOptions::snapshot());
        let begun = pool.account.begun();
        let sent = bind::values(&values);
        let streamed = pool.timed(own.begin_stream(options, &sql, &sent)).await;
        drop(sent);
        let (live, rows) = match streamed {
            Ok((transaction, rows)) => {
                let live = OpenTransaction {
                    transaction: Rc::new(transaction),
                    locks: Locks::default(),
                    own,
                };
                (Some(Rc::new(live)), Ok(rows))
            }
            Err(fault) => (None, Err(fault)),
        };
        RowStream::begun(pool, begun, sql, values, live, rows, StreamScope::Alone).await
    }

    pub(super) async fn begin(
        held: &Rc<TransactionInner>,
        live: Rc<OpenTransaction>,
        sql: Arc<str>,
        values: Vec<Value>,
    ) -> Result<RowStream> {
        let pool = &held.pool;
        let begun = pool.account.begun();
        let sent = bind::values(&values);
        let rows = pool.timed(live.transaction.stream(&sql, &sent)).await;
        drop(sent);
        if rows.is_ok() {
            held.streaming.set(true);
        }
        let place = StreamScope::Within(Rc::downgrade(held));
        RowStream::begun(pool, begun, sql, values, Some(live), rows, place).await
    }

    async fn begun(
        pool: &Rc<Inner>,
        begun: Option<Instant>,
        sql: Arc<str>,
        values: Vec<Value>,
        live: Option<Rc<OpenTransaction>>,
        rows: Result<tsumugi_firebird::RowStream, Fault>,
        place: StreamScope,
    ) -> Result<RowStream> {
        // Its rows are still to come.
        let logged = rows.as_ref().map(|_| None);
        pool.account.log(begun, &sql, &values, logged);
        let rows = match rows {
            Ok(rows) => rows,
            Err(fault) => return Err(failure::into_error(pool.attempt(sql, values), fault)),
        };
        let mut stream = RowStream {
            columns: pool.shapes.columns(rows.format()),
            rows: Some(rows),
            live,
            arrived: None,
            pool: Rc::clone(pool),
            sql,
            values,
            place,
            by: BatchSize::default(),
        };
        // What the server says to the execution comes with the first rows.
        let first = stream.arrive().await;
        first.map_err(|fault| stream.failed(fault))?;
        Ok(stream)
    }

    /// How many rows of what has arrived come at a time.
    pub(super) fn by(mut self, by: BatchSize) -> RowStream {
        self.by = by;
        self
    }

    pub(crate) fn columns(&self) -> &Arc<Columns> {
        &self.columns
    }

    pub(crate) async fn next(&mut self) -> Result<Option<Rows>> {
        let next = self.batch().await;
        if matches!(next, Err(Fault::Late)) {
            self.stop();
        }
        let next = next.map_err(|fault| self.failed(fault));
        let next = self.pool.account.counted(next);
        if !matches!(next, Ok(Some(_))) {
            self.arrived = None;
            self.finish();
        }
        next.map(|rows| rows.map(Rows::from))
    }

    fn failed(&self, fault: Fault) -> crate::Error {
        let attempt = self
            .pool
            .attempt(Arc::clone(&self.sql), self.values.clone());
        failure::into_error(attempt, fault)
    }

    /// Waits for rows if none are at hand.
    async fn arrive(&mut self) -> Result<(), Fault> {
        if let Some(rows) = &mut self.rows
            && self.arrived.as_ref().is_none_or(|rows| rows.len() == 0)
        {
            let arrived = self.pool.timed(rows.next()).await?;
            self.arrived = arrived.map(|rows| DriverRows::new(&rows, Arc::clone(&self.columns)));
        }
        Ok(())
    }

    async fn batch(&mut self) -> Result<Option<DriverRows>, Fault> {
        self.arrive().await?;
        let Some(arrived) = &self.arrived else {
            return Ok(None);
        };
        let mut batch = arrived.batch(self.by.rows_max());
        let rest = arrived.after(batch.len());
        let is_last = rest.len() == 0 && self.rows.as_ref().is_some_and(|rows| rows.has_ended());
        if let Some(live) = &self.live
            && batch.name_blobs()
        {
            let transaction = Rc::clone(&live.transaction);
            let source = match self.place {
                StreamScope::Alone if is_last => Source::Ending(transaction),
                StreamScope::Alone | StreamScope::Within(_) => Source::Transaction(transaction),
            };
            let bytes_max = self.pool.options.rows_max_bytes;
            let blobs = self.pool.timed(source.read(batch.raw(), bytes_max)).await?;
            batch = batch.with(blobs);
        }
        self.arrived = (!is_last).then_some(rest);
        if is_last && matches!(self.place, StreamScope::Alone) {
            // While the rows are used, others can have the connection.
            self.finish();
        }
        Ok(Some(batch))
    }

    /// Ends the caller's transaction: nobody can say what the code that was called has written.
    fn stop(&mut self) {
        if let StreamScope::Within(held) = &self.place
            && let Some(held) = held.upgrade()
        {
            self.live = None;
            held.stop();
        }
    }

    /// The transaction can do something else from here on; one of the stream's own ends.
    fn finish(&mut self) {
        if let StreamScope::Within(held) = &self.place
            && let Some(held) = held.upgrade()
            && self.rows.is_some()
        {
            held.streaming.set(false);
        }
        // The rows go before their transaction, and that before its connection is given back.
        self.rows = None;
        self.live = None;
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
