//! A database as one application's VM has it: the connections, what each fibre has of its own, and the primary keys met so far.
//! Rule: a statement of a fibre runs in that fibre's innermost transaction or connection; the primary keys that it knows are those of its transaction too.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use tsumugi_db::{Database, Executor, PrimaryKeys, Session, Transaction, bookkeeping};
use tsumugi_mruby::{Result, Root, Scope, Value};
use tsumugi_sql::Dialect;

use super::handles::{SharedHandle, shared_handle};
use crate::host::Host;
use crate::natives::arguments::data;
use crate::natives::definitions::Natives;

/// What Ruby's `DB` carries.
pub(crate) struct VmDatabase {
    database: Database,
    /// What fibres have of their own, innermost last, by job.
    own: Rc<RefCell<HashMap<u64, Vec<FibreConnection>>>>,
    keys: Rc<PrimaryKeys>,
    /// Where the statements of a fibre go that has nothing of its own.
    purpose: Purpose,
}

/// What a database is for in Ruby's hands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Purpose {
    Everything,
    Reading,
}

/// What the statements of a fibre run on.
enum FibreConnection {
    Session(SharedHandle<Session>),
    Transaction(TransactionHandle),
    /// Those of `db.read`.
    Reads,
}

/// A transaction that Ruby holds, and the primary keys that are known in it.
#[derive(Clone)]
pub(super) struct TransactionHandle {
    pub(super) running: SharedHandle<Transaction>,
    keys: Rc<PrimaryKeys>,
    /// A part of it was committed before its end.
    is_kept: Rc<Cell<bool>>,
    /// Blocks whose commit has come, in their order.
    committed: Rc<RefCell<Vec<Root>>>,
    kind: TransactionKind,
}

/// What a transaction was begun for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TransactionKind {
    /// What an author has written into it.
    Application,
    /// A migration, seeds or a change of tables: it holds the lock of the schema.
    SchemaChange,
}

impl TransactionHandle {
    pub(super) fn new(
        transaction: Transaction,
        kind: TransactionKind,
        outer: &Rc<PrimaryKeys>,
    ) -> TransactionHandle {
        TransactionHandle {
            running: shared_handle(transaction),
            keys: Rc::new(PrimaryKeys::within(outer)),
            is_kept: Rc::default(),
            committed: Rc::default(),
            kind,
        }
    }

    /// Commits it, once it was taken.
    pub(super) async fn commit(&self, transaction: &Transaction) -> tsumugi_db::Result<()> {
        match self.kind {
            TransactionKind::Application => transaction.commit().await?,
            // No author has written that it ends.
            TransactionKind::SchemaChange => bookkeeping(transaction.commit()).await?,
        }
        self.committed();
        Ok(())
    }

    /// Keeps what was learnt in it, now that it is committed.
    pub(super) fn committed(&self) {
        self.keys.commit();
    }

    /// Keeps a block for the time after the commit; false when the transaction is over.
    fn after_commit(&self, block: Root) -> bool {
        let running = self.running.borrow();
        let Some(transaction) = &*running else {
            return false;
        };
        let committed = Rc::clone(&self.committed);
        transaction.after_commit(move || committed.borrow_mut().push(block));
        true
    }

    /// Takes it, to end it.
    pub(super) fn take(&self) -> Option<Rc<Transaction>> {
        let taken = self.running.borrow_mut().take();
        if let Some(transaction) = &taken {
            self.is_kept.set(transaction.has_kept_changes());
        }
        taken
    }

    /// Whether a part of it was committed before its end, once that has come.
    pub(super) fn is_kept(&self) -> bool {
        self.is_kept.get()
    }

    /// Ends it, with a rollback if it has not been committed.
    pub(super) fn abandon(&self) {
        drop(self.take());
        drop(self.keys.ending());
    }
}

impl VmDatabase {
    pub(super) fn new(database: Database) -> VmDatabase {
        VmDatabase {
            database,
            own: Rc::default(),
            keys: Rc::default(),
            purpose: Purpose::Everything,
        }
    }

    /// The same database, to be read.
    fn reading(&self) -> VmDatabase {
        VmDatabase {
            database: self.database.clone(),
            own: Rc::clone(&self.own),
            keys: Rc::clone(&self.keys),
            purpose: Purpose::Reading,
        }
    }

    /// Whether a query of this one can be sent with those of the other.
    pub(crate) fn is_same_as(&self, other: &VmDatabase) -> bool {
        Rc::ptr_eq(&self.own, &other.own)
    }

    pub(crate) fn database(&self) -> &Database {
        &self.database
    }

    pub(crate) fn dialect(&self) -> &'static Dialect {
        self.database.dialect()
    }

    /// Where a statement of this job runs.
    pub(crate) fn executor<'c>(&self, scope: &'c Scope<'c>, job: u64) -> Result<'c, Executor> {
        let own = self.own.borrow();
        let Some(innermost) = own.get(&job).and_then(|own| own.last()) else {
            let database = self.database.clone();
            return Ok(match self.purpose {
                Purpose::Everything => Executor::Database(database),
                Purpose::Reading => Executor::Read(database),
            });
        };
        let over = |what| scope.error("DB::UsageError", format!("the {what} is over"));
        match innermost {
            FibreConnection::Reads => Ok(Executor::Read(self.database.clone())),
            FibreConnection::Session(handle) => {
                let session = handle.borrow().clone();
                session
                    .map(Executor::Session)
                    .ok_or_else(|| over("connection"))
            }
            FibreConnection::Transaction(handle) => {
                let transaction = handle.running.borrow().clone();
                transaction
                    .map(Executor::Transaction)
                    .ok_or_else(|| over("transaction"))
            }
        }
    }

    /// The transaction that statements of this job run in.
    pub(super) fn transaction(&self, job: u64) -> Option<TransactionHandle> {
        match self.own.borrow().get(&job)?.last()? {
            FibreConnection::Transaction(handle) => Some(handle.clone()),
            FibreConnection::Session(_) | FibreConnection::Reads => None,
        }
    }

    fn is_in(&self, job: u64, what: impl Fn(&FibreConnection) -> bool) -> bool {
        let own = self.own.borrow();
        own.get(&job).is_some_and(|own| own.iter().any(what))
    }

    fn enter(&self, job: u64, own: FibreConnection) {
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

    /// The innermost transaction of this job, whatever is within it.
    fn innermost(&self, job: u64) -> Option<TransactionHandle> {
        let own = self.own.borrow();
        own.get(&job)?.iter().rev().find_map(|own| match own {
            FibreConnection::Transaction(handle) => Some(handle.clone()),
            FibreConnection::Session(_) | FibreConnection::Reads => None,
        })
    }

    /// The primary keys as this job knows them.
    pub(crate) fn keys(&self, job: u64) -> Rc<PrimaryKeys> {
        let innermost = self.innermost(job);
        innermost.map_or_else(|| Rc::clone(&self.keys), |handle| handle.keys)
    }
}

/// The database that Ruby holds.
pub(crate) fn vm_database<'c>(
    scope: &'c Scope<'c>,
    holder: Value<'c>,
) -> Result<'c, &'c Rc<VmDatabase>> {
    data(scope, holder, "the connection", "a database")
}

/// Where a statement of the running fibre on this database runs.
pub(crate) fn executor<'c>(
    host: &Host,
    scope: &'c Scope<'c>,
    holder: Value<'c>,
) -> Result<'c, Executor> {
    vm_database(scope, holder)?.executor(scope, host.job.number())
}

/// Refuses what takes a transaction of its own and would wait for one of this job's on another connect to the same database.
pub(super) fn refuse_beside_transaction<'c>(
    host: &Host,
    scope: &'c Scope<'c>,
    database: &VmDatabase,
) -> Result<'c, ()> {
    let is_transaction = |own: &FibreConnection| matches!(own, FibreConnection::Transaction(_));
    let is_same = |other: &Database| other.is_same_as(&database.database);
    if database.is_in(host.job.number(), is_transaction)
        || !host.job.transactions().borrow().iter().any(is_same)
    {
        return Ok(());
    }
    let message = "a transaction of this fibre is open on this database by another connect: this would wait for it";
    Err(scope.error("DB::UsageError", message))
}

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    // This fibre's statements go to this transaction or connection until `db_leave`.
    natives.plain("db_enter", |host, scope, call| {
        let database = vm_database(scope, call.argument(0))?;
        let own = call.argument(1);
        if let Some(handle) = scope.data::<TransactionHandle>(own) {
            database.enter(
                host.job.number(),
                FibreConnection::Transaction(handle.clone()),
            );
            let database = database.database.clone();
            host.job.transactions().borrow_mut().push(database);
        } else if let Some(running) = scope.data::<SharedHandle<Session>>(own) {
            database.enter(
                host.job.number(),
                FibreConnection::Session(Rc::clone(running)),
            );
        }
        Ok(Value::nil())
    })?;
    // This fibre's statements may go to replicas until `db_leave`.
    natives.plain("db_enter_reads", |host, scope, call| {
        let database = vm_database(scope, call.argument(0))?;
        database.enter(host.job.number(), FibreConnection::Reads);
        Ok(Value::nil())
    })?;
    natives.plain("db_reads", |_, scope, call| {
        let reads = vm_database(scope, call.argument(0))?.reading();
        scope.wrap_as("Tsumugi::Native::Database", Rc::new(reads))
    })?;
    natives.plain("db_leave", |host, scope, call| {
        let job = host.job.number();
        let database = vm_database(scope, call.argument(0))?;
        database.leave(job);
        if scope.data::<TransactionHandle>(call.argument(1)).is_some() {
            let mut transactions = host.job.transactions().borrow_mut();
            let is_this = |other: &Database| other.shares_connections_with(&database.database);
            if let Some(place) = transactions.iter().position(is_this) {
                transactions.swap_remove(place);
            }
        }
        Ok(Value::nil())
    })?;
    natives.plain("db_in_transaction?", |host, scope, call| {
        let is_transaction = |own: &FibreConnection| matches!(own, FibreConnection::Transaction(_));
        let database = vm_database(scope, call.argument(0))?;
        Ok(Value::boolean(
            database.is_in(host.job.number(), is_transaction),
        ))
    })?;
    install_commits(natives)?;
    natives.plain("db_has_own?", |host, scope, call| {
        let database = vm_database(scope, call.argument(0))?;
        Ok(Value::boolean(database.is_in(host.job.number(), |_| true)))
    })
}

fn install_commits<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    // Keeps a block until the transaction of this fibre has committed; false where there is none.
    natives.plain("db_after_commit", |host, scope, call| {
        let database = vm_database(scope, call.argument(0))?;
        let Some(handle) = database.innermost(host.job.number()) else {
            return Ok(Value::boolean(false));
        };
        let block = scope.root(call.argument(1))?;
        Ok(Value::boolean(handle.after_commit(block)))
    })?;
    // The blocks whose commit has come, once.
    natives.plain("db_committed", |_, scope, call| {
        let handle = scope.data::<TransactionHandle>(call.argument(0));
        let committed = handle.map(|handle| handle.committed.take());
        let committed = committed.unwrap_or_default();
        let blocks: Vec<Value<'_>> = committed.iter().map(|block| scope.rooted(block)).collect();
        scope.array_of(&blocks)
    })
}
