//! Cursors of PostgreSQL: a portal that is fetched from in parts. Rule: all batches of a transaction's stream are one statement to the
//! server, which watches over its time; those of a stream alone are watched here, one by one.

use std::rc::Rc;
use std::sync::Arc;

use tsumugi_pg::limits::{BATCH_ROWS_FIRST, BATCH_ROWS_MAX};

use super::backend::{Inner, Postgres};
use super::bind::Binds;
use super::link::{ExclusiveConnection, Link};
use super::plan::Plan;
use super::rows::Rows;
use super::write_notes::PendingWrite;
use crate::batch::BatchSize;
use crate::rows::Columns;
use crate::server::connections::Exclusive;
use crate::server::{Batch, Fault, Limits, Outcome, Streaming};

/// A portal that is open.
pub(crate) struct PortalRows {
    rows: tsumugi_pg::RowStream,
    /// What it has written is known at its end.
    write: Option<PendingWrite>,
    columns: Arc<Columns>,
    /// After `rows`, so that the pool gets it back when they are gone.
    connection: ExclusiveConnection,
}

impl Streaming for Postgres {
    type Cursor = PortalRows;

    async fn cursor(
        pool: &Inner,
        connection: Exclusive<Link>,
        plan: &Rc<Plan>,
        _: &str,
        binds: Self::Binds<'_>,
        by: BatchSize,
    ) -> Outcome<Postgres, PortalRows> {
        if pool.backend.limits == Limits::Server {
            pool.timed(connection.lift_limit()).await?;
        }
        PortalRows::open(pool, Rc::new(connection), plan, &binds, by).await
    }
}

impl PortalRows {
    /// On a connection that the caller has alone.
    pub(super) async fn open(
        pool: &Inner,
        connection: ExclusiveConnection,
        plan: &Plan,
        binds: &Binds<'_>,
        by: BatchSize,
    ) -> Outcome<Postgres, PortalRows> {
        connection.note(plan.effect);
        let write = connection.begin_statement(&plan.sql);
        let rows_max = by.explicit_rows().map_or(BATCH_ROWS_MAX, u32::from);
        let first = rows_max.min(BATCH_ROWS_FIRST);
        let opened = connection.stream_by(&plan.sql, binds, first);
        let mut rows = bounded(pool, &connection, opened).await?;
        rows.limit(rows_max);
        let columns = rows
            .columns()
            .derived(|columns| Arc::new(Columns::new(columns.iter().map(|column| &*column.name))));
        Ok(PortalRows {
            rows,
            write,
            columns,
            connection,
        })
    }
}

impl crate::server::RowCursor<Postgres> for PortalRows {
    fn columns(&self) -> &Arc<Columns> {
        &self.columns
    }

    async fn next(&mut self, pool: &Inner) -> Outcome<Postgres, Option<Batch>> {
        let Some(rows) = bounded(pool, &self.connection, self.rows.next()).await? else {
            let ended = self.connection.end_several(self.write.take(), Ok(None));
            return ended.await.map_err(Fault::Driver);
        };
        let rows = Rows::new(rows).map_err(Fault::Driver)?;
        Ok(Some(Batch {
            rows: rows.into(),
            is_last: false,
        }))
    }
}

/// Bounds the time of one batch, where the server does not watch over all of them together.
async fn bounded<T>(
    pool: &Inner,
    connection: &ExclusiveConnection,
    call: impl Future<Output = tsumugi_pg::Result<T>>,
) -> Outcome<Postgres, T> {
    if connection.is_timeless() {
        pool.timed(call).await
    } else {
        pool.bounded(call).await
    }
}
