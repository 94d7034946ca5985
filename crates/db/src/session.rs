//! What needs a connection to a server for itself: its session, and data in bulk. Each call goes to the driver.
//! Rule: a database that has no such thing refuses with [`Error::Unsupported`]; nothing is imitated.

use std::sync::Arc;

use bytes::Bytes;

use crate::batch::BatchSize;
use crate::database::{Database, RowStream, Transaction};
use crate::error::{Error, Result};
use crate::execution::ExecuteResult;
use crate::options::{Options, PipelineAtomicity, TransactionOptions};
use crate::outcome::guarded;
use crate::rows::Rows;
use crate::sql_text::SqlText;
use crate::value::{Value, bounded, bounded_together};
use crate::{postgres, server};

impl Database {
    /// A connection of the caller's own, for what a session keeps: settings, temporary tables, locks, prepared plans. It counts
    /// as one of the pool's until it is dropped; whatever was left in its session is gone before the next caller has it.
    ///
    /// # Errors
    /// [`Error::Unsupported`] by SQLite, whose connections all callers of a process share, and by Firebird. [`Error::PoolTimeout`].
    pub async fn session(&self) -> Result<Session> {
        match self {
            Database::Postgres(pool) => pool.session().await.map(Session::Postgres),
            Database::Sqlite(_) => Err(sqlite_has_no(
                "exclusive sessions: all callers share its connections",
            )),
            Database::Firebird(_) => Err(firebird_has_no(
                "exclusive sessions here: use a transaction",
            )),
        }
    }

    /// Begins a `COPY … FROM STDIN`, on a connection of its own until it ends or is dropped.
    ///
    /// # Errors
    /// What the server says to the statement; [`Error::Unsupported`] by SQLite and Firebird.
    pub async fn copy_in(&self, sql: impl Into<Arc<str>>) -> Result<CopyIn> {
        match self {
            Database::Postgres(pool) => pool.copy_in(sql.into()).await.map(CopyIn::Postgres),
            Database::Sqlite(_) => Err(sqlite_has_no("COPY")),
            Database::Firebird(_) => Err(firebird_has_no("COPY")),
        }
    }

    /// Begins a `COPY … TO STDOUT`, on a connection of its own until it ends or is dropped.
    ///
    /// # Errors
    /// As [`Database::copy_in`].
    pub async fn copy_out(&self, sql: impl Into<Arc<str>>) -> Result<CopyOut> {
        match self {
            Database::Postgres(pool) => pool.copy_out(sql.into()).await.map(CopyOut::Postgres),
            Database::Sqlite(_) => Err(sqlite_has_no("COPY")),
            Database::Firebird(_) => Err(firebird_has_no("COPY")),
        }
    }

    /// Listens to channels, on a connection beside those of the pool, which is opened again when it is lost. Names are taken as they
    /// are: unlike in SQL, capitals matter.
    ///
    /// # Errors
    /// [`Error::Unreachable`]; [`Error::QueueFull`] beyond [`LISTENERS_MAX`](crate::limits::LISTENERS_MAX); [`Error::Unsupported`] by SQLite and Firebird.
    pub async fn listen(&self, channels: &[String]) -> Result<Listener> {
        match self {
            Database::Postgres(pool) => pool.listen(channels).await.map(Listener::Postgres),
            Database::Sqlite(_) => Err(sqlite_has_no("LISTEN")),
            Database::Firebird(_) => Err(firebird_has_no("LISTEN")),
        }
    }
}

impl Transaction {
    /// Like [`Database::copy_in`], inside the transaction, which can do nothing else meanwhile.
    ///
    /// # Errors
    /// As there.
    pub async fn copy_in(&self, sql: impl Into<Arc<str>>) -> Result<CopyIn> {
        match self {
            Transaction::Postgres(own) => {
                guarded!(own.owner(), own.copy_in(sql.into())).map(CopyIn::Postgres)
            }
            Transaction::Sqlite(_) => Err(sqlite_has_no("COPY")),
            Transaction::Firebird(_) => Err(firebird_has_no("COPY")),
        }
    }

    /// Like [`Database::copy_out`], inside the transaction, which can do nothing else meanwhile.
    ///
    /// # Errors
    /// As there.
    pub async fn copy_out(&self, sql: impl Into<Arc<str>>) -> Result<CopyOut> {
        match self {
            Transaction::Postgres(own) => {
                guarded!(own.owner(), own.copy_out(sql.into())).map(CopyOut::Postgres)
            }
            Transaction::Sqlite(_) => Err(sqlite_has_no("COPY")),
            Transaction::Firebird(_) => Err(firebird_has_no("COPY")),
        }
    }
}

/// A connection that its caller has alone. See [`Database::session`].
#[non_exhaustive]
#[derive(Debug)]
pub enum Session {
    /// To a PostgreSQL server.
    Postgres(postgres::Session),
}

impl Session {
    /// Like [`Database::query`], and the statement may change the session.
    ///
    /// # Errors
    /// As [`Database::query`], but for the wait for a connection; [`Error::Usage`] while a stream of the session is open.
    pub async fn query(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
    ) -> Result<Rows> {
        let Session::Postgres(own) = self;
        own.query(sql.into(), bounded(values)?).await
    }

    /// Like [`Database::execute`], and the statement may change the session.
    ///
    /// # Errors
    /// As [`Session::query`].
    pub async fn execute(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
    ) -> Result<ExecuteResult> {
        let Session::Postgres(own) = self;
        own.execute(sql.into(), bounded(values)?).await
    }

    /// Like [`Database::execute_script`], on this connection.
    ///
    /// # Errors
    /// As [`Session::query`], of the first statement that fails; those after it do not run.
    pub async fn execute_script(&self, sql: impl Into<SqlText>) -> Result<()> {
        let Session::Postgres(own) = self;
        own.execute_script(sql.into()).await
    }

    /// Like [`Database::stream_by`], on this connection, which can do nothing else until the stream ends or is dropped.
    ///
    /// # Errors
    /// As [`Session::query`] of what fails before the first batch; later errors come from [`RowStream::next`].
    pub async fn stream_by(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
        by: BatchSize,
    ) -> Result<RowStream> {
        let Session::Postgres(own) = self;
        let stream = own.stream(sql.into(), bounded(values)?, by).await;
        stream.map(RowStream::Postgres)
    }

    /// Like [`Database::pipeline`], on this connection.
    ///
    /// # Errors
    /// Where nothing could be sent, as [`Session::query`]. What fails in a statement stands in its place among the outcomes.
    pub async fn pipeline(
        &self,
        statements: Vec<(SqlText, Vec<Value>)>,
        atomicity: PipelineAtomicity,
    ) -> Result<Vec<Result<Rows>>> {
        let Session::Postgres(own) = self;
        own.pipeline(bounded_together(statements)?, atomicity).await
    }

    pub(crate) fn options(&self) -> &Options {
        let Session::Postgres(own) = self;
        own.options()
    }

    pub(crate) async fn is_in_transaction(&self) -> Result<bool> {
        let Session::Postgres(own) = self;
        own.is_in_transaction().await
    }

    /// The transaction that is open, for savepoints in it. Dropped, it goes on.
    pub(crate) fn open_transaction(&self) -> server::Transaction<postgres::Postgres> {
        let Session::Postgres(own) = self;
        own.open_transaction()
    }

    /// Begins a transaction on this connection, unless SQL has begun one. Until it ends, all statements of the session belong to it; dropped, it is rolled
    /// back before the session's next statement.
    ///
    /// # Errors
    /// [`Error::Usage`] while a transaction of this session is open, by this call or by SQL; [`Error::Lost`].
    pub async fn begin(&self, options: TransactionOptions) -> Result<Transaction> {
        let Session::Postgres(own) = self;
        own.begin(options).await.map(Transaction::Postgres)
    }

    /// Like [`Database::copy_in`], on this connection.
    ///
    /// # Errors
    /// What the server says to the statement.
    pub async fn copy_in(&self, sql: impl Into<Arc<str>>) -> Result<CopyIn> {
        let Session::Postgres(own) = self;
        own.copy_in(sql.into()).await.map(CopyIn::Postgres)
    }

    /// Like [`Database::copy_out`], on this connection.
    ///
    /// # Errors
    /// As [`Session::copy_in`].
    pub async fn copy_out(&self, sql: impl Into<Arc<str>>) -> Result<CopyOut> {
        let Session::Postgres(own) = self;
        own.copy_out(sql.into()).await.map(CopyOut::Postgres)
    }
}

/// Data on their way into a table. Dropped before [`CopyIn::finish`] nothing is copied.
#[non_exhaustive]
#[derive(Debug)]
pub enum CopyIn {
    /// Of a PostgreSQL server.
    Postgres(postgres::CopyIn),
}

impl CopyIn {
    /// Sends some data, which need not end where a row ends. Waits while the server is slower. In a transaction, dropping the future
    /// ends that, like any call that is not waited for.
    ///
    /// # Errors
    /// What the server says to data sent before. The COPY is over then.
    pub async fn send(&mut self, data: &[u8]) -> Result<()> {
        let CopyIn::Postgres(copy) = self;
        guarded!(copy.owner(), copy.send(data))
    }

    /// Ends the data and says how many rows were copied. In a transaction, dropping the future ends that.
    ///
    /// # Errors
    /// What the server says to the data; nothing is copied then.
    pub async fn finish(self) -> Result<u64> {
        let CopyIn::Postgres(copy) = self;
        guarded!(copy.owner(), copy.finish())
    }
}

/// Data on their way out of a table. Dropped before its end the server stops it.
#[non_exhaustive]
#[derive(Debug)]
pub enum CopyOut {
    /// Of a PostgreSQL server.
    Postgres(postgres::CopyOut),
}

impl CopyOut {
    /// Some more data, never empty; none after the last. They need not end where a row ends. Dropping the future loses nothing.
    ///
    /// # Errors
    /// What the server says. There are no more data after an error.
    pub async fn next(&mut self) -> Result<Option<Bytes>> {
        let CopyOut::Postgres(copy) = self;
        copy.next().await
    }
}

/// Receives notifications. Dropped, its connection is closed.
#[non_exhaustive]
#[derive(Debug)]
pub enum Listener {
    /// By a PostgreSQL server.
    Postgres(postgres::Listener),
}

/// What a [`Listener`] receives.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ListenerEvent {
    /// A notification came.
    Notification {
        /// The channel.
        channel: String,
        /// May be empty.
        payload: String,
        /// The server's process for the connection that sent it.
        process_id: u32,
    },
    /// The connection had been lost, or more came than may wait: notifications may have been missed.
    Gap,
}

impl Listener {
    /// What came next. Dropping the future loses nothing.
    ///
    /// # Errors
    /// [`Error::Unreachable`] when the server understood and refused; otherwise a lost connection is opened again.
    pub async fn recv(&mut self) -> Result<ListenerEvent> {
        let Listener::Postgres(listener) = self;
        listener.recv().await
    }
}

fn sqlite_has_no(what: &'static str) -> Error {
    Error::Unsupported {
        database: "SQLite",
        what,
    }
}

fn firebird_has_no(what: &'static str) -> Error {
    Error::Unsupported {
        database: "Firebird",
        what,
    }
}
