//! What opening a database on disk does while this process takes over from another one, which has it: it is opened once that one has let it go.
//! Opens nothing itself. Rule: nothing waits for what cannot come: before this process serves, the other one keeps the database.

use std::pin::pin;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// The process before this one. Cheap to clone; there is one for a process, from [`Takeover::begin`] on.
#[derive(Clone, Debug)]
pub struct Takeover(Arc<AtomicU8>);

/// How far a takeover is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TakeoverStage {
    /// The other process serves and keeps what it has.
    Loading,
    /// This process serves: the other one lets go of what it has as soon as its last requests have ended.
    Serving,
    /// The other process has gone.
    Over,
}

static TAKEOVER: Mutex<Option<Takeover>> = Mutex::new(None);

const LOADING: u8 = 0;
const SERVING: u8 = 1;
const OVER: u8 = 2;

impl Takeover {
    /// Another process serves until this one does. Databases on disk that it has are opened later, for all of this process.
    #[must_use]
    pub fn begin() -> Takeover {
        let takeover = Takeover(Arc::new(AtomicU8::new(LOADING)));
        *TAKEOVER.lock().unwrap_or_else(PoisonError::into_inner) = Some(takeover.clone());
        takeover
    }

    /// This process serves: what it waits for comes from now on.
    pub fn serving(&self) {
        // Not when the other one has gone already.
        let _ = self.0.compare_exchange(LOADING, SERVING, SeqCst, SeqCst);
    }

    /// The other process has gone. Whoever has a database now keeps it.
    pub fn over(&self) {
        self.0.store(OVER, SeqCst);
    }

    pub(crate) fn stage(&self) -> TakeoverStage {
        match self.0.load(SeqCst) {
            LOADING => TakeoverStage::Loading,
            SERVING => TakeoverStage::Serving,
            _ => TakeoverStage::Over,
        }
    }

    /// That of this process, unless it is over.
    pub(crate) fn of_process() -> Option<Takeover> {
        let takeover = TAKEOVER.lock().unwrap_or_else(PoisonError::into_inner);
        let is_under_way = |takeover: &Takeover| takeover.stage() != TakeoverStage::Over;
        takeover.clone().filter(is_under_way)
    }
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

/// Resolves when this process waits for no database of another one any more: each is open, or cannot be had.
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
