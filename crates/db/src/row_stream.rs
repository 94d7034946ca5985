//! Rows in batches from whichever database: each call goes to the driver that the URL chose. Reads nothing itself.
//! Rule: what a method promises here holds for every driver.

use std::sync::Arc;

use futures_util::future::{FutureExt as _, LocalBoxFuture};

use crate::error::Result;
use crate::on_each::on_database;
use crate::postgres::Postgres;
use crate::rows::{Columns, Rows};
use crate::{server, sqlite};

/// Rows in batches.
#[non_exhaustive]
#[derive(Debug)]
pub enum RowStream {
    /// Of an SQLite database.
    Sqlite(sqlite::RowStream),
    /// Of a PostgreSQL database.
    Postgres(server::RowStream<Postgres>),
    /// Of a Firebird database. Needs the feature `firebird`.
    #[cfg(feature = "firebird")]
    Firebird(server::RowStream<crate::firebird::Firebird>),
}

impl RowStream {
    /// The columns, known before the first batch and also when there is none.
    pub fn columns(&self) -> &Arc<Columns> {
        on_database!(RowStream, self, stream => stream.columns())
    }

    /// The next batch: at least one row, at most as many as [`BatchSize::of`](crate::BatchSize::of) says. Without it the size of the rows decides, at about
    /// [`BATCH_MAX_BYTES`](crate::limits::BATCH_MAX_BYTES) for a batch. None after the last.
    ///
    /// Rows are read from the database when this is called, not before, except for the first batch. Dropping the
    /// future loses nothing: the next call goes on waiting.
    ///
    /// # Errors
    /// As [`Database::query`](crate::Database::query), of the rows of this batch; [`Error::Closed`](crate::Error::Closed) where the stream was not read for `idle_timeout`; [`Error::Closed`](crate::Error::Closed) or
    /// [`Error::RolledBack`](crate::Error::RolledBack) where its transaction or session has ended. The stream is over after an error.
    #[expect(
        clippy::should_implement_trait,
        reason = "what comes next is waited for"
    )]
    pub fn next(&mut self) -> LocalBoxFuture<'_, Result<Option<Rows>>> {
        async move { on_database!(RowStream, self, stream => stream.next().await) }.boxed_local()
    }
}
