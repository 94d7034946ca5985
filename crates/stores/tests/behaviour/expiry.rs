//! Times to live. A record lives at least as long as was asked for; how much longer is the engine's.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use tsumugi_kv::{Desired, Expected, Lifetime, SetMode, Write, WriteResult};
use tsumugi_stores::Store;

use crate::engines::{check_count, each};

const SHORT: Duration = Duration::from_secs(1);
/// Does not end during a test, however slow the machine is.
const LONG: Duration = Duration::from_secs(3600);
/// The most that an engine makes of it: leases of etcd are longer by an eighth.
const LONG_MAX: Duration = Duration::from_secs(3600 / 8 * 9 + 60);
/// An engine may keep a record longer by some seconds, and this machine is slow at times.
const GONE_MAX: Duration = Duration::from_secs(60);
/// By how much the time of day, which engines count in, may go ahead of the clock that the test measures with.
const STEERED_MAX: Duration = Duration::from_millis(50);

fn set(key: impl Into<Bytes>, ttl: Option<Duration>) -> Write {
    Write::Set {
        key: key.into(),
        value: "1".into(),
        mode: SetMode::Overwrite,
        ttl,
    }
}

async fn wait_gone(store: &Store, key: &str, began: Instant) {
    while store.get(key.to_owned()).await.unwrap().is_some() {
        assert!(began.elapsed() < SHORT + GONE_MAX, "{key} is still there");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let lived = began.elapsed();
    assert!(
        lived + STEERED_MAX >= SHORT,
        "{key} went early, after {lived:?}"
    );
}

/// Records of every kind of write, and their keys.
async fn write_in_every_way(store: &Store, prefix: &str, ttl: Duration) -> Vec<String> {
    let keys: Vec<String> = ["set", "exchanged", "together", "batched"]
        .map(|way| format!("{prefix}-{way}"))
        .into();
    let [first, exchanged, together, batched] = [0, 1, 2, 3].map(|at: usize| keys[at].clone());
    store.write(set(first, Some(ttl))).await.unwrap();
    let put = Desired::Put("1".into(), Some(ttl));
    let exchange = Write::CompareExchange {
        key: exchanged.into(),
        expected: Expected::Absent,
        desired: put.clone(),
    };
    store.write(exchange).await.unwrap();
    let exchange = Write::CompareExchangeMulti {
        expected: vec![("unlimited".into(), Expected::Any)],
        desired: vec![(together.into(), put)],
    };
    assert!(matches!(
        store.write(exchange).await.unwrap(),
        WriteResult::Done
    ));
    let batch = Write::Batch(vec![set(batched, Some(ttl))]);
    store.write(batch).await.unwrap();
    keys
}

#[test]
fn record_lives_as_long_as_was_asked_for_and_is_gone_then() {
    each("expiring", async |store, _| {
        store.write(set("unlimited", None)).await.unwrap();
        let long = write_in_every_way(store, "long", LONG).await;
        let began = Instant::now();
        let short = write_in_every_way(store, "short", SHORT).await;
        for key in &long {
            let left = store.lifetime(key.clone()).await.unwrap();
            assert!(
                matches!(left, Some(Lifetime::Left(left)) if left <= LONG_MAX),
                "{key}: {left:?}"
            );
        }
        let left = store.lifetime("unlimited").await.unwrap();
        assert_eq!(left, Some(Lifetime::Unlimited));
        assert_eq!(store.lifetime("none").await.unwrap(), None);
        for key in &short {
            wait_gone(store, key, began).await;
        }
        check_count(store, 5).await;
    });
}

#[test]
fn record_that_is_added_to_lives_as_long_as_before() {
    each("lasting", async |store, _| {
        let append = |key: &'static str| Write::Append {
            key: key.into(),
            value: "2".into(),
            delimiter: Bytes::new(),
        };
        store.write(set("long", Some(LONG))).await.unwrap();
        store.write(append("long")).await.unwrap();
        assert_eq!(store.get("long").await.unwrap(), Some("12".into()));
        let left = store.lifetime("long").await.unwrap();
        assert!(matches!(left, Some(Lifetime::Left(_))), "{left:?}");
        let began = Instant::now();
        store.write(set("short", Some(SHORT))).await.unwrap();
        store.write(append("short")).await.unwrap();
        // Where the record was gone before it was added to, the addition made one that stays.
        match store.lifetime("short").await.unwrap() {
            Some(Lifetime::Unlimited) => assert!(began.elapsed() + STEERED_MAX >= SHORT),
            _ => wait_gone(store, "short", began).await,
        }
    });
}

#[test]
fn touched_record_has_another_time_to_live() {
    each("touched", async |store, _| {
        let touch = |key: &'static str, ttl| Write::Touch {
            key: key.into(),
            ttl,
        };
        let missing = store.write(touch("a", None)).await.unwrap();
        assert!(matches!(missing, WriteResult::Missing));
        store.write(set("a", Some(SHORT))).await.unwrap();
        store.write(set("b", None)).await.unwrap();
        let touched = store.write(touch("a", None)).await.unwrap();
        assert!(matches!(touched, WriteResult::Done));
        let left = store.lifetime("a").await.unwrap();
        assert_eq!(left, Some(Lifetime::Unlimited));
        let began = Instant::now();
        store.write(touch("b", Some(SHORT))).await.unwrap();
        wait_gone(store, "b", began).await;
        assert_eq!(store.get("a").await.unwrap(), Some("1".into()));
    });
}
