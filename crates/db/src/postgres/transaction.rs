//! Transactions, savepoints and streams of rows: each on a connection of its own, until it ends or is dropped.
//! Rule: the connection goes back to the pool when its last holder has gone, and the pool rolls back what is open.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};
use std::sync::Arc;

use tsumugi_pg::{Access as ServerAccess, Isolation as ServerIsolation};

use super::bind::Binds;
use super::link::Own;
use super::plan::Effect;
use super::pool::{Inner, Limits, executed};
use super::rows::Rows as Lying;
use super::settings;
use crate::error::{Error, Result};
use crate::options::{Access, Isolation, TransactionOptions};
use crate::rows::{Columns, Rows};
use crate::sqlite::Executed;
use crate::value::Value;

const NESTED: &str = "BEGIN, COMMIT, ROLLBACK and SAVEPOINT are for the transaction's own methods";

/// A transaction. See [`crate::Transaction`].
pub struct Transaction(Rc<Held>);

struct Held {
    pool: Rc<Inner>,
    /// None once it has ended.
    own: RefCell<Option<Own>>,
    ended: Cell<&'static str>,
    savepoints: Cell<u32>,
    streaming: Cell<bool>,
}

impl Transaction {
    pub(super) async fn begin(
        pool: &Rc<Inner>,
        own: Own,
        options: TransactionOptions,
    ) -> Result<Transaction> {
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
        // If this future is dropped, the pool cleans the connection.
        let begun = pool.bounded(own.begin_unguarded(begin)).await;
        begun.map_err(|fault| pool.attempt("BEGIN".into(), Vec::new()).fault(fault))?;
        if pool.limits == Limits::Ours {
            let sql = settings::limits_of_transaction(&pool.options);
            let told = pool.bounded(own.script(&sql)).await;
            told.map_err(|fault| pool.attempt(sql.into(), Vec::new()).fault(fault))?;
        }
        Ok(Transaction(Rc::new(Held {
            pool: Rc::clone(pool),
            own: RefCell::new(Some(own)),
            ended: Cell::new("it was rolled back"),
            savepoints: Cell::new(0),
            streaming: Cell::new(false),
        })))
    }

    pub(crate) async fn query(&self, sql: Arc<str>, values: Vec<Value>) -> Result<Rows> {
        self.0.run(sql, values).await.map(Rows::from)
    }

    pub(crate) async fn execute(&self, sql: Arc<str>, values: Vec<Value>) -> Result<Executed> {
        self.0.run(sql, values).await.map(|rows| executed(&rows))
    }

    pub(crate) async fn execute_script(&self, sql: Arc<str>) -> Result<()> {
        let own = self.0.own()?;
        own.changed.set(true);
        let run = self.0.pool.timed(own.script(&sql)).await;
        run.map_err(|fault| self.0.pool.attempt(sql, Vec::new()).fault(fault))
    }

    pub(crate) async fn stream(&self, sql: Arc<str>, values: Vec<Value>) -> Result<RowStream> {
        let own = self.0.own()?;
        let mut stream = RowStream::begin(&self.0.pool, own, sql, values).await?;
        self.0.streaming.set(true);
        stream.transaction = Rc::downgrade(&self.0);
        Ok(stream)
    }

    pub(crate) async fn savepoint(&self) -> Result<Savepoint> {
        let number = self.0.savepoints.get() + 1;
        self.0.savepoints.set(number);
        // Made before it is asked for, so that a future dropped meanwhile undoes it.
        let mut savepoint = Savepoint {
            transaction: Rc::downgrade(&self.0),
            number,
            open: true,
        };
        let made = self.0.command(&format!("SAVEPOINT s{number}")).await;
        savepoint.open = made.is_ok();
        made.map(|()| savepoint)
    }

    pub(crate) async fn commit(&self) -> Result<()> {
        let own = self.0.own()?;
        let committed = self.0.pool.bounded(own.commit_unguarded()).await;
        if own.status() == tsumugi_pg_proto::TransactionStatus::Idle || committed.is_ok() {
            self.0.end("it was committed");
        }
        committed.map_err(|fault| {
            self.0
                .pool
                .attempt("COMMIT".into(), Vec::new())
                .fault(fault)
        })
    }

    pub(crate) async fn roll_back(&self) -> Result<()> {
        self.0.command("ROLLBACK").await?;
        self.0.end("it was rolled back");
        Ok(())
    }
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction").finish_non_exhaustive()
    }
}

impl Held {
    fn own(&self) -> Result<Own> {
        if self.streaming.get() {
            return Err(Error::usage(
                "a stream of this transaction is open: read it to its end or drop it first",
            ));
        }
        self.own.borrow().clone().ok_or(Error::Closed {
            what: "transaction",
            reason: self.ended.get(),
        })
    }

    fn end(&self, how: &'static str) {
        self.ended.set(how);
        self.own.borrow_mut().take();
    }

    async fn run(&self, sql: Arc<str>, values: Vec<Value>) -> Result<Lying> {
        let own = self.own()?;
        let plan = self.pool.plans.of(&sql);
        match plan.effect {
            Effect::None => {}
            Effect::Session => own.changed.set(true),
            Effect::Transaction if plan.sql.to_ascii_lowercase().contains("lock") => {}
            Effect::Transaction => return Err(self.pool.attempt(sql, values).usage(NESTED)),
            Effect::CopyIn => {
                let refusal = "COPY FROM STDIN takes data from the client: use copy_in";
                return Err(self.pool.attempt(sql, values).usage(refusal));
            }
        }
        let begun = self.pool.begun();
        let binds = Binds(&values);
        let rows = self.pool.bounded(own.query(&plan.sql, &binds)).await;
        self.pool.ended(begun, &sql, &values, rows)
    }

    async fn command(&self, sql: &str) -> Result<()> {
        let own = self.own()?;
        let run = self.pool.bounded(own.script(sql)).await;
        run.map_err(|fault| self.pool.attempt(sql.into(), Vec::new()).fault(fault))
    }
}

/// A point in a transaction. See [`crate::Savepoint`].
pub struct Savepoint {
    transaction: Weak<Held>,
    number: u32,
    open: bool,
}

impl Savepoint {
    pub(crate) async fn release(self) -> Result<()> {
        self.finish("RELEASE SAVEPOINT").await
    }

    pub(crate) async fn roll_back(self) -> Result<()> {
        self.finish("ROLLBACK TO SAVEPOINT").await
    }

    async fn finish(mut self, word: &str) -> Result<()> {
        let Some(transaction) = self.transaction.upgrade() else {
            return Err(Error::Closed {
                what: "transaction",
                reason: "it was dropped before its savepoint",
            });
        };
        transaction
            .command(&format!("{word} s{}", self.number))
            .await?;
        self.open = false;
        Ok(())
    }
}

impl std::fmt::Debug for Savepoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Savepoint").finish_non_exhaustive()
    }
}

impl Drop for Savepoint {
    fn drop(&mut self) {
        let transaction = self.transaction.upgrade().filter(|_| self.open);
        let own = transaction.and_then(|transaction| transaction.own.borrow().clone());
        if let Some(own) = own {
            // It is sent before whatever the transaction does next.
            own.tell(&format!("ROLLBACK TO SAVEPOINT s{}", self.number));
        }
    }
}

/// Rows that arrive in batches. See [`crate::RowStream`].
pub struct RowStream {
    rows: tsumugi_pg::RowStream,
    columns: Arc<Columns>,
    pool: Rc<Inner>,
    sql: Arc<str>,
    values: Vec<Value>,
    transaction: Weak<Held>,
    /// After `rows`, so that the pool gets it back when they are gone.
    _own: Own,
}

impl RowStream {
    pub(super) async fn begin(
        pool: &Rc<Inner>,
        own: Own,
        sql: Arc<str>,
        values: Vec<Value>,
    ) -> Result<RowStream> {
        let plan = pool.plans.of(&sql);
        let rows = own.stream(&plan.sql, &Binds(&values)).await;
        let rows = match rows {
            Ok(rows) => rows,
            Err(error) => return Err(pool.attempt(sql, values).driver(error)),
        };
        let columns = rows
            .columns()
            .derived(|columns| Arc::new(Columns::new(columns.iter().map(|column| &*column.name))));
        Ok(RowStream {
            rows,
            columns,
            pool: Rc::clone(pool),
            sql,
            values,
            transaction: Weak::new(),
            _own: own,
        })
    }

    pub(crate) fn columns(&self) -> &Arc<Columns> {
        &self.columns
    }

    pub(crate) async fn next(&mut self) -> Result<Option<Rows>> {
        let next = self.pool.bounded(self.rows.next()).await;
        let next = next.and_then(|rows| Ok(rows.map(Lying::new).transpose()?));
        let next = next.map_err(|fault| {
            let attempt = self
                .pool
                .attempt(Arc::clone(&self.sql), self.values.clone());
            attempt.fault(fault)
        });
        if !matches!(next, Ok(Some(_))) {
            self.finish();
        }
        next.map(|rows| rows.map(Rows::from))
    }

    fn finish(&self) {
        if let Some(transaction) = self.transaction.upgrade() {
            transaction.streaming.set(false);
        }
    }
}

impl Drop for RowStream {
    fn drop(&mut self) {
        self.finish();
    }
}

impl std::fmt::Debug for RowStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RowStream").finish_non_exhaustive()
    }
}
