//! Cursors of Firebird, in a transaction of their own or in the caller's.
//! Rule: a batch is taken from what has arrived; only when that is used up is the server's next answer waited for.

use std::rc::Rc;
use std::sync::Arc;

use tsumugi_firebird::Transaction;
use tsumugi_firebird_proto::Value as Sent;

use super::backend::{Firebird, Inner};
use super::blobs::Source;
use super::link::Link;
use super::open::{OpenTransaction, parameters};
use super::plan::StatementEffect;
use super::rows::Rows;
use crate::batch::BatchSize;
use crate::options::{Isolation, TransactionOptions};
use crate::rows::Columns;
use crate::server::connections::Exclusive;
use crate::server::{Batch, Outcome, Streaming};

/// A cursor that is open.
pub(crate) struct CursorRows {
    rows: tsumugi_firebird::RowStream,
    /// After the rows, so that the cursor closes before its transaction ends.
    open: Rc<OpenTransaction>,
    owner: Owner,
    /// What has arrived and was not given yet.
    arrived: Option<Rows>,
    columns: Arc<Columns>,
    by: BatchSize,
}

/// Whose transaction it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    /// The cursor's, and it ends with that.
    Cursor,
    Caller,
}

impl Streaming for Firebird {
    type Cursor = CursorRows;

    /// In a transaction of its own, which sees what was committed when it began.
    async fn cursor(
        pool: &Inner,
        connection: Exclusive<Link>,
        _: &StatementEffect,
        sql: &str,
        binds: Self::Binds<'_>,
        by: BatchSize,
    ) -> Outcome<Firebird, CursorRows> {
        let snapshot = TransactionOptions {
            isolation: Isolation::RepeatableRead,
            ..TransactionOptions::read_only()
        };
        let options = parameters(&pool.options, &snapshot);
        let begun = connection.begin_stream(options, sql, &binds);
        let (transaction, rows) = pool.timed(begun).await?;
        let open = Rc::new(OpenTransaction::new(transaction, connection));
        CursorRows::begin(pool, rows, open, Owner::Cursor, by).await
    }
}

impl CursorRows {
    /// In the caller's transaction.
    pub(super) async fn within(
        pool: &Inner,
        open: Rc<OpenTransaction>,
        sql: &str,
        binds: &[Sent<'_>],
        by: BatchSize,
    ) -> Outcome<Firebird, CursorRows> {
        let rows = pool.timed(open.transaction.stream(sql, binds)).await?;
        CursorRows::begin(pool, rows, open, Owner::Caller, by).await
    }

    async fn begin(
        pool: &Inner,
        rows: tsumugi_firebird::RowStream,
        open: Rc<OpenTransaction>,
        owner: Owner,
        by: BatchSize,
    ) -> Outcome<Firebird, CursorRows> {
        let mut cursor = CursorRows {
            columns: pool.backend.shapes.columns(rows.format()),
            rows,
            open,
            owner,
            arrived: None,
            by,
        };
        // What the server says to the execution comes with the first rows.
        cursor.arrive(pool).await?;
        Ok(cursor)
    }

    /// Waits for rows if none are at hand.
    async fn arrive(&mut self, pool: &Inner) -> Outcome<Firebird, ()> {
        if self.arrived.as_ref().is_none_or(|rows| rows.len() == 0) {
            let arrived = pool.timed(self.rows.next()).await?;
            self.arrived = arrived.map(|rows| Rows::new(&rows, Arc::clone(&self.columns)));
        }
        Ok(())
    }

    /// The contents of the blobs that a batch names.
    async fn blobs(&self, pool: &Inner, batch: Rows, is_last: bool) -> Outcome<Firebird, Rows> {
        if !batch.name_blobs() {
            return Ok(batch);
        }
        let transaction: &Transaction = &self.open.transaction;
        let source = match self.owner {
            Owner::Cursor if is_last => Source::Ending(transaction),
            Owner::Cursor | Owner::Caller => Source::Transaction(transaction),
        };
        let bytes_max = pool.options.rows_max_bytes;
        let blobs = pool.timed(source.read(batch.raw(), bytes_max)).await?;
        Ok(batch.with(blobs))
    }
}

impl crate::server::RowCursor<Firebird> for CursorRows {
    fn columns(&self) -> &Arc<Columns> {
        &self.columns
    }

    async fn next(&mut self, pool: &Inner) -> Outcome<Firebird, Option<Batch>> {
        self.arrive(pool).await?;
        let Some(arrived) = &self.arrived else {
            return Ok(None);
        };
        let batch = arrived.batch(self.by.rows_max());
        let rest = arrived.after(batch.len());
        let is_last = rest.len() == 0 && self.rows.has_ended();
        let rows = self.blobs(pool, batch, is_last).await?;
        self.arrived = Some(rest);
        Ok(Some(Batch {
            rows: rows.into(),
            is_last,
        }))
    }
}
