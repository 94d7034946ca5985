//! A database of this process as an engine of a store. Point reads and writes run in place; what may look at many records on disk runs on the
//! pool for blocking work. Rule: what was pushed wakes those who wait for it.

use std::path::PathBuf;
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tsumugi_kv::limits::{EXCHANGE_RECORDS_MAX, VALUE_BYTES_MAX};
use tsumugi_kv::{KeyRange, KvDatabase, Lifetime, Pair, SearchMode, Write, WriteResult};
use tsumugi_worker::Pool;

use crate::capability::{Bound, Capabilities, Consistency};
use crate::engine::StoreEngine;
use crate::error::Result;
use crate::watch::{ChangeSource, StoreWatch};

/// A database's own `value_max` is less, and its own to check.
pub(crate) static CAPABILITIES: Capabilities = Capabilities {
    engine: "a store of this process",
    consistency: Consistency::Linearizable,
    refused: &[],
    value_bytes: Bound {
        name: "VALUE_BYTES_MAX",
        max: VALUE_BYTES_MAX,
    },
    exchange_records: Bound {
        name: "EXCHANGE_RECORDS_MAX",
        max: EXCHANGE_RECORDS_MAX,
    },
};

#[derive(Clone)]
pub(crate) struct LocalStore {
    pub(crate) database: KvDatabase,
    pub(crate) pool: Pool,
}

impl LocalStore {
    /// Runs what may block on the pool. In memory nothing does: callers run it in place there.
    async fn off_worker<T: Send + 'static>(
        &self,
        run: impl FnOnce(&KvDatabase) -> tsumugi_kv::Result<T> + Send + 'static,
    ) -> Result<T> {
        let database = self.database.clone();
        Ok(self.pool.run(move || run(&database)).await??)
    }

    fn records_off_worker(&self, keys: Vec<Bytes>) -> LocalBoxFuture<'_, Result<Vec<Pair>>> {
        self.off_worker(move |database| records(database, keys))
            .boxed_local()
    }

    fn page_off_worker(
        &self,
        range: KeyRange,
        limit: usize,
    ) -> LocalBoxFuture<'_, Result<Vec<Pair>>> {
        self.off_worker(move |database| database.page(&range, limit))
            .boxed_local()
    }

    fn count_off_worker(&self) -> LocalBoxFuture<'_, Result<u64>> {
        self.off_worker(KvDatabase::count).boxed_local()
    }

    fn pop_within(
        &self,
        queue: Option<Bytes>,
        wait: Duration,
    ) -> LocalBoxFuture<'_, Result<WriteResult>> {
        async move {
            let over = tokio::time::sleep(wait);
            Ok(self.database.pop_until(queue, over).await?)
        }
        .boxed_local()
    }

    /// Writes the records of this moment to a folder that does not exist yet.
    pub(crate) fn backup(&self, folder: PathBuf) -> LocalBoxFuture<'_, Result<()>> {
        async move {
            let database = self.database.clone();
            Ok(self.pool.run(move || database.backup(&folder)).await??)
        }
        .boxed_local()
    }

    /// Wakes those who wait for what was pushed.
    fn notify_pushed(&self, written: &tsumugi_kv::Result<WriteResult>) {
        if let Ok(WriteResult::Pushed { key }) = written {
            self.database.notify_pushed(key);
        }
    }
}

/// The records of those keys that exist.
fn records(database: &KvDatabase, keys: Vec<Bytes>) -> tsumugi_kv::Result<Vec<Pair>> {
    let mut found = Vec::new();
    let mut bytes = 0;
    for key in keys {
        if let Some(value) = database.get(&key)? {
            bytes += key.len() + value.len();
            Capabilities::check_bytes(bytes)?;
            found.push((key, value));
        }
    }
    Ok(found)
}

impl StoreEngine for LocalStore {
    fn capabilities(&self) -> &'static Capabilities {
        &CAPABILITIES
    }

    async fn get(&self, key: Bytes) -> Result<Option<Bytes>> {
        Ok(self.database.get(&key)?)
    }

    async fn lifetime(&self, key: Bytes) -> Result<Option<Lifetime>> {
        Ok(self.database.lifetime(&key)?)
    }

    async fn records(&self, keys: Vec<Bytes>) -> Result<Vec<Pair>> {
        match self.database.is_in_memory() {
            true => Ok(records(&self.database, keys)?),
            false => self.records_off_worker(keys).await,
        }
    }

    async fn write(&self, write: Write) -> Result<WriteResult> {
        let written = self.database.submit(write).await;
        self.notify_pushed(&written);
        Ok(written?)
    }

    async fn pop(&self, queue: Option<Bytes>, wait: Duration) -> Result<WriteResult> {
        if wait.is_zero() {
            let write = queue.map_or(Write::PopFirst, |queue| Write::Pop { queue });
            return self.write(write).await;
        }
        self.pop_within(queue, wait).await
    }

    async fn page(&self, range: &KeyRange, limit: usize) -> Result<Vec<Pair>> {
        match self.database.is_in_memory() {
            true => Ok(self.database.page(range, limit)?),
            false => self.page_off_worker(range.clone(), limit).await,
        }
    }

    async fn count(&self) -> Result<u64> {
        match self.database.known_count() {
            Some(count) => Ok(count),
            None if self.database.is_in_memory() => Ok(self.database.count()?),
            None => self.count_off_worker().await,
        }
    }

    async fn search(&self, mode: &str, pattern: Bytes, limit: usize) -> Result<Vec<Bytes>> {
        let mode = SearchMode::from_str(mode)?;
        // Who drops this future drops this, and the search ends.
        let caller = Arc::new(());
        let waits = Arc::downgrade(&caller);
        let database = self.database.clone();
        let keys = self
            .pool
            .run(move || database.search(mode, &pattern, limit, || waits.strong_count() > 0));
        let keys = keys.await??;
        drop(caller);
        Ok(keys)
    }

    async fn synchronize(&self) -> Result<()> {
        self.database.synchronize().await?;
        Ok(())
    }

    async fn inspect(&self) -> Result<Vec<(String, String)>> {
        let figures = match self.database.is_in_memory() {
            true => self.database.metrics(),
            false => self.off_worker(|database| Ok(database.metrics())).await?,
        };
        let spec = self.database.spec();
        Ok(vec![
            ("path".to_owned(), spec.path.display().to_string()),
            ("durability".to_owned(), spec.durability.to_string()),
            ("healthy".to_owned(), self.database.is_healthy().to_string()),
            ("records".to_owned(), figures.records.to_string()),
            ("bytes".to_owned(), figures.bytes.to_string()),
        ])
    }

    async fn watch(&self, prefix: Bytes) -> Result<StoreWatch> {
        let watch = self.database.watch(prefix)?;
        Ok(StoreWatch::of(ChangeSource::Local(watch)))
    }
}
