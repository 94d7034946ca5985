//! The embedded key-value store as handlers use it: text, JSON, and values that are computed once and kept for a time.
//! Knows no engine. Rule: of all callers in the process that miss the same key, one computes and the others wait for its value.

use std::ops::Deref;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde::de::value::{Error as ValueError, StrDeserializer};
use tsumugi_kv::single_flight::{FlightLease, FlightOutcome, JoinOutcome, SingleFlight};
use tsumugi_kv::{ComputedValue, KvDatabase, SetMode, Spec, Write, WriteResult, mark_json};

use crate::error::{Error, Result};
use crate::ledger::Ledger;
use crate::lineage::{Computation, ComputationFuture};
use crate::plugin::Worker;

/// A store, which all workers of the process have together. Cheap to clone. What is not here is on [`KvDatabase`], which it
/// dereferences to: compare-and-exchange, pages, watches.
#[derive(Clone, Debug)]
pub struct Kv {
    database: Rc<KvDatabase>,
}

impl Kv {
    /// Opens the store at `place`: a folder with options after `#`, `memory:NAME` for one in memory, or `#capacity=64m` for one in memory
    /// without a name. An application in Ruby that opens the same place has the same store.
    pub async fn open(worker: &Worker, place: &str) -> Result<Kv> {
        let spec = Spec::of_place(place)?;
        let database = worker.offload(move || KvDatabase::open(&spec)).await??;
        let database = Rc::new(database);
        Ledger::here().keep(&database);
        Ok(Kv { database })
    }

    pub(crate) fn into_database(self) -> Rc<KvDatabase> {
        self.database
    }

    /// The value of a key as text.
    pub async fn get(&self, key: impl AsRef<[u8]>) -> Result<Option<String>> {
        let Some(bytes) = self.database.get(key.as_ref())? else {
            return Ok(None);
        };
        let text = String::from_utf8(bytes.into());
        text.map(Some)
            .map_err(|_| Error::Usage("the value is not UTF-8: read it as bytes".into()))
    }

    /// The value of a key.
    pub async fn bytes(&self, key: impl AsRef<[u8]>) -> Result<Option<Bytes>> {
        Ok(self.database.get(key.as_ref())?)
    }

    /// The value of a key, which is JSON.
    pub async fn json<T: DeserializeOwned>(&self, key: impl AsRef<[u8]>) -> Result<Option<T>> {
        let bytes = self.database.get(key.as_ref())?;
        bytes.map(|bytes| parse(&bytes)).transpose()
    }

    /// Stores a value, for a time or for ever.
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
        self.database.submit(write).await?;
        Ok(())
    }

    /// Removes a record and says whether it was there.
    pub async fn remove(&self, key: impl Into<Bytes>) -> Result<bool> {
        let removed = self.database.submit(Write::remove(key)).await?;
        Ok(matches!(removed, WriteResult::Done))
    }

    /// Adds to a number that begins at 0, and gives the new one.
    pub async fn increment(&self, key: impl Into<Bytes>, by: i64) -> Result<i64> {
        let write = Write::Increment {
            key: key.into(),
            by,
            initial: 0,
        };
        match self.database.submit(write).await? {
            WriteResult::Number(number) => Ok(number),
            other => Err(Error::Usage(format!("no number: {other:?}").into())),
        }
    }

    /// The value of a key, which is JSON, or text that Ruby computed. When there is none, what `compute` gives is stored for `ttl`; all others of the process that want
    /// the key wait meanwhile, in Ruby too. When it gives an error, panics or is dropped, nothing is stored and one of the callers that wait
    /// computes next. A value that cannot be stored is given all the same, and logged.
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
        if let Some(bytes) = self.database.get(&key)? {
            return parse(&bytes);
        }
        let computation = Computation::begin();
        let lead = match self.join(&key, &computation).await? {
            FetchTurn::Value(bytes) => return parse(&bytes),
            FetchTurn::Compute(lead) => lead,
        };
        let value = ComputationFuture::new(computation, async { compute().await }).await?;
        let mut json = serde_json::to_vec(&value).map_err(Error::other)?;
        mark_json(&mut json);
        let json = Bytes::from(json);
        if let Err(error) = self.set(key, json.clone(), Some(ttl)).await {
            tracing::warn!(target: "app", "fetch could not store its value: {error}");
        }
        if let Some(lead) = lead {
            lead.land(&json);
        }
        Ok(value)
    }

    /// The value that another caller computes, or the lead to compute it.
    async fn join(&self, key: &Bytes, computation: &Computation) -> Result<FetchTurn> {
        let flights = SingleFlight::of_process();
        let joined = flights.join(&self.database.flights(), key.clone(), computation.lineage());
        let lead = match joined {
            Ok(JoinOutcome::Lead(lead)) => lead,
            Ok(JoinOutcome::Alone) => return Ok(FetchTurn::Compute(None)),
            Err(error) => return Err(error.into()),
            Ok(JoinOutcome::Wait(waiting)) => match waiting.await {
                Some(FlightOutcome::Landed(bytes)) => return Ok(FetchTurn::Value(bytes)),
                Some(FlightOutcome::Lead(lead)) => lead,
                None => return Err(tsumugi_kv::Error::Closed.into()),
            },
        };
        // It may have been stored since it was looked for.
        Ok(match self.database.get(key)? {
            Some(bytes) => {
                lead.land(&bytes);
                FetchTurn::Value(bytes)
            }
            None => FetchTurn::Compute(Some(lead)),
        })
    }
}

/// What follows for a caller of `fetch` that found no value.
enum FetchTurn {
    Value(Bytes),
    /// The lead of the others, if there are any.
    Compute(Option<FlightLease>),
}

impl Deref for Kv {
    type Target = KvDatabase;

    fn deref(&self) -> &KvDatabase {
        &self.database
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
