//! Rows that arrive in batches, in a transaction of their own or in the caller's.
//! Rule: a batch is taken from what has arrived; only when that is used up is the server's next answer waited for.

use std::rc::{Rc, Weak};
use std::sync::Arc;

use super::bind;
use super::blobs::Source;
use super::failure::{self, Fault};
use super::pool::Inner;
use super::rows::Rows as Lying;
use super::transaction::{Held, Live};
use crate::error::Result;
use crate::limits::{BATCH_BLOB_ROWS_MAX, BATCH_MAX_BYTES, BATCH_MAX_ROWS};
use crate::rows::{Columns, Rows};
use crate::value::Value;

/// Rows that arrive in batches. See [`crate::RowStream`].
pub struct RowStream {
    /// None after the last.
    rows: Option<tsumugi_firebird::RowStream>,
    live: Option<Rc<Live>>,
    /// What has arrived and was not given yet.
    arrived: Option<Lying>,
    columns: Arc<Columns>,
    pool: Rc<Inner>,
    sql: Arc<str>,
    values: Vec<Value>,
    transaction: Weak<Held>,
    /// The transaction, if it is the stream's own.
    kept: Option<Rc<Held>>,
}

impl RowStream {
    pub(super) async fn begin(
        held: &Rc<Held>,
        live: Rc<Live>,
        sql: Arc<str>,
        values: Vec<Value>,
    ) -> Result<RowStream> {
        let pool = &held.pool;
        let begun = pool.account.begun();
        let sent = bind::values(&values);
        let rows = pool.timed(live.transaction.stream(&sql, &sent)).await;
        drop(sent);
        // Its rows are still to come.
        let logged = rows.as_ref().map(|_| None);
        pool.account.log(begun, &sql, &values, logged);
        let rows = match rows {
            Ok(rows) => rows,
            Err(fault) => return Err(failure::told(pool.attempt(sql, values), fault)),
        };
        held.streaming.set(true);
        let mut stream = RowStream {
            columns: pool.shapes.columns(rows.format()),
            rows: Some(rows),
            live: Some(live),
            arrived: None,
            pool: Rc::clone(pool),
            sql,
            values,
            transaction: Rc::downgrade(held),
            kept: None,
        };
        // What the server says to the execution comes with the first rows.
        let first = stream.arrive().await;
        first.map_err(|fault| stream.failed(fault))?;
        Ok(stream)
    }

    /// Keeps the transaction, which ends with the stream.
    pub(super) fn keep(&mut self, held: Rc<Held>) {
        self.kept = Some(held);
    }

    pub(crate) fn columns(&self) -> &Arc<Columns> {
        &self.columns
    }

    pub(crate) async fn next(&mut self) -> Result<Option<Rows>> {
        let next = self.batch().await;
        let next = next.map_err(|fault| self.failed(fault));
        let next = self.pool.account.counted(next);
        if !matches!(next, Ok(Some(_))) {
            self.finish();
        }
        next.map(|rows| rows.map(Rows::from))
    }

    fn failed(&self, fault: Fault) -> crate::Error {
        let attempt = self
            .pool
            .attempt(Arc::clone(&self.sql), self.values.clone());
        failure::told(attempt, fault)
    }

    /// Waits for rows if none are at hand.
    async fn arrive(&mut self) -> Result<(), Fault> {
        if let Some(rows) = &mut self.rows
            && self.arrived.as_ref().is_none_or(|rows| rows.len() == 0)
        {
            let arrived = self.pool.timed(rows.next()).await?;
            self.arrived = arrived.map(|rows| Lying::new(&rows, Arc::clone(&self.columns)));
        }
        Ok(())
    }

    async fn batch(&mut self) -> Result<Option<Lying>, Fault> {
        let Some(live) = self.live.clone() else {
            return Ok(None);
        };
        self.arrive().await?;
        let Some(arrived) = &self.arrived else {
            return Ok(None);
        };
        let batch = if arrived.name_blobs() {
            let rows = arrived.part(BATCH_BLOB_ROWS_MAX, BATCH_MAX_BYTES);
            let source = Source::Transaction(Rc::clone(&live.transaction));
            let bytes_max = self.pool.options.rows_max_bytes;
            let blobs = self.pool.timed(source.read(rows.raw(), bytes_max)).await?;
            rows.with(blobs)
        } else {
            arrived.part(BATCH_MAX_ROWS, BATCH_MAX_BYTES)
        };
        self.arrived = Some(arrived.after(batch.len()));
        Ok(Some(batch))
    }

    /// The transaction can do something else from here on; one of the stream's own ends.
    fn finish(&mut self) {
        if let Some(transaction) = self.transaction.upgrade() {
            transaction.streaming.set(false);
        }
        // The rows go before their transaction, and that before its connection is given back.
        self.rows = None;
        self.live = None;
        self.kept = None;
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
