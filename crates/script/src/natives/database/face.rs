//! A database as one application's VM has it: the connections, what each fibre has of its own, and the primary keys met so far.
//! Rule: a statement of a fibre runs in that fibre's innermost transaction or connection, and nobody else's.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use tsumugi_db::{Database, PrimaryKey, PrimaryKeys, Session, Transaction};
use tsumugi_mruby::{Result, Scope, Value};
use tsumugi_sql::{Dialect, Name};

use super::target::{Running, Target};
use crate::natives::{Natives, wrong_type};

/// What Ruby's `DB` carries.
pub(crate) struct Face {
    database: Database,
    /// What fibres have of their own, innermost last, by job.
    own: RefCell<HashMap<u64, Vec<Own>>>,
    keys: PrimaryKeys,
}

enum Own {
    Session(Running<Session>),
    Transaction(Running<Transaction>),
}

impl Face {
    pub(super) fn new(database: Database) -> Face {
        Face {
            database,
            own: RefCell::default(),
            keys: PrimaryKeys::default(),
        }
    }

    pub(super) fn database(&self) -> &Database {
        &self.database
    }

    pub(crate) fn dialect(&self) -> &'static Dialect {
        self.database.dialect()
    }

    /// Where a statement of this job runs.
    pub(crate) fn target<'c>(&self, scope: &'c Scope<'c>, job: u64) -> Result<'c, Target> {
        let own = self.own.borrow();
        let Some(innermost) = own.get(&job).and_then(|own| own.last()) else {
            return Ok(Target::Database(self.database.clone()));
        };
        let over = |what| scope.error("DB::UsageError", format!("the {what} is over"));
        match innermost {
            Own::Session(running) => {
                let session = running.borrow().clone();
                session
                    .map(Target::Session)
                    .ok_or_else(|| over("connection"))
            }
            Own::Transaction(running) => {
                let transaction = running.borrow().clone();
                transaction
                    .map(Target::Transaction)
                    .ok_or_else(|| over("transaction"))
            }
        }
    }

    fn is_in(&self, job: u64, what: impl Fn(&Own) -> bool) -> bool {
        let own = self.own.borrow();
        own.get(&job).is_some_and(|own| own.iter().any(what))
    }

    fn enter(&self, job: u64, own: Own) {
        self.own.borrow_mut().entry(job).or_default().push(own);
    }

    fn leave(&self, job: u64) {
        let mut all = self.own.borrow_mut();
        if let Some(own) = all.get_mut(&job) {
            own.pop();
            if own.is_empty() {
                all.remove(&job);
            }
        }
    }

    /// The primary key of a table, which the database is asked for once; none where there is no such table.
    pub(crate) async fn primary_key(
        &self,
        target: &Target,
        table: &Name,
    ) -> tsumugi_db::Result<Rc<PrimaryKey>> {
        let describe = target.describe(table.clone());
        let key = self.keys.find(table, describe).await?;
        Ok(key.unwrap_or_default())
    }

    /// Tables have been made, changed or dropped.
    pub(crate) fn forget_keys(&self) {
        self.keys.forget_all();
    }

    /// A statement about the table failed: it may have been changed.
    pub(crate) fn key_failed(&self, table: &Name, error: &tsumugi_db::Error) {
        self.keys.failed(table, error);
    }
}

/// The database that Ruby holds.
pub(crate) fn face<'c>(scope: &'c Scope<'c>, holder: Value<'c>) -> Result<'c, &'c Rc<Face>> {
    scope
        .data::<Rc<Face>>(holder)
        .ok_or_else(|| wrong_type(scope, holder, "the connection", "a database"))
}

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    // This fibre's statements go to this transaction or connection until `db_leave`.
    natives.plain("db_enter", |host, scope, call| {
        let face = face(scope, call.argument(0))?;
        let own = call.argument(1);
        if let Some(running) = scope.data::<Running<Transaction>>(own) {
            face.enter(host.job.get(), Own::Transaction(Rc::clone(running)));
            host.transactions.borrow_mut().push(host.job.get());
        } else if let Some(running) = scope.data::<Running<Session>>(own) {
            face.enter(host.job.get(), Own::Session(Rc::clone(running)));
        }
        Ok(Value::nil())
    })?;
    natives.plain("db_leave", |host, scope, call| {
        let job = host.job.get();
        face(scope, call.argument(0))?.leave(job);
        if scope
            .data::<Running<Transaction>>(call.argument(1))
            .is_some()
        {
            let mut transactions = host.transactions.borrow_mut();
            if let Some(place) = transactions.iter().position(|own| *own == job) {
                transactions.swap_remove(place);
            }
        }
        Ok(Value::nil())
    })?;
    natives.plain("db_in_transaction?", |host, scope, call| {
        let is_transaction = |own: &Own| matches!(own, Own::Transaction(_));
        let face = face(scope, call.argument(0))?;
        Ok(Value::boolean(face.is_in(host.job.get(), is_transaction)))
    })?;
    natives.plain("db_has_own?", |host, scope, call| {
        let face = face(scope, call.argument(0))?;
        Ok(Value::boolean(face.is_in(host.job.get(), |_| true)))
    })
}
