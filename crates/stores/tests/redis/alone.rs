//! A store on one server: what is refused, what a failure says, what is shown to whom.

use std::time::{Duration, Instant};

use bytes::Bytes;
use tsumugi_kv::{KeyRange, Write, WriteResult};
use tsumugi_stores::limits::REDIS_CALLS_MAX;
use tsumugi_stores::{CallFate, Error};
use tsumugi_testkit::redis::RedisServer;
use tsumugi_testkit::{Cut, CutProxy, ServerSide};

use crate::{increment, number, open, opener, run, try_open};

/// For what must come, however crowded the machine is.
const PATIENCE: Duration = Duration::from_secs(60);

/// Bytes of the longest value.
const VALUE_MAX: usize = 64 * 1024 * 1024;

#[test]
fn capability_that_redis_lacks_is_refused_by_name() {
    let server = RedisServer::start(&[]);
    run(async {
        let store = open(&server.url()).await;
        let mut refused = vec![
            store.page(&KeyRange::all(), 1).await.unwrap_err(),
            store.count().await.unwrap_err(),
            store.search("contain", "x", 1).await.unwrap_err(),
            store.pop(None, Duration::ZERO).await.unwrap_err(),
            store.synchronize().await.unwrap_err(),
            store.backup("there".into()).await.unwrap_err(),
            store.watch("x").await.unwrap_err(),
        ];
        for write in [Write::Clear, Write::PopFirst] {
            refused.push(store.write(write).await.unwrap_err());
        }
        for error in refused {
            assert!(matches!(error, Error::Unsupported { .. }), "{error}");
            assert!(
                error.to_string().starts_with("a store in Redis "),
                "{error}"
            );
        }
    });
}

#[test]
fn record_is_gone_when_its_time_is_over() {
    const SHORT: Duration = Duration::from_millis(150);
    let server = RedisServer::start(&[]);
    run(async {
        let store = open(&server.url()).await;
        let set = |key: &'static str, ttl| Write::Set {
            key: key.into(),
            value: "v".into(),
            mode: tsumugi_kv::SetMode::Overwrite,
            ttl: Some(ttl),
        };
        let begun = Instant::now();
        store.write(set("short", SHORT)).await.unwrap();
        store.write(set("long", PATIENCE * 60)).await.unwrap();
        while store.get("short").await.unwrap().is_some() {
            assert!(begun.elapsed() < PATIENCE, "it is still there");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        let after = begun.elapsed();
        assert!(after >= SHORT - Duration::from_millis(50), "{after:?}");
        assert!(store.get("long").await.unwrap().is_some());
    });
}

#[test]
fn increments_of_many_callers_are_all_counted() {
    let server = RedisServer::start(&[]);
    run(async {
        let (one, other) = (open(&server.url()).await, open(&server.url()).await);
        let calls = (0..500).flat_map(|_| [&one, &other]);
        let calls = calls.map(|store| store.write(increment("n")));
        for answer in futures_util::future::join_all(calls).await {
            answer.unwrap();
        }
        assert_eq!(number(&one, "n").await, 1_000);
    });
}

#[test]
fn value_is_refused_at_one_byte_more_than_the_limit() {
    let server = RedisServer::start(&[]);
    run(async {
        let store = open(&server.url()).await;
        let largest = Bytes::from(vec![b'v'; VALUE_MAX]);
        store.write(Write::set("k", largest.clone())).await.unwrap();
        assert_eq!(store.get("k").await.unwrap(), Some(largest));
        let more = Bytes::from(vec![b'v'; VALUE_MAX + 1]);
        let append = Write::Append {
            key: "k".into(),
            value: "v".into(),
            delimiter: "".into(),
        };
        for write in [Write::set("k", more), append] {
            let error = store.write(write).await.unwrap_err();
            assert!(matches!(error, Error::ValueTooLong { .. }), "{error}");
        }
        assert_eq!(store.get("k").await.unwrap().unwrap().len(), VALUE_MAX);
    });
}

#[test]
fn value_of_another_program_beyond_the_limit_is_not_read() {
    let server = RedisServer::start(&[]);
    run(async {
        let store = open(&server.url()).await;
        server.ask(&format!("SETRANGE k {VALUE_MAX} x"));
        let error = store.get("k").await.unwrap_err();
        assert!(
            error.to_string().contains("REDIS_VALUE_BYTES_MAX"),
            "{error}"
        );
        store.write(Write::set("k", "v")).await.unwrap();
        assert_eq!(store.get("k").await.unwrap().unwrap(), "v");
    });
}

#[test]
fn value_of_another_kind_is_an_error_and_stays() {
    let server = RedisServer::start(&[]);
    run(async {
        let store = open(&server.url()).await;
        server.ask("LPUSH list a");
        let error = store.get("list").await.unwrap_err();
        assert!(error.to_string().contains("WRONGTYPE"), "{error}");
        let error = store.write(increment("list")).await.unwrap_err();
        assert_eq!(error.fate(), CallFate::NotApplied, "{error}");
        assert_eq!(server.ask("LLEN list"), ":1");
    });
}

#[test]
fn write_whose_answer_is_lost_is_done_once_and_reported_as_unknown() {
    let server = RedisServer::start(&[]);
    let proxy = CutProxy::start(server.port());
    run(async {
        let store = open(&format!("redis://127.0.0.1:{}", proxy.port())).await;
        // The script is known by its name.
        store.write(increment("n")).await.unwrap();
        for round in 2..12 {
            proxy.cut_once(Cut::ToClient(0), ServerSide::Closes);
            let error = store.write(increment("n")).await.unwrap_err();
            assert_eq!(error.fate(), CallFate::Unknown, "{error}");
            assert!(matches!(error, Error::Unavailable { .. }), "{error}");
            assert_eq!(number(&store, "n").await, round);
        }
    });
}

#[test]
fn write_that_never_arrives_is_reported_as_unknown_and_not_done() {
    let server = RedisServer::start(&[]);
    let proxy = CutProxy::start(server.port());
    run(async {
        let store = open(&format!("redis://127.0.0.1:{}", proxy.port())).await;
        store.write(increment("n")).await.unwrap();
        proxy.cut_once(Cut::ToServer(0), ServerSide::Closes);
        let error = store.write(increment("n")).await.unwrap_err();
        assert_eq!(error.fate(), CallFate::Unknown, "{error}");
        assert_eq!(number(&store, "n").await, 1);
    });
}

#[test]
fn read_whose_answer_is_lost_is_sent_again() {
    let server = RedisServer::start(&[]);
    let proxy = CutProxy::start(server.port());
    run(async {
        let store = open(&format!("redis://127.0.0.1:{}", proxy.port())).await;
        store.write(Write::set("k", "v")).await.unwrap();
        proxy.cut_once(Cut::ToClient(0), ServerSide::Closes);
        assert_eq!(store.get("k").await.unwrap().unwrap(), "v");
        assert!(!proxy.is_armed());
    });
}

#[test]
fn server_that_hangs_is_given_up_at_the_timeout_and_used_again() {
    let server = RedisServer::start(&[]);
    run(async {
        let store = open(&format!("{}?timeout=3", server.url())).await;
        store.write(increment("n")).await.unwrap();
        server.freeze();
        let since = Instant::now();
        let error = store.write(increment("n")).await.unwrap_err();
        let waited = since.elapsed();
        assert!(waited < PATIENCE, "{waited:?}");
        assert!(
            matches!(
                error,
                Error::Deadline {
                    limit_ms: 3_000,
                    ..
                }
            ),
            "{error}"
        );
        assert_eq!(error.fate(), CallFate::Unknown);
        server.thaw();
        // It was done behind the caller's back, and only once.
        assert_eq!(number(&store, "n").await, 2);
    });
}

#[test]
fn server_that_is_gone_is_an_error_at_once_and_used_again_when_it_is_back() {
    let server = RedisServer::start(&["--appendonly", "yes", "--appendfsync", "always"]);
    run(async {
        // Longer than the test would wait.
        let store = open(&format!("{}?timeout=300", server.url())).await;
        store.write(increment("n")).await.unwrap();
        server.kill();
        let since = Instant::now();
        let write = Write::set("k", "v");
        while let Err(error) = store.write(write.clone()).await {
            assert!(matches!(error, Error::Unavailable { .. }), "{error}");
            if error.fate() == CallFate::NotApplied {
                break;
            }
        }
        let waited = since.elapsed();
        assert!(waited < PATIENCE, "{waited:?}");
        server.start_again();
        assert_eq!(number(&store, "n").await, 1);
    });
}

#[test]
fn full_server_refuses_and_nothing_is_half_done() {
    let server = RedisServer::start(&[]);
    run(async {
        let store = open(&server.url()).await;
        store.write(Write::set("a", "1")).await.unwrap();
        server.ask("CONFIG SET maxmemory 1");
        let multi = Write::CompareExchangeMulti {
            expected: vec![("a".into(), tsumugi_kv::Expected::Any)],
            desired: vec![
                ("a".into(), tsumugi_kv::Desired::Remove),
                ("b".into(), tsumugi_kv::Desired::Put("2".into(), None)),
            ],
        };
        for write in [Write::set("k", "v"), increment("n")] {
            let error = store.write(write).await.unwrap_err();
            assert!(matches!(error, Error::Full { .. }), "{error}");
        }
        // A script that has removed something goes on: the server sees to it that it is whole.
        let _ = store.write(multi).await;
        server.ask("CONFIG SET maxmemory 0");
        let there = store.records(vec!["a".into(), "b".into()]).await.unwrap();
        assert_eq!(there.len(), 1, "{there:?}");
    });
}

#[test]
fn password_lets_in_and_is_never_shown() {
    let server = RedisServer::start(&["--requirepass", "s3cret"]);
    let at = format!("127.0.0.1:{}", server.port());
    run(async {
        let opener = opener();
        let right = try_open(&opener, &format!("redis://:s3cret@{at}")).await;
        let right = right.unwrap();
        right.write(Write::set("k", "v")).await.unwrap();
        assert!(!format!("{right:?} {:?}", right.inspect().await.unwrap()).contains("s3cret"));
        for wrong in [
            format!("redis://{at}"),
            format!("redis://:wr0ng@{at}"),
            format!("redis://me:wr0ng@{at}"),
            format!("redis://{at}?password=wr0ng"),
        ] {
            let error = try_open(&opener, &wrong).await.unwrap_err();
            assert!(matches!(error, Error::Refused { .. }), "{wrong}: {error}");
            let shown = format!("{error} {error:?}");
            assert!(
                !shown.contains("wr0ng") && !shown.contains("s3cret"),
                "{shown}"
            );
        }
    });
}

#[test]
fn prefixes_keep_stores_apart_and_share_one_connection() {
    let server = RedisServer::start(&[]);
    run(async {
        let opener = opener();
        let place = |prefix| format!("{}?prefix={prefix}", server.url());
        let one = try_open(&opener, &place("one:")).await.unwrap();
        let other = try_open(&opener, &place("other:")).await.unwrap();
        one.write(Write::set("k", "1")).await.unwrap();
        assert_eq!(other.get("k").await.unwrap(), None);
        assert_eq!(server.ask("GET one:k"), "1");
        // Ours and the one that asks, once the server has seen that those have gone which asked before.
        let until = Instant::now() + PATIENCE;
        while !server.ask("INFO clients").contains("connected_clients:2") {
            assert!(Instant::now() < until, "{}", server.ask("INFO clients"));
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_ne!(one.place(), other.place());
    });
}

#[test]
fn calls_beyond_their_limit_are_refused_at_once() {
    let server = RedisServer::start(&[]);
    run(async {
        let store = open(&server.url()).await;
        let calls = (0..=REDIS_CALLS_MAX).map(|_| store.get("k"));
        let answers = futures_util::future::join_all(calls).await;
        let refused: Vec<_> = answers.into_iter().filter_map(Result::err).collect();
        let [error] = refused.as_slice() else {
            panic!("{} are refused", refused.len());
        };
        assert!(error.to_string().contains("REDIS_CALLS_MAX"), "{error}");
    });
}

#[test]
fn tls_is_spoken_with_a_server_that_its_authority_vouches_for() {
    let (server, certificates) = RedisServer::start_tls();
    let at = format!("rediss://127.0.0.1:{}", server.port());
    run(async {
        let ca = certificates.authority.display();
        let store = open(&format!("{at}?ca={ca}")).await;
        store.write(Write::set("k", "v")).await.unwrap();
        let (cert, key) = (
            certificates.client.display(),
            certificates.client_key.display(),
        );
        let store = open(&format!("{at}?ca={ca}&cert={cert}&key={key}")).await;
        assert_eq!(store.get("k").await.unwrap().unwrap(), "v");
        for wrong in [
            format!("{at}?ca={cert}"),
            format!("redis://127.0.0.1:{}", server.port()),
        ] {
            let error = try_open(&opener(), &wrong).await.unwrap_err();
            assert_eq!(error.fate(), CallFate::NotApplied, "{wrong}: {error}");
        }
        let half = try_open(&opener(), &format!("{at}?cert={cert}"))
            .await
            .unwrap_err();
        assert!(half.to_string().contains("cert and key"), "{half}");
    });
}

#[test]
fn answer_of_an_exchange_names_the_value_that_is_there() {
    let server = RedisServer::start(&[]);
    run(async {
        let store = open(&server.url()).await;
        store.write(Write::set("k", "v")).await.unwrap();
        let exchange = Write::CompareExchange {
            key: "k".into(),
            expected: tsumugi_kv::Expected::Absent,
            desired: tsumugi_kv::Desired::Remove,
        };
        let answer = store.write(exchange).await.unwrap();
        let WriteResult::Mismatch { actual } = answer else {
            panic!("{answer:?}");
        };
        assert_eq!(actual.unwrap(), "v");
    });
}
