//! The embedded key-value store as handlers use it: text, JSON, and values that are computed once and kept for a time.
//! Knows no engine. Rule: of the requests of one worker that miss the same key, one computes and the others wait for what it stores.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Deref;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::Notify;
use tsumugi_kv::{Database, SetMode, Spec, Write, Written};

use crate::error::{Error, Result};
use crate::ledger::Ledger;
use crate::plugin::Worker;

/// A store, which all workers of the process have together. Cheap to clone. What is not here is on [`Database`], which it
/// dereferences to: compare-and-exchange, pages, watches.
#[derive(Clone, Debug)]
pub struct Kv {
    database: Rc<Database>,
    flights: Flights,
}

/// Keys that are being computed, with who wants to know.
type Flights = Rc<RefCell<HashMap<Bytes, Rc<Notify>>>>;

impl Kv {
    /// Opens the store at `place`: a folder with options after `#`, `memory:NAME` for one in memory, or `#capacity=64m` for one in memory
    /// without a name. An application in Ruby that opens the same place has the same store.
    pub async fn open(worker: &Worker, place: &str) -> Result<Kv> {
        let spec = Spec::of_place(place)?;
        let database = worker.offload(move || Database::open(&spec)).await??;
        let database = Rc::new(database);
        Ledger::here().keep(&database);
        Ok(Kv {
            database,
            flights: Flights::default(),
        })
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
        bytes.map(|bytes| parsed(&bytes)).transpose()
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
        Ok(matches!(removed, Written::Done))
    }

    /// Adds to a number that begins at 0, and gives the new one.
    pub async fn increment(&self, key: impl Into<Bytes>, by: i64) -> Result<i64> {
        let write = Write::Increment {
            key: key.into(),
            by,
            initial: 0,
        };
        match self.database.submit(write).await? {
            Written::Number(number) => Ok(number),
            other => Err(Error::Usage(format!("no number: {other:?}").into())),
        }
    }

    /// The value of a key, which is JSON. When there is none, what `compute` gives is stored for `ttl`; other requests of this worker
    /// that want the key wait meanwhile. When it gives an error or is dropped, nothing is stored and the next one computes.
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
        let _duty = loop {
            if let Some(bytes) = self.database.get(&key)? {
                return parsed(&bytes);
            }
            match Duty::take(&self.flights, &key) {
                Ok(duty) => break duty,
                Err(landed) => landed.notified().await,
            }
        };
        let value = compute().await?;
        let json = serde_json::to_vec(&value).map_err(Error::other)?;
        self.set(key.clone(), json, Some(ttl)).await?;
        Ok(value)
    }
}

impl Deref for Kv {
    type Target = Database;

    fn deref(&self) -> &Database {
        &self.database
    }
}

fn parsed<T: DeserializeOwned>(bytes: &[u8]) -> Result<T> {
    serde_json::from_slice(bytes).map_err(Error::other)
}

/// The computation of a key. Dropping it wakes those who wait.
struct Duty {
    flights: Flights,
    key: Bytes,
}

impl Duty {
    /// The duty, or what tells that another's has ended.
    fn take(flights: &Flights, key: &Bytes) -> std::result::Result<Duty, Rc<Notify>> {
        let mut known = flights.borrow_mut();
        if let Some(flight) = known.get(key) {
            return Err(Rc::clone(flight));
        }
        known.insert(key.clone(), Rc::default());
        Ok(Duty {
            flights: Rc::clone(flights),
            key: key.clone(),
        })
    }
}

impl Drop for Duty {
    fn drop(&mut self) {
        if let Some(flight) = self.flights.borrow_mut().remove(&self.key) {
            flight.notify_waiters();
        }
    }
}
