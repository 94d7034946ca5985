//! COPY in both directions, on a connection that nobody else uses meanwhile. Knows no format of the data.
//! Rule: the connection goes back to the pool when the COPY is over or dropped, and the driver has given it up by then.

use std::rc::{Rc, Weak};
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;

use super::link::ExclusiveConnection;
use super::pool::{Inner, Pool};
use super::transaction::TransactionInner;
use crate::error::{Error, Result};
use crate::outcome::Abandon;

/// Data on their way into a table. See [`crate::CopyIn`].
pub struct CopyIn {
    copy: tsumugi_pg::CopyIn,
    /// None outside of one.
    transaction: Weak<TransactionInner>,
    of: Of,
}

/// Data on their way out of a table. See [`crate::CopyOut`].
pub struct CopyOut {
    copy: tsumugi_pg::CopyOut,
    of: Of,
}

/// What a COPY belongs to.
struct Of {
    pool: Rc<Inner>,
    sql: Arc<str>,
    begun: Option<Instant>,
    /// After the COPY itself, so that the pool gets it back when that is gone.
    _own: ExclusiveConnection,
}

impl Of {
    /// Logs how it ended, with the number of rows if that is known.
    fn ended(&self, outcome: std::result::Result<Option<u64>, &tsumugi_pg::Error>) {
        let rows = outcome.map(|rows| rows.and_then(|rows| usize::try_from(rows).ok()));
        self.pool.account.log(self.begun, &self.sql, &[], rows);
    }

    /// What came of opening it, told and counted.
    fn opened<C>(&self, copy: tsumugi_pg::Result<C>) -> Result<C> {
        if let Err(error) = &copy {
            self.ended(Err(error));
        }
        self.pool
            .account
            .counted(copy.map_err(|error| self.failed(error)))
    }

    fn failed(&self, error: tsumugi_pg::Error) -> Error {
        let attempt = self.pool.attempt((&self.sql).into(), Vec::new());
        attempt.driver(error)
    }
}

impl Pool {
    pub(crate) async fn copy_in(&self, sql: Arc<str>) -> Result<CopyIn> {
        let own = self.inner().own().await?;
        CopyIn::begin(self.inner(), own, sql).await
    }

    pub(crate) async fn copy_out(&self, sql: Arc<str>) -> Result<CopyOut> {
        let own = self.inner().own().await?;
        CopyOut::begin(self.inner(), own, sql).await
    }
}

impl CopyIn {
    pub(super) async fn begin(
        pool: &Rc<Inner>,
        own: ExclusiveConnection,
        sql: Arc<str>,
    ) -> Result<CopyIn> {
        let begun = pool.account.begun();
        let copy = own.copy_in(&sql).await;
        let of = Of {
            pool: Rc::clone(pool),
            sql,
            begun,
            _own: own,
        };
        let copy = of.opened(copy)?;
        Ok(CopyIn {
            copy,
            transaction: Weak::new(),
            of,
        })
    }

    /// In a transaction, which ends when it is not known what was copied.
    pub(super) fn within(self, transaction: Weak<TransactionInner>) -> CopyIn {
        CopyIn {
            transaction,
            ..self
        }
    }

    pub(crate) fn owner(&self) -> Weak<impl Abandon + use<>> {
        self.transaction.clone()
    }

    pub(crate) async fn send(&mut self, data: &[u8]) -> Result<()> {
        let sent = self.copy.send(data).await;
        if let Err(error) = &sent {
            self.of.ended(Err(error));
        }
        sent.map_err(|error| self.of.failed(error))
    }

    pub(crate) async fn finish(self) -> Result<u64> {
        let CopyIn { copy, of, .. } = self;
        let finished = copy.finish().await;
        of.ended(finished.as_ref().map(|rows| Some(*rows)));
        finished.map_err(|error| of.failed(error))
    }
}

impl CopyOut {
    pub(super) async fn begin(
        pool: &Rc<Inner>,
        own: ExclusiveConnection,
        sql: Arc<str>,
    ) -> Result<CopyOut> {
        let begun = pool.account.begun();
        let copy = own.copy_out(&sql).await;
        let of = Of {
            pool: Rc::clone(pool),
            sql,
            begun,
            _own: own,
        };
        let copy = of.opened(copy)?;
        Ok(CopyOut { copy, of })
    }

    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>> {
        let next = self.copy.next().await;
        match &next {
            Ok(Some(_)) => {}
            Ok(None) => self.of.ended(Ok(Some(self.copy.rows()))),
            Err(error) => self.of.ended(Err(error)),
        }
        next.map_err(|error| self.of.failed(error))
    }
}

impl std::fmt::Debug for CopyIn {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CopyIn").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for CopyOut {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CopyOut").finish_non_exhaustive()
    }
}
