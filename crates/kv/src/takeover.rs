//! Who has the databases on disk when one process takes over from another: which of the two may open them, and when. Opens nothing itself.
//! Rule: the process that serves keeps a database until it says that it has let go of it; what has been let go of is not opened again.

use std::path::Path;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::error::{Error, LockHolder, Result};

/// The process before this one. Cheap to clone; there is one for a process, from [`Takeover::begin`] on.
#[derive(Clone, Debug)]
pub struct Takeover(Arc<TakeoverState>);

#[derive(Debug)]
struct TakeoverState {
    stage: AtomicU8,
    /// How long databases are waited for.
    patience: Duration,
    /// Since when: before that nobody needs them.
    serving_at: OnceLock<Instant>,
}

static TAKEOVER: Mutex<Option<Takeover>> = Mutex::new(None);

/// The other process serves and keeps what it has.
const LOADING: u8 = 0;
/// This process serves: the other one lets go of what it has once its last requests have ended.
const SERVING: u8 = 1;
/// The other process has let go of its databases, and opens none again.
const RELEASED: u8 = 2;
/// The other process has gone.
const OVER: u8 = 3;

impl Takeover {
    /// Another process serves until this one does. Databases on disk are opened once that one has let go of them, for all of this process;
    /// after `patience` from [`serving`](Self::serving) on nothing waits for them any more.
    #[must_use]
    pub fn begin(patience: Duration) -> Takeover {
        let takeover = Takeover(Arc::new(TakeoverState {
            stage: AtomicU8::new(LOADING),
            patience,
            serving_at: OnceLock::new(),
        }));
        *TAKEOVER.lock().unwrap_or_else(PoisonError::into_inner) = Some(takeover.clone());
        takeover
    }

    /// This process serves: what it waits for comes from now on.
    pub fn serving(&self) {
        self.0.serving_at.get_or_init(Instant::now);
        self.0.stage.fetch_max(SERVING, SeqCst);
    }

    /// The other process has let go of its databases.
    pub fn released(&self) {
        self.0.stage.fetch_max(RELEASED, SeqCst);
    }

    /// The other process has gone. Whoever has a database now keeps it.
    pub fn over(&self) {
        self.0.stage.fetch_max(OVER, SeqCst);
    }

    /// Whether the other process keeps no database any more.
    pub(crate) fn is_free(&self) -> bool {
        self.0.stage.load(SeqCst) >= RELEASED
    }

    /// Whether databases have been waited for long enough.
    pub(crate) fn is_late(&self) -> bool {
        let serving_at = self.0.serving_at.get();
        serving_at.is_some_and(|at| at.elapsed() > self.0.patience)
    }

    /// That of this process, unless it is over. One whose other process has gone lasts as long as databases are waited for: a process
    /// that was killed may have waited for them itself.
    pub(crate) fn of_process() -> Option<Takeover> {
        let takeover = TAKEOVER.lock().unwrap_or_else(PoisonError::into_inner);
        let is_under_way = |takeover: &Takeover| !(takeover.is_free() && takeover.is_late());
        takeover.clone().filter(is_under_way)
    }
}

/// Whether this process has got what it takes over, or has given up waiting for it: only then can it be taken over from itself.
#[must_use]
pub fn is_takeover_settled() -> bool {
    let takeover = TAKEOVER.lock().unwrap_or_else(PoisonError::into_inner);
    let is_settled = |takeover: &Takeover| takeover.is_free() || takeover.is_late();
    takeover.as_ref().is_none_or(is_settled) && !has_awaited()
}

/// Until when a database is waited for that a process has of which nothing is known.
static LOCKS_UNTIL: OnceLock<Instant> = OnceLock::new();

/// Has whatever opens a database that another process has wait for it, until so much time has passed: where there is nobody to take over
/// from, the process before may have been killed while it waited for the one before itself.
pub fn wait_for_locks(patience: Duration) {
    LOCKS_UNTIL.get_or_init(|| Instant::now() + patience);
}

/// Whether it is to wait still.
pub(crate) fn waits_for_locks() -> bool {
    let until = LOCKS_UNTIL.get();
    until.is_some_and(|until| Instant::now() < *until)
}

/// Databases of this process that are to be opened once another process has let them go.
static AWAITED: AtomicUsize = AtomicUsize::new(0);
static OPENED: Notify = Notify::const_new();

/// One of them.
#[derive(Debug)]
pub(crate) struct AwaitedDatabase(());

impl AwaitedDatabase {
    pub(crate) fn new() -> AwaitedDatabase {
        AWAITED.fetch_add(1, SeqCst);
        AwaitedDatabase(())
    }
}

impl Drop for AwaitedDatabase {
    fn drop(&mut self) {
        if AWAITED.fetch_sub(1, SeqCst) == 1 {
            OPENED.notify_waiters();
        }
    }
}

/// Whether this process waits for databases that another one is about to let go. Costs a look at a word that rarely changes.
#[must_use]
pub fn has_awaited() -> bool {
    AWAITED.load(SeqCst) > 0
}

/// Resolves when this process waits for no database of another one any more: each is open, or has been waited for long enough.
pub async fn none_awaited() {
    loop {
        let mut opened = pin!(OPENED.notified());
        // Registers before the look, so that nothing falls between the two.
        opened.as_mut().enable();
        if !has_awaited() {
            return;
        }
        opened.await;
    }
}

/// Whether the databases on disk are another process's for good. Held while one is opened.
static IS_RELEASED: Mutex<bool> = Mutex::new(false);

/// Whether this process has asked for a folder.
static HAS_FOLDERS: AtomicBool = AtomicBool::new(false);

/// Whether this process has ever opened a database on disk, or waits for one.
#[must_use]
pub fn has_folders() -> bool {
    HAS_FOLDERS.load(SeqCst)
}

/// Opens a folder, unless this process has let go of its databases. It does so before or after, not meanwhile.
pub(crate) fn unless_released<T>(path: &Path, open: impl FnOnce() -> Result<T>) -> Result<T> {
    let is_released = IS_RELEASED.lock().unwrap_or_else(PoisonError::into_inner);
    if *is_released {
        return Err(Error::Locked {
            path: path.to_owned(),
            holder: LockHolder::Successor,
        });
    }
    HAS_FOLDERS.store(true, SeqCst);
    open()
}

/// No folder is opened any more.
pub(crate) fn release() {
    *IS_RELEASED.lock().unwrap_or_else(PoisonError::into_inner) = true;
}
