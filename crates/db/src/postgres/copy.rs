//! COPY in both directions, on a connection that its caller has alone meanwhile. Knows no format of the data.
//! Rule: the connection goes back to the pool when the COPY is over or dropped, and the driver has given it up by then.

use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_pg::Connection;

use super::backend::{Inner, Postgres};
use super::link::ExclusiveConnection;
use super::plan::{self, CopyEnd};
use crate::error::{Error, Result};
use crate::log::opaque;
use crate::outcome::guarded;
use crate::server::{Pool, Transaction, TransactionInner};

/// Data on their way into a table. Dropped before [`CopyIn::finish`] nothing is copied.
pub struct CopyIn {
    copy: tsumugi_pg::CopyIn,
    call: CopyCall,
}

/// Data on their way out of a table. Dropped before its end the server stops it.
pub struct CopyOut {
    copy: tsumugi_pg::CopyOut,
    call: CopyCall,
}

/// What a COPY belongs to.
struct CopyCall {
    pool: Rc<Inner>,
    sql: Arc<str>,
    started: Option<Instant>,
    /// The one that ends when it is not known what was copied; none outside of one.
    transaction: Weak<TransactionInner<Postgres>>,
    /// After the COPY itself, so that the pool gets it back when that is gone.
    connection: ExclusiveConnection,
}

impl CopyCall {
    /// Logs how it ended, with the number of rows if that is known.
    fn ended(&self, outcome: std::result::Result<Option<u64>, &tsumugi_pg::Error>) {
        let rows = outcome.map(|rows| rows.and_then(|rows| usize::try_from(rows).ok()));
        self.pool.stats.log(self.started, &self.sql, &[], rows);
    }

    /// A COPY that `open` begins, logged and counted.
    async fn open<C>(
        pool: &Rc<Inner>,
        connection: ExclusiveConnection,
        sql: Arc<str>,
        end: CopyEnd,
        open: impl AsyncFnOnce(&Connection, &str) -> tsumugi_pg::Result<C>,
    ) -> Result<(C, CopyCall)> {
        if !plan::is_copy(&sql, end) {
            let usage = match end {
                CopyEnd::Stdin => "copy_in takes one statement, COPY … FROM STDIN",
                CopyEnd::Stdout => "copy_out takes one statement, COPY … TO STDOUT",
            };
            return pool.stats.count(Err(Error::usage(usage)));
        }
        let started = pool.stats.start();
        let copy = open(&connection, &sql).await;
        let call = CopyCall {
            pool: Rc::clone(pool),
            sql,
            started,
            transaction: Weak::new(),
            connection,
        };
        if let Err(error) = &copy {
            call.ended(Err(error));
        }
        let copy = pool.stats.count(copy.map_err(|error| call.failed(error)))?;
        Ok((copy, call))
    }

    fn failed(&self, error: tsumugi_pg::Error) -> Error {
        let error = self.pool.error(&self.sql, error);
        match self.transaction.upgrade() {
            Some(transaction) => transaction.rolled_back_error(error),
            None => error,
        }
    }
}

impl Pool<Postgres> {
    pub(crate) async fn copy_in(&self, sql: Arc<str>) -> Result<CopyIn> {
        let connection = self.inner().exclusive(&sql, &[]).await?;
        CopyIn::begin(self.inner(), Rc::new(connection), sql).await
    }

    pub(crate) async fn copy_out(&self, sql: Arc<str>) -> Result<CopyOut> {
        let connection = self.inner().exclusive(&sql, &[]).await?;
        CopyOut::begin(self.inner(), Rc::new(connection), sql).await
    }
}

impl Transaction<Postgres> {
    pub(crate) async fn copy_in(&self, sql: Arc<str>) -> Result<CopyIn> {
        let inner = self.inner();
        let open = inner.ready().await?;
        let copy = CopyIn::begin(&inner.pool, Rc::clone(&open), sql).await;
        let mut copy = copy.map_err(|error| inner.rolled_back_error(error))?;
        copy.call.transaction = Rc::downgrade(inner);
        Ok(copy)
    }

    pub(crate) async fn copy_out(&self, sql: Arc<str>) -> Result<CopyOut> {
        let inner = self.inner();
        let open = inner.ready().await?;
        let copy = CopyOut::begin(&inner.pool, Rc::clone(&open), sql).await;
        let mut copy = copy.map_err(|error| inner.rolled_back_error(error))?;
        copy.call.transaction = Rc::downgrade(inner);
        Ok(copy)
    }
}

impl CopyIn {
    pub(super) fn begin(
        pool: &Rc<Inner>,
        connection: ExclusiveConnection,
        sql: Arc<str>,
    ) -> LocalBoxFuture<'_, Result<CopyIn>> {
        async move {
            let open = async |on: &Connection, sql: &str| on.copy_in(sql).await;
            let (copy, call) = CopyCall::open(pool, connection, sql, CopyEnd::Stdin, open).await?;
            Ok(CopyIn { copy, call })
        }
        .boxed_local()
    }

    /// Sends some data, which need not end where a row ends. Waits while the server is slower. In a transaction, dropping the future
    /// ends that, like any call that is not waited for.
    ///
    /// # Errors
    /// What the server says to data sent before. The COPY is over then.
    pub fn send<'c>(&'c mut self, data: &'c [u8]) -> LocalBoxFuture<'c, Result<()>> {
        async move {
            let sent = guarded!(self.call.transaction.clone(), self.copy.send(data));
            if let Err(error) = &sent {
                self.call.ended(Err(error));
            }
            sent.map_err(|error| self.call.failed(error))
        }
        .boxed_local()
    }

    /// Ends the data and says how many rows were copied. In a transaction, dropping the future ends that.
    ///
    /// # Errors
    /// What the server says to the data; nothing is copied then.
    pub fn finish(self) -> LocalBoxFuture<'static, Result<u64>> {
        async move {
            let CopyIn { copy, call } = self;
            let write = call.connection.begin_write();
            let finished = guarded!(call.transaction.clone(), copy.finish());
            let finished = call.connection.end_several(write, finished).await;
            call.ended(finished.as_ref().map(|rows| Some(*rows)));
            finished.map_err(|error| call.failed(error))
        }
        .boxed_local()
    }
}

impl CopyOut {
    pub(super) fn begin(
        pool: &Rc<Inner>,
        connection: ExclusiveConnection,
        sql: Arc<str>,
    ) -> LocalBoxFuture<'_, Result<CopyOut>> {
        async move {
            let open = async |on: &Connection, sql: &str| on.copy_out(sql).await;
            let (copy, call) = CopyCall::open(pool, connection, sql, CopyEnd::Stdout, open).await?;
            Ok(CopyOut { copy, call })
        }
        .boxed_local()
    }

    /// Some more data, never empty; none after the last. They need not end where a row ends. Dropping the future loses nothing.
    ///
    /// # Errors
    /// What the server says. There are no more data after an error.
    #[expect(
        clippy::should_implement_trait,
        reason = "what comes next is waited for"
    )]
    pub fn next(&mut self) -> LocalBoxFuture<'_, Result<Option<Bytes>>> {
        async move {
            let next = self.copy.next().await;
            match &next {
                Ok(Some(_)) => {}
                Ok(None) => self.call.ended(Ok(Some(self.copy.rows()))),
                Err(error) => self.call.ended(Err(error)),
            }
            next.map_err(|error| self.call.failed(error))
        }
        .boxed_local()
    }
}

opaque!(CopyIn, CopyOut);
