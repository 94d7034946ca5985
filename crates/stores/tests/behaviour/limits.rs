//! What an engine refuses, by name and before anything is sent, and what it takes at the most.

use bytes::Bytes;
use tsumugi_kv::limits::{KEY_BYTES_MAX, QUEUE_NAME_BYTES_MAX};
use tsumugi_kv::{Desired, Error as KvError, Expected, Write, WriteResult};
use tsumugi_stores::limits::{
    ETCD_EXCHANGE_RECORDS_MAX, ETCD_REQUEST_BYTES_MAX, ETCD_VALUE_BYTES_MAX,
};
use tsumugi_stores::{Capability, Error, Store};

use crate::engines::{Engine, each, each_able};

#[test]
fn key_one_byte_too_long_is_refused_on_every_engine() {
    each("long-keys", async |store, _| {
        let longest = Bytes::from("k".repeat(KEY_BYTES_MAX));
        store.write(Write::set(longest.clone(), "1")).await.unwrap();
        assert_eq!(store.get(longest).await.unwrap(), Some("1".into()));
        let longer = Bytes::from("k".repeat(KEY_BYTES_MAX + 1));
        let is_refused = |error: Error| {
            let text = error.to_string();
            assert!(text.contains("KEY_BYTES_MAX"), "{text}");
        };
        is_refused(store.get(longer.clone()).await.unwrap_err());
        is_refused(store.write(Write::set(longer, "1")).await.unwrap_err());
    });
}

#[test]
fn name_of_a_queue_one_byte_too_long_is_refused_on_every_engine() {
    each_able("long-names", Capability::Queue, async |store, _| {
        let push = |length: usize| Write::Push {
            queue: "q".repeat(length).into(),
            value: "1".into(),
        };
        store.write(push(QUEUE_NAME_BYTES_MAX)).await.unwrap();
        let refused = store.write(push(QUEUE_NAME_BYTES_MAX + 1)).await;
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("QUEUE_NAME_BYTES_MAX"), "{refused}");
    });
}

async fn check_etcd_values(store: &Store) {
    let longest = Bytes::from(vec![b'v'; ETCD_VALUE_BYTES_MAX]);
    store.write(Write::set("a", longest.clone())).await.unwrap();
    assert_eq!(store.get("a").await.unwrap(), Some(longest.clone()));
    let longer = Bytes::from(vec![b'v'; ETCD_VALUE_BYTES_MAX + 1]);
    let set = Write::set("a", longer.clone());
    // One that is appended to may become too long.
    let append = Write::Append {
        key: "a".into(),
        value: "x".into(),
        delimiter: Bytes::new(),
    };
    for write in [set, append] {
        let refused = store.write(write).await.unwrap_err().to_string();
        assert!(refused.contains("ETCD_VALUE_BYTES_MAX"), "{refused}");
    }
    // Two of the longest are more than etcd takes in a request: the record is compared here, and its revision there.
    let other = Bytes::from(vec![b'w'; ETCD_VALUE_BYTES_MAX]);
    let exchange = |expected: &Bytes, desired: &Bytes| Write::CompareExchange {
        key: "a".into(),
        expected: Expected::Value(expected.clone()),
        desired: Desired::Put(desired.clone(), None),
    };
    let exchanged = store.write(exchange(&longest, &other)).await.unwrap();
    assert!(matches!(exchanged, WriteResult::Exchanged { .. }));
    let again = store.write(exchange(&longest, &other)).await.unwrap();
    assert!(matches!(again, WriteResult::Mismatch { actual: Some(there) } if there == other));
    let both = |bytes: usize| {
        let half = Bytes::from(vec![b'x'; bytes / 2]);
        Write::CompareExchangeMulti {
            expected: Vec::new(),
            desired: vec![
                ("b".into(), Desired::Put(half.clone(), None)),
                ("c".into(), Desired::Put(half, None)),
            ],
        }
    };
    store
        .write(both(ETCD_REQUEST_BYTES_MAX - 200))
        .await
        .unwrap();
    let refused = store.write(both(ETCD_REQUEST_BYTES_MAX + 1)).await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("ETCD_REQUEST_BYTES_MAX"), "{refused}");
}

async fn check_etcd_exchanges(store: &Store) {
    let exchange = |count: usize| Write::CompareExchangeMulti {
        expected: (0..count)
            .map(|at| (format!("k{at}").into(), Expected::Absent))
            .collect(),
        desired: (0..count)
            .map(|at| (format!("k{at}").into(), Desired::Put("1".into(), None)))
            .collect(),
    };
    let most = store.write(exchange(ETCD_EXCHANGE_RECORDS_MAX)).await;
    assert!(matches!(most.unwrap(), WriteResult::Done));
    let more = store.write(exchange(ETCD_EXCHANGE_RECORDS_MAX + 1)).await;
    let refused = more.unwrap_err();
    assert!(matches!(
        refused,
        Error::Kv(KvError::TooMany {
            limit: "ETCD_EXCHANGE_RECORDS_MAX",
            ..
        })
    ));
}

#[test]
fn etcd_takes_values_and_exchanges_up_to_its_limits() {
    each("etcd-limits", async |store, engine| {
        if engine == Engine::Etcd {
            check_etcd_values(store).await;
            store.write(Write::Clear).await.unwrap();
            check_etcd_exchanges(store).await;
        }
    });
}

#[test]
fn call_that_an_engine_cannot_promise_is_refused_by_name() {
    each("refused", async |store, engine| {
        let refuses = |capability| store.capabilities().check(capability).is_err();
        let expected = match engine {
            Engine::Memory | Engine::Disk => [false, false],
            Engine::Tkrzw => [false, true],
            Engine::Etcd | Engine::Redis => [true, true],
        };
        assert_eq!(
            [refuses(Capability::Search), refuses(Capability::Backup)],
            expected
        );
        if engine == Engine::Etcd {
            let refused = store.search("contain", "x", 1).await.unwrap_err();
            assert!(matches!(refused, Error::Unsupported { .. }));
            assert_eq!(
                refused.to_string(),
                "a store in etcd looks through no keys for a pattern: scan a prefix instead"
            );
        }
        let said = store.inspect().await.unwrap();
        assert!(!said.is_empty());
    });
}
