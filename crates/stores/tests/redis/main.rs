//! Stores in Redis against real servers: alone, with Sentinels, as a cluster. What each write means is compared with a store in memory.

mod alone;
mod channels;
mod cluster;
mod same;
mod sentinels;

use std::time::{Duration, Instant};

use tokio::task::LocalSet;
use tsumugi_kv::{KvDatabase, Spec, Write, WriteResult};
use tsumugi_stores::{Error, Store, StoreAccess, StoreAddress, StoreOpener, StoreSettings};
use tsumugi_worker::{Pool, WorkerLimits};

/// Runs a test as a worker runs an application: on one thread, with local tasks.
fn run<T>(test: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build().expect("a runtime");
    LocalSet::new().block_on(&runtime, test)
}

fn opener() -> StoreOpener {
    let pool = Pool::new(&WorkerLimits::default());
    StoreOpener::new(pool, StoreAccess::Whole, None)
}

async fn try_open(opener: &StoreOpener, place: &str) -> Result<Store, Error> {
    opener
        .open(StoreAddress::parse(place, &StoreSettings::default())?)
        .await
}

async fn open(place: &str) -> Store {
    let opened = try_open(&opener(), place).await;
    opened.unwrap_or_else(|error| panic!("{place}: {error}"))
}

/// A store in memory, whose answers are those that all engines give.
fn memory() -> Store {
    let database = KvDatabase::open(&Spec::memory()).expect("a database in memory");
    Store::local(database, Pool::new(&WorkerLimits::default()))
}

fn increment(key: &'static str) -> Write {
    Write::Increment {
        key: key.into(),
        by: 1,
        initial: 0,
    }
}

/// The number at a key, which may be missing.
async fn number(store: &Store, key: &'static str) -> i64 {
    let read = Write::Increment {
        key: key.into(),
        by: i64::MIN,
        initial: 0,
    };
    match store.write(read).await {
        Ok(WriteResult::Number(number)) => number,
        other => panic!("{other:?}"),
    }
}

/// Tries a write until it succeeds, and says how long that took.
async fn time_without_service(store: &Store, limit: Duration) -> Duration {
    let since = Instant::now();
    loop {
        match store.write(Write::set("alive", "yes")).await {
            Ok(_) => return since.elapsed(),
            Err(error) => assert!(since.elapsed() < limit, "{error}"),
        }
    }
}
