//! A cluster: each key at its node, slots that move, a node that dies.

use std::time::Duration;

use bytes::Bytes;
use tsumugi_kv::{Desired, Expected, RekeySource, SetMode, Write};
use tsumugi_stores::Error;
use tsumugi_testkit::redis::RedisCluster;

use crate::{increment, number, open, opener, run, time_without_service, try_open};

/// The slot of the key `k`, which is the second master's.
const SLOT_OF_K: u16 = 7_629;

#[test]
fn keys_are_spread_over_the_nodes_and_read_together() {
    let cluster = RedisCluster::start();
    run(async {
        let store = open(&cluster.url()).await;
        let keys: Vec<Bytes> = (0..300).map(|n| Bytes::from(format!("key{n}"))).collect();
        for key in &keys {
            store
                .write(Write::set(key.clone(), key.clone()))
                .await
                .unwrap();
        }
        let found = store.records(keys.clone()).await.unwrap();
        let expected: Vec<_> = keys.iter().map(|key| (key.clone(), key.clone())).collect();
        assert_eq!(found, expected);
        for master in cluster.masters() {
            assert_ne!(master.ask("DBSIZE"), ":0");
        }
    });
}

#[test]
fn records_of_several_slots_are_not_changed_at_one_moment() {
    let cluster = RedisCluster::start();
    run(async {
        let store = open(&cluster.url()).await;
        let multi = Write::CompareExchangeMulti {
            expected: vec![("a".into(), Expected::Absent)],
            desired: vec![("b".into(), Desired::Remove)],
        };
        let rekey = Write::Rekey {
            old: "a".into(),
            new: "b".into(),
            mode: SetMode::Overwrite,
            source: RekeySource::Move,
        };
        for write in [multi, rekey] {
            let error = store.write(write).await.unwrap_err();
            assert!(matches!(error, Error::Unsupported { .. }), "{error}");
            assert!(error.to_string().contains("braces"), "{error}");
        }
    });
}

#[test]
fn slot_that_moves_is_followed_while_it_moves_and_afterwards() {
    let cluster = RedisCluster::start();
    run(async {
        let store = open(&cluster.url()).await;
        assert_eq!(
            cluster.masters()[0].ask("CLUSTER KEYSLOT k"),
            format!(":{SLOT_OF_K}")
        );
        // The key is not there, so the old node asks to go to the new one.
        cluster.begin_move(SLOT_OF_K, 1, 2);
        for _ in 0..3 {
            store.write(increment("k")).await.unwrap();
        }
        assert_eq!(number(&store, "k").await, 3);
        cluster.end_move(SLOT_OF_K, 2);
        for _ in 0..3 {
            store.write(increment("k")).await.unwrap();
        }
        assert_eq!(number(&store, "k").await, 6);
        assert_eq!(cluster.masters()[2].ask("EXISTS k"), ":1");
    });
}

#[test]
fn master_that_dies_is_replaced_by_its_replica() {
    let cluster = RedisCluster::start();
    run(async {
        let store = open(&format!("{}?timeout=20", cluster.url())).await;
        // A key of the first master: `alive` is what the time is measured by.
        let slot: u16 = cluster.masters()[0].ask("CLUSTER KEYSLOT alive")[1..]
            .parse()
            .unwrap();
        let owner = usize::from(slot > 5_460) + usize::from(slot > 10_922);
        println!("alive is in slot {slot} of master {owner}");
        store.write(Write::set("{b}1", "v")).await.unwrap();
        cluster.masters()[0].kill();
        let waited = time_without_service(&store, Duration::from_secs(120)).await;
        println!("{waited:?} until a write succeeded");
        let mut failures = 0;
        loop {
            match store.write(Write::set("{b}1", "w")).await {
                Ok(_) => break,
                Err(error) => println!("{error}"),
            }
            failures += 1;
            assert!(failures < 10);
        }
        assert_eq!(store.get("{b}1").await.unwrap().unwrap(), "w");
    });
}

#[test]
fn address_of_another_kind_is_refused_with_what_to_write() {
    let cluster = RedisCluster::start();
    run(async {
        let node = cluster.masters()[0].url();
        let error = try_open(&opener(), &node).await.unwrap_err().to_string();
        assert!(error.contains("redis+cluster://"), "{error}");
        let alone = tsumugi_testkit::redis::RedisServer::start(&[]);
        let place = format!("redis+cluster://127.0.0.1:{}?timeout=5", alone.port());
        let error = try_open(&opener(), &place).await.unwrap_err().to_string();
        assert!(error.contains("write redis://"), "{error}");
    });
}
