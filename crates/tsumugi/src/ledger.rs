//! What the applications of this worker have opened, for the admin pages: databases and key-value stores. Keeps none of them open.
//! Rule: a worker is one thread, so the list is that thread's, and a database or store is added without a worker at hand.

use std::cell::RefCell;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use tsumugi_db::{Database, DatabaseWatch};
use tsumugi_kv::KvSnapshot;

thread_local! {
    static LEDGER: Ledger = Ledger::default();
}

/// The list of one worker. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Ledger {
    pub(crate) databases: Rc<RefCell<Vec<DatabaseWatch>>>,
    stores: Rc<RefCell<Vec<Weak<tsumugi_kv::KvDatabase>>>>,
}

impl Ledger {
    /// That of this thread.
    pub(crate) fn here() -> Ledger {
        LEDGER.with(Ledger::clone)
    }

    /// One more database.
    pub(crate) fn watch(&self, database: &Database) {
        let database = database.watch();
        let mut databases = self.databases.borrow_mut();
        databases.retain(|known| known.snapshot().is_some() && !known.is(&database));
        databases.push(database);
    }

    /// One more store.
    pub(crate) fn keep(&self, store: &Rc<tsumugi_kv::KvDatabase>) {
        let mut stores = self.stores.borrow_mut();
        stores.retain(|store| store.strong_count() > 0);
        stores.push(Rc::downgrade(store));
    }

    /// The figures of the stores that are open, by place.
    pub(crate) fn stores(&self) -> Vec<(Arc<str>, KvSnapshot)> {
        let stores = self.stores.borrow();
        let open = stores.iter().filter_map(Weak::upgrade);
        open.map(|store| (store.place(), store.metrics())).collect()
    }
}
