//! Transactions of PostgreSQL: what is open is a state of the connection. Rule: it is rolled back as soon as its owner drops it, whoever still
//! holds the connection; the pool sees to it that it was.

use std::rc::Rc;

use futures_util::future::LocalBoxFuture;
use tsumugi_pg::{Access as ServerAccess, Isolation as ServerIsolation};
use tsumugi_pg_proto::TransactionStatus;

use super::backend::{Inner, Postgres};
use super::inquiry::CommitInquiry;
use super::link::{ExclusiveConnection, Link};
use super::plan::{self, Plan};
use super::settings;
use super::stream::PortalRows;
use crate::batch::BatchSize;
use crate::error::{Error, Result};
use crate::options::{Access, Isolation, TransactionOptions};
use crate::outcome::EndReason;
use crate::server::connections::Exclusive;
use crate::server::{
    Fault, Limits, Outcome, SavepointCommand, ServerBackend as _, TransactionInner, Transactional,
};
use crate::sql_text::SqlText;

/// Of a script in a transaction. The same is refused on the other databases.
const TRANSACTION_COMMAND: &str =
    "BEGIN, COMMIT, ROLLBACK and SAVEPOINT are for a transaction's own methods";

/// The connection of a transaction that is open.
#[derive(Clone)]
pub(crate) struct OpenTransaction {
    connection: ExclusiveConnection,
    lender: Lender,
}

/// Where the connection goes after the transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lender {
    /// The pool, or a session that goes on.
    Owner,
    /// Whoever began it in a session, and ends it.
    Beginner,
}

impl std::ops::Deref for OpenTransaction {
    type Target = ExclusiveConnection;

    fn deref(&self) -> &ExclusiveConnection {
        &self.connection
    }
}

/// Rolls back when it is dropped, unless nothing is open on the connection.
struct RollBackGuard<'a>(&'a OpenTransaction);

impl Drop for RollBackGuard<'_> {
    fn drop(&mut self) {
        roll_back(self.0);
    }
}

fn roll_back(open: &OpenTransaction) {
    if open.lender == Lender::Owner && open.status() != TransactionStatus::Idle {
        open.roll_back_unguarded();
    }
}

/// Begins on a connection that a session lends.
pub(super) async fn begin_within(
    pool: &Inner,
    connection: &ExclusiveConnection,
    options: TransactionOptions,
) -> Result<OpenTransaction> {
    let open = OpenTransaction {
        connection: Rc::clone(connection),
        lender: Lender::Owner,
    };
    begin(pool, open, options).await
}

/// What is open on a session's connection, whoever began it. It goes on when this is dropped.
pub(super) fn begun_on(connection: &ExclusiveConnection) -> OpenTransaction {
    OpenTransaction {
        connection: Rc::clone(connection),
        lender: Lender::Beginner,
    }
}

async fn begin(
    pool: &Inner,
    open: OpenTransaction,
    options: TransactionOptions,
) -> Result<OpenTransaction> {
    let begin = tsumugi_pg::TransactionOptions {
        isolation: match options.isolation {
            Isolation::Default => ServerIsolation::Server,
            Isolation::ReadCommitted => ServerIsolation::ReadCommitted,
            Isolation::RepeatableRead => ServerIsolation::RepeatableRead,
            Isolation::Serializable => ServerIsolation::Serializable,
        },
        access: match options.access {
            Access::ReadWrite => ServerAccess::ReadWrite,
            Access::ReadOnly => ServerAccess::ReadOnly,
        },
    };
    // Made before the command is sent, so that a future dropped meanwhile undoes it.
    let guard = RollBackGuard(&open);
    let begun = pool.command("BEGIN", open.begin_unguarded(begin)).await;
    begun.map_err(|fault| pool.error("BEGIN", fault))?;
    if pool.backend.limits == Limits::Client {
        let sql = settings::limits_of_transaction(&pool.options);
        let set = pool.command(&sql, open.script(&sql)).await;
        set.map_err(|fault| pool.error(&sql, fault))?;
    }
    std::mem::forget(guard);
    Ok(open)
}

impl Transactional for Postgres {
    const NAME: &'static str = "PostgreSQL";
    /// The server knows `idle_timeout` and ends them.
    const KEEPS_IDLE: bool = false;
    type Open = OpenTransaction;
    type Closing = OpenTransaction;
    type State = ();
    type Inquiry = CommitInquiry;

    async fn begin(
        pool: &Inner,
        connection: Exclusive<Link>,
        options: TransactionOptions,
    ) -> Result<(OpenTransaction, ())> {
        let open = OpenTransaction {
            connection: Rc::new(connection),
            lender: Lender::Owner,
        };
        Ok((begin(pool, open, options).await?, ()))
    }

    /// What is still running comes before the end on the connection.
    fn close(open: OpenTransaction) -> Result<OpenTransaction, OpenTransaction> {
        Ok(open)
    }

    fn inquiry(closing: &OpenTransaction) -> CommitInquiry {
        CommitInquiry::of(closing)
    }

    async fn inquire(
        pool: &Inner,
        inquiry: CommitInquiry,
        fault: Fault<tsumugi_pg::Error>,
    ) -> Result<()> {
        inquiry.resolve(pool, fault).await
    }

    async fn commit(closing: OpenTransaction) -> tsumugi_pg::Result<()> {
        let _guard = RollBackGuard(&closing);
        let write = match closing.may_have_written() {
            true => closing.begin_write(),
            false => None,
        };
        let committed = closing.commit_unguarded().await;
        closing.end_write(write, &committed);
        committed
    }

    async fn roll_back(closing: OpenTransaction) -> tsumugi_pg::Result<()> {
        // One that is not waited for is asked for again.
        let _guard = RollBackGuard(&closing);
        closing.script("ROLLBACK").await
    }

    fn abandon(open: OpenTransaction) {
        roll_back(&open);
    }

    fn is_spoiled(open: &OpenTransaction) -> bool {
        open.status() == TransactionStatus::Failed
    }

    fn query_within(
        transaction: &TransactionInner<Postgres>,
        open: &OpenTransaction,
        plan: &Rc<Plan>,
        sql: &str,
        binds: &Self::Binds<'_>,
    ) -> impl Future<Output = tsumugi_pg::Result<tsumugi_pg::Rows>> {
        Postgres::query(&transaction.pool, open, plan, sql, binds)
    }

    async fn cursor_within(
        pool: &Inner,
        open: OpenTransaction,
        plan: &Rc<Plan>,
        _: &str,
        binds: Self::Binds<'_>,
        by: BatchSize,
    ) -> Outcome<Postgres, PortalRows> {
        PortalRows::open(pool, open.connection, plan, &binds, by).await
    }

    async fn script_within(transaction: &TransactionInner<Postgres>, sql: SqlText) -> Result<()> {
        let open = transaction.ready().await?;
        let pool = &transaction.pool;
        if plan::has_transaction_command(&sql) {
            return pool.stats.count(Err(Error::usage(TRANSACTION_COMMAND)));
        }
        let run = pool.script(&open, &sql, &sql).await;
        transaction.settle(&run);
        let finished = pool.finish_script(&sql, run);
        // Also when it failed behind its COMMIT: what followed in the transaction would stand for itself.
        if open.script_left_transaction.get() || open.status() == TransactionStatus::Idle {
            transaction.end(EndReason::ByScript);
            return finished.and(Err(EndReason::ByScript.error()));
        }
        finished
    }

    /// Named by the number. One that was gone back to is released as well, because the next would else be one within it, and so on for as long as the
    /// transaction lasts.
    fn savepoint_sql(command: SavepointCommand, number: u32, _: usize) -> String {
        match command {
            SavepointCommand::Set => format!("SAVEPOINT s{number}"),
            SavepointCommand::Release => format!("RELEASE SAVEPOINT s{number}"),
            SavepointCommand::RollBack => {
                format!("ROLLBACK TO SAVEPOINT s{number}; RELEASE SAVEPOINT s{number}")
            }
        }
    }

    fn run_command<'c>(
        open: &'c OpenTransaction,
        sql: &'c str,
    ) -> LocalBoxFuture<'c, tsumugi_pg::Result<()>> {
        open.script(sql)
    }

    fn send_command(open: &OpenTransaction, sql: &str) -> bool {
        open.send_unawaited(sql);
        true
    }
}
