//! Watches through the death of their member and a compaction, and what an error says of a write whose answer was lost.

use std::time::Duration;

use tsumugi_kv::{ChangeEvent, Write};
use tsumugi_stores::{CallFate, Error, Store};
use tsumugi_testkit::etcd::{EtcdCluster, EtcdOptions};

use crate::engines::{open, run};

async fn set(store: &Store, key: String) {
    let mut tries = 0;
    while let Err(error) = store.write(Write::set(key.clone(), "1")).await {
        tries += 1;
        assert!(tries < 20, "{error}");
    }
}

#[test]
fn watch_goes_on_where_it_was_when_its_member_dies() {
    let cluster = EtcdCluster::start();
    run(async {
        // One that knows a single member shows which one the watch is at.
        let store = open(&cluster.place("watch")).await.unwrap();
        let mut watch = store.watch("k").await.unwrap();
        for at in 0..cluster.members() {
            set(&store, format!("k{at}:before")).await;
            let key = watch.next().await.unwrap();
            assert_eq!(key, ChangeEvent::Put(format!("k{at}:before").into()));
            cluster.kill(at);
            set(&store, format!("k{at}:meanwhile")).await;
            // A write whose answer was lost may have taken place twice: what counts is that none is missing.
            let expected = ChangeEvent::Put(format!("k{at}:meanwhile").into());
            assert_eq!(watch.next().await.unwrap(), expected);
            let again = tokio::time::timeout(Duration::from_millis(200), watch.next()).await;
            assert!(again.is_err() || again.unwrap().unwrap() == expected);
            cluster.start_again(at);
            cluster.wait_all();
        }
    });
}

#[test]
fn watch_goes_on_where_it_was_when_its_member_is_stopped() {
    let cluster = EtcdCluster::start();
    run(async {
        let store = open(&cluster.place("watch")).await.unwrap();
        let mut watches = Vec::new();
        // Each begins at the member that calls go to; after the first one is stopped that is another one.
        for at in 0..cluster.members() {
            watches.push(store.watch("").await.unwrap());
            cluster.freeze(at);
            set(&store, format!("k{at}")).await;
            for watch in &mut watches {
                let mut change = watch.next().await.unwrap();
                while change != ChangeEvent::Put(format!("k{at}").into()) {
                    change = watch.next().await.unwrap();
                }
            }
            cluster.thaw(at);
            cluster.wait_all();
        }
    });
}

#[test]
fn watch_that_missed_what_was_compacted_says_so_and_goes_on() {
    let cluster = EtcdOptions::default().members(1).start();
    run(async {
        let place = cluster.place("compacted");
        let store = open(&place).await.unwrap();
        let mut watch = store.watch("k").await.unwrap();
        set(&store, "k0".to_owned()).await;
        assert_eq!(watch.next().await.unwrap(), ChangeEvent::Put("k0".into()));
        // While nothing is read from the server it writes on by itself, and forgets.
        cluster.kill(0);
        let writing = async {
            cluster.start_again(0);
            cluster.wait_all();
        };
        writing.await;
        compact(&cluster);
        let mut seen = Vec::new();
        loop {
            set(&store, "k1".to_owned()).await;
            let change = watch.next().await.unwrap();
            let is_end = change == ChangeEvent::Put("k1".into());
            seen.push(change);
            if is_end {
                break;
            }
        }
        println!("{seen:?}");
    });
}

/// Writes some records by etcdctl, and has all revisions before the last one forgotten.
fn compact(cluster: &EtcdCluster) {
    for at in 0..5 {
        cluster.etcdctl(&["put", "compacted/other", &at.to_string()]);
    }
    let status = cluster.etcdctl(&["get", "compacted/other", "--write-out=json"]);
    let revision = status.split("\"revision\":").nth(1).unwrap();
    let digits: String = revision.chars().take_while(char::is_ascii_digit).collect();
    cluster.etcdctl(&["compact", &digits]);
}

#[test]
fn write_without_an_answer_is_said_to_be_unknown_and_a_read_to_be_late() {
    let cluster = EtcdOptions::default().members(1).start();
    run(async {
        let place = format!("{}?timeout=3", cluster.place("lost"));
        let store = open(&place).await.unwrap();
        cluster.freeze(0);
        let lost = store.write(Write::set("a", "s3cret")).await.unwrap_err();
        assert_eq!(lost.fate(), CallFate::Unknown);
        assert!(matches!(
            lost,
            Error::Deadline {
                limit_ms: 3_000,
                ..
            }
        ));
        let text = lost.to_string();
        assert!(text.contains("may or may not"), "{text}");
        assert!(!text.contains("s3cret"), "{text}");
        let late = store.get("a").await.unwrap_err();
        assert_eq!(late.fate(), CallFate::NotApplied);
        cluster.thaw(0);
        cluster.kill(0);
        let gone = store.write(Write::set("a", "1")).await.unwrap_err();
        println!("{gone}");
        assert!(matches!(gone, Error::Unavailable { .. }));
        let gone = store.write(Write::set("a", "1")).await.unwrap_err();
        assert_eq!(gone.fate(), CallFate::NotApplied);
        let text = gone.to_string();
        assert!(text.contains("nothing was written"), "{text}");
        assert!(text.contains("etcd://127.0.0.1:"), "{text}");
    });
}
