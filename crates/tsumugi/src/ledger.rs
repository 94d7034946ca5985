//! What the applications of this worker have opened, for the admin pages: databases and key-value stores. Keeps none of them open.
//! Rule: a worker is one thread, so the list is that thread's, and a database or store is added without a worker at hand.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use tsumugi_db::{Database, DatabaseWatch};
use tsumugi_kv::KvSnapshot;
use tsumugi_stores::{Store, WeakStore};

thread_local! {
    static LEDGER: Ledger = Ledger::default();
}

/// The list of one worker. Cheap to clone.
#[derive(Clone, Default)]
pub(crate) struct Ledger {
    pub(crate) databases: Rc<RefCell<Vec<DatabaseWatch>>>,
    stores: Rc<RefCell<Vec<WeakStore>>>,
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
    pub(crate) fn keep(&self, store: &Store) {
        let mut stores = self.stores.borrow_mut();
        stores.retain(|store| store.upgrade().is_some());
        stores.push(store.downgrade());
    }

    /// The stores that are open.
    pub(crate) fn open_stores(&self) -> Vec<Store> {
        let stores = self.stores.borrow();
        stores.iter().filter_map(WeakStore::upgrade).collect()
    }

    /// The figures of the stores of this process that are open, by place. A server tells its own.
    pub(crate) fn stores(&self) -> Vec<(Arc<str>, KvSnapshot)> {
        let stores = self.stores.borrow();
        let open = stores.iter().filter_map(WeakStore::upgrade);
        open.filter_map(|store| Some((store.place(), store.database()?.metrics())))
            .collect()
    }
}
