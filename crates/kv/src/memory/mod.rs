//! The engine in memory: records in parts, each behind a lock of its own that is held for one step; the order of all keys beside them.
//! Nothing outlives it. Rule: a lock is never held while waiting for anything but another part's lock, and those are taken in order,
//! the one of the order last.

mod key;
mod locked;
mod order;
mod shard;

use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use self::key::Key;
use self::locked::{LockedShards, SingleKeyView};
use self::order::Order;
use self::shard::{Recency, Shard};
use crate::decide::{DecisionContext, View as _, decide};
use crate::disk::write_copy;
use crate::engine::{Engine, EngineShared, RangeRead, nested};
use crate::error::{Error, Result};
use crate::limits::{PAGE_BYTES_MAX, PAGE_RECORDS_MAX, SHARDS};
use crate::metrics::KvSnapshot;
use crate::pending::Pending;
use crate::range::{KeyRange, Pair};
use crate::record::StoredRecord;
use crate::spec::WhenFull;
use crate::sweeper;
use crate::watch::ChangeEvent;
use crate::write::{Write, WriteResult};

/// A database smaller than this is one part: recent use is then exact, and not a matter of each part by itself.
const ONE_SHARD_BYTES_MAX: u64 = 16 * 1024 * 1024;
/// Expired records that one write removes from the part it has locked.
const SWEEP_RECORDS_MAX: usize = 16;
/// Keys that a page takes from the order at a time, while those who add keys wait.
const KEYS_PER_STEP: usize = 64;
/// No record expires.
const NEVER: u64 = u64::MAX;

pub(crate) struct MemoryEngine {
    shards: Vec<Mutex<Shard>>,
    order: Order,
    hasher: RandomState,
    used: AtomicU64,
    count: AtomicU64,
    /// No record expires before; it may be earlier than the first that does.
    next_expiry_ms: AtomicU64,
    /// Whether the time above leaves out records that are being looked for, and the lock of who looks.
    sweeping: AtomicBool,
    sweep: Mutex<()>,
    /// The part that gives up a record next.
    hand: AtomicUsize,
    shared: Arc<EngineShared>,
}

impl MemoryEngine {
    pub(crate) fn new(shared: Arc<EngineShared>) -> Self {
        let recency = match shared.spec.when_full {
            WhenFull::Evict => Recency::Kept,
            WhenFull::Refuse => Recency::Ignored,
        };
        let shards = if shared.spec.capacity <= ONE_SHARD_BYTES_MAX {
            1
        } else {
            SHARDS
        };
        Self {
            shards: (0..shards)
                .map(|_| Mutex::new(Shard::new(recency)))
                .collect(),
            order: Order::default(),
            hasher: RandomState::new(),
            used: AtomicU64::new(0),
            count: AtomicU64::new(0),
            next_expiry_ms: AtomicU64::new(NEVER),
            sweeping: AtomicBool::new(false),
            sweep: Mutex::new(()),
            hand: AtomicUsize::new(0),
            shared,
        }
    }

    fn hash(&self, key: &[u8]) -> u64 {
        self.hasher.hash_one(key)
    }

    /// The part of a key: by bits of the hash that the part's own table uses least.
    fn index_of(&self, hash: u64) -> usize {
        (hash >> 32) as usize % self.shards.len()
    }

    fn index(&self, key: &[u8]) -> usize {
        self.index_of(self.hash(key))
    }

    fn lock(&self, index: usize) -> MutexGuard<'_, Shard> {
        // A panic in here would be a bug of ours; the records that others see are whole all the same.
        self.shards[index]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn apply(&self, write: Write) -> Result<WriteResult> {
        match write {
            Write::Batch(writes) => return Ok(WriteResult::Each(self.apply_each(writes))),
            Write::Clear => self.clear(),
            write => self.apply_one(write),
        }
        .inspect_err(|_| {
            self.shared.counters.write_errors.fetch_add(1, Relaxed);
        })
        .inspect(|_| {
            self.shared.counters.writes.fetch_add(1, Relaxed);
        })
    }

    fn apply_each(&self, writes: Vec<Write>) -> Vec<Result<WriteResult>> {
        let mut each = Vec::with_capacity(writes.len());
        let mut writes = writes.into_iter().peekable();
        while let Some(write) = writes.next() {
            if let Write::Append { key, .. } = &write {
                let key = key.clone();
                let is_same = |next: &Write| matches!(next, Write::Append { key: other, .. } if *other == key);
                let mut run = vec![write];
                while let Some(next) = writes.next_if(is_same) {
                    run.push(next);
                }
                each.extend(self.append(&key, run));
                continue;
            }
            each.push(match write {
                Write::Batch(_) => Err(nested()),
                write => match write.check(self.shared.spec.value_max) {
                    Ok(()) => self.apply(write),
                    Err(error) => Err(error),
                },
            });
        }
        each
    }

    /// Appends pieces to one value, which is copied once for all of them. Without room for all that are not too long, none is added.
    fn append(&self, key: &Bytes, run: Vec<Write>) -> Vec<Result<WriteResult>> {
        let context = self.shared.decision_context();
        let index = self.index(key);
        let mut locked = LockedShards {
            memory: self,
            first: index,
            guards: smallvec::smallvec![self.lock(index)],
            now_ms: context.now_ms,
        };
        let mut view = match locked.record(key) {
            Ok(record) => SingleKeyView(record),
            Err(error) => return run.iter().map(|_| Err(error.clone())).collect(),
        };
        let mut each: Vec<Result<WriteResult>> = run
            .into_iter()
            .map(|write| {
                write.check(context.value_max)?;
                let decision = decide(write, &mut view, context)?;
                for (_, record) in decision.changes {
                    view = SingleKeyView(record);
                }
                Ok(decision.written)
            })
            .collect();
        if each.iter().any(Result::is_ok) {
            let change = (key.clone(), view.0.map(StoredRecord::shrunk));
            if let Err(error) = locked.commit(std::iter::once(change)) {
                for one in each.iter_mut().filter(|one| one.is_ok()) {
                    *one = Err(error.clone());
                }
            }
        }
        locked.sweep(index, SWEEP_RECORDS_MAX);
        drop(locked);
        self.make_room(index);
        let done = each.iter().filter(|one| one.is_ok()).count() as u64;
        let counters = &self.shared.counters;
        counters.writes.fetch_add(done, Relaxed);
        counters
            .write_errors
            .fetch_add(each.len() as u64 - done, Relaxed);
        each
    }

    fn apply_one(&self, write: Write) -> Result<WriteResult> {
        let context = self.shared.decision_context();
        let (written, index) = match only_key(&write).map(|key| self.index(key)) {
            Some(index) => {
                let mut locked = LockedShards {
                    memory: self,
                    first: index,
                    guards: smallvec::smallvec![self.lock(index)],
                    now_ms: context.now_ms,
                };
                let decision = decide(write, &mut locked, context)?;
                locked.commit(decision.changes.into_iter())?;
                locked.sweep(index, SWEEP_RECORDS_MAX);
                (decision.written, index)
            }
            None => {
                let mut locked = self.lock_all(&write);
                let context = DecisionContext {
                    now_ms: locked.now_ms,
                    ..context
                };
                let decision = decide(write, &mut locked, context)?;
                let last = decision.changes.last().map(|(key, _)| self.index(key));
                locked.commit(decision.changes.into_iter())?;
                (decision.written, last.unwrap_or(0))
            }
        };
        self.make_room(index);
        Ok(written)
    }

    /// All parts, now. For who asks for the first record, no expired one lies before it.
    fn lock_all(&self, write: &Write) -> LockedShards<'_> {
        loop {
            let mut locked = LockedShards {
                memory: self,
                first: 0,
                guards: (0..self.shards.len()).map(|at| self.lock(at)).collect(),
                now_ms: self.shared.clock.now_ms(),
            };
            if !matches!(write, Write::PopFirst) || locked.expire_first(SWEEP_RECORDS_MAX) {
                return locked;
            }
            drop(locked);
            // There may be many, and other callers shall not wait for all of them.
            self.expire_first();
        }
    }

    /// Removes what has expired before the first live record, with one part locked at a time.
    fn expire_first(&self) {
        loop {
            let now_ms = self.shared.clock.now_ms();
            let keys = self.order.keys(&KeyRange::all(), KEYS_PER_STEP);
            for key in &keys {
                let hash = self.hash(key.bytes());
                let mut shard = self.lock(self.index_of(hash));
                match shard.peek(hash, key.bytes()) {
                    Some(record) if record.is_live(now_ms) => return,
                    Some(_) => self.expire(&mut shard, Bytes::copy_from_slice(key.bytes())),
                    // It was removed meanwhile.
                    None => {}
                }
            }
            if keys.len() < KEYS_PER_STEP {
                return;
            }
        }
    }

    fn clear(&self) -> Result<WriteResult> {
        let mut guards: Vec<_> = (0..self.shards.len()).map(|at| self.lock(at)).collect();
        let cleared: Vec<Shard> = guards.iter_mut().map(|guard| guard.clear()).collect();
        let order = self.order.clear();
        self.used.store(0, SeqCst);
        self.count.store(0, SeqCst);
        self.next_expiry_ms.store(NEVER, SeqCst);
        self.shared.tell(|| ChangeEvent::Cleared);
        drop(guards);
        sweeper::discard(Box::new((cleared, order)));
        Ok(WriteResult::Done)
    }

    /// Evicts until the capacity is kept. `spared` holds what was just written: it gives up its last record last.
    fn make_room(&self, spared: usize) {
        let capacity = self.shared.spec.capacity;
        let mut fruitless = 0;
        while self.used.load(SeqCst) > capacity && fruitless <= self.shards.len() {
            let index = self.hand.fetch_add(1, Relaxed) % self.shards.len();
            let mut shard = self.lock(index);
            match shard.oldest() {
                Some(key) if index != spared || shard.len() > 1 => {
                    self.remove(&mut shard, &key);
                    fruitless = 0;
                    self.shared.counters.evicted.fetch_add(1, Relaxed);
                    self.shared.tell(|| ChangeEvent::Evicted(key));
                }
                _ => fruitless += 1,
            }
        }
    }

    fn remove(&self, shard: &mut Shard, key: &[u8]) {
        if let Some(cost) = shard.remove(self.hash(key), key) {
            self.order.remove(key);
            self.used.fetch_sub(cost, SeqCst);
            self.count.fetch_sub(1, SeqCst);
        }
    }

    fn sweep_shard(&self, shard: &mut Shard, now_ms: u64, most: usize) {
        for _ in 0..most {
            let Some(key) = shard.expired(now_ms) else {
                return;
            };
            self.expire(shard, key);
        }
    }

    fn expire(&self, shard: &mut Shard, key: Bytes) {
        self.remove(shard, &key);
        self.shared.counters.expired.fetch_add(1, Relaxed);
        self.shared.tell(|| ChangeEvent::Expired(key));
    }

    /// Takes more bytes for records, if they may be had.
    fn reserve(&self, bytes: u64) -> Result<()> {
        let capacity = self.shared.spec.capacity;
        let room = match self.shared.spec.when_full {
            WhenFull::Refuse => capacity,
            // What is too much for a moment is evicted right after.
            WhenFull::Evict => u64::MAX,
        };
        self.used
            .fetch_update(SeqCst, SeqCst, |used| {
                used.checked_add(bytes).filter(|used| *used <= room)
            })
            .map(drop)
            .map_err(|_| Error::Full { capacity })
    }

    /// The first live records of a range; and the last key that was looked at, when `looks` ended it.
    fn records(
        &self,
        range: &KeyRange,
        limit: usize,
        looks: usize,
    ) -> (Vec<(Bytes, StoredRecord)>, Option<Bytes>) {
        let mut page = Vec::new();
        if range.is_empty() {
            return (page, None);
        }
        let now_ms = self.shared.clock.now_ms();
        let mut rest = range.clone();
        let (mut bytes, mut left) = (0, looks);
        let mut most = limit.min(KEYS_PER_STEP);
        loop {
            let keys = self.order.keys(&rest, most);
            for key in &keys {
                let Some(record) = self.peek(key, now_ms) else {
                    continue;
                };
                let key = Bytes::copy_from_slice(key.bytes());
                bytes += key.len() + record.value.len();
                page.push((key, record));
                if page.len() == limit || bytes >= PAGE_BYTES_MAX {
                    return (page, None);
                }
            }
            let Some(last) = keys.last().filter(|_| keys.len() == most) else {
                return (page, None);
            };
            let last = Bytes::copy_from_slice(last.bytes());
            left = left.saturating_sub(keys.len());
            if left == 0 {
                return (page, Some(last));
            }
            rest = rest.after(last);
            // What was looked at in vain may be followed by more of it.
            most = KEYS_PER_STEP;
        }
    }

    /// The live record of a key that was in the order a moment ago.
    fn peek(&self, key: &Key, now_ms: u64) -> Option<StoredRecord> {
        let hash = self.hash(key.bytes());
        let record = self.lock(self.index_of(hash)).peek(hash, key.bytes());
        record.filter(|record| record.is_live(now_ms))
    }
}

/// The one key that a write reads and changes, if it is one.
fn only_key(write: &Write) -> Option<&[u8]> {
    match write {
        Write::Set { key, .. }
        | Write::Remove { key }
        | Write::Append { key, .. }
        | Write::Increment { key, .. }
        | Write::Touch { key, .. }
        | Write::CompareExchange { key, .. } => Some(key),
        _ => None,
    }
}

impl Engine for MemoryEngine {
    fn value(&self, key: &[u8]) -> Result<Option<Bytes>> {
        let hash = self.hash(key);
        let mut shard = self.lock(self.index_of(hash));
        shard.reads += 1;
        let Some(record) = shard.used(hash, key) else {
            return Ok(None);
        };
        if record.expires_ms != 0 && !record.is_live(self.shared.clock.now_ms()) {
            return Ok(None);
        }
        let value = record.value;
        shard.hits += 1;
        shard.bytes_read += value.len() as u64;
        Ok(Some(value))
    }

    fn expires_ms(&self, key: &[u8]) -> Result<Option<u64>> {
        let hash = self.hash(key);
        let record = self.lock(self.index_of(hash)).peek(hash, key);
        let live = record.filter(|record| record.is_live(self.shared.clock.now_ms()));
        Ok(live.map(|record| record.expires_ms))
    }

    fn read(&self, range: &KeyRange, limit: usize, looks: usize) -> Result<RangeRead> {
        let (records, seen) = self.records(range, limit, looks);
        let pairs: Vec<Pair> = records
            .into_iter()
            .map(|(key, record)| (key, record.value))
            .collect();
        self.shared.counters.scanned(pairs.len());
        Ok(RangeRead { pairs, seen })
    }

    fn count(&self) -> Result<u64> {
        Ok(self.known_count().unwrap_or_else(|| {
            self.sweep();
            self.count.load(SeqCst)
        }))
    }

    fn known_count(&self) -> Option<u64> {
        // In this order: who sees the time of a sweep that has begun sees that it has not ended.
        let next_ms = self.next_expiry_ms.load(SeqCst);
        let is_known = !self.sweeping.load(SeqCst) && next_ms > self.shared.clock.now_ms();
        is_known.then(|| self.count.load(SeqCst))
    }

    fn size(&self) -> Result<u64> {
        Ok(self.used.load(SeqCst))
    }

    fn submit(&self, write: Write) -> Pending {
        Pending::ready(self.apply(write))
    }

    fn synchronize(&self) -> Pending {
        Pending::ready(Ok(WriteResult::Done))
    }

    fn rebuild(&self) -> Result<()> {
        Ok(())
    }

    fn sweep(&self) {
        let _alone = self.sweep.lock().unwrap_or_else(PoisonError::into_inner);
        let now_ms = self.shared.clock.now_ms();
        if self.next_expiry_ms.load(SeqCst) > now_ms {
            return;
        }
        self.sweeping.store(true, SeqCst);
        // What expires sooner and is written from here on lowers it again.
        self.next_expiry_ms.store(NEVER, SeqCst);
        for index in 0..self.shards.len() {
            let next = loop {
                let mut shard = self.lock(index);
                self.sweep_shard(&mut shard, now_ms, SWEEP_RECORDS_MAX);
                match shard.next_expiry() {
                    Some(next) if next <= now_ms => {}
                    next => break next,
                }
            };
            self.next_expiry_ms.fetch_min(next.unwrap_or(NEVER), SeqCst);
        }
        self.sweeping.store(false, SeqCst);
    }

    fn backup(&self, folder: &Path) -> Result<()> {
        let mut rest = KeyRange::all();
        let pages = std::iter::from_fn(|| {
            let (page, _) = self.records(&rest, PAGE_RECORDS_MAX, usize::MAX);
            let last = page.last()?.0.clone();
            rest = std::mem::replace(&mut rest, KeyRange::all()).after(last);
            Some(page)
        });
        write_copy(&self.shared.spec, folder, pages.flatten().map(Ok)).map(drop)
    }

    fn is_healthy(&self) -> bool {
        true
    }

    fn measure(&self, snapshot: &mut KvSnapshot) {
        for index in 0..self.shards.len() {
            let shard = self.lock(index);
            snapshot.reads += shard.reads;
            snapshot.hits += shard.hits;
            snapshot.bytes_read += shard.bytes_read;
        }
        snapshot.records = self.count.load(SeqCst);
        snapshot.bytes = self.used.load(SeqCst);
        snapshot.capacity = Some(self.shared.spec.capacity);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::clock::Clock;
    use crate::metrics::KvCounters;
    use crate::spec::Spec;
    use crate::write::SetMode;

    #[test]
    fn holder_of_all_shards_expires_few_records_and_leaves_the_rest() {
        let clock = Clock::manual(Duration::from_secs(1));
        let memory = MemoryEngine::new(Arc::new(EngineShared {
            spec: "".parse::<Spec>().unwrap(),
            clock: clock.clone(),
            watches: Arc::default(),
            counters: KvCounters::default(),
        }));
        let kept = |memory: &MemoryEngine| memory.count.load(SeqCst);
        let ttl = Duration::from_secs(1);
        for number in 0..100_u32 {
            let expiring = Write::Set {
                key: Bytes::copy_from_slice(&number.to_be_bytes()),
                value: "v".into(),
                mode: SetMode::Overwrite,
                ttl: Some(ttl),
            };
            memory.apply(expiring).unwrap();
        }
        memory.apply(Write::set("z", "live")).unwrap();
        clock.advance(ttl);
        // Of all parts, with a write that asks for no first record.
        let mut locked = memory.lock_all(&Write::Clear);
        assert!(!locked.expire_first(SWEEP_RECORDS_MAX));
        drop(locked);
        assert_eq!(kept(&memory), 101 - SWEEP_RECORDS_MAX as u64);
        memory.expire_first();
        assert_eq!(kept(&memory), 1);
        assert!(memory.lock_all(&Write::PopFirst).expire_first(0));
    }
}
