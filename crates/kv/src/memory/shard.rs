//! One part of a database in memory: its records by key, in the order of their last use, and in the order they expire.
//! Knows no lock, no capacity, no clock and no order of keys. Rule: the table and the orders hold the same records at all times.

use std::collections::BTreeSet;

use bytes::Bytes;
use hashbrown::HashTable;

use super::key::Key;
use crate::limits::RECORD_OVERHEAD_BYTES;
use crate::record::StoredRecord;

/// The end of a list, and of the free slots.
const NONE: u32 = u32::MAX;

/// What a record is charged against the capacity.
pub(super) fn cost(key: &[u8], value_bytes: usize) -> u64 {
    (key.len() + value_bytes) as u64 + RECORD_OVERHEAD_BYTES
}

/// Longest value that is kept in its slot: another allocation would cost a read more of memory that is in no cache.
const SHORT_BYTES_MAX: usize = 30;

#[derive(Debug)]
enum Value {
    Short {
        length: u8,
        bytes: [u8; SHORT_BYTES_MAX],
    },
    Long(Bytes),
}

impl Value {
    fn new(value: Bytes) -> Self {
        let mut bytes = [0; SHORT_BYTES_MAX];
        match (bytes.get_mut(..value.len()), u8::try_from(value.len())) {
            (Some(start), Ok(length)) => {
                start.copy_from_slice(&value);
                Self::Short { length, bytes }
            }
            _ => Self::Long(compact(&value)),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Short { length, .. } => usize::from(*length),
            Self::Long(value) => value.len(),
        }
    }

    fn bytes(&self) -> Bytes {
        match self {
            Self::Short { length, bytes } => Bytes::copy_from_slice(&bytes[..usize::from(*length)]),
            Self::Long(value) => value.clone(),
        }
    }
}

/// Whether the order of last use is kept; it is not needed when nothing is evicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Recency {
    Kept,
    Ignored,
}

#[derive(Debug)]
struct Slot {
    hash: u64,
    key: Key,
    value: Value,
    expires_ms: u64,
    newer: u32,
    older: u32,
}

impl Slot {
    fn record(&self) -> StoredRecord {
        StoredRecord {
            value: self.value.bytes(),
            expires_ms: self.expires_ms,
        }
    }
}

#[derive(Debug)]
pub(super) struct Shard {
    table: HashTable<u32>,
    slots: Vec<Option<Slot>>,
    free: Vec<u32>,
    newest: u32,
    oldest: u32,
    expiring: BTreeSet<(u64, Key)>,
    recency: Recency,
    /// Counted here, where a lock is held anyway.
    pub(super) reads: u64,
    pub(super) hits: u64,
    pub(super) bytes_read: u64,
}

impl Shard {
    pub(super) fn new(recency: Recency) -> Self {
        Self {
            table: HashTable::new(),
            slots: Vec::new(),
            free: Vec::new(),
            newest: NONE,
            oldest: NONE,
            expiring: BTreeSet::new(),
            recency,
            reads: 0,
            hits: 0,
            bytes_read: 0,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    /// The record, expired or not; it counts as used.
    pub(super) fn used(&mut self, hash: u64, key: &[u8]) -> Option<StoredRecord> {
        let at = self.find(hash, key)?;
        self.touch(at);
        Some(self.slot(at).record())
    }

    /// What the record at a key is charged, expired or not; 0 without one.
    pub(super) fn charged(&self, hash: u64, key: &[u8]) -> u64 {
        self.find(hash, key)
            .map_or(0, |at| cost(key, self.slot(at).value.len()))
    }

    /// The record, expired or not; it does not count as used.
    pub(super) fn peek(&self, hash: u64, key: &[u8]) -> Option<StoredRecord> {
        Some(self.slot(self.find(hash, key)?).record())
    }

    /// Stores a record; returns what the one before it was charged.
    pub(super) fn put(&mut self, hash: u64, key: &[u8], record: StoredRecord) -> Option<u64> {
        let StoredRecord { value, expires_ms } = record;
        let value = Value::new(value);
        if let Some(at) = self.find(hash, key) {
            let before = cost(key, self.slot(at).value.len());
            self.set_expiry(at, expires_ms);
            let slot = self.slot_mut(at);
            (slot.value, slot.expires_ms) = (value, expires_ms);
            self.touch(at);
            return Some(before);
        }
        let key = Key::new(key);
        if expires_ms != 0 {
            self.expiring.insert((expires_ms, key.clone()));
        }
        let slot = Slot {
            hash,
            key,
            value,
            expires_ms,
            newer: NONE,
            older: NONE,
        };
        let at = match self.free.pop() {
            Some(at) => {
                self.slots[at as usize] = Some(slot);
                at
            }
            None => {
                self.slots.push(Some(slot));
                u32::try_from(self.slots.len() - 1).expect("a shard has fewer records than NONE")
            }
        };
        let slots = &self.slots;
        self.table.insert_unique(hash, at, |at| {
            slots[*at as usize].as_ref().map_or(0, |slot| slot.hash)
        });
        if self.recency == Recency::Kept {
            self.link_newest(at);
        }
        None
    }

    /// Removes a record; returns what it was charged.
    pub(super) fn remove(&mut self, hash: u64, key: &[u8]) -> Option<u64> {
        let at = self.find(hash, key)?;
        if let Ok(entry) = self.table.find_entry(hash, |other| *other == at) {
            entry.remove();
        }
        self.set_expiry(at, 0);
        if self.recency == Recency::Kept {
            self.unlink(at);
        }
        let slot = self.slots[at as usize].take()?;
        self.free.push(at);
        Some(cost(key, slot.value.len()))
    }

    /// The key that was not used for the longest time.
    pub(super) fn oldest(&self) -> Option<Bytes> {
        let slot = self.slots.get(self.oldest as usize)?.as_ref()?;
        Some(Bytes::copy_from_slice(slot.key.bytes()))
    }

    /// The record that expires first, if it has.
    pub(super) fn expired(&self, now_ms: u64) -> Option<Bytes> {
        let (expires_ms, key) = self.expiring.first()?;
        (*expires_ms <= now_ms).then(|| Bytes::copy_from_slice(key.bytes()))
    }

    /// When the next record expires.
    pub(super) fn next_expiry(&self) -> Option<u64> {
        self.expiring.first().map(|(expires_ms, _)| *expires_ms)
    }

    /// Removes all records; the figures stay. Returns the records, which may take long to free.
    #[must_use]
    pub(super) fn clear(&mut self) -> Self {
        let empty = Self {
            reads: self.reads,
            hits: self.hits,
            bytes_read: self.bytes_read,
            ..Self::new(self.recency)
        };
        std::mem::replace(self, empty)
    }

    fn find(&self, hash: u64, key: &[u8]) -> Option<u32> {
        self.table
            .find(hash, |at| self.slot(*at).key.bytes() == key)
            .copied()
    }

    fn slot(&self, at: u32) -> &Slot {
        self.slots[at as usize]
            .as_ref()
            .expect("the orders name slots that are taken")
    }

    fn slot_mut(&mut self, at: u32) -> &mut Slot {
        self.slots[at as usize]
            .as_mut()
            .expect("the orders name slots that are taken")
    }

    fn set_expiry(&mut self, at: u32, expires_ms: u64) {
        let slot = self.slot(at);
        let before = slot.expires_ms;
        if before == expires_ms {
            return;
        }
        let key = slot.key.clone();
        if before != 0 {
            self.expiring.remove(&(before, key.clone()));
        }
        if expires_ms != 0 {
            self.expiring.insert((expires_ms, key));
        }
    }

    fn touch(&mut self, at: u32) {
        if self.recency == Recency::Kept && self.newest != at {
            self.unlink(at);
            self.link_newest(at);
        }
    }

    fn link_newest(&mut self, at: u32) {
        let older = self.newest;
        let slot = self.slot_mut(at);
        (slot.newer, slot.older) = (NONE, older);
        if older == NONE {
            self.oldest = at;
        } else {
            self.slot_mut(older).newer = at;
        }
        self.newest = at;
    }

    fn unlink(&mut self, at: u32) {
        let Slot { newer, older, .. } = *self.slot(at);
        if newer == NONE {
            self.newest = older;
        } else {
            self.slot_mut(newer).older = older;
        }
        if older == NONE {
            self.oldest = newer;
        } else {
            self.slot_mut(older).newer = newer;
        }
    }
}

/// The same bytes in memory of their own size. Also when they are not shared: they may be what is left of a far larger buffer,
/// and no `Bytes` can tell.
fn compact(value: &Bytes) -> Bytes {
    Bytes::copy_from_slice(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two hashes for all keys, so that some are the same.
    fn hash(key: &[u8]) -> u64 {
        u64::from(key[0] % 2)
    }

    fn record(expires_ms: u64) -> StoredRecord {
        StoredRecord {
            value: Bytes::from_static(b"value"),
            expires_ms,
        }
    }

    fn by_use(shard: &mut Shard) -> Vec<Bytes> {
        let mut keys = Vec::new();
        while let Some(key) = shard.oldest() {
            shard.remove(hash(&key), &key);
            keys.push(key);
        }
        keys
    }

    #[test]
    fn records_age_by_their_last_use() {
        let mut shard = Shard::new(Recency::Kept);
        for key in [b"a", b"b", b"c", b"d"] {
            shard.put(hash(key), key, record(0));
        }
        shard.used(hash(b"a"), b"a");
        shard.put(hash(b"b"), b"b", record(0));
        shard.remove(hash(b"c"), b"c");
        shard.put(hash(b"e"), b"e", record(0));
        assert_eq!(by_use(&mut shard), ["d", "a", "b", "e"]);
        assert_eq!(shard.len(), 0);
    }

    #[test]
    fn records_expire_by_their_last_time() {
        let mut shard = Shard::new(Recency::Ignored);
        for (key, expires_ms) in [("a", 3), ("b", 1), ("c", 0), ("d", 2), ("b", 4), ("d", 0)] {
            shard.put(hash(key.as_bytes()), key.as_bytes(), record(expires_ms));
        }
        assert_eq!(shard.next_expiry(), Some(3));
        assert_eq!(shard.expired(2), None);
        assert_eq!(shard.expired(9).unwrap(), "a");
        shard.remove(hash(b"a"), b"a");
        assert_eq!(shard.expired(9).unwrap(), "b");
        shard.remove(hash(b"b"), b"b");
        assert_eq!(shard.expired(9), None);
        assert_eq!(shard.len(), 2);
    }

    #[test]
    fn a_value_keeps_no_buffer_alive() {
        let buffer = Bytes::from(vec![0; 1_000_000]);
        for length in [10, 70_000, 1_000_000] {
            let part = buffer.slice(..length);
            let kept = compact(&part);
            assert!(part == kept && part.as_ptr() != kept.as_ptr());
        }
        let part = buffer.slice(..70_000);
        drop(buffer);
        assert!(part.is_unique(), "nothing tells that it is a part");
        let kept = Value::new(part.clone()).bytes();
        assert!(part.is_unique() && kept.len() == part.len());
    }
}
