//! A database as one application's VM has it: the connections, what each fibre has of its own, and the primary keys met so far.
//! Rule: a statement of a fibre runs in that fibre's innermost transaction or connection, and nobody else's; so it is with what keys it knows.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use tsumugi_db::{Database, Executor, PrimaryKeys, Session, Transaction};
use tsumugi_mruby::{Result, Scope, Value};
use tsumugi_sql::Dialect;

use super::target::{Running, own};
use crate::natives::{Natives, wrong_type};

/// What Ruby's `DB` carries.
pub(crate) struct Face {
    database: Database,
    /// What fibres have of their own, innermost last, by job.
    own: RefCell<HashMap<u64, Vec<Own>>>,
    keys: Rc<PrimaryKeys>,
}

enum Own {
    Session(Running<Session>),
    Transaction(Begun),
}

/// A transaction in Ruby's hands, and the keys that are known in it.
#[derive(Clone)]
pub(super) struct Begun {
    pub(super) running: Running<Transaction>,
    keys: Rc<PrimaryKeys>,
}

impl Begun {
    pub(super) fn new(transaction: Transaction, outer: &Rc<PrimaryKeys>) -> Begun {
        Begun {
            running: own(transaction),
            keys: Rc::new(PrimaryKeys::within(outer)),
        }
    }

    /// It has been committed.
    pub(super) fn kept(&self) {
        self.keys.kept();
    }

    /// Ends it, with a rollback if it has not been committed.
    pub(super) fn abandon(&self) {
        self.running.borrow_mut().take();
        drop(self.keys.ending());
    }
}

impl Face {
    pub(super) fn new(database: Database) -> Face {
        Face {
            database,
            own: RefCell::default(),
            keys: Rc::default(),
        }
    }

    pub(super) fn database(&self) -> &Database {
        &self.database
    }

    pub(crate) fn dialect(&self) -> &'static Dialect {
        self.database.dialect()
    }

    /// Where a statement of this job runs.
    pub(crate) fn target<'c>(&self, scope: &'c Scope<'c>, job: u64) -> Result<'c, Executor> {
        let own = self.own.borrow();
        let Some(innermost) = own.get(&job).and_then(|own| own.last()) else {
            return Ok(Executor::Database(self.database.clone()));
        };
        let over = |what| scope.error("DB::UsageError", format!("the {what} is over"));
        match innermost {
            Own::Session(running) => {
                let session = running.borrow().clone();
                session
                    .map(Executor::Session)
                    .ok_or_else(|| over("connection"))
            }
            Own::Transaction(begun) => {
                let transaction = begun.running.borrow().clone();
                transaction
                    .map(Executor::Transaction)
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

    /// The primary keys as this job knows them.
    pub(crate) fn keys(&self, job: u64) -> Rc<PrimaryKeys> {
        let own = self.own.borrow();
        let innermost = own.get(&job).and_then(|own| {
            own.iter().rev().find_map(|own| match own {
                Own::Transaction(begun) => Some(&begun.keys),
                Own::Session(_) => None,
            })
        });
        Rc::clone(innermost.unwrap_or(&self.keys))
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
        if let Some(begun) = scope.data::<Begun>(own) {
            face.enter(host.job.number(), Own::Transaction(begun.clone()));
            let database = face.database.clone();
            host.job.transactions().borrow_mut().push(database);
        } else if let Some(running) = scope.data::<Running<Session>>(own) {
            face.enter(host.job.number(), Own::Session(Rc::clone(running)));
        }
        Ok(Value::nil())
    })?;
    natives.plain("db_leave", |host, scope, call| {
        let job = host.job.number();
        let face = face(scope, call.argument(0))?;
        face.leave(job);
        if scope.data::<Begun>(call.argument(1)).is_some() {
            let mut transactions = host.job.transactions().borrow_mut();
            let is_this = |database: &Database| database.shares_connections_with(&face.database);
            if let Some(place) = transactions.iter().position(is_this) {
                transactions.swap_remove(place);
            }
        }
        Ok(Value::nil())
    })?;
    natives.plain("db_in_transaction?", |host, scope, call| {
        let is_transaction = |own: &Own| matches!(own, Own::Transaction(_));
        let face = face(scope, call.argument(0))?;
        Ok(Value::boolean(
            face.is_in(host.job.number(), is_transaction),
        ))
    })?;
    // Has this fibre a transaction of the same database that began elsewhere, on another connect to it?
    natives.plain("db_in_other_transaction?", |host, scope, call| {
        let face = face(scope, call.argument(0))?;
        let job = host.job.number();
        let is_same = |database: &Database| database.is_same_as(&face.database);
        let is_transaction = |own: &Own| matches!(own, Own::Transaction(_));
        let is_other = !face.is_in(job, is_transaction)
            && host.job.transactions().borrow().iter().any(is_same);
        Ok(Value::boolean(is_other))
    })?;
    natives.plain("db_has_own?", |host, scope, call| {
        let face = face(scope, call.argument(0))?;
        Ok(Value::boolean(face.is_in(host.job.number(), |_| true)))
    })
}
