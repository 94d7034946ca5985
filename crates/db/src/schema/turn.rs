//! Whose turn it is to change a schema: a lock of PostgreSQL, on SQLite the file's one writer, on Firebird a row of a table of ours. Rule: who has to wait for the lock waits outside of a transaction, where there is an
//! outside: an open one would hold up `create index concurrently`.

use std::rc::Rc;
use std::time::Duration;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tokio::time::{Instant, sleep, timeout};
use tsumugi_sql::SQLITE;

use crate::bookkeeping::bookkeeping;
use crate::database::Database;
use crate::error::{Error, FailedStatement, Result};
use crate::executor::Executor;
use crate::limits::{SCHEMA_LOCK_MAX, SCHEMA_LOCK_POLL};
use crate::log::whole_milliseconds;
use crate::on_each::on_server;
use crate::options::{Isolation, Options, TransactionMode, TransactionOptions};
use crate::rows::Rows;
use crate::sql_text::SqlText;
use crate::transaction::Transaction;
use crate::value::{Value, ValueRef};

/// The number of PostgreSQL's advisory lock that a changer of the schema holds until the end of the transaction.
const LOCK: i64 = 8_319_104_722_905_361;

tokio::task_local! {
    /// Whose transactions this task is in.
    static INSIDE: Rc<Inside>;
}

struct Inside {
    database: Database,
    outer: Option<Rc<Inside>>,
}

/// How long a caller waits at most, and how long it has been waiting.
pub(super) struct Patience {
    /// The option or limit that bounds it.
    limit: &'static str,
    max: Duration,
    since: Instant,
    is_announced: bool,
}

impl Patience {
    /// Of work whose like may take long, and which is not begun within a transaction: migrations and seeds.
    pub(super) fn long() -> Patience {
        Patience {
            limit: "SCHEMA_LOCK_MAX",
            max: SCHEMA_LOCK_MAX,
            since: Instant::now(),
            is_announced: false,
        }
    }

    /// Of one change: the holder of the turn may be the caller's own transaction, which then never ends.
    pub(super) fn short(options: &Options) -> Patience {
        Patience {
            limit: "schema_wait",
            max: options.schema_wait,
            since: Instant::now(),
            is_announced: false,
        }
    }

    /// Waits a moment; an error when it has been too long.
    async fn wait(&mut self) -> Result<()> {
        if !self.is_announced {
            tracing::info!(target: "tsumugi_db", "another connection changes the schema: waiting for it");
            self.is_announced = true;
        }
        let waited = self.since.elapsed();
        if waited > self.max {
            return Err(Error::PoolTimeout {
                connection: "turn to change the schema",
                limit: self.limit,
                waited_ms: whole_milliseconds(waited),
                statement: FailedStatement::none(),
            });
        }
        sleep(SCHEMA_LOCK_POLL.min(self.left())).await;
        Ok(())
    }

    fn left(&self) -> Duration {
        self.max.saturating_sub(self.since.elapsed())
    }
}

impl Database {
    /// Runs this as what a transaction of this database is about. What would begin another one there to change the schema, and wait for the turn
    /// that its own caller has, is refused at once.
    pub async fn inside<T>(&self, run: impl Future<Output = T>) -> T {
        let inside = Inside {
            database: self.clone(),
            outer: INSIDE.try_with(Rc::clone).ok(),
        };
        INSIDE.scope(Rc::new(inside), run).await
    }

    fn refuse_inside(&self) -> Result<()> {
        let innermost = INSIDE.try_with(Rc::clone).ok();
        let mut all = std::iter::successors(innermost.as_ref(), |inside| inside.outer.as_ref());
        if all.any(|inside| inside.database.is_same_as(self)) {
            return Err(Error::usage(
                "this takes a transaction of its own, which would wait for the one that it is called in: \
                 change tables with the methods of that one, migrate and seed before or after it",
            ));
        }
        Ok(())
    }

    /// Runs this in a transaction that excludes all other changes of the schema.
    pub(super) async fn change<T, E: From<Error>>(
        &self,
        mode: TransactionMode,
        run: impl AsyncFn(&Rc<Transaction>) -> Result<T, E>,
    ) -> Result<T, E> {
        let tx = Rc::new(Executor::Database(self.clone()).begin_change(mode).await?);
        let value = self.inside(run(&tx)).await?;
        bookkeeping(tx.commit()).await?;
        Ok(value)
    }
}

impl Executor {
    /// Begins a transaction that holds the lock of the schema, for work that may take long, such as a migration.
    ///
    /// # Errors
    /// As [`Executor::begin`]; [`Error::PoolTimeout`] if another caller has had the lock for longer than
    /// [`SCHEMA_LOCK_MAX`].
    pub fn begin_change(&self, mode: TransactionMode) -> LocalBoxFuture<'_, Result<Transaction>> {
        self.begin_in_turn(mode, Patience::long()).boxed_local()
    }

    pub(super) async fn begin_in_turn(
        &self,
        mode: TransactionMode,
        patience: Patience,
    ) -> Result<Transaction> {
        bookkeeping(self.wait_for_turn(mode, patience)).await
    }

    /// Waits outside of the transaction, which begins anew each time.
    async fn wait_for_turn(
        &self,
        mode: TransactionMode,
        mut patience: Patience,
    ) -> Result<Transaction> {
        if let Executor::Database(database) = self {
            database.refuse_inside()?;
        }
        let is_file = *self.dialect() == SQLITE;
        let mut options = TransactionOptions::write(mode);
        if !is_file {
            // What another process noted while this one waited has to be seen, whatever the database does by default.
            options.isolation = Isolation::ReadCommitted;
        }
        loop {
            // A file has one writer: that it has another now, of this process or not, is the same as a lock that another caller holds. So `acquire_timeout`
            // does not add to the wait.
            let begun = match is_file {
                true => timeout(patience.left(), self.begin(options)).await,
                false => Ok(self.begin(options).await),
            };
            match begun {
                Ok(Ok(tx)) => {
                    if tx.has_schema().await? {
                        return Ok(tx);
                    }
                    tx.roll_back().await?;
                }
                Ok(Err(Error::PoolTimeout { .. } | Error::SerializationFailure { .. }))
                    if is_file => {}
                Ok(Err(error)) => return Err(error),
                Err(_elapsed) => {}
            }
            patience.wait().await?;
        }
    }

    /// Takes the lock of the schema: a transaction until its end, a session until [`Executor::unlock_schema`]. A database by itself has nothing
    /// that could hold it.
    ///
    /// # Errors
    /// [`Error::PoolTimeout`] if another caller has had it for too long.
    pub fn lock_schema(&self) -> LocalBoxFuture<'_, Result<()>> {
        bookkeeping(async move {
            match self {
                Executor::Transaction(transaction) => transaction.wait_for_schema().await,
                Executor::Session(session) => {
                    let mut patience = Patience::long();
                    let sql = "select pg_try_advisory_lock(?)";
                    while !is_held(&session.query(sql, [Value::from(LOCK)]).await?) {
                        patience.wait().await?;
                    }
                    Ok(())
                }
                Executor::Database(_) | Executor::Read(_) => Ok(()),
            }
        })
        .boxed_local()
    }

    /// Gives back what a session holds.
    ///
    /// # Errors
    /// [`Error::Lost`], and then the server has given it back itself.
    pub fn unlock_schema(&self) -> LocalBoxFuture<'_, Result<()>> {
        bookkeeping(async move {
            if let Executor::Session(session) = self {
                let sql = "select pg_advisory_unlock(?)";
                session.query(sql, [Value::from(LOCK)]).await?;
            }
            Ok(())
        })
        .boxed_local()
    }
}

/// What a question for the lock answered.
fn is_held(rows: &Rows) -> bool {
    let held = rows.first().and_then(|row| row.value(0));
    held == Some(ValueRef::Boolean(true))
}

impl Transaction {
    /// Runs a statement about no table that this transaction has changed. Firebird commits it together with those that
    /// it has, where [`Transaction::query`] would commit them first.
    pub fn run_beside_changes(
        &self,
        sql: impl Into<SqlText>,
        values: impl Into<Vec<Value>>,
    ) -> LocalBoxFuture<'_, Result<Rows>> {
        self.run_beside_changes_text(sql.into(), values.into())
    }

    fn run_beside_changes_text(
        &self,
        sql: SqlText,
        values: Vec<Value>,
    ) -> LocalBoxFuture<'_, Result<Rows>> {
        match self {
            #[cfg(feature = "firebird")]
            Transaction::Firebird(own) => own.run_beside_changes(sql, values).boxed_local(),
            Transaction::Sqlite(_) | Transaction::Postgres(_) => self.query_boxed(sql, values),
        }
    }

    /// Whether Firebird has committed changes of tables of this transaction before its end. On other databases never.
    pub fn has_kept_changes(&self) -> bool {
        on_server!(Transaction, self, Sqlite(_) => false, own => own.has_kept())
    }

    /// Takes the lock until the end of the transaction, unless another session has it.
    pub fn has_schema(&self) -> LocalBoxFuture<'_, Result<bool>> {
        bookkeeping(async move {
            match self {
                Transaction::Sqlite(_) => return Ok(true),
                #[cfg(feature = "firebird")]
                Transaction::Firebird(own) => return own.has_schema().await,
                Transaction::Postgres(_) => {}
            }
            let rows = self
                .query("select pg_try_advisory_xact_lock(?)", [Value::from(LOCK)])
                .await?;
            Ok(is_held(&rows))
        })
        .boxed_local()
    }

    /// Takes the lock when it is free. Asks again and again, because a statement that waits would be stopped by its own time limit.
    pub(super) async fn wait_for_schema(&self) -> Result<()> {
        let options = on_server!(
            Transaction, self,
            Sqlite(_) => return Ok(()),
            own => own.options()
        );
        let mut patience = Patience::short(options);
        while !self.has_schema().await? {
            patience.wait().await?;
        }
        Ok(())
    }
}
