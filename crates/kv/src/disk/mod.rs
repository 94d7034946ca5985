//! The engine on disk: reads in place, writes through one thread, records in a folder. Knows no record's meaning.
//! Rule: a reader sees all changes of a commit or none, and only those that are as safe as the durability says.

mod alias;
mod backup;
mod failure;
mod journal;
mod layout;
mod lowest;
mod manifest;
mod marker;
mod overlay;
mod rest;
mod store;
mod write_bytes;
mod writer;

use std::ops::Bound;
use std::path::Path;
use std::sync::atomic::{
    AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed, Ordering::SeqCst, fence,
};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread;
use std::time::Instant;

use bytes::Bytes;
use crossbeam_channel::{SendError, Sender, TrySendError, bounded};

pub(crate) use self::backup::{replace_copy, write_copy};
use self::failure::io_error;
use self::layout::{Meta, expiry_key, own_key, record_key, records_end};
pub(crate) use self::store::is_database;
use self::store::{ReadView, Store, broken};
use self::write_bytes::write_bytes;
use self::writer::{Caller, Job, Writer};
use crate::close_state::CloseState;
use crate::engine::{Engine, EngineShared, RangeRead};
use crate::error::{Error, Result, queue_full};
use crate::limits::{PAGE_BYTES_MAX, QUEUE_BYTES_MAX, QUEUE_WRITES_MAX};
use crate::metrics::KvSnapshot;
use crate::pending::Pending;
use crate::range::{KeyRange, ReadDirection};
use crate::record::StoredRecord;
use crate::write::{Write, WriteResult};

struct Disk {
    inner: Arc<Inner>,
    jobs: Sender<Job>,
}

/// What readers and the writer's thread share.
struct Inner {
    shared: Arc<EngineShared>,
    /// Taken for writing for a moment, when a store takes the place of another; the reason, when there is none.
    store: RwLock<Result<Store>>,
    /// Around every commit.
    sequence: Sequence,
    /// Around the commits that begin an epoch.
    clears: Sequence,
    epoch: AtomicU32,
    count: AtomicU64,
    /// No record expires before.
    next_expiry_ms: AtomicU64,
    healthy: AtomicBool,
    /// Backups and rebuilds that use parts of the engine.
    borrowers: AtomicUsize,
    queued_bytes: AtomicUsize,
}

/// A number that is odd while something changes: a reader that gets the same even number before and after saw no change.
#[derive(Default)]
struct Sequence(AtomicU64);

impl Sequence {
    fn begin(&self) {
        self.0.fetch_add(1, SeqCst);
    }

    fn end(&self) {
        self.0.fetch_add(1, SeqCst);
    }

    /// What `read` returns, if nothing changed meanwhile.
    fn read_unless_changed<T>(&self, read: impl FnOnce() -> T) -> Option<T> {
        let before = self.0.load(SeqCst);
        if before % 2 == 1 {
            return None;
        }
        let value = read();
        fence(SeqCst);
        (self.0.load(SeqCst) == before).then_some(value)
    }
}

/// Opens the folder and starts the thread that writes to it; `closed` is closed when both have ended.
pub(crate) fn open(shared: Arc<EngineShared>, closed: Arc<CloseState>) -> Result<Arc<dyn Engine>> {
    Ok(Arc::new(Disk::open(shared, closed)?))
}

impl Disk {
    fn open(shared: Arc<EngineShared>, closed: Arc<CloseState>) -> Result<Self> {
        let (store, meta) = Store::open(&shared.spec, None)?;
        let next_expiry_ms = first_expiry(&store, meta)?;
        let path = shared.spec.path.clone();
        let inner = Arc::new(Inner {
            shared,
            store: RwLock::new(Ok(store)),
            sequence: Sequence::default(),
            clears: Sequence::default(),
            epoch: AtomicU32::new(meta.epoch),
            count: AtomicU64::new(meta.count),
            next_expiry_ms: AtomicU64::new(next_expiry_ms),
            healthy: AtomicBool::new(true),
            borrowers: AtomicUsize::new(0),
            queued_bytes: AtomicUsize::new(0),
        });
        let (jobs, waiting) = bounded(QUEUE_WRITES_MAX);
        let writer = Writer::new(inner.clone(), waiting, meta);
        closed.open();
        let ending = Ending {
            closed: closed.clone(),
            inner: inner.clone(),
        };
        let thread = thread::Builder::new()
            .name("tsumugi-kv".to_owned())
            .spawn(move || {
                let _ending = ending;
                writer.run();
            });
        match thread {
            Ok(_) => Ok(Self { inner, jobs }),
            Err(error) => {
                closed.close();
                Err(io_error("starting a thread for", &path, error))
            }
        }
    }

    fn send(&self, job: Job, pending: Pending) -> Pending {
        match self.jobs.try_send(job) {
            Ok(()) => pending,
            Err(TrySendError::Full(job)) => {
                if let Job::Write { bytes, .. } = job {
                    self.inner.queued_bytes.fetch_sub(bytes, SeqCst);
                }
                let full = queue_full("writes", "QUEUE_WRITES_MAX", QUEUE_WRITES_MAX);
                Pending::ready(Err(full))
            }
            Err(TrySendError::Disconnected(_)) => Pending::ready(Err(Error::Closed)),
        }
    }
}

/// Tells that the database is closed, however its thread ends; and that it takes no writes, when that was no wish of its users.
struct Ending {
    closed: Arc<CloseState>,
    inner: Arc<Inner>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        if thread::panicking() {
            let path = self.inner.shared.spec.path.display();
            tracing::error!(%path, "the thread that writes to a database has died; restart the server");
            self.inner.healthy.store(false, SeqCst);
        }
        self.closed.close();
    }
}

fn first_expiry(store: &Store, meta: Meta) -> Result<u64> {
    let from = expiry_key(meta.epoch, 0, b"");
    let snapshot = store.snapshot();
    let mut entries = snapshot.range((Bound::Included(&from), Bound::Unbounded));
    let Some(entry) = entries.next() else {
        return Ok(u64::MAX);
    };
    let expiry = layout::expiry(&entry?.0).map_err(|reason| broken(store.path(), reason));
    expiry.map(|(expires_ms, _)| expires_ms)
}

impl Inner {
    fn read(&self) -> RwLockReadGuard<'_, Result<Store>> {
        self.store.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Result<Store>> {
        self.store.write().unwrap_or_else(PoisonError::into_inner)
    }

    fn take_store(&self) -> Result<Store> {
        std::mem::replace(&mut *self.write(), Err(Error::Closed))
    }

    fn with_store<T>(&self, work: impl FnOnce(&Store) -> Result<T>) -> Result<T> {
        match &*self.read() {
            Ok(store) => work(store),
            // As what keeps the folder from being opened again: a full disk is no damage.
            Err(why) => Err(why.clone()),
        }
    }

    /// A snapshot of the records of the last commit, and the epoch they are of.
    fn snapshot(&self, store: &Store) -> Result<(ReadView, u32)> {
        let consistent = self
            .clears
            .read_unless_changed(|| (store.snapshot(), self.epoch.load(SeqCst)));
        match consistent {
            Some(seen) => Ok(seen),
            None => {
                let snapshot = store.snapshot();
                let epoch = snapshot.meta()?.epoch;
                Ok((snapshot, epoch))
            }
        }
    }

    fn stored(&self, store: &Store, key: &[u8]) -> Result<Option<Bytes>> {
        let plain = self
            .sequence
            .read_unless_changed(|| store.newest(&record_key(self.epoch.load(SeqCst), key)));
        match plain {
            Some(stored) => stored,
            None => {
                let (snapshot, epoch) = self.snapshot(store)?;
                snapshot.value(&record_key(epoch, key))
            }
        }
    }

    fn live(&self, store: &Store, stored: Bytes) -> Result<Option<StoredRecord>> {
        let record = overlay::decode(store, stored)?;
        let is_live = record.expires_ms == 0 || record.is_live(self.shared.clock.now_ms());
        Ok(is_live.then_some(record))
    }

    fn record(&self, key: &[u8]) -> Result<Option<StoredRecord>> {
        self.with_store(|store| match self.stored(store, key)? {
            Some(stored) => self.live(store, stored),
            None => Ok(None),
        })
    }

    fn page(
        &self,
        store: &Store,
        range: &KeyRange,
        limit: usize,
        looks: usize,
    ) -> Result<RangeRead> {
        let (snapshot, epoch) = self.snapshot(store)?;
        let now_ms = self.shared.clock.now_ms();
        let key = |bound: &Bytes| record_key(epoch, bound);
        let from = match range.from.as_ref().map(key) {
            Bound::Unbounded => Bound::Included(record_key(epoch, b"")),
            bound => bound,
        };
        let to = match range.to.as_ref().map(key) {
            Bound::Unbounded => Bound::Excluded(records_end(epoch)),
            bound => bound,
        };
        let mut pairs = snapshot.range((
            from.as_ref().map(|key| &key[..]),
            to.as_ref().map(|key| &key[..]),
        ));
        let mut page = RangeRead::default();
        let (mut bytes, mut left) = (0, looks);
        while page.pairs.len() < limit && bytes < PAGE_BYTES_MAX {
            let pair = match range.direction {
                ReadDirection::Forward => pairs.next(),
                ReadDirection::Backward => pairs.next_back(),
            };
            let Some(pair) = pair else { break };
            let (stored_key, stored) = pair?;
            let StoredRecord { value, expires_ms } = overlay::decode(store, stored)?;
            let own = || own_key(&stored_key).map_err(|reason| broken(store.path(), reason));
            left = left.saturating_sub(1);
            if expires_ms == 0 || expires_ms > now_ms {
                let key = own()?;
                bytes += key.len() + value.len();
                page.pairs.push((key, value));
            } else if left == 0 {
                page.seen = Some(own()?);
                break;
            }
        }
        Ok(page)
    }

    /// The count when some of the records it counts may have expired.
    fn exact_count(&self, store: &Store) -> Result<u64> {
        let now_ms = self.shared.clock.now_ms();
        let snapshot = store.snapshot();
        let meta = snapshot.meta()?;
        let from = expiry_key(meta.epoch, 0, b"");
        let to = expiry_key(meta.epoch, now_ms.saturating_add(1), b"");
        let mut count = meta.count;
        for entry in snapshot.range((Bound::Included(&from), Bound::Excluded(&to))) {
            entry?;
            count = count.saturating_sub(1);
        }
        Ok(count)
    }
}

impl Engine for Disk {
    fn value(&self, key: &[u8]) -> Result<Option<Bytes>> {
        let asked = Instant::now();
        let inner = &self.inner;
        let value = inner.record(key)?.map(|record| record.value);
        let counters = &inner.shared.counters;
        counters.reads.fetch_add(1, Relaxed);
        if let Some(value) = &value {
            counters.hits.fetch_add(1, Relaxed);
            let bytes = value.len() as u64;
            counters.bytes_read.fetch_add(bytes, Relaxed);
        }
        counters.read_latency.add(asked.elapsed());
        Ok(value)
    }

    fn expires_ms(&self, key: &[u8]) -> Result<Option<u64>> {
        let record = self.inner.record(key)?;
        Ok(record.map(|record| record.expires_ms))
    }

    fn read(&self, range: &KeyRange, limit: usize, looks: usize) -> Result<RangeRead> {
        if range.is_empty() {
            return Ok(RangeRead::default());
        }
        let inner = &self.inner;
        let read = inner.with_store(|store| inner.page(store, range, limit, looks))?;
        inner.shared.counters.scanned(read.pairs.len());
        Ok(read)
    }

    fn count(&self) -> Result<u64> {
        let inner = &self.inner;
        match self.known_count() {
            Some(count) => Ok(count),
            None => inner.with_store(|store| inner.exact_count(store)),
        }
    }

    fn known_count(&self) -> Option<u64> {
        let inner = &self.inner;
        let plain = inner.sequence.read_unless_changed(|| {
            let count = inner.count.load(SeqCst);
            let next_ms = inner.next_expiry_ms.load(SeqCst);
            (next_ms == u64::MAX || next_ms > inner.shared.clock.now_ms()).then_some(count)
        });
        plain.flatten()
    }

    fn size(&self) -> Result<u64> {
        self.inner.with_store(Store::disk_bytes)
    }

    fn submit(&self, write: Write) -> Pending {
        let bytes = write_bytes(&write);
        let queued = self.inner.queued_bytes.fetch_add(bytes, SeqCst);
        if queued > 0 && queued + bytes > QUEUE_BYTES_MAX {
            self.inner.queued_bytes.fetch_sub(bytes, SeqCst);
            let full = queue_full("bytes of writes", "QUEUE_BYTES_MAX", QUEUE_BYTES_MAX);
            return Pending::ready(Err(full));
        }
        let (answer, pending) = Pending::waiting();
        let submitted_at = Instant::now();
        let job = Job::Write {
            write,
            bytes,
            caller: Caller {
                submitted_at,
                answer,
            },
        };
        self.send(job, pending)
    }

    fn synchronize(&self) -> Pending {
        let (answer, pending) = Pending::waiting();
        self.send(Job::Synchronize(answer), pending)
    }

    fn rebuild(&self) -> Result<()> {
        // Not within `with_store`: it takes long, and while it held the lock no reader could go on once the folder is to be opened again.
        let running = UseGuard::new(&self.inner.borrowers);
        let engine = self.inner.with_store(Store::engine)?;
        let rebuilt = engine.rebuild();
        drop((engine, running));
        rebuilt
    }

    fn sweep(&self) {
        let (answer, pending) = Pending::waiting();
        // A database that was closed has nothing to be swept.
        drop(self.send(Job::Sweep(answer), pending).wait());
    }

    fn backup(&self, folder: &Path) -> Result<()> {
        let inner = &self.inner;
        let running = UseGuard::new(&inner.borrowers);
        // Not of a store whose place another takes: it is gone before a backup has ended.
        let seen = |store: &Store| store.engine().and_then(|_| inner.snapshot(store));
        let (snapshot, epoch) = inner.with_store(seen)?;
        let count = snapshot.meta()?.count;
        let from = record_key(epoch, b"");
        let to = records_end(epoch);
        let records = snapshot
            .range((Bound::Included(&from), Bound::Excluded(&to)))
            .map(|pair| {
                let at = |reason| broken(&inner.shared.spec.path, reason);
                let (key, stored) = pair?;
                Ok((
                    own_key(&key).map_err(at)?,
                    StoredRecord::decode(stored).map_err(at)?,
                ))
            });
        let written = write_copy(&inner.shared.spec, folder, records);
        drop((snapshot, running));
        let written = written?;
        if written != count {
            let reason = format!("it holds {written} records and counts {count}");
            return Err(broken(&inner.shared.spec.path, reason));
        }
        Ok(())
    }

    fn is_healthy(&self) -> bool {
        self.inner.healthy.load(SeqCst)
    }

    fn release(&self, why: Error) -> Pending {
        let (answer, pending) = Pending::waiting();
        // Not `try_send`: behind a full queue it is waited for.
        if let Err(SendError(job)) = self.jobs.send(Job::Release { why, answer })
            && let Job::Release { why, answer } = job
        {
            // Its thread has died, and the folder is still locked.
            let store = std::mem::replace(&mut *self.inner.write(), Err(why));
            drop(store);
            drop(answer.send(Ok(WriteResult::Done)));
        }
        pending
    }

    fn measure(&self, snapshot: &mut KvSnapshot) {
        snapshot.queued = self.jobs.len() as u64;
        snapshot.records = self.count().unwrap_or(0);
        snapshot.bytes = self.size().unwrap_or(0);
        snapshot.cache = self.inner.with_store(|store| Ok(store.cache())).ok();
    }
}

/// Counts what uses parts of the engine while it runs.
struct UseGuard<'a>(&'a AtomicUsize);

impl<'a> UseGuard<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, SeqCst);
        Self(count)
    }
}

impl Drop for UseGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::Clock;
    use crate::metrics::KvCounters;
    use crate::spec::{Durability, Spec};

    #[test]
    fn a_thread_that_dies_leaves_no_healthy_database() {
        let folder = tempfile::tempdir().unwrap();
        let shared = Arc::new(EngineShared {
            spec: Spec::disk(folder.path(), Durability::Process),
            clock: Clock::default(),
            watches: Arc::default(),
            counters: KvCounters::default(),
        });
        let disk = Disk::open(shared, Arc::default()).unwrap();
        let ending = || Ending {
            closed: Arc::default(),
            inner: disk.inner.clone(),
        };
        drop(ending());
        assert!(disk.is_healthy());
        let dying = ending();
        let died = thread::spawn(move || {
            let _ending = dying;
            panic!("as a bug would");
        });
        assert!(died.join().is_err());
        assert!(!disk.is_healthy());
    }

    #[test]
    fn a_store_without_its_engine_is_read_until_another_has_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let shared = Arc::new(EngineShared {
            spec: Spec::disk(folder.path().join("kv"), Durability::Process),
            clock: Clock::default(),
            watches: Arc::default(),
            counters: KvCounters::default(),
        });
        let disk = Disk::open(shared, Arc::default()).unwrap();
        let set = |key: &'static str, value: String| disk.submit(Write::set(key, value)).wait();
        for round in 0..3 {
            set("key", round.to_string()).unwrap();
            disk.inner.take_engine().unwrap();
            // Taken twice, as after a vain attempt to open the folder.
            disk.inner.take_engine().unwrap();
            let value = disk.value(b"key").unwrap();
            assert_eq!(value.as_deref(), Some(round.to_string().as_bytes()));
            let page = disk.read(&KeyRange::all(), 10, 10).unwrap();
            assert_eq!((page.pairs.len(), disk.count().unwrap()), (1, 1));
            assert!(disk.backup(&folder.path().join("copy")).is_err());
            assert!(disk.rebuild().is_err());
        }
        set("other", "value".to_owned()).unwrap();
        assert_eq!(disk.value(b"key").unwrap().as_deref(), Some(&b"2"[..]));
        assert_eq!(disk.count().unwrap(), 2);
        disk.backup(&folder.path().join("copy")).unwrap();
    }
}
