//! What one write sees and changes of a database in memory, while it holds the locks of the parts. Decides nothing.
//! Rule: all changes of a write are made or none, and only within the capacity.

use std::sync::MutexGuard;
use std::sync::atomic::Ordering::{Relaxed, SeqCst};

use bytes::Bytes;

use super::MemoryEngine;
use super::key::Key;
use super::shard::{Shard, cost};
use crate::decide::{Change, View};
use crate::error::{Error, Result};
use crate::range::KeyRange;
use crate::record::StoredRecord;
use crate::watch::ChangeEvent;

/// Parts that are locked for one write: one, or all.
pub(super) struct LockedShards<'a> {
    pub(super) memory: &'a MemoryEngine,
    /// Index of the first guard's part.
    pub(super) first: usize,
    pub(super) guards: smallvec::SmallVec<[MutexGuard<'a, Shard>; 1]>,
    pub(super) now_ms: u64,
}

impl LockedShards<'_> {
    /// The hash of a key, and the part it belongs to.
    fn shard(&mut self, key: &[u8]) -> (u64, &mut Shard) {
        let hash = self.memory.hash(key);
        let index = self.memory.index_of(hash) - self.first;
        (hash, &mut self.guards[index])
    }

    /// Makes the changes, all or none.
    pub(super) fn commit(&mut self, changes: impl Iterator<Item = Change>) -> Result<()> {
        let mut changes: smallvec::SmallVec<[Change; 1]> = changes.collect();
        if changes.len() > 1 {
            keep_last(&mut changes);
        }
        let (mut before, mut after) = (0, 0);
        for (key, record) in &changes {
            let (hash, shard) = self.shard(key);
            before += shard.charged(hash, key);
            after += record
                .as_ref()
                .map_or(0, |record| cost(key, record.value.len()));
        }
        let capacity = self.memory.shared.spec.capacity;
        if after > capacity {
            return Err(Error::Full { capacity });
        }
        if after > before {
            self.memory.reserve(after - before)?;
        } else {
            self.memory.used.fetch_sub(before - after, SeqCst);
        }
        for (key, record) in changes {
            self.change(key, record);
        }
        Ok(())
    }

    fn change(&mut self, key: Bytes, record: Option<StoredRecord>) {
        let memory = self.memory;
        let bytes = key.len() + record.as_ref().map_or(0, |record| record.value.len());
        memory
            .shared
            .counters
            .bytes_written
            .fetch_add(bytes as u64, Relaxed);
        let (hash, shard) = self.shard(&key);
        match record {
            Some(record) => {
                if record.expires_ms != 0 {
                    memory.next_expiry_ms.fetch_min(record.expires_ms, SeqCst);
                }
                if shard.put(hash, &key, record).is_none() {
                    memory.order.insert(Key::new(&key));
                    memory.count.fetch_add(1, SeqCst);
                }
                memory.shared.tell(|| ChangeEvent::Put(key));
            }
            None => {
                if shard.remove(hash, &key).is_some() {
                    memory.order.remove(&key);
                    memory.count.fetch_sub(1, SeqCst);
                    memory.shared.tell(|| ChangeEvent::Removed(key));
                }
            }
        }
    }

    /// Of all parts, removes what has expired before the first live record, at most so many; says whether nothing of it is left.
    pub(super) fn expire_first(&mut self, most: usize) -> bool {
        let (memory, now_ms) = (self.memory, self.now_ms);
        for left in (0..=most).rev() {
            let Some(first) = memory.order.first() else {
                return true;
            };
            let (hash, shard) = self.shard(first.bytes());
            let record = shard.peek(hash, first.bytes());
            if record.is_some_and(|record| record.is_live(now_ms)) {
                return true;
            }
            if left > 0 {
                memory.expire(shard, Bytes::copy_from_slice(first.bytes()));
            }
        }
        false
    }

    pub(super) fn sweep(&mut self, index: usize, most: usize) {
        let first = self.first;
        self.memory
            .sweep_shard(&mut self.guards[index - first], self.now_ms, most);
    }
}

impl View for LockedShards<'_> {
    fn record(&mut self, key: &Bytes) -> Result<Option<StoredRecord>> {
        let now_ms = self.now_ms;
        let (hash, shard) = self.shard(key);
        let record = shard.used(hash, key);
        Ok(record.filter(|record| record.is_live(now_ms)))
    }

    fn first(&mut self) -> Result<Option<(Bytes, StoredRecord)>> {
        let Some(first) = self.memory.order.first() else {
            return Ok(None);
        };
        let key = Bytes::copy_from_slice(first.bytes());
        let record = self.record(&key)?;
        Ok(record.map(|record| (key, record)))
    }

    fn first_of(&mut self, prefix: &Bytes) -> Result<Option<(Bytes, StoredRecord)>> {
        let mut rest = KeyRange::prefix(prefix.clone());
        loop {
            let keys = self.memory.order.keys(&rest, 1);
            let Some(key) = keys.first() else {
                return Ok(None);
            };
            let key = Bytes::copy_from_slice(key.bytes());
            if let Some(record) = self.record(&key)? {
                return Ok(Some((key, record)));
            }
            // It has expired, as records of queues do only where a caller had them.
            rest = rest.after(key);
        }
    }

    fn last_of(&mut self, prefix: &Bytes) -> Result<Option<Bytes>> {
        let range = KeyRange::prefix(prefix.clone()).reversed();
        let keys = self.memory.order.keys(&range, 1);
        Ok(keys.first().map(|key| Bytes::copy_from_slice(key.bytes())))
    }
}

/// The view of writes that follow each other on one key: its record as those before it left it.
pub(super) struct SingleKeyView(pub(super) Option<StoredRecord>);

impl View for SingleKeyView {
    fn record(&mut self, _: &Bytes) -> Result<Option<StoredRecord>> {
        Ok(self.0.clone())
    }

    fn take(&mut self, _: &Bytes) -> Result<Option<StoredRecord>> {
        Ok(self.0.take())
    }

    fn first(&mut self) -> Result<Option<(Bytes, StoredRecord)>> {
        Ok(None)
    }

    fn first_of(&mut self, _: &Bytes) -> Result<Option<(Bytes, StoredRecord)>> {
        Ok(None)
    }

    fn last_of(&mut self, _: &Bytes) -> Result<Option<Bytes>> {
        Ok(None)
    }
}

/// Of several changes of one key, the last one holds.
fn keep_last(changes: &mut smallvec::SmallVec<[Change; 1]>) {
    let mut seen = std::collections::HashSet::new();
    let mut kept: smallvec::SmallVec<[Change; 1]> = std::mem::take(changes)
        .into_iter()
        .rev()
        .filter(|(key, _)| seen.insert(key.clone()))
        .collect();
    kept.reverse();
    *changes = kept;
}
