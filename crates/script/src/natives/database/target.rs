//! Where a statement runs: on a connection of the database's choice, on the fibre's own, or in its transaction.
//! Rule: what Ruby holds on to after its end is empty, and says so.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use tsumugi_db::{
    Atomicity, CopyIn, CopyOut, Database, Executed, RowStream, Rows, Session, Transaction,
    TransactionOptions, Value as Bind,
};
use tsumugi_mruby::{Result, Scope, Value};
use tsumugi_sql::Name;
use tsumugi_sql::schema::Description;

use crate::natives::wrong_type;

/// A transaction or a session in Ruby's hands; `None` once it has ended.
pub(super) type Running<T> = Rc<RefCell<Option<Rc<T>>>>;

pub(super) fn own<T>(value: T) -> Running<T> {
    Rc::new(RefCell::new(Some(Rc::new(value))))
}

/// Where a statement runs.
pub(super) enum Target {
    Database(Database),
    Session(Rc<Session>),
    Transaction(Rc<Transaction>),
}

/// What the native object of a database stands for.
pub(super) fn target<'c>(scope: &'c Scope<'c>, holder: Value<'c>) -> Result<'c, Target> {
    if let Some(database) = scope.data::<Database>(holder) {
        return Ok(Target::Database(database.clone()));
    }
    if let Some(running) = scope.data::<Running<Transaction>>(holder) {
        let transaction = running.borrow().clone();
        let over = || scope.error("DB::UsageError", "the transaction is over");
        return transaction.map(Target::Transaction).ok_or_else(over);
    }
    if let Some(running) = scope.data::<Running<Session>>(holder) {
        let session = running.borrow().clone();
        let over = || scope.error("DB::UsageError", "the connection was given back");
        return session.map(Target::Session).ok_or_else(over);
    }
    Err(wrong_type(scope, holder, "the connection", "a database"))
}

impl Target {
    pub(super) async fn query(&self, sql: String, binds: Vec<Bind>) -> tsumugi_db::Result<Rows> {
        match self {
            Target::Database(database) => database.query(sql, binds).await,
            Target::Session(session) => session.query(sql, binds).await,
            Target::Transaction(transaction) => transaction.query(sql, binds).await,
        }
    }

    pub(super) async fn describe(&self, table: Name) -> tsumugi_db::Result<Option<Description>> {
        match self {
            Target::Database(database) => database.describe(table).await,
            Target::Session(session) => session.describe(table).await,
            Target::Transaction(transaction) => transaction.describe(table).await,
        }
    }

    pub(super) async fn execute(
        &self,
        sql: impl Into<Arc<str>>,
        binds: Vec<Bind>,
    ) -> tsumugi_db::Result<Executed> {
        match self {
            Target::Database(database) => database.execute(sql, binds).await,
            Target::Session(session) => session.execute(sql, binds).await,
            Target::Transaction(transaction) => transaction.execute(sql, binds).await,
        }
    }

    pub(super) async fn stream(
        &self,
        sql: String,
        binds: Vec<Bind>,
    ) -> tsumugi_db::Result<RowStream> {
        match self {
            Target::Database(database) => database.stream(sql, binds).await,
            Target::Session(session) => session.stream(sql, binds).await,
            Target::Transaction(transaction) => transaction.stream(sql, binds).await,
        }
    }

    pub(super) async fn script(&self, sql: String) -> tsumugi_db::Result<()> {
        match self {
            Target::Database(database) => database.execute_script(sql).await,
            Target::Session(session) => session.execute_script(sql).await,
            Target::Transaction(transaction) => transaction.execute_script(sql).await,
        }
    }

    pub(super) async fn pipeline(
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

    /// Ruby's nested transactions join before they come here.
    pub(super) async fn begin(
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

    pub(super) async fn copy_in(&self, sql: String) -> tsumugi_db::Result<CopyIn> {
        match self {
            Target::Database(database) => database.copy_in(sql).await,
            Target::Session(session) => session.copy_in(sql).await,
            Target::Transaction(transaction) => transaction.copy_in(sql).await,
        }
    }

    pub(super) async fn copy_out(&self, sql: String) -> tsumugi_db::Result<CopyOut> {
        match self {
            Target::Database(database) => database.copy_out(sql).await,
            Target::Session(session) => session.copy_out(sql).await,
            Target::Transaction(transaction) => transaction.copy_out(sql).await,
        }
    }
}
