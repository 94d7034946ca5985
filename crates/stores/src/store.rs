//! The store of an application: one type over all engines. Checks calls against the engine's table, and hands them on.
//! Rule: what an engine refuses is refused here, before anything is sent; a call means the same on every engine that takes it.

use std::cell::Cell;
use std::fmt;
use std::path::PathBuf;
use std::rc::{Rc, Weak};
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tsumugi_kv::single_flight::StoreId;
use tsumugi_kv::{KeyRange, KvDatabase, Lifetime, Pair, SearchMode, Write, WriteResult};
use tsumugi_trace::{Span, SpanKind, span};
use tsumugi_worker::Pool;

use crate::capability::{Capabilities, Capability};
use crate::engine::StoreEngine as _;
use crate::engine_handle::EngineHandle;
use crate::error::Result;
use crate::local::LocalStore;
use crate::watch::StoreWatch;

/// An open store. Clones share it, on one worker's thread.
#[derive(Clone)]
pub struct Store {
    inner: Rc<StoreInner>,
}

/// What the clones share.
struct StoreInner {
    engine: EngineHandle,
    place: Arc<str>,
    flights: StoreId,
    /// Whether it is in the place of a store of other servers, for a command that only looks.
    is_stand_in: Cell<bool>,
}

/// Awaits a call of whichever engine it is. One of a database of this process is not boxed: it may take less than the box. Others are, by the
/// engine's handle.
macro_rules! local_or_boxed {
    ($store:expr, $call:ident($($argument:expr),*)) => {
        match $store.inner.engine.local() {
            Some(local) => local.$call($($argument),*).await,
            None => $store.inner.engine.$call($($argument),*).await,
        }
    };
}

/// What a call came to, noted in its span.
fn noted<T>(span: &Span, outcome: Result<T>) -> Result<T> {
    if let Err(error) = &outcome {
        span.fail(&error.to_string());
    }
    outcome
}

impl Store {
    /// A database of this process. The pool is for what may block.
    #[must_use]
    pub fn local(database: KvDatabase, pool: Pool) -> Store {
        let (place, flights) = (database.place(), database.flights());
        let engine = EngineHandle::Local(LocalStore { database, pool });
        Store::of(engine, place, flights)
    }

    /// A store of another server, with a name for people that no other store has.
    #[cfg(any(feature = "grpc", feature = "redis"))]
    pub(crate) fn remote(engine: EngineHandle, place: impl Into<Arc<str>>) -> Store {
        let place = place.into();
        let flights = StoreId::Service(Arc::clone(&place));
        Store::of(engine, place, flights)
    }

    fn of(engine: EngineHandle, place: Arc<str>, flights: StoreId) -> Store {
        Store {
            inner: Rc::new(StoreInner {
                engine,
                place,
                flights,
                is_stand_in: Cell::new(false),
            }),
        }
    }

    /// The store for lists, which keep none open.
    #[must_use]
    pub fn downgrade(&self) -> WeakStore {
        WeakStore(Rc::downgrade(&self.inner))
    }

    /// It is in the place of a store of other servers.
    pub(crate) fn stand_in(&self) {
        self.inner.is_stand_in.set(true);
    }

    pub(crate) fn stands_in(&self) -> bool {
        self.inner.is_stand_in.get()
    }

    /// The span of a call. Keys and values are in none.
    fn span(&self, call: &str) -> Span {
        match tsumugi_trace::is_observed() {
            false => Span::default(),
            true => span(SpanKind::Kv, &format!("{call} {}", self.place())),
        }
    }

    pub(crate) fn engine(&self) -> &EngineHandle {
        &self.inner.engine
    }

    /// The database, if it is one of this process: what it does in place needs no `await`.
    #[must_use]
    pub fn database(&self) -> Option<&KvDatabase> {
        self.inner.engine.local().map(|local| &local.database)
    }

    /// What tells this store from others of the process, for people. Holds no password.
    #[must_use]
    pub fn place(&self) -> Arc<str> {
        Arc::clone(&self.inner.place)
    }

    /// What distinguishes computations of its values.
    #[must_use]
    pub fn flights(&self) -> &StoreId {
        &self.inner.flights
    }

    /// What its engine promises and refuses.
    #[must_use]
    pub fn capabilities(&self) -> &'static Capabilities {
        self.inner.engine.capabilities()
    }

    /// Whether it can do this, its server included.
    ///
    /// # Errors
    /// [`Unsupported`](crate::Error::Unsupported), or the server's; as [`get`](Self::get) where that has to be asked.
    pub async fn require(&self, wanted: Capability) -> Result<()> {
        self.capabilities().check(wanted)?;
        self.inner.engine.require(wanted).await
    }

    /// The value at a key.
    ///
    /// # Errors
    /// As [`Error`](crate::Error) says for the engine; of a key beyond its limit before anything is sent.
    pub async fn get(&self, key: impl Into<Bytes>) -> Result<Option<Bytes>> {
        let key = key.into();
        self.capabilities().check_key(&key)?;
        let span = self.span("get");
        noted(&span, local_or_boxed!(self, get(key)))
    }

    /// The records of those keys that exist, in the order of `keys`. No moment for all of them is promised.
    ///
    /// # Errors
    /// As [`get`](Self::get); [`TooMany`](tsumugi_kv::Error::TooMany) bytes at once.
    pub async fn records(&self, keys: Vec<Bytes>) -> Result<Vec<Pair>> {
        let table = self.capabilities();
        keys.iter().try_for_each(|key| table.check_key(key))?;
        let span = self.span("records");
        let found = noted(&span, local_or_boxed!(self, records(keys)))?;
        let bytes = found.iter().map(|(key, value)| key.len() + value.len());
        Capabilities::check_bytes(bytes.sum())?;
        Ok(found)
    }

    /// Applies a write, and answers once it is acknowledged. What each write means stands at [`Write`]. Dropping the future does not take
    /// it back.
    ///
    /// # Errors
    /// Of an engine's table before anything is sent. After a failure [`Error::fate`](crate::Error::fate) says whether it may have taken place; nothing
    /// that may have is repeated here.
    pub async fn write(&self, write: Write) -> Result<WriteResult> {
        // A database of this process checks by its own settings, and a batch part by part.
        if self.database().is_none() {
            self.capabilities().check_write(&write)?;
        }
        let span = self.span("write");
        noted(&span, local_or_boxed!(self, write(write)))
    }

    /// Removes the first record of a queue, or the one with the least key of all without a name: [`WriteResult::Popped`]. Waits for one for
    /// this long; then it is [`WriteResult::Missing`].
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub async fn pop(&self, queue: Option<Bytes>, wait: Duration) -> Result<WriteResult> {
        self.capabilities()
            .check_queue(queue.as_deref().unwrap_or_default())?;
        let span = self.span("pop");
        noted(&span, local_or_boxed!(self, pop(queue, wait)))
    }

    /// How long the record at a key is still there; `None` when there is none.
    ///
    /// # Errors
    /// As [`get`](Self::get); [`Unsupported`](crate::Error::Unsupported) by an engine without times to live.
    pub async fn lifetime(&self, key: impl Into<Bytes>) -> Result<Option<Lifetime>> {
        let key = key.into();
        self.capabilities().check(Capability::TimeToLive)?;
        self.capabilities().check_key(&key)?;
        let span = self.span("lifetime");
        noted(&span, local_or_boxed!(self, lifetime(key)))
    }

    /// The first records of a range: at most `limit`, and fewer where they are large; none only when there are no more. Go on with
    /// [`KeyRange::after`].
    ///
    /// # Errors
    /// As [`get`](Self::get); [`Unsupported`](crate::Error::Unsupported) by an engine without an order.
    pub async fn page(&self, range: &KeyRange, limit: usize) -> Result<Vec<Pair>> {
        self.capabilities().check(Capability::Scan)?;
        if limit == 0 || range.is_empty() {
            return Ok(Vec::new());
        }
        let span = self.span("page");
        noted(&span, local_or_boxed!(self, page(range, limit)))
    }

    /// How many records there are.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn count(&self) -> Result<u64> {
        self.capabilities().check(Capability::Count)?;
        let span = self.span("count");
        noted(&span, local_or_boxed!(self, count()))
    }

    /// Keys that fit a pattern, at most `limit`. `mode` is a name of [`SearchMode`].
    ///
    /// # Errors
    /// As [`get`](Self::get); for a mode or a pattern that cannot be used.
    pub async fn search(
        &self,
        mode: &str,
        pattern: impl Into<Bytes>,
        limit: usize,
    ) -> Result<Vec<Bytes>> {
        self.capabilities().check(Capability::Search)?;
        SearchMode::from_str(mode)?;
        if limit == 0 {
            return Ok(Vec::new());
        }
        let pattern = pattern.into();
        let span = self.span("search");
        noted(&span, self.inner.engine.search(mode, pattern, limit).await)
    }

    /// Answers once what was acknowledged before is as safe as the engine can make it.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn synchronize(&self) -> Result<()> {
        self.capabilities().check(Capability::Synchronize)?;
        self.inner.engine.synchronize().await
    }

    /// Writes the records of this moment to a folder that does not exist yet.
    ///
    /// # Errors
    /// As [`KvDatabase::backup`]; [`Unsupported`](crate::Error::Unsupported) but for a database of this process.
    pub async fn backup(&self, folder: PathBuf) -> Result<()> {
        match self.inner.engine.local() {
            Some(local) => local.backup(folder).await,
            None => self.capabilities().check(Capability::Backup),
        }
    }

    /// What the store says of itself, by names of the engine.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub async fn inspect(&self) -> Result<Vec<(String, String)>> {
        self.inner.engine.inspect().await
    }

    /// The changes of the keys that begin with `prefix`, from the answer on.
    ///
    /// # Errors
    /// As [`get`](Self::get); [`Unsupported`](crate::Error::Unsupported) by an engine that reports none.
    pub async fn watch(&self, prefix: impl Into<Bytes>) -> Result<StoreWatch> {
        let prefix = prefix.into();
        self.capabilities().check(Capability::Watch)?;
        self.capabilities().check_key(&prefix)?;
        self.inner.engine.watch(prefix).await
    }
}

/// A store that may be closed by now.
#[derive(Clone)]
pub struct WeakStore(Weak<StoreInner>);

impl fmt::Debug for WeakStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WeakStore").field(&self.upgrade()).finish()
    }
}

impl WeakStore {
    /// The store, if it is open.
    #[must_use]
    pub fn upgrade(&self) -> Option<Store> {
        self.0.upgrade().map(|inner| Store { inner })
    }
}

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Store").field(&self.inner.place).finish()
    }
}
