//! The handle of one open database: checks calls, hands them to the engine, lends it watches and waiters. Stores nothing itself.
//! Rule: a key or value beyond its limit never reaches an engine.

use std::fmt;
use std::future::poll_fn;
use std::path::Path;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Weak};
use std::task::Poll;
use std::thread;
use std::time::Duration;

use bytes::Bytes;

use crate::clock::Clock;
use crate::close_state::CloseState;
use crate::disk::{self, is_database};
use crate::engine::{Engine, EngineShared};
use crate::engine_slot::EngineSlot;
use crate::error::{Error, LockHolder, Result};
use crate::limits::{PAGE_RECORDS_MAX, SEEK_LOOKS_MAX, TAKEOVER_LATE_LOOK, TAKEOVER_LOOK};
use crate::memory::MemoryEngine;
use crate::metrics::{KvCounters, KvSnapshot};
use crate::notify::{QUEUE_KEY, Waiter, Waiters};
use crate::pending::Pending;
use crate::queue::{pushed_subject, queue_prefix};
use crate::range::{KeyRange, Pair, Seek, SeekOutcome};
use crate::search::{SearchMode, search};
use crate::single_flight::StoreId;
use crate::spec::Spec;
use crate::sweeper;
use crate::takeover::{AwaitedDatabase, Takeover, unless_released};
use crate::watch::PrefixWatch;
use crate::write::{Lifetime, Write, WriteResult, check_key};

/// An open database. Clones share it, on any thread; it closes with the last of them.
#[derive(Clone)]
pub struct KvDatabase {
    pub(crate) open: Arc<Open>,
}

/// What the clones share.
pub(crate) struct Open {
    slot: EngineSlot,
    shared: Arc<EngineShared>,
    waiters: Arc<Waiters>,
    closed: Arc<CloseState>,
    /// Its number, unique among all that the process has opened.
    number: u64,
}

static NUMBERS: AtomicU64 = AtomicU64::new(0);

impl Drop for Open {
    fn drop(&mut self) {
        self.shared.watches.end();
    }
}

impl KvDatabase {
    /// Opens a database that no other handle of this process has open; the registry joins the others.
    pub(crate) fn start(spec: &Spec, clock: Clock, closed: Arc<CloseState>) -> Result<Self> {
        for ignored in &spec.ignored {
            tracing::warn!(
                path = %spec.path.display(),
                setting = %ignored.name,
                "ignored setting of a database",
            );
        }
        let shared = Arc::new(EngineShared {
            spec: spec.clone(),
            clock,
            watches: Arc::default(),
            counters: KvCounters::default(),
        });
        if spec.is_in_memory() {
            let memory: Arc<dyn Engine> = Arc::new(MemoryEngine::new(shared.clone()));
            sweeper::enlist(Arc::downgrade(&memory))?;
            return Ok(Self::of(EngineSlot::with(memory), shared, closed));
        }
        let takeover = Takeover::of_process();
        // What the process before this one may have is not tried before that one has let go of it: it may just be about to open it again.
        let is_kept = match &takeover {
            Some(takeover) => !takeover.is_free() && is_database(&spec.path)?,
            None => false,
        };
        if !is_kept {
            let open = || disk::open(shared.clone(), closed.clone());
            match (unless_released(&spec.path, open), &takeover) {
                (Err(error), Some(_)) if error.is_held_by_another() => {}
                (disk, _) => {
                    let slot = EngineSlot::with(disk?);
                    return Ok(Self::of(slot, shared, closed));
                }
            }
        }
        let slot = EngineSlot::awaited(Error::locked(&shared.spec.path, LockHolder::Predecessor));
        let database = Self::of(slot, shared, closed);
        if let Some(takeover) = takeover {
            unless_released(&spec.path, || database.open_later(takeover))?;
        }
        Ok(database)
    }

    fn of(slot: EngineSlot, shared: Arc<EngineShared>, closed: Arc<CloseState>) -> Self {
        Self {
            open: Arc::new(Open {
                slot,
                shared,
                waiters: Arc::default(),
                closed,
                number: NUMBERS.fetch_add(1, Relaxed),
            }),
        }
    }

    /// A database that cannot be had, for this reason: every call of it answers so. Nothing is opened, and nobody else has the same one.
    #[must_use]
    pub fn unavailable(spec: &Spec, why: Error) -> Self {
        let shared = Arc::new(EngineShared {
            spec: spec.clone(),
            clock: Clock::System,
            watches: Arc::default(),
            counters: KvCounters::default(),
        });
        Self::of(EngineSlot::missing(why), shared, Arc::default())
    }

    /// Has a thread open it once the process before this one has let it go.
    fn open_later(&self, takeover: Takeover) -> Result<()> {
        let (shared, closed) = (self.open.shared.clone(), self.open.closed.clone());
        let path = shared.spec.path.clone();
        closed.open();
        let later = LaterOpening {
            open: Arc::downgrade(&self.open),
            shared,
            closed: closed.clone(),
            takeover,
            awaited: Some(AwaitedDatabase::new()),
        };
        let thread = thread::Builder::new().name("tsumugi-kv-later".to_owned());
        if let Err(source) = thread.spawn(move || later.run()) {
            closed.close();
            return Err(Error::Io {
                action: "starting a thread for",
                path,
                source: Arc::new(source),
            });
        }
        Ok(())
    }

    fn engine(&self) -> Result<&Arc<dyn Engine>> {
        self.open.slot.engine()
    }

    /// Whether every call is answered with the same reason, because the database cannot be had. Opening its path again is worth a try.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        self.open.slot.is_given_up()
    }

    /// Whether it is opened once the process before this one has let it go, which it has not yet.
    #[must_use]
    pub fn is_awaited(&self) -> bool {
        self.open.slot.is_awaited()
    }

    /// Blocks the thread until the process before this one has let the database go and it is open. At once for any other.
    ///
    /// # Errors
    /// When it cannot be opened, or is not let go in time.
    pub fn wait_open(&self) -> Result<()> {
        self.open.slot.wait()
    }

    /// Lets go of the database, and if this was the last handle, blocks the thread until all that was submitted is written and
    /// the folder is free for another process. Says whether it was the last. Dropping does the same without waiting.
    pub fn close(self) -> bool {
        let closed = self.open.closed.clone();
        let is_last = Arc::into_inner(self.open).map(drop).is_some();
        if is_last {
            closed.wait();
        }
        is_last
    }

    /// Lets go of its folder for the process that takes over from this one: see [`release_databases`](crate::release_databases).
    pub(crate) fn release(&self) -> Pending {
        let why = Error::locked(&self.open.shared.spec.path, LockHolder::Successor);
        self.open.shared.watches.end();
        match self.engine() {
            Ok(engine) => engine.release(why),
            Err(_) => {
                self.open.slot.give_up(why);
                Pending::ready(Ok(WriteResult::Done))
            }
        }
    }

    /// How the database was opened.
    #[must_use]
    pub fn spec(&self) -> &Spec {
        &self.open.shared.spec
    }

    /// What tells this database from others of the process, for people: its name in memory, its absolute path on disk.
    #[must_use]
    pub fn place(&self) -> Arc<str> {
        let path = &self.spec().path;
        // The path that it was first opened by, so that other ways to write it name the same database.
        let place = match self.is_in_memory() {
            true => path.clone(),
            false => std::path::absolute(path).unwrap_or_else(|_| path.clone()),
        };
        place.to_string_lossy().into()
    }

    /// What distinguishes computations of its values.
    #[must_use]
    pub fn flights(&self) -> StoreId {
        StoreId::Database(self.open.number)
    }

    /// Whether the database is in memory, where nothing here blocks but for moments.
    #[must_use]
    pub fn is_in_memory(&self) -> bool {
        self.spec().is_in_memory()
    }

    /// Whether writes are taken. One that is not healthy still answers reads.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.engine().is_ok_and(|engine| engine.is_healthy())
    }

    /// The value at `key`. Never waits for a write; on disk it may read a block from a file.
    ///
    /// # Errors
    /// [`Error::InvalidKey`] of a key beyond [`KEY_BYTES_MAX`](crate::limits::KEY_BYTES_MAX). On disk [`Error::Io`] and [`Error::Broken`], and after a
    /// write that failed what keeps the folder from being opened again, such as [`Error::DiskFull`]. A database in memory has no others.
    pub fn get(&self, key: &[u8]) -> Result<Option<Bytes>> {
        check_key(key)?;
        self.engine()?.value(key)
    }

    /// How long the record at `key` is still there; `None` when there is none. Never waits for a write.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn lifetime(&self, key: &[u8]) -> Result<Option<Lifetime>> {
        check_key(key)?;
        let expires_ms = self.engine()?.expires_ms(key)?;
        let clock = &self.open.shared.clock;
        let now_ms = clock.now_ms().saturating_add(clock.cut_off_ms());
        Ok(expires_ms.map(|expires_ms| match expires_ms {
            0 => Lifetime::Unlimited,
            expires_ms => Lifetime::Left(Duration::from_millis(expires_ms.saturating_sub(now_ms))),
        }))
    }

    /// How many records there are, exactly. While many have expired that were not swept yet, it looks at each of them: call it where
    /// blocking is allowed, or ask [`known_count`](Self::known_count) first.
    ///
    /// # Errors
    /// On disk, as [`get`](Self::get) but for keys; none in memory.
    pub fn count(&self) -> Result<u64> {
        self.engine()?.count()
    }

    /// [`count`](Self::count), if it is known without a look at records; `None` while some have expired that were not swept yet, and for
    /// moments in which records change.
    #[must_use]
    pub fn known_count(&self) -> Option<u64> {
        self.engine().ok()?.known_count()
    }

    /// Bytes that the database takes: of memory as the capacity counts them, or of disk.
    ///
    /// # Errors
    /// On disk, as [`count`](Self::count); none in memory.
    pub fn file_size(&self) -> Result<u64> {
        self.engine()?.size()
    }

    /// The record at a place in the order. Passes over all that has expired before it: call it where blocking is allowed.
    ///
    /// # Errors
    /// On disk, as [`count`](Self::count); none in memory.
    pub fn seek(&self, seek: &Seek) -> Result<Option<Pair>> {
        let mut sought = self.seek_step(seek)?;
        loop {
            match sought {
                SeekOutcome::Found(pair) => return Ok(Some(pair)),
                SeekOutcome::Nothing => return Ok(None),
                SeekOutcome::Farther(seek) => sought = self.seek_step(&seek)?,
            }
        }
    }

    /// [`seek`](Self::seek) that looks at no more than [`SEEK_LOOKS_MAX`] records and says where to go on.
    ///
    /// # Errors
    /// As [`seek`](Self::seek).
    pub fn seek_step(&self, seek: &Seek) -> Result<SeekOutcome> {
        // A cursor that was sent to a key mostly finds it, and a look at a table costs less than one at the order.
        if let Seek::AtOrAfter(key) | Seek::AtOrBefore(key) = seek
            && check_key(key).is_ok()
            && let Some(value) = self.engine()?.value(key)?
        {
            return Ok(SeekOutcome::Found((key.clone(), value)));
        }
        let range = KeyRange::from(seek);
        let mut read = self.engine()?.read(&range, 1, SEEK_LOOKS_MAX)?;
        Ok(match (read.pairs.pop(), read.seen) {
            (Some(pair), _) => SeekOutcome::Found(pair),
            (None, Some(seen)) => SeekOutcome::Farther(seek.beyond(seen)),
            (None, None) => SeekOutcome::Nothing,
        })
    }

    /// The first records of a range: at most `limit`, [`PAGE_RECORDS_MAX`], and fewer when their size reaches
    /// [`PAGE_BYTES_MAX`](crate::limits::PAGE_BYTES_MAX); none only when there are no more. Go on with [`KeyRange::after`].
    ///
    /// Of a database on disk it may read many blocks: call it where blocking is allowed.
    ///
    /// # Errors
    /// On disk, as [`count`](Self::count); none in memory.
    pub fn page(&self, range: &KeyRange, limit: usize) -> Result<Vec<Pair>> {
        if range.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        let limit = limit.min(PAGE_RECORDS_MAX);
        Ok(self.engine()?.read(range, limit, usize::MAX)?.pairs)
    }

    /// Keys that fit a pattern, at most `capacity`, or
    /// [`SEARCH_MATCHES_MAX`](crate::limits::SEARCH_MATCHES_MAX) when that is 0. It ends early, with what was found so far, once
    /// `wanted` answers false, which it is asked at every key.
    ///
    /// Looks at every key in most modes: call it where blocking is allowed.
    ///
    /// # Errors
    /// For a pattern that cannot be used, and when the keys are more than [`SEARCH_BYTES_MAX`](crate::limits::SEARCH_BYTES_MAX).
    pub fn search(
        &self,
        mode: SearchMode,
        pattern: &[u8],
        capacity: usize,
        wanted: impl Fn() -> bool,
    ) -> Result<Vec<Bytes>> {
        search(mode, pattern, capacity, wanted, |range, limit| {
            self.page(range, limit)
        })
    }

    /// Applies a write. The answer is there at once for a database in memory, and after the commit for one on disk; dropping
    /// it does not take the write back. Writes of one thread are applied in their order.
    pub fn submit(&self, write: Write) -> Pending {
        if self.spec().read_only {
            return Pending::ready(Err(self.read_only()));
        }
        let checked = write.check(self.spec().value_max);
        match checked.and_then(|()| self.engine()) {
            Ok(engine) => engine.submit(write),
            Err(error) => Pending::ready(Err(error)),
        }
    }

    fn read_only(&self) -> Error {
        Error::ReadOnly {
            path: self.spec().path.clone(),
        }
    }

    /// [`submit`](Self::submit), blocking the thread until the answer is there.
    ///
    /// # Errors
    /// [`Error::ReadOnly`]; [`Error::InvalidKey`], [`Error::ValueTooLong`], [`Error::NotANumber`] and [`Error::TooMany`] of what cannot be written;
    /// [`Error::Full`] in memory; [`Error::QueueFull`] and [`Error::DiskFull`] on disk: nothing was written. After [`Error::Io`] and [`Error::Closed`] it may or
    /// may not have been.
    pub fn submit_wait(&self, write: Write) -> Result<WriteResult> {
        self.submit(write).wait()
    }

    /// Answers once the disk has confirmed all that was written before, whatever the durability. At once in memory.
    pub fn synchronize(&self) -> Pending {
        match self.engine() {
            Ok(engine) => engine.synchronize(),
            Err(error) => Pending::ready(Err(error)),
        }
    }

    /// Puts what is on disk in better order. Blocks the thread, for long.
    ///
    /// # Errors
    /// [`Error::ReadOnly`]. On disk also [`Error::Io`], [`Error::DiskFull`] and [`Error::Broken`].
    pub fn rebuild(&self) -> Result<()> {
        if self.spec().read_only {
            return Err(self.read_only());
        }
        self.engine()?.rebuild()
    }

    /// Writes a database on disk with the records of this moment to `folder`, which must not exist yet. Blocks the thread;
    /// reads and writes go on. Opening the folder restores them.
    ///
    /// # Errors
    /// [`Error::Io`] where the folder exists or cannot be written, [`Error::DiskFull`], [`Error::Broken`] where the database is, and
    /// [`Error::NotBuiltIn`] without the feature `disk`.
    pub fn backup(&self, folder: &Path) -> Result<()> {
        self.engine()?.backup(folder)
    }

    /// The changes of the keys that begin with `prefix`, from now on.
    ///
    /// # Errors
    /// [`Error::QueueFull`] beyond [`WATCHES_MAX`](crate::limits::WATCHES_MAX).
    pub fn watch(&self, prefix: impl Into<Bytes>) -> Result<PrefixWatch> {
        self.open.shared.watches.watch(prefix.into())
    }

    /// A future that is ready once `key` is notified. Ask for it before looking at the record, and nothing is missed;
    /// bound the wait by a timer of your own.
    ///
    /// # Errors
    /// [`Error::QueueFull`] beyond [`WAITERS_MAX`](crate::limits::WAITERS_MAX).
    pub fn wait_for(&self, key: impl Into<Bytes>) -> Result<Waiter> {
        self.open.waiters.wait_for(key.into())
    }

    /// Applies a write, and again after every notice about `key` while nothing came of it (it was missing, or not as expected) and `over`
    /// is not ready; then once more, since a record may have come without a notice. The last answer holds.
    ///
    /// # Errors
    /// As [`submit_wait`](Self::submit_wait) and [`wait_for`](Self::wait_for).
    pub async fn submit_until(
        &self,
        write: Write,
        key: Bytes,
        over: impl Future<Output = ()>,
    ) -> Result<WriteResult> {
        let mut over = pin!(over);
        loop {
            // Before the look, so that no notice falls between.
            let mut notice = self.wait_for(key.clone())?;
            let written = self.submit(write.clone()).await;
            if !matches!(
                written,
                Ok(WriteResult::Mismatch { .. } | WriteResult::Missing)
            ) {
                return written;
            }
            let is_over = poll_fn(|context| match Pin::new(&mut notice).poll(context) {
                Poll::Ready(()) => Poll::Ready(false),
                Poll::Pending => over.as_mut().poll(context).map(|()| true),
            });
            if is_over.await {
                return self.submit(write).await;
            }
        }
    }

    /// Takes the first record of a queue, or of the whole database without a name, and waits for one until `over` is ready: once
    /// [`notify_pushed`](Self::notify_pushed) tells of one, or at the end. Answers [`WriteResult::Popped`] or [`WriteResult::Missing`].
    ///
    /// # Errors
    /// As [`submit_until`](Self::submit_until).
    pub async fn pop_until(
        &self,
        queue: Option<Bytes>,
        over: impl Future<Output = ()>,
    ) -> Result<WriteResult> {
        let (write, subject) = match queue {
            Some(queue) => {
                let subject = queue_prefix(&queue);
                (Write::Pop { queue }, subject)
            }
            None => (Write::PopFirst, Bytes::from_static(QUEUE_KEY)),
        };
        self.submit_until(write, subject, over).await
    }

    /// Wakes all that wait for what was pushed, as [`WriteResult::Pushed`] answers its key.
    pub fn notify_pushed(&self, key: &Bytes) {
        self.notify(&pushed_subject(key));
    }

    /// Wakes all that wait for `key`; says how many.
    pub fn notify(&self, key: &[u8]) -> usize {
        self.open.waiters.notify(key, usize::MAX)
    }

    /// Wakes the one that waits for `key` for the longest time; says whether there was one.
    pub fn notify_one(&self, key: &[u8]) -> bool {
        self.open.waiters.notify(key, 1) == 1
    }

    /// Removes what has expired. It is done in the background too; what has expired is never returned.
    pub fn sweep(&self) {
        if let Ok(engine) = self.engine() {
            engine.sweep();
        }
    }

    /// The figures since the database was opened.
    #[must_use]
    pub fn metrics(&self) -> KvSnapshot {
        let mut snapshot = self.open.shared.counters.snapshot();
        if let Ok(engine) = self.engine() {
            engine.measure(&mut snapshot);
        }
        snapshot
    }
}

/// What waits for a database of the process before this one.
struct LaterOpening {
    open: Weak<Open>,
    shared: Arc<EngineShared>,
    closed: Arc<CloseState>,
    takeover: Takeover,
    /// Until it has been waited for long enough.
    awaited: Option<AwaitedDatabase>,
}

impl LaterOpening {
    /// Tries until it is open, or cannot be, or is not wanted any more; when it has been waited for long enough its calls say why, and succeed
    /// whenever it comes.
    fn run(mut self) {
        let mut why = Error::locked(&self.shared.spec.path, LockHolder::LatePredecessor);
        // Looked at without holding it, so that its last user closes it.
        while self.open.strong_count() > 0 {
            if self.takeover.is_free() {
                match self.attempt() {
                    Ok(()) => return,
                    Err(error) if error.is_held_by_another() => why = error,
                    Err(error) => return self.give_up(error),
                }
            }
            if self.takeover.is_late() && self.awaited.is_some() {
                self.delay(&why);
            }
            thread::park_timeout(match self.awaited {
                Some(_) => TAKEOVER_LOOK,
                None => TAKEOVER_LATE_LOOK,
            });
        }
        self.closed.close();
    }

    fn attempt(&self) -> Result<()> {
        unless_released(&self.shared.spec.path, || {
            let disk = disk::open(self.shared.clone(), self.closed.clone())?;
            self.fill(disk);
            Ok(())
        })
    }

    /// Has nothing wait for it any more.
    fn delay(&mut self, why: &Error) {
        let path = self.shared.spec.path.display();
        tracing::error!(%path, error = %why, "a database was not let go in time");
        if let Some(open) = self.open.upgrade() {
            open.slot.delay(why.clone());
        }
        self.awaited = None;
    }

    fn fill(&self, disk: Arc<dyn Engine>) {
        let path = self.shared.spec.path.display();
        match self.open.upgrade() {
            Some(open) => {
                open.slot.fill(disk);
                tracing::info!(%path, "a database was taken over");
            }
            // It closes by itself.
            None => drop(disk),
        }
    }

    fn give_up(self, why: Error) {
        let path = self.shared.spec.path.display();
        tracing::error!(%path, error = %why, "a database cannot be taken over");
        if let Some(open) = self.open.upgrade() {
            open.slot.give_up(why);
        }
        self.closed.close();
    }
}

impl fmt::Debug for KvDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Database")
            .field(&self.spec().to_string())
            .finish()
    }
}
