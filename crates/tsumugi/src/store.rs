//! The key-value store as handlers use it: text, JSON, and values that are computed once and kept for a time.
//! Knows no engine. Rule: of all callers in the process that miss the same key, one computes and the others wait for its value.

use std::ops::Deref;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde::de::value::{Error as ValueError, StrDeserializer};
use tsumugi_cluster::{Cluster, computation_name};
use tsumugi_kv::single_flight::{FetchLease, FetchTurn, SingleFlight};
use tsumugi_kv::{ComputedValue, Lifetime, SetMode, Write, WriteResult, mark_json};
use tsumugi_stores::{Store, StoreAddress, StoreSettings};

use crate::error::{Error, Result};
use crate::ledger::Ledger;
use crate::lineage::{Computation, ComputationFuture};
use crate::plugin::Worker;

/// A store: one of this process, which all workers of it have together, or one of a server that other processes have too. Cheap to clone.
/// What is not here is on [`Store`], which it dereferences to: writes on a condition, pages, watches.
#[derive(Clone, Debug)]
pub struct Kv {
    store: Store,
}

impl Kv {
    /// Opens the store at `place`: a folder (feature `disk`), or `memory:NAME` for one in memory, with options after `#` (`memory:pages#capacity=64m`); or
    /// that of a server: `tkrzw://host:1978/0`, `tkrzw+tls://…`, `tkrzw+unix:/path` and `etcd://host:2379/shop` (feature `grpc`), `redis://host:6379/0`
    /// (feature `redis`). All who open the same place have the same store, an application in Ruby too.
    ///
    /// # Errors
    /// [`Error::Kv`]: as [`KvDatabase::open`](tsumugi_kv::KvDatabase::open). [`Error::Store`] of an unknown scheme or an engine that is not built in, or
    /// where a server is not reached; [`Error::Other`] where the worker takes no more blocking work.
    pub async fn open(worker: &Worker, place: &str) -> Result<Kv> {
        Kv::open_with(worker, place, &StoreSettings::default()).await
    }

    /// The same with settings by their names in Ruby: `StoreSettings::default().with("token", token).with("timeout", "2")`.
    ///
    /// # Errors
    /// As [`Kv::open`], and of a setting that this kind of store has not.
    pub async fn open_with(worker: &Worker, place: &str, settings: &StoreSettings) -> Result<Kv> {
        let address = StoreAddress::parse(place, settings)?;
        let store = worker.stores().open(address).await?;
        Ledger::here().keep(&store);
        Ok(Kv { store })
    }

    pub(crate) fn into_store(self) -> Store {
        self.store
    }

    /// The value of a key as text.
    ///
    /// # Errors
    /// As [`Store::get`]. [`Error::Usage`] where the value is not UTF-8.
    pub async fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<String>> {
        let Some(bytes) = self.bytes(key).await? else {
            return Ok(None);
        };
        let text = String::from_utf8(bytes.into());
        text.map(Some)
            .map_err(|_| Error::Usage("the value is not UTF-8: read it as bytes".into()))
    }

    /// The value of a key.
    ///
    /// # Errors
    /// As [`Store::get`].
    pub async fn bytes(&self, key: impl AsRef<[u8]>) -> Result<Option<Bytes>> {
        // In place, where it is: the key is not copied.
        match self.store.database() {
            Some(database) => {
                let _span = tsumugi_trace::span(tsumugi_trace::SpanKind::Kv, "get");
                Ok(database.get(key.as_ref())?)
            }
            None => Ok(self.store.get(Bytes::copy_from_slice(key.as_ref())).await?),
        }
    }

    /// The value of a key, which is JSON.
    ///
    /// # Errors
    /// As [`Store::get`]. [`Error::Other`] where the value is no `T`.
    pub async fn json<T: DeserializeOwned>(&self, key: impl AsRef<[u8]>) -> Result<Option<T>> {
        let bytes = self.bytes(key).await?;
        bytes.map(|bytes| parse(&bytes)).transpose()
    }

    /// Stores a value, for a time or for ever.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub async fn set(
        &self,
        key: impl Into<Bytes>,
        value: impl Into<Bytes>,
        ttl: Option<Duration>,
    ) -> Result<()> {
        let write = Write::Set {
            key: key.into(),
            value: value.into(),
            mode: SetMode::Overwrite,
            ttl,
        };
        self.store.write(write).await?;
        Ok(())
    }

    /// Removes a record and says whether it was there.
    ///
    /// # Errors
    /// As [`Kv::set`].
    pub async fn remove(&self, key: impl Into<Bytes>) -> Result<bool> {
        let removed = self.store.write(Write::remove(key)).await?;
        Ok(matches!(removed, WriteResult::Done))
    }

    /// Adds to a number that begins at 0, and gives the new one.
    ///
    /// # Errors
    /// As [`Kv::set`]; [`NotANumber`](tsumugi_kv::Error::NotANumber) of a value that has not the 8 bytes of a number.
    pub async fn increment(&self, key: impl Into<Bytes>, by: i64) -> Result<i64> {
        let write = Write::Increment {
            key: key.into(),
            by,
            initial: 0,
        };
        match self.store.write(write).await? {
            WriteResult::Number(number) => Ok(number),
            other => Err(Error::Usage(format!("no number: {other:?}").into())),
        }
    }

    /// Gives a record another time to live, counted from now; none without one. Says whether the record is there.
    ///
    /// # Errors
    /// As [`Kv::set`].
    pub async fn touch(&self, key: impl Into<Bytes>, ttl: Option<Duration>) -> Result<bool> {
        let key = key.into();
        let touched = self.store.write(Write::Touch { key, ttl }).await?;
        Ok(matches!(touched, WriteResult::Done))
    }

    /// How long a record is still there; `None` when there is none.
    ///
    /// # Errors
    /// As [`Store::lifetime`].
    pub async fn ttl(&self, key: impl Into<Bytes>) -> Result<Option<Lifetime>> {
        Ok(self.store.lifetime(key).await?)
    }

    /// Stores a value behind all others of a queue, and gives its key.
    ///
    /// # Errors
    /// As [`Kv::set`].
    pub async fn push(&self, queue: impl Into<Bytes>, value: impl Into<Bytes>) -> Result<Bytes> {
        let (queue, value) = (queue.into(), value.into());
        match self.store.write(Write::Push { queue, value }).await? {
            WriteResult::Pushed { key } => Ok(key),
            other => Err(Error::Usage(format!("no key: {other:?}").into())),
        }
    }

    /// Takes the first value of a queue out, waiting for one for this long. It is given at most once, also when this future is dropped.
    ///
    /// # Errors
    /// As [`Kv::set`].
    pub async fn pop(&self, queue: impl Into<Bytes>, wait: Duration) -> Result<Option<Bytes>> {
        match self.store.pop(Some(queue.into()), wait).await? {
            WriteResult::Popped { value, .. } => Ok(Some(value)),
            _ => Ok(None),
        }
    }

    /// The value of a key, which is JSON, or text that Ruby computed. When there is none, what `compute` gives is stored for `ttl`; all others of the process that want
    /// the key wait meanwhile, in Ruby too. When it gives an error, panics or is dropped, nothing is stored and one of the callers that wait
    /// computes next. A value that cannot be stored is given all the same, and logged. The caller that computes gets the value as all others do, read from
    /// its JSON.
    ///
    /// `compute` may fetch other keys. Where two computations would wait for each other, one of them computes the other's value for
    /// itself; so does a task that `compute` spawned by [`Worker::spawn`](crate::Worker::spawn).
    ///
    /// # Errors
    /// What `compute` gives; [`FetchNested`](tsumugi_kv::Error::FetchNested) when it fetches its own key; when the store cannot be read, its
    /// value is no JSON of a `T`, or [`FETCH_WAITERS_MAX`](tsumugi_kv::limits::FETCH_WAITERS_MAX) wait already.
    pub async fn fetch<T>(
        &self,
        key: impl Into<Bytes>,
        ttl: Duration,
        compute: impl AsyncFnOnce() -> Result<T>,
    ) -> Result<T>
    where
        T: Serialize + DeserializeOwned,
    {
        let key = key.into();
        let work = async |computation: Rc<Computation>, lease: FetchLease| {
            self.compute(key.clone(), ttl, computation, lease, compute)
                .await
        };
        self.fetch_by(&key, work).await
    }

    /// The same for a store that several processes share: one of all computes, the others wait and find the value, for 30 seconds at most; then
    /// they compute themselves. `cluster` is what the worker has ([`Worker::cluster`]).
    ///
    /// # Errors
    /// As [`Kv::fetch`]; [`Error::Cluster`] of the lock.
    pub async fn fetch_in_cluster<T>(
        &self,
        cluster: &Cluster,
        key: impl Into<Bytes>,
        ttl: Duration,
        compute: impl AsyncFnOnce() -> Result<T>,
    ) -> Result<T>
    where
        T: Serialize + DeserializeOwned,
    {
        let key = key.into();
        let name = computation_name(&self.store.place(), &key);
        let work = async |computation: Rc<Computation>, lease: FetchLease| {
            // The value is stored before another process has the lock.
            let once = async || match self.bytes(&key).await? {
                Some(bytes) => parse(&bytes),
                None => {
                    self.compute(key.clone(), ttl, computation, lease, compute)
                        .await
                }
            };
            cluster.compute(&name, once).await?
        };
        self.fetch_by(&key, work).await
    }

    /// The value of a key, or what `work` makes of it where this caller is the one of the process that is to.
    async fn fetch_by<T: DeserializeOwned>(
        &self,
        key: &Bytes,
        work: impl AsyncFnOnce(Rc<Computation>, FetchLease) -> Result<T>,
    ) -> Result<T> {
        if let Some(bytes) = self.bytes(key).await? {
            return parse(&bytes);
        }
        let computation = Computation::begin();
        let flights = SingleFlight::of_process();
        let look = async || self.bytes(key).await;
        let turn = flights.turn(
            self.store.flights(),
            key.clone(),
            computation.lineage(),
            look,
        );
        match turn.await? {
            FetchTurn::Found(bytes) => parse(&bytes),
            FetchTurn::Compute(lease) => work(computation, lease).await,
        }
    }

    /// Computes a value, stores it and gives it to those of the process that wait for it.
    async fn compute<T>(
        &self,
        key: Bytes,
        ttl: Duration,
        computation: Rc<Computation>,
        lease: FetchLease,
        compute: impl AsyncFnOnce() -> Result<T>,
    ) -> Result<T>
    where
        T: Serialize + DeserializeOwned,
    {
        let value = ComputationFuture::new(computation, async { compute().await }).await?;
        let mut json = serde_json::to_vec(&value).map_err(Error::other)?;
        mark_json(&mut json);
        let json = Bytes::from(json);
        // As all others get it.
        let value = parse(&json)?;
        let write = self.set(key, json.clone(), Some(ttl));
        lease.land(&json, write).await;
        Ok(value)
    }
}

impl Deref for Kv {
    type Target = Store;

    fn deref(&self) -> &Store {
        &self.store
    }
}

fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    let json = |json| serde_json::from_slice(json).map_err(Error::other);
    let text = |text| {
        let text = std::str::from_utf8(text).ok()?;
        T::deserialize(StrDeserializer::<ValueError>::new(text)).ok()
    };
    match ComputedValue::of(bytes) {
        ComputedValue::Json(value) => json(value),
        // What is not wanted as text may be JSON that Ruby made into a String.
        ComputedValue::Text(value) => text(value).map_or_else(|| json(value), Ok),
        ComputedValue::Unmarked(value) => json(value).or_else(|error| text(value).ok_or(error)),
    }
}
