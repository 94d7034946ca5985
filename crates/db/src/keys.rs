//! The primary keys of tables, which a database is asked for once. Rule: what is known is forgotten when tables have changed, by whatever
//! changes them or finds that a statement was not understood; what a transaction has learned is known outside of it when it is kept.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use tsumugi_sql::Name;
use tsumugi_sql::schema::Description;

use crate::error::{Error, Result};
use crate::limits::PRIMARY_KEYS_MAX;

/// The primary key of a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PrimaryKey {
    columns: Vec<Name>,
    is_number: bool,
}

impl PrimaryKey {
    /// Its columns; none if the table has no key.
    pub fn columns(&self) -> &[Name] {
        &self.columns
    }

    /// Whether it is one column of whole numbers.
    pub fn is_number(&self) -> bool {
        self.is_number
    }
}

impl From<&Description> for PrimaryKey {
    fn from(found: &Description) -> PrimaryKey {
        let columns = found.primary_key().iter();
        PrimaryKey {
            columns: columns.map(|column| Name::exact(column)).collect(),
            is_number: found.is_numbered(),
        }
    }
}

/// The keys that were met so far.
#[derive(Debug, Default)]
pub struct PrimaryKeys {
    known: RefCell<HashMap<Box<str>, Rc<PrimaryKey>>>,
    /// How often something was forgotten: what was asked before is not kept.
    forgotten: Cell<u64>,
    /// Whose keys a transaction knows until it changes tables.
    outer: Option<Outer>,
    has_changed: Cell<bool>,
    /// What is met from now on may be undone before the transaction ends, in more ways than are reported.
    learns_no_more: Cell<bool>,
}

/// The keys outside of a transaction.
#[derive(Debug)]
struct Outer {
    keys: Rc<PrimaryKeys>,
    /// How often something had been forgotten there when the transaction began.
    forgotten: u64,
}

impl PrimaryKeys {
    /// Those of a transaction, which knows what is known outside until it changes tables. What it learns is its own, because the tables that
    /// it has met may be undone with it.
    pub fn within(outer: &Rc<PrimaryKeys>) -> PrimaryKeys {
        PrimaryKeys {
            outer: Some(Outer {
                keys: Rc::clone(outer),
                forgotten: outer.forgotten.get(),
            }),
            ..PrimaryKeys::default()
        }
    }

    /// The key of a table, which `describe` is asked for unless it is known; nothing if there is no such table.
    pub async fn find(
        &self,
        table: &Name,
        describe: impl Future<Output = Result<Option<Description>>>,
    ) -> Result<Option<Rc<PrimaryKey>>> {
        if let Some(key) = self.known(table) {
            return Ok(Some(key));
        }
        let forgotten = self.forgotten.get();
        let Some(found) = describe.await? else {
            return Ok(None);
        };
        let key = Rc::new(PrimaryKey::from(&found));
        if self.forgotten.get() == forgotten {
            self.learn(table.as_str(), Rc::clone(&key));
        }
        Ok(Some(key))
    }

    pub(crate) fn known(&self, table: &Name) -> Option<Rc<PrimaryKey>> {
        let known = |keys: &PrimaryKeys| keys.known.borrow().get(table.as_str()).cloned();
        self.chain().find_map(known)
    }

    fn learn(&self, table: &str, key: Rc<PrimaryKey>) {
        if self.learns_no_more.get() {
            return;
        }
        let mut known = self.known.borrow_mut();
        if known.len() >= PRIMARY_KEYS_MAX {
            known.clear();
        }
        known.insert(table.into(), key);
    }

    /// These, and those outside whose knowledge is good here as well.
    fn chain(&self) -> impl Iterator<Item = &PrimaryKeys> {
        std::iter::successors(Some(self), |keys| {
            let outer = keys.outer.as_ref().filter(|_| !keys.has_changed.get());
            outer.map(|outer| &*outer.keys)
        })
    }

    /// Tables have been made, changed or dropped.
    pub fn forget_all(&self) {
        self.has_changed.set(true);
        self.forgotten.set(self.forgotten.get().wrapping_add(1));
        self.known.borrow_mut().clear();
    }

    /// Forgets them when tables have been changed, with whatever outcome: hold it meanwhile.
    pub fn changing(&self) -> Changing<'_> {
        Changing {
            keys: self,
            what: PrimaryKeys::forget_all,
        }
    }

    /// Lets others know of the tables that a transaction has changed, when it has ended: hold it until then.
    pub fn ending(&self) -> Changing<'_> {
        Changing {
            keys: self,
            what: PrimaryKeys::pass_on,
        }
    }

    fn pass_on(&self) {
        if let Some(outer) = self.outer.as_ref().filter(|_| self.has_changed.get()) {
            outer.keys.forget_all();
        }
    }

    /// The transaction has been committed: what it has learned is known outside, unless tables were changed meanwhile.
    pub fn commit(&self) {
        let Some(outer) = self.outer.as_ref().filter(|_| !self.has_changed.get()) else {
            return;
        };
        if outer.keys.forgotten.get() == outer.forgotten {
            for (table, key) in self.known.take() {
                outer.keys.learn(&table, key);
            }
        }
    }

    /// The transaction gets a savepoint: a part of it may be undone, and the tables that were met in it. From its first one on it learns nothing.
    pub fn savepoint(&self) {
        self.learns_no_more.set(self.outer.is_some());
    }

    /// A statement about the table failed: where it was not understood, the table may have been changed. SQLite understands a statement
    /// that it knows already, and says only when it runs that a column has gone.
    pub fn failed(&self, table: &Name, error: &Error) {
        let is_about_table = matches!(
            error,
            Error::Syntax { .. } | Error::UndefinedTable { .. } | Error::Database { .. }
        );
        if is_about_table {
            for keys in self.chain() {
                keys.forgotten.set(keys.forgotten.get().wrapping_add(1));
                keys.known.borrow_mut().remove(table.as_str());
            }
        }
    }
}

/// While tables are changed; [`PrimaryKeys::changing`] and [`PrimaryKeys::ending`] make it. Also a future that is dropped drops it.
#[must_use = "keys are forgotten when it is dropped"]
#[derive(Debug)]
pub struct Changing<'k> {
    keys: &'k PrimaryKeys,
    what: fn(&PrimaryKeys),
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        (self.what)(self.keys);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.build().unwrap().block_on(future)
    }

    /// Asks for the key of `t` and says whether the database was asked.
    async fn asks(keys: &PrimaryKeys) -> bool {
        let asked = Cell::new(false);
        let describe = async {
            asked.set(true);
            Ok(Some(Description::default()))
        };
        let found = keys.find(&Name::from("t"), describe).await;
        assert!(found.unwrap().is_some());
        asked.get()
    }

    #[test]
    fn keys_read_before_a_change_are_not_cached() {
        block_on(async {
            let keys = PrimaryKeys::default();
            let describe = async {
                keys.forget_all();
                Ok(Some(Description::default()))
            };
            keys.find(&Name::from("t"), describe).await.unwrap();
            assert!(asks(&keys).await);
            assert!(!asks(&keys).await);
            drop(keys.changing());
            assert!(asks(&keys).await);
        });
    }

    #[test]
    fn a_transaction_has_its_own_keys_as_soon_as_it_changes_tables() {
        block_on(async {
            let outer = Rc::new(PrimaryKeys::default());
            assert!(asks(&outer).await);
            let inner = PrimaryKeys::within(&outer);
            let ending = inner.ending();
            assert!(!asks(&inner).await);
            drop(inner.changing());
            assert!(asks(&inner).await);
            assert!(!asks(&inner).await);
            assert!(!asks(&outer).await);
            drop(ending);
            assert!(asks(&outer).await);
            let reading = PrimaryKeys::within(&outer);
            drop(reading.ending());
            assert!(!asks(&reading).await);
        });
    }

    #[test]
    fn keys_read_in_a_transaction_are_cached_after_its_commit() {
        block_on(async {
            let outer = Rc::new(PrimaryKeys::default());
            let undone = PrimaryKeys::within(&outer);
            assert!(asks(&undone).await);
            assert!(!asks(&undone).await);
            drop(undone.ending());
            assert!(asks(&outer).await);
            outer.forget_all();
            let kept = PrimaryKeys::within(&outer);
            assert!(asks(&kept).await);
            kept.commit();
            drop(kept.ending());
            assert!(!asks(&outer).await);
        });
    }

    #[test]
    fn from_its_first_savepoint_on_a_transaction_learns_nothing() {
        block_on(async {
            let outer = Rc::new(PrimaryKeys::default());
            let inner = PrimaryKeys::within(&outer);
            inner.savepoint();
            assert!(asks(&inner).await);
            assert!(asks(&inner).await);
            inner.commit();
            assert!(asks(&outer).await);
            assert!(!asks(&inner).await);
        });
    }

    #[test]
    fn keys_read_in_a_transaction_are_dropped_when_tables_changed_meanwhile() {
        block_on(async {
            let outer = Rc::new(PrimaryKeys::default());
            let inner = PrimaryKeys::within(&outer);
            assert!(asks(&inner).await);
            drop(outer.changing());
            inner.commit();
            assert!(asks(&outer).await);
        });
    }

    #[test]
    fn a_table_that_is_not_there_has_no_key_and_is_asked_for_again() {
        block_on(async {
            let keys = PrimaryKeys::default();
            let missing = keys.find(&Name::from("t"), async { Ok(None) }).await;
            assert!(missing.unwrap().is_none());
            assert!(asks(&keys).await);
        });
    }
}
