//! The keys of a database in memory in their order, of all its parts together. Knows no values, no times and no part.
//! Rule: its lock is taken last, and held for one step; after keys were read, their parts are asked for the records.

use std::collections::BTreeSet;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use super::key::Key;
use crate::range::{KeyRange, ReadDirection};

/// Who changes a part that is locked changes this in the same step.
#[derive(Debug, Default)]
pub(super) struct Order(RwLock<BTreeSet<Key>>);

impl Order {
    pub(super) fn insert(&self, key: Key) {
        self.write().insert(key);
    }

    pub(super) fn remove(&self, key: &[u8]) {
        self.write().remove(key);
    }

    /// The least key.
    pub(super) fn first(&self) -> Option<Key> {
        self.read().first().cloned()
    }

    /// The first keys of a range that is not empty, at most `most`.
    pub(super) fn keys(&self, range: &KeyRange, most: usize) -> Vec<Key> {
        let keys = self.read();
        let keys = keys.range::<[u8], _>(range.bounds()).cloned();
        match range.direction {
            ReadDirection::Forward => keys.take(most).collect(),
            ReadDirection::Backward => keys.rev().take(most).collect(),
        }
    }

    /// Removes all keys, and returns them: freeing them may take long.
    #[must_use]
    pub(super) fn clear(&self) -> BTreeSet<Key> {
        std::mem::take(&mut self.write())
    }

    // A panic in here would be a bug of ours; the keys that others see are whole all the same.
    fn read(&self) -> RwLockReadGuard<'_, BTreeSet<Key>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, BTreeSet<Key>> {
        self.0.write().unwrap_or_else(PoisonError::into_inner)
    }
}
