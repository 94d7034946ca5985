//! Servers of an engine that die, stop and come back behind a service. What was acknowledged is there, an error says what became of its call, and
//! the service goes on by itself.

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::time::Duration;

use bytes::Bytes;
use tsumugi_kv::SetMode;
use tsumugi_rpc::{Client, Error, TkrzwCode};
use tsumugi_testkit::etcd::{EtcdCluster, EtcdOptions};
use tsumugi_testkit::redis::RedisServer;

use crate::harm::rest;
use crate::rig::{Rig, on_loop};

const OVER: SetMode = SetMode::Overwrite;
const CLIENTS: usize = 4;

/// What the answer says of a write that failed: that it did not take place, or that it may have.
fn check_lost(error: Error) {
    let Error::Database { code, message } = error else {
        panic!("{error}");
    };
    assert_eq!(code, TkrzwCode::Network, "{message}");
    let is_said = message.contains("nothing was written") || message.contains("may or may not");
    assert!(is_said, "{message}");
}

/// Calls until one is answered without an error.
async fn until_answered(kv: &Client) {
    let answered = async {
        while let Err(error) = kv.set("back", "1", OVER).await {
            check_lost(error);
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let answered = tokio::time::timeout(Duration::from_secs(60), answered);
    answered.await.expect("an answer");
}

#[test]
fn writes_that_were_acknowledged_are_there_when_members_were_killed_under_load() {
    let cluster = EtcdCluster::start();
    let rig = Rig::start(&[&format!("{}?timeout=5", cluster.place("load"))]);
    let (over, failed) = (AtomicBool::new(false), AtomicUsize::new(0));
    let acknowledged = Mutex::new(HashMap::new());
    std::thread::scope(|scope| {
        for client in 0..CLIENTS {
            let (rig, over, failed, acknowledged) = (&rig, &over, &failed, &acknowledged);
            scope.spawn(move || {
                on_loop(async {
                    let kv = rig.client();
                    for number in 0.. {
                        if over.load(SeqCst) {
                            return;
                        }
                        let key = format!("{client}:{}", number % 50);
                        let value = Bytes::from(number.to_string());
                        match kv.set(key.clone(), value.clone(), OVER).await {
                            Ok(_) => {
                                acknowledged.lock().unwrap().insert(key, vec![value]);
                            }
                            Err(error) => {
                                check_lost(error);
                                failed.fetch_add(1, SeqCst);
                                // It may be there, too.
                                let mut known = acknowledged.lock().unwrap();
                                known.entry(key).or_default().push(value);
                            }
                        }
                    }
                });
            });
        }
        for at in 0..cluster.members() {
            cluster.kill(at);
            rest(100);
            cluster.start_again(at);
            cluster.wait_all();
        }
        over.store(true, SeqCst);
    });
    let acknowledged = acknowledged.into_inner().unwrap();
    println!(
        "{} records, {} calls failed",
        acknowledged.len(),
        failed.load(SeqCst)
    );
    assert!(!acknowledged.is_empty());
    on_loop(async {
        let kv = rig.client();
        until_answered(&kv).await;
        for (key, values) in acknowledged {
            let found = kv.get(key.clone()).await.unwrap();
            let is_known = found.as_ref().is_some_and(|found| values.contains(found));
            // One whose first write failed need not be there.
            assert!(
                is_known || found.is_none() && values.len() == 1,
                "{key}: {found:?} of {values:?}"
            );
        }
    });
}

#[test]
fn service_goes_on_while_its_engine_is_gone_and_when_it_is_back() {
    let cluster = EtcdOptions::default().members(1).start();
    let redis = RedisServer::start(&["--appendonly", "yes"]);
    let etcd = format!("{}?timeout=3", cluster.place("gone"));
    let rig = Rig::start(&[&etcd, &format!("{}?timeout=3", redis.url())]);
    on_loop(async {
        let kv = rig.client();
        let both = [kv.at(0), kv.at(1)];
        for store in &both {
            store.set("a", "1", OVER).await.unwrap();
        }
        let mut watch = kv.watch("").await.unwrap();
        cluster.kill(0);
        redis.kill();
        for store in &both {
            check_lost(store.set("a", "2", OVER).await.unwrap_err());
            check_lost(store.get("a").await.unwrap_err());
            kv.echo("here").await.unwrap();
        }
        let mut stream = kv.iterate(1).await.unwrap();
        let first = tsumugi_rpc::proto::IterateRequest {
            operation: 1,
            ..Default::default()
        };
        stream.send(&first).await.unwrap();
        let status = stream.receive().await.unwrap().unwrap().status.unwrap();
        assert_eq!(TkrzwCode::of(status.code), TkrzwCode::Network);
        cluster.start_again(0);
        redis.start_again();
        for store in &both {
            until_answered(store).await;
            assert!(store.get("a").await.unwrap().is_some());
        }
        // It goes on where it was, or says that it missed something.
        let change = tokio::time::timeout(Duration::from_secs(60), watch.next());
        change.await.expect("a change").unwrap();
    });
}
