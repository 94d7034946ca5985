//! Times to live and watches over engines, found by reflection, and what engines refuse, by its name.

use std::time::Duration;

use bytes::Bytes;
use tsumugi_kv::{ChangeEvent, Desired, Expected, Lifetime, SetMode};
use tsumugi_rpc::client::CompareExchange;
use tsumugi_rpc::{Client, Error, TkrzwCode};

use crate::rig::{Engine, Rig, each, on_loop};

const OVER: SetMode = SetMode::Overwrite;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// Whether the record has a time to live of at most so many seconds. An engine may add an eighth and some seconds.
async fn expires_within(kv: &Client, key: &'static str, limit: u64) -> bool {
    match kv.lifetime(key).await.unwrap() {
        Some(Lifetime::Left(left)) => left <= seconds(limit + limit / 8 + 5),
        Some(Lifetime::Unlimited) | None => false,
    }
}

#[test]
fn record_has_the_time_to_live_that_it_is_given() {
    each(&[], async |kv| {
        assert!(kv.set_with_ttl("a", "1", OVER, seconds(600)).await.unwrap());
        assert!(expires_within(&kv, "a", 600).await);
        assert!(!expires_within(&kv, "a", 100).await);
        assert!(kv.touch("a", None).await.unwrap());
        assert_eq!(kv.lifetime("a").await.unwrap(), Some(Lifetime::Unlimited));
        assert!(kv.touch("a", Some(seconds(900))).await.unwrap());
        assert!(expires_within(&kv, "a", 900).await);
        assert!(!kv.touch("none", None).await.unwrap());
        assert_eq!(kv.lifetime("none").await.unwrap(), None);
        let desired = Desired::Put("2".into(), Some(seconds(60)));
        let exchange = CompareExchange::new("a", Expected::Value("1".into()), desired);
        assert!(kv.compare_exchange(exchange).await.unwrap().exchanged);
        assert!(expires_within(&kv, "a", 60).await);
        let records = ["b", "c"].map(|key| (Bytes::from(key), Bytes::from("v")));
        let stored = kv.set_multi_with_ttl(records, SetMode::IfAbsent, seconds(60));
        assert_eq!(stored.await.unwrap(), 2);
        assert!(expires_within(&kv, "c", 60).await);
    });
}

#[test]
fn record_is_gone_when_its_time_is_over() {
    each(&[], async |kv| {
        kv.set_with_ttl("a", "1", OVER, seconds(1)).await.unwrap();
        let gone = async {
            while kv.get("a").await.unwrap().is_some() {
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        tokio::time::timeout(seconds(60), gone)
            .await
            .expect("an end");
    });
}

#[test]
fn watch_of_etcd_reports_the_changes_of_its_prefix() {
    let rig = Rig::start(&[&Engine::Etcd.place()]);
    on_loop(async {
        let kv = rig.client();
        let mut watch = kv.watch("k").await.unwrap();
        kv.set("other", "1", OVER).await.unwrap();
        kv.set("k1", "1", OVER).await.unwrap();
        kv.remove("k1").await.unwrap();
        assert_eq!(watch.next().await.unwrap(), ChangeEvent::Put("k1".into()));
        assert_eq!(
            watch.next().await.unwrap(),
            ChangeEvent::Removed("k1".into())
        );
    });
}

fn check(refused: Result<(), Error>, expected: &str) {
    match refused {
        Err(Error::Database { code, message }) => {
            assert_eq!(code, TkrzwCode::NotImplemented, "{message}");
            assert!(message.starts_with(expected), "{message}");
        }
        other => panic!("{expected}: {other:?}"),
    }
}

#[test]
fn call_that_redis_cannot_promise_is_refused_by_its_name() {
    let rig = Rig::start(&[&Engine::Redis.place()]);
    on_loop(async {
        let kv = rig.client();
        let wait = seconds(60);
        check(kv.count().await.map(drop), "Count: a store in Redis cannot");
        check(kv.clear().await, "Clear: a store in Redis cannot");
        check(
            kv.pop_first(wait).await.map(drop),
            "PopFirst: a store in Redis has no least key",
        );
        check(
            kv.push("q", "v").await.map(drop),
            "Push: a store in Redis has no",
        );
        check(
            kv.search("begin", "", 1).await.map(drop),
            "Search: a store in Redis cannot",
        );
        check(
            kv.synchronize().await,
            "Synchronize: a store in Redis is never told",
        );
        let watch = kv.watch("k").await.err().unwrap().to_string();
        assert!(watch.contains("reports no changes"), "{watch}");
        let mut cursor = kv.iterate(1).await.unwrap();
        cursor.send(&Default::default()).await.unwrap();
        let first = cursor.receive().await.unwrap().unwrap().status.unwrap();
        assert_eq!(first.code, 0, "an operation that is none");
        let jump = tsumugi_rpc::proto::IterateRequest {
            operation: 3,
            ..Default::default()
        };
        cursor.send(&jump).await.unwrap();
        let status = cursor.receive().await.unwrap().unwrap().status.unwrap();
        assert!(
            status
                .message
                .starts_with("Iterate: a store in Redis has no order"),
            "{}",
            status.message
        );
    });
}

#[test]
fn call_that_etcd_cannot_promise_is_refused_by_its_name() {
    let rig = Rig::start(&[&Engine::Etcd.place()]);
    on_loop(async {
        let kv = rig.client();
        check(
            kv.search("begin", "", 1).await.map(drop),
            "Search: a store in etcd looks through no keys",
        );
        check(
            kv.file_size().await.map(drop),
            "GetFileSize: a store in etcd knows no size",
        );
        check(kv.rebuild().await, "Rebuild: a store in etcd is put");
        kv.synchronize().await.unwrap();
        let long = vec![b'v'; 1024 * 1024 + 1];
        let error = kv.set("k", long, OVER).await.unwrap_err().to_string();
        assert!(error.contains("ETCD_VALUE_BYTES_MAX"), "{error}");
        assert!(error.contains("INVALID_ARGUMENT"), "{error}");
        kv.clear().await.unwrap();
        assert_eq!(kv.count().await.unwrap(), 0);
    });
}
