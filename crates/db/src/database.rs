//! The one face of all databases: each call goes to the driver that the URL chose. Holds no logic of its own.
//! Rule: what a method promises here holds for every driver.

use std::sync::Arc;

use crate::error::Result;
use crate::metrics::Snapshot;
use crate::options::{Options, TransactionOptions};
use crate::rows::{Columns, Rows};
use crate::sqlite;
use crate::value::Value;

pub use crate::sqlite::Executed;

/// A database with its pool of connections. Cheap to clone; connects to the same database share the connections.
///
/// The futures of all methods may be dropped at any time. A statement that waits is then not run, one that runs is
/// stopped, and the connection is clean before the next caller gets it. A statement that changes data and was
/// stopped has changed nothing; one that had just ended may have.
///
/// Placeholders are `?`. Transactions are begun with [`Database::begin`] only: `BEGIN`, `ATTACH`, temporary tables
/// and settings by `PRAGMA` are refused, because they would change a connection that others use next.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub enum Database {
    /// An embedded SQLite database.
    Sqlite(sqlite::Pool),
}

impl Database {
    /// Connects to the database at `url`: `sqlite:PATH`, `sqlite://PATH` or `sqlite::memory:`, with options after `?`.
    ///
    /// A missing file is created (unless `mode=rw`), a missing directory is not. `sqlite::memory:` is one database for
    /// all connects of this process while any of them lasts; `?name=NAME` makes another.
    pub async fn connect(url: &str, options: Options) -> Result<Database> {
        sqlite::Pool::connect(url, options)
            .await
            .map(Database::Sqlite)
    }

    /// Runs a statement and gives all its rows. One that writes, such as `INSERT … RETURNING`, works as well.
    pub async fn query(
        &self,
        sql: impl Into<Arc<str>>,
        values: impl Into<Vec<Value>>,
    ) -> Result<Rows> {
        let Database::Sqlite(pool) = self;
        pool.query(sql.into(), values.into()).await
    }

    /// Runs a statement and says what it changed. Rows that it gives are dropped.
    pub async fn execute(
        &self,
        sql: impl Into<Arc<str>>,
        values: impl Into<Vec<Value>>,
    ) -> Result<Executed> {
        let Database::Sqlite(pool) = self;
        pool.execute(sql.into(), values.into()).await
    }

    /// Runs several statements without values, one after the other. They are not one transaction unless the script
    /// says `BEGIN` and `COMMIT`; what ran before a failure stays. `statement_timeout` bounds the whole script.
    pub async fn execute_script(&self, sql: impl Into<Arc<str>>) -> Result<()> {
        let Database::Sqlite(pool) = self;
        pool.execute_script(sql.into()).await
    }

    /// Runs a statement that only reads and gives its rows in batches, all of one snapshot. Keeps a reader until the
    /// last batch is fetched or the stream is dropped.
    pub async fn stream(
        &self,
        sql: impl Into<Arc<str>>,
        values: impl Into<Vec<Value>>,
    ) -> Result<RowStream> {
        let Database::Sqlite(pool) = self;
        pool.stream(sql.into(), values.into())
            .await
            .map(RowStream::Sqlite)
    }

    /// Begins a transaction, on a connection of its own until it ends.
    pub async fn begin(&self, options: TransactionOptions) -> Result<Transaction> {
        let Database::Sqlite(pool) = self;
        pool.begin(options).await.map(Transaction::Sqlite)
    }

    /// Figures of this database since it was opened.
    pub fn snapshot(&self) -> Snapshot {
        let Database::Sqlite(pool) = self;
        pool.snapshot()
    }

    /// Whether both are the same database with the same connections.
    pub fn shares_connections_with(&self, other: &Database) -> bool {
        let (Database::Sqlite(pool), Database::Sqlite(other)) = (self, other);
        pool.shares_connections_with(other)
    }
}

/// A transaction. Dropped without [`Transaction::commit`] it is rolled back, before anybody else gets its connection.
///
/// A statement that fails leaves the transaction usable. One that writes and is stopped, by `statement_timeout` or because
/// its future was dropped, ends the transaction: all later calls say so and nothing is committed.
#[non_exhaustive]
#[derive(Debug)]
pub enum Transaction {
    /// Of an SQLite database.
    Sqlite(sqlite::Transaction),
}

impl Transaction {
    /// Like [`Database::query`], inside the transaction.
    pub async fn query(
        &self,
        sql: impl Into<Arc<str>>,
        values: impl Into<Vec<Value>>,
    ) -> Result<Rows> {
        let Transaction::Sqlite(transaction) = self;
        transaction.query(sql.into(), values.into()).await
    }

    /// Like [`Database::execute`], inside the transaction.
    pub async fn execute(
        &self,
        sql: impl Into<Arc<str>>,
        values: impl Into<Vec<Value>>,
    ) -> Result<Executed> {
        let Transaction::Sqlite(transaction) = self;
        transaction.execute(sql.into(), values.into()).await
    }

    /// Like [`Database::execute_script`], inside the transaction, so it must not say `BEGIN` or `COMMIT`.
    pub async fn execute_script(&self, sql: impl Into<Arc<str>>) -> Result<()> {
        let Transaction::Sqlite(transaction) = self;
        transaction.execute_script(sql.into()).await
    }

    /// Like [`Database::stream`], inside the transaction, which can do nothing else until the stream ends or is dropped.
    pub async fn stream(
        &self,
        sql: impl Into<Arc<str>>,
        values: impl Into<Vec<Value>>,
    ) -> Result<RowStream> {
        let Transaction::Sqlite(transaction) = self;
        transaction
            .stream(sql.into(), values.into())
            .await
            .map(RowStream::Sqlite)
    }

    /// Marks a point to which the transaction can be rolled back. They nest.
    pub async fn savepoint(&self) -> Result<Savepoint> {
        let Transaction::Sqlite(transaction) = self;
        transaction.savepoint().await.map(Savepoint::Sqlite)
    }

    /// Makes the changes permanent and ends the transaction. Where it fails because of a deferred constraint or a
    /// lock, the transaction is still open.
    pub async fn commit(&self) -> Result<()> {
        let Transaction::Sqlite(transaction) = self;
        transaction.commit().await
    }

    /// Undoes the changes and ends the transaction.
    pub async fn roll_back(&self) -> Result<()> {
        let Transaction::Sqlite(transaction) = self;
        transaction.roll_back().await
    }
}

/// A point in a transaction. Dropped without [`Savepoint::release`] the transaction is rolled back to it.
#[non_exhaustive]
#[derive(Debug)]
pub enum Savepoint {
    /// Of an SQLite transaction.
    Sqlite(sqlite::Savepoint),
}

impl Savepoint {
    /// Keeps what was done since, as a part of the transaction.
    pub async fn release(self) -> Result<()> {
        let Savepoint::Sqlite(savepoint) = self;
        savepoint.release().await
    }

    /// Undoes what was done since.
    pub async fn roll_back(self) -> Result<()> {
        let Savepoint::Sqlite(savepoint) = self;
        savepoint.roll_back().await
    }
}

/// Rows in batches.
#[non_exhaustive]
#[derive(Debug)]
pub enum RowStream {
    /// Of an SQLite database.
    Sqlite(sqlite::RowStream),
}

impl RowStream {
    /// The columns, known before the first batch and also when there is none.
    pub fn columns(&self) -> &Arc<Columns> {
        let RowStream::Sqlite(stream) = self;
        stream.columns()
    }

    /// The next batch: at least one row, at most [`BATCH_MAX_ROWS`](crate::limits::BATCH_MAX_ROWS), ending with the row
    /// that passes [`BATCH_MAX_BYTES`](crate::limits::BATCH_MAX_BYTES). None after the last.
    ///
    /// Rows are read from the database when this is called, not before, except for the first batch. Dropping the
    /// future loses nothing: the next call goes on waiting.
    pub async fn next(&mut self) -> Result<Option<Rows>> {
        let RowStream::Sqlite(stream) = self;
        stream.next().await
    }
}
