//! Times to live. A record lives at least as long as was asked for; how much longer is the engine's.

use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;
use tsumugi_kv::{Desired, Expected, Lifetime, SetMode, Write, WriteResult};
use tsumugi_stores::Store;

use crate::engines::{check_count, each};

const SHORT: Duration = Duration::from_secs(1);
/// An engine may keep a record longer by some seconds, and this machine is slow at times.
const GONE_MAX: Duration = Duration::from_secs(20);

fn set(key: &'static str, ttl: Option<Duration>) -> Write {
    Write::Set {
        key: key.into(),
        value: "1".into(),
        mode: SetMode::Overwrite,
        ttl,
    }
}

async fn wait_gone(store: &Store, key: &'static str, began: Instant) {
    while store.get(key).await.unwrap().is_some() {
        assert!(began.elapsed() < SHORT + GONE_MAX, "{key} is still there");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(began.elapsed() >= SHORT, "{key} went early");
}

#[test]
fn record_lives_as_long_as_was_asked_for_and_is_gone_then() {
    each("expiring", async |store, _| {
        let began = Instant::now();
        store.write(set("short", Some(SHORT))).await.unwrap();
        store.write(set("long", None)).await.unwrap();
        let put = Desired::Put("1".into(), Some(SHORT));
        let exchange = Write::CompareExchange {
            key: "exchanged".into(),
            expected: Expected::Absent,
            desired: put.clone(),
        };
        store.write(exchange).await.unwrap();
        let exchange = Write::CompareExchangeMulti {
            expected: vec![("long".into(), Expected::Any)],
            desired: vec![("together".into(), put)],
        };
        assert!(matches!(
            store.write(exchange).await.unwrap(),
            WriteResult::Done
        ));
        let batch = Write::Batch(vec![set("batched", Some(SHORT))]);
        store.write(batch).await.unwrap();
        for key in ["short", "exchanged", "together", "batched"] {
            let left = store.lifetime(key).await.unwrap();
            assert!(matches!(left, Some(Lifetime::Left(_))), "{key}: {left:?}");
        }
        let left = store.lifetime("long").await.unwrap();
        assert_eq!(left, Some(Lifetime::Unlimited));
        assert_eq!(store.lifetime("none").await.unwrap(), None);
        for key in ["short", "exchanged", "together", "batched"] {
            wait_gone(store, key, began).await;
        }
        check_count(store, 1).await;
    });
}

#[test]
fn record_that_is_added_to_lives_as_long_as_before() {
    each("lasting", async |store, _| {
        let began = Instant::now();
        store.write(set("text", Some(SHORT))).await.unwrap();
        let append = Write::Append {
            key: "text".into(),
            value: "2".into(),
            delimiter: Bytes::new(),
        };
        store.write(append).await.unwrap();
        assert_eq!(store.get("text").await.unwrap(), Some("12".into()));
        wait_gone(store, "text", began).await;
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
        assert_eq!(store.get("b").await.unwrap(), Some("1".into()));
        wait_gone(store, "b", began).await;
        assert_eq!(store.get("a").await.unwrap(), Some("1".into()));
    });
}
