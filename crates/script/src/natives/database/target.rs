//! Where a statement runs: on a connection of the database's choice, on the fibre's own, or in its transaction.
//! Rule: what Ruby holds on to after its end is empty, and says so.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use tsumugi_db::{
    Atomicity, BatchSize, CopyIn, CopyOut, Database, Executed, PrimaryKey, PrimaryKeys, RowStream,
    Rows, Savepoint, Session, Transaction, TransactionOptions, Value as Bind,
};
use tsumugi_mruby::{Result, Scope, Value};
use tsumugi_sql::Name;
use tsumugi_sql::schema::Description;

use super::face::face;
use crate::host::Host;

/// A transaction or a session in Ruby's hands; `None` once it has ended.
pub(crate) type Running<T> = Rc<RefCell<Option<Rc<T>>>>;

pub(super) fn own<T>(value: T) -> Running<T> {
    Rc::new(RefCell::new(Some(Rc::new(value))))
}

/// Where a statement runs.
pub(crate) enum Target {
    Database(Database),
    Session(Rc<Session>),
    Transaction(Rc<Transaction>),
}

/// Where a statement of the running fibre on this database runs.
pub(super) fn target<'c>(
    host: &Host,
    scope: &'c Scope<'c>,
    holder: Value<'c>,
) -> Result<'c, Target> {
    face(scope, holder)?.target(scope, host.job.get())
}

impl Target {
    pub(crate) async fn query(
        &self,
        sql: impl Into<Arc<str>>,
        binds: Vec<Bind>,
    ) -> tsumugi_db::Result<Rows> {
        match self {
            Target::Database(database) => database.query(sql, binds).await,
            // Boxed, so that the future of the one above stays small.
            Target::Session(session) => Box::pin(session.query(sql, binds)).await,
            Target::Transaction(transaction) => Box::pin(transaction.query(sql, binds)).await,
        }
    }

    pub(crate) async fn execute(
        &self,
        sql: impl Into<Arc<str>>,
        binds: Vec<Bind>,
    ) -> tsumugi_db::Result<Executed> {
        match self {
            Target::Database(database) => database.execute(sql, binds).await,
            // Boxed, so that the future of the one above stays small.
            Target::Session(session) => Box::pin(session.execute(sql, binds)).await,
            Target::Transaction(transaction) => Box::pin(transaction.execute(sql, binds)).await,
        }
    }

    pub(crate) async fn stream(
        &self,
        sql: impl Into<Arc<str>>,
        binds: Vec<Bind>,
        by: BatchSize,
    ) -> tsumugi_db::Result<RowStream> {
        match self {
            Target::Database(database) => database.stream_by(sql, binds, by).await,
            Target::Session(session) => session.stream_by(sql, binds, by).await,
            Target::Transaction(transaction) => transaction.stream_by(sql, binds, by).await,
        }
    }

    /// What the database says of a table.
    pub(crate) async fn describe(&self, table: Name) -> tsumugi_db::Result<Option<Description>> {
        match self {
            Target::Database(database) => database.describe(table).await,
            Target::Session(session) => session.describe(table).await,
            Target::Transaction(transaction) => transaction.describe(table).await,
        }
    }

    /// The primary key of a table, which the database is asked for unless it is known; an empty one where there is no such table.
    pub(crate) async fn primary_key(
        &self,
        keys: &PrimaryKeys,
        table: &Name,
    ) -> tsumugi_db::Result<Rc<PrimaryKey>> {
        let key = keys.find(table, self.describe(table.clone())).await?;
        Ok(key.unwrap_or_default())
    }

    /// Whether it is the turn of this transaction to change the schema.
    pub(crate) async fn has_schema(&self) -> tsumugi_db::Result<bool> {
        match self {
            Target::Transaction(transaction) => transaction.has_schema().await,
            Target::Database(_) | Target::Session(_) => Err(tsumugi_db::Error::Closed {
                what: "transaction",
                reason: "there is none that could hold the lock",
            }),
        }
    }

    /// Runs a statement about no table that the transaction has changed.
    pub(crate) async fn run_beside_changes(
        &self,
        sql: impl Into<Arc<str>>,
        binds: Vec<Bind>,
    ) -> tsumugi_db::Result<Rows> {
        match self {
            Target::Transaction(transaction) => transaction.run_beside_changes(sql, binds).await,
            Target::Database(_) | Target::Session(_) => self.query(sql, binds).await,
        }
    }

    /// Whether changes of tables have been committed before the end of the transaction.
    pub(crate) fn has_kept_changes(&self) -> bool {
        match self {
            Target::Transaction(transaction) => transaction.has_kept_changes(),
            Target::Database(_) | Target::Session(_) => false,
        }
    }

    /// Runs several statements, all or none, and says how many rows they changed.
    pub(crate) async fn atomically(
        &self,
        statements: Vec<(Arc<str>, Vec<Bind>)>,
    ) -> tsumugi_db::Result<u64> {
        if let [_] = statements.as_slice() {
            let mut affected = 0;
            for (sql, binds) in statements {
                affected += self.execute(sql, binds).await?.affected;
            }
            return Ok(affected);
        }
        let mut affected = 0;
        if let Target::Transaction(transaction) = self {
            // Of a caller who goes on after an error nothing is kept.
            let savepoint = transaction.savepoint().await?;
            for (sql, binds) in statements {
                affected += transaction.execute(sql, binds).await?.affected;
            }
            savepoint.release().await?;
            return Ok(affected);
        }
        let transaction = self.begin(TransactionOptions::default()).await?;
        for (sql, binds) in statements {
            affected += transaction.execute(sql, binds).await?.affected;
        }
        transaction.commit().await?;
        Ok(affected)
    }

    /// The rows of several statements, of which all run or none.
    pub(crate) async fn fetch_atomically(
        &self,
        statements: Vec<(Arc<str>, Vec<Bind>)>,
    ) -> tsumugi_db::Result<Vec<Rows>> {
        let mut results = Vec::with_capacity(statements.len());
        if let Target::Transaction(transaction) = self {
            let savepoint = transaction.savepoint().await?;
            for (sql, binds) in statements {
                results.push(transaction.query(sql, binds).await?);
            }
            savepoint.release().await?;
            return Ok(results);
        }
        let transaction = self.begin(TransactionOptions::default()).await?;
        for (sql, binds) in statements {
            results.push(transaction.query(sql, binds).await?);
        }
        transaction.commit().await?;
        Ok(results)
    }

    pub(crate) async fn script(&self, sql: impl Into<Arc<str>>) -> tsumugi_db::Result<()> {
        match self {
            Target::Database(database) => database.execute_script(sql).await,
            Target::Session(session) => session.execute_script(sql).await,
            Target::Transaction(transaction) => transaction.execute_script(sql).await,
        }
    }

    pub(crate) async fn pipeline(
        &self,
        statements: Vec<(Arc<str>, Vec<Bind>)>,
        atomicity: Atomicity,
    ) -> tsumugi_db::Result<Vec<tsumugi_db::Result<Rows>>> {
        match self {
            Target::Database(database) => database.pipeline(statements, atomicity).await,
            Target::Session(session) => session.pipeline(statements, atomicity).await,
            Target::Transaction(transaction) => transaction.pipeline(statements).await,
        }
    }

    pub(crate) async fn savepoint(&self) -> tsumugi_db::Result<Savepoint> {
        match self {
            Target::Transaction(transaction) => transaction.savepoint().await,
            Target::Database(_) | Target::Session(_) => Err(tsumugi_db::Error::Closed {
                what: "transaction",
                reason: "there is none to mark a point in",
            }),
        }
    }

    /// Ruby's nested transactions join before they come here.
    pub(crate) async fn begin(
        &self,
        options: TransactionOptions,
    ) -> tsumugi_db::Result<Transaction> {
        match self {
            Target::Database(database) => database.begin(options).await,
            Target::Session(session) => session.begin(options).await,
            Target::Transaction(_) => Err(tsumugi_db::Error::Closed {
                what: "transaction",
                reason: "another one is running in it",
            }),
        }
    }

    pub(crate) async fn copy_in(&self, sql: impl Into<Arc<str>>) -> tsumugi_db::Result<CopyIn> {
        match self {
            Target::Database(database) => database.copy_in(sql).await,
            Target::Session(session) => session.copy_in(sql).await,
            Target::Transaction(transaction) => transaction.copy_in(sql).await,
        }
    }

    pub(crate) async fn copy_out(&self, sql: impl Into<Arc<str>>) -> tsumugi_db::Result<CopyOut> {
        match self {
            Target::Database(database) => database.copy_out(sql).await,
            Target::Session(session) => session.copy_out(sql).await,
            Target::Transaction(transaction) => transaction.copy_out(sql).await,
        }
    }
}
