//! A master that dies: what its Sentinels make of it, and what callers are told.

use std::collections::HashMap;
use std::time::Duration;

use bytes::Bytes;
use tsumugi_kv::{SetMode, Write, WriteResult};
use tsumugi_stores::CallFate;
use tsumugi_testkit::redis::RedisSentinels;

use crate::{open, opener, run, time_without_service, try_open};

/// How long a failover may take on a busy machine.
const FAILOVER_MAX: Duration = Duration::from_secs(120);

#[test]
fn master_that_dies_is_replaced_and_no_caller_is_told_wrong() {
    let servers = RedisSentinels::start();
    run(async {
        let store = open(&format!("{}?timeout=15", servers.url())).await;
        let mut told: HashMap<Bytes, Option<CallFate>> = HashMap::new();
        let write = async |number: usize| {
            let key = Bytes::from(format!("k{number}"));
            let write = Write::Set {
                key: key.clone(),
                value: "v".into(),
                mode: SetMode::IfAbsent,
                ttl: None,
            };
            let answer = match store.write(write).await {
                // A write that was sent twice would find itself there.
                Ok(written) => {
                    assert!(matches!(written, WriteResult::Done), "{written:?}");
                    None
                }
                Err(error) => Some(error.fate()),
            };
            (key, answer)
        };
        for number in 0..200 {
            if number == 100 {
                servers.master().kill();
            }
            told.extend(
                futures_util::future::join_all((0..4).map(|at| write(number * 4 + at))).await,
            );
        }
        let waited = time_without_service(&store, FAILOVER_MAX).await;
        servers.wait_for_master(servers.replica());
        let present = store.records(told.keys().cloned().collect()).await.unwrap();
        let present: Vec<Bytes> = present.into_iter().map(|(key, _)| key).collect();
        let count = |answer: Option<CallFate>, is_there: bool| {
            let fits = |(key, told): &(&Bytes, &Option<CallFate>)| {
                **told == answer && present.contains(key) == is_there
            };
            told.iter().filter(fits).count()
        };
        let refused_and_present = count(Some(CallFate::NotApplied), true);
        assert_eq!(refused_and_present, 0);
        println!(
            "acknowledged and present {}, acknowledged and lost {} (Redis replicates behind its answers), unknown {} of which present {}, refused {}; last pause {waited:?}",
            count(None, true),
            count(None, false),
            count(Some(CallFate::Unknown), true) + count(Some(CallFate::Unknown), false),
            count(Some(CallFate::Unknown), true),
            count(Some(CallFate::NotApplied), false),
        );
        assert!(count(None, true) > 300);
    });
}

#[test]
fn write_at_a_master_that_was_demoted_goes_to_the_new_one() {
    let servers = RedisSentinels::start();
    run(async {
        let store = open(&format!("{}?timeout=30", servers.url())).await;
        store.write(Write::set("k", "1")).await.unwrap();
        let failover = format!("SENTINEL FAILOVER {}", tsumugi_testkit::redis::SERVICE);
        assert_eq!(servers.sentinels()[0].ask(&failover), "+OK");
        servers.wait_for_master(servers.replica());
        // Until it knows, the old one takes writes that are lost then.
        servers.wait_for_replica(servers.master());
        let waited = time_without_service(&store, FAILOVER_MAX).await;
        println!("a failover that was asked for: {waited:?} without service");
        assert_eq!(store.get("alive").await.unwrap().unwrap(), "yes");
        assert_eq!(servers.replica().ask("GET alive"), "yes");
    });
}

#[test]
fn service_that_no_sentinel_knows_is_an_error_within_the_timeout() {
    let servers = RedisSentinels::start();
    run(async {
        let (hosts, _) = servers
            .url()
            .rsplit_once('/')
            .map(|(a, b)| (a.to_owned(), b.to_owned()))
            .unwrap();
        let error = try_open(&opener(), &format!("{hosts}/nobody?timeout=5")).await;
        let error = error.unwrap_err().to_string();
        assert!(error.contains("No such master"), "{error}");
        let wrong = hosts.replace("redis+sentinel", "redis");
        let (wrong, _) = wrong.split_once(',').unwrap();
        let error = try_open(&opener(), wrong).await.unwrap_err().to_string();
        assert!(error.contains("redis+sentinel://"), "{error}");
    });
}
