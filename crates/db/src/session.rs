//! What PostgreSQL alone has: sessions of a caller's own, COPY and LISTEN, from a database or a transaction of any kind.
//! Rule: a database that has no such thing refuses with [`Error::Unsupported`]; nothing is imitated.

use std::sync::Arc;

use futures_util::future::{FutureExt as _, LocalBoxFuture};

use crate::database::Database;
use crate::error::{Error, Result};
use crate::outcome::guarded;
use crate::postgres::{CopyIn, CopyOut, Listener, Postgres, Session};
use crate::server;
use crate::transaction::Transaction;

impl Database {
    /// A connection of the caller's own, for what a session keeps: settings, temporary tables, locks, prepared plans. It counts
    /// as one of the pool's until it is dropped; whatever was left in its session is gone before the next caller has it.
    ///
    /// # Errors
    /// [`Error::Unsupported`] by SQLite, whose connections all callers of a process share, and by Firebird. [`Error::PoolTimeout`].
    pub fn session(&self) -> LocalBoxFuture<'_, Result<Session>> {
        async move {
            let lacks = match self {
                Database::Postgres(pool) => return pool.session().await,
                Database::Sqlite(_) => "exclusive sessions: all callers share its connections",
                #[cfg(feature = "firebird")]
                Database::Firebird(_) => "exclusive sessions here: use a transaction",
            };
            Err(Error::unsupported(self.dialect().name, lacks))
        }
        .boxed_local()
    }

    /// Begins a `COPY … FROM STDIN`, on a connection of its own until it ends or is dropped.
    ///
    /// # Errors
    /// What the server says to the statement; [`Error::Unsupported`] by SQLite and Firebird.
    pub fn copy_in(&self, sql: impl Into<Arc<str>>) -> LocalBoxFuture<'_, Result<CopyIn>> {
        self.copy_in_text(sql.into())
    }

    fn copy_in_text(&self, sql: Arc<str>) -> LocalBoxFuture<'_, Result<CopyIn>> {
        async move { self.postgres("COPY")?.copy_in(sql).await }.boxed_local()
    }

    /// Begins a `COPY … TO STDOUT`, on a connection of its own until it ends or is dropped.
    ///
    /// # Errors
    /// As [`Database::copy_in`].
    pub fn copy_out(&self, sql: impl Into<Arc<str>>) -> LocalBoxFuture<'_, Result<CopyOut>> {
        self.copy_out_text(sql.into())
    }

    fn copy_out_text(&self, sql: Arc<str>) -> LocalBoxFuture<'_, Result<CopyOut>> {
        async move { self.postgres("COPY")?.copy_out(sql).await }.boxed_local()
    }

    /// Listens to channels, on a connection beside those of the pool, which is opened again when it is lost. Names are taken as they
    /// are: unlike in SQL, capitals matter.
    ///
    /// # Errors
    /// [`Error::Unreachable`]; [`Error::QueueFull`] beyond [`LISTENERS_MAX`](crate::limits::LISTENERS_MAX); [`Error::Unsupported`] by SQLite and Firebird.
    pub fn listen<'d>(&'d self, channels: &'d [String]) -> LocalBoxFuture<'d, Result<Listener>> {
        async move { self.postgres("LISTEN")?.listen(channels).await }.boxed_local()
    }

    /// The pool of a PostgreSQL server; any other database is refused as one that has no `what`.
    fn postgres(&self, what: &'static str) -> Result<&server::Pool<Postgres>> {
        self.as_postgres()
            .ok_or_else(|| Error::unsupported(self.dialect().name, what))
    }
}

impl Transaction {
    /// Like [`Database::copy_in`], inside the transaction, which can do nothing else meanwhile.
    ///
    /// # Errors
    /// As there.
    pub fn copy_in(&self, sql: impl Into<Arc<str>>) -> LocalBoxFuture<'_, Result<CopyIn>> {
        self.copy_in_text(sql.into())
    }

    fn copy_in_text(&self, sql: Arc<str>) -> LocalBoxFuture<'_, Result<CopyIn>> {
        async move {
            let own = self.postgres()?;
            guarded!(own.owner(), own.copy_in(sql))
        }
        .boxed_local()
    }

    /// Like [`Database::copy_out`], inside the transaction, which can do nothing else meanwhile.
    ///
    /// # Errors
    /// As there.
    pub fn copy_out(&self, sql: impl Into<Arc<str>>) -> LocalBoxFuture<'_, Result<CopyOut>> {
        self.copy_out_text(sql.into())
    }

    fn copy_out_text(&self, sql: Arc<str>) -> LocalBoxFuture<'_, Result<CopyOut>> {
        async move {
            let own = self.postgres()?;
            guarded!(own.owner(), own.copy_out(sql))
        }
        .boxed_local()
    }

    fn postgres(&self) -> Result<&server::Transaction<Postgres>> {
        self.as_postgres()
            .ok_or_else(|| Error::unsupported(self.dialect().name, "COPY"))
    }
}
