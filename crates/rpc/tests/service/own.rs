//! The calls of our own service by the client: times to live. Foreign servers, which have none of them, are here too. Named queues are in queues.rs.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use tokio::net::TcpListener;
use tsumugi_kv::limits::BATCH_WRITES_MAX;
use tsumugi_kv::{Clock, Desired, Expected, KvDatabase, Lifetime, SetMode, Spec};
use tsumugi_rpc::client::{CompareExchange, Options};
use tsumugi_rpc::proto::RecordState;
use tsumugi_rpc::{Client, Error};

use crate::hostile::{RESOURCE_EXHAUSTED, serves};
use crate::raw_client::{RawClient, b, frame, n};
use crate::rig::{Rig, on_loop};

const OVER: SetMode = SetMode::Overwrite;
const ABSENT: SetMode = SetMode::IfAbsent;
const INVALID_ARGUMENT: i32 = 3;

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A client of a database whose time the test moves.
fn with_clock(work: impl AsyncFnOnce(Client, Clock)) {
    let clock = Clock::manual(seconds(1_000_000));
    let own = clock.clone();
    let rig = Rig::with(move |settings, _, _| {
        settings.databases = vec![KvDatabase::open_with(&Spec::memory(), own).unwrap().into()];
    });
    on_loop(async { work(rig.client(), clock).await });
}

#[test]
fn record_is_there_for_its_time_to_live() {
    with_clock(async |kv, clock| {
        assert!(
            kv.set_with_ttl("a", "1", ABSENT, seconds(10))
                .await
                .unwrap()
        );
        assert!(
            !kv.set_with_ttl("a", "2", ABSENT, seconds(99))
                .await
                .unwrap()
        );
        assert_eq!(
            kv.lifetime("a").await.unwrap(),
            Some(Lifetime::Left(seconds(10)))
        );
        clock.advance(seconds(4));
        assert_eq!(kv.get("a").await.unwrap().unwrap(), "1");
        assert_eq!(
            kv.lifetime("a").await.unwrap(),
            Some(Lifetime::Left(seconds(6)))
        );
        assert!(kv.touch("a", Some(seconds(20))).await.unwrap());
        clock.advance(seconds(19));
        assert_eq!(kv.get("a").await.unwrap().unwrap(), "1");
        clock.advance(seconds(1));
        assert_eq!(kv.get("a").await.unwrap(), None);
        assert_eq!(kv.lifetime("a").await.unwrap(), None);
        assert!(!kv.touch("a", None).await.unwrap());
        // What is stored by a call of the protocol is there for ever.
        kv.set("a", "3", OVER).await.unwrap();
        assert_eq!(kv.lifetime("a").await.unwrap(), Some(Lifetime::Unlimited));
        assert!(
            kv.set_with_ttl("a", "4", OVER, Duration::from_nanos(1))
                .await
                .unwrap()
        );
        assert!(kv.touch("a", None).await.unwrap());
        clock.advance(seconds(1_000));
        assert_eq!(kv.get("a").await.unwrap().unwrap(), "4");
    });
}

#[test]
fn exchange_gives_what_it_stores_a_time_to_live() {
    with_clock(async |kv, clock| {
        let exchange = async |expected: Expected, value: &'static str| {
            let desired = Desired::Put(value.into(), Some(seconds(5)));
            let exchange = CompareExchange::new("a", expected, desired);
            kv.compare_exchange(exchange).await.unwrap()
        };
        assert!(exchange(Expected::Absent, "1").await.exchanged);
        let refused = exchange(Expected::Value("x".into()), "2").await;
        assert_eq!(
            (refused.exchanged, refused.actual),
            (false, Some("1".into()))
        );
        let done = exchange(Expected::Value("1".into()), "2").await;
        assert_eq!((done.exchanged, done.actual), (true, Some("1".into())));
        clock.advance(seconds(5));
        assert_eq!(kv.get("a").await.unwrap(), None);
        assert!(exchange(Expected::Absent, "3").await.exchanged);

        let state = |key: &'static str, value: Option<&'static str>| RecordState {
            existence: value.is_some(),
            key: key.into(),
            value: value.unwrap_or_default().into(),
            any_value: false,
        };
        let several = async |expected: Vec<RecordState>, desired: Vec<RecordState>| {
            let exchanged = kv.compare_exchange_multi_with_ttl(expected, desired, seconds(5));
            exchanged.await.unwrap()
        };
        let desired = || vec![state("a", None), state("b", Some("4"))];
        assert!(!several(vec![state("a", Some("x"))], desired()).await);
        assert!(several(vec![state("a", Some("3"))], desired()).await);
        assert_eq!(kv.get("a").await.unwrap(), None);
        assert_eq!(kv.get("b").await.unwrap().unwrap(), "4");
        clock.advance(seconds(5));
        assert_eq!(kv.count().await.unwrap(), 0);
    });
}

#[test]
fn several_records_with_a_time_to_live_are_counted() {
    with_clock(async |kv, clock| {
        kv.set("key 7", "there", OVER).await.unwrap();
        let records = (0..2_500).map(|n| (format!("key {n}").into(), Bytes::from("v")));
        let stored = kv.set_multi_with_ttl(records, ABSENT, seconds(5));
        assert_eq!(stored.await.unwrap(), 2_499);
        assert_eq!(kv.count().await.unwrap(), 2_500);
        clock.advance(seconds(5));
        assert_eq!(kv.count().await.unwrap(), 1);
        assert_eq!(
            kv.set_multi_with_ttl([], OVER, seconds(5)).await.unwrap(),
            0
        );
    });
}

const OWN: [&str; 9] = [
    "SetWithTtl",
    "SetMultiWithTtl",
    "CompareExchangeWithTtl",
    "CompareExchangeMultiWithTtl",
    "Touch",
    "Lifetime",
    "Push",
    "Pop",
    "Watch",
];

fn own(call: &str) -> String {
    format!("/tsumugi_kv.StoreService/{call}")
}

#[test]
fn an_index_that_is_none_is_refused_by_every_call_of_our_own() {
    let rig = Rig::start();
    on_loop(async {
        for call in OWN {
            for index in [-1, 2, i64::from(i32::MIN), i64::from(i32::MAX)] {
                let bare = RawClient::connect(rig.tcp()).await;
                let reply = bare.call_at(&own(call), &[n(1, index)]).await;
                assert_eq!(reply.code, INVALID_ARGUMENT, "{call} {index}");
                assert!(
                    reply.message.contains("dbm_index"),
                    "{call}: {}",
                    reply.message
                );
            }
        }
        let bare = RawClient::connect(rig.tcp()).await;
        // Each service has its own calls.
        for path in [
            own("Get"),
            own("other"),
            "/tkrzw_rpc.DBMService/Push".to_owned(),
        ] {
            assert_eq!(bare.call_at(&path, &[vec![]]).await.code, 12, "{path}");
        }
        serves(&rig).await;
    });
}

#[test]
fn entries_of_our_own_calls_beyond_the_limit_are_refused_before_they_are_decoded() {
    let rig = Rig::start();
    on_loop(async {
        for (call, field) in [
            ("SetMultiWithTtl", 2),
            ("CompareExchangeMultiWithTtl", 2),
            ("CompareExchangeMultiWithTtl", 3),
        ] {
            for (count, code) in [
                (BATCH_WRITES_MAX, 0),
                (BATCH_WRITES_MAX + 1, RESOURCE_EXHAUSTED),
                (32 * 1024 * 1024, RESOURCE_EXHAUSTED),
            ] {
                let bare = RawClient::connect(rig.tcp()).await;
                let reply = bare
                    .call_at(&own(call), &[b(field, "").repeat(count)])
                    .await;
                assert_eq!(reply.code, code, "{call} {count}: {}", reply.message);
                assert!(code == 0 || reply.message.contains("MESSAGE_ENTRIES_MAX"));
            }
        }
        serves(&rig).await;
    });
}

/// A time that no clock can hold is cut, and times that are none are taken for what they are.
#[test]
fn time_to_live_beyond_all_bounds_is_cut() {
    let rig = Rig::start();
    on_loop(async {
        let bare = RawClient::connect(rig.tcp()).await;
        let set = [b(2, "a"), n(4, 1), n(15, -1)].concat();
        assert_eq!(bare.call_at(&own("SetWithTtl"), &[set]).await.code, 0);
        let kv = rig.client();
        let left = kv.lifetime("a").await.unwrap();
        assert!(
            matches!(left, Some(Lifetime::Left(left)) if left > seconds(1_000_000)),
            "{left:?}"
        );
    });
}

/// What a server that is none of ours shows by reflection.
#[derive(Clone, Copy)]
enum Reflection {
    None,
    Services(&'static [&'static str]),
}

/// Serves whatever comes as a foreign server does, and notes the paths.
async fn foreign(reflection: Reflection) -> (Client, Rc<RefCell<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = format!("tkrzw://{}", listener.local_addr().unwrap());
    let paths: Rc<RefCell<Vec<String>>> = Rc::default();
    let seen = Rc::clone(&paths);
    tokio::task::spawn_local(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let mut connection = h2::server::handshake(stream).await.unwrap();
            while let Some(Ok((request, mut respond))) = connection.accept().await {
                let path = request.uri().path().to_owned();
                let is_reflection = path.starts_with("/grpc.reflection.v1.");
                seen.borrow_mut().push(path);
                let head = Response::builder().header("content-type", "application/grpc");
                let list = match reflection {
                    Reflection::Services(names) if is_reflection => names,
                    _ => {
                        let head = head.header("grpc-status", "12");
                        let head = head.header("grpc-message", "unknown").body(()).unwrap();
                        respond.send_response(head, true).unwrap();
                        continue;
                    }
                };
                let mut body = respond
                    .send_response(head.body(()).unwrap(), false)
                    .unwrap();
                let names: Vec<u8> = list.iter().flat_map(|name| b(1, b(1, name))).collect();
                body.send_data(frame(&b(6, names)).into(), false).unwrap();
                let mut trailers = http::HeaderMap::new();
                trailers.insert("grpc-status", "0".parse().unwrap());
                body.send_trailers(trailers).unwrap();
            }
        }
    });
    let client = Client::new(target.parse().unwrap(), Options::default()).unwrap();
    (client, paths)
}

#[test]
fn foreign_server_is_refused_by_name_before_anything_is_sent() {
    for (reflection, reason) in [
        (Reflection::None, "it has no reflection"),
        (
            Reflection::Services(&["tkrzw_rpc.DBMService", "grpc.health.v1.Health"]),
            "its reflection does not show tsumugi_kv.StoreService",
        ),
    ] {
        on_loop(async {
            let (kv, paths) = foreign(reflection).await;
            let ttl = seconds(1);
            let put = Desired::Put("v".into(), Some(ttl));
            let exchange = CompareExchange::new("a", Expected::Absent, put);
            let several = [("a".into(), "v".into())];
            let errors = [
                (
                    "SetWithTtl",
                    kv.set_with_ttl("a", "v", OVER, ttl).await.err(),
                ),
                (
                    "SetMultiWithTtl",
                    kv.set_multi_with_ttl(several, OVER, ttl).await.err(),
                ),
                (
                    "CompareExchangeWithTtl",
                    kv.compare_exchange(exchange).await.err(),
                ),
                (
                    "CompareExchangeMultiWithTtl",
                    kv.compare_exchange_multi_with_ttl(vec![], vec![], ttl)
                        .await
                        .err(),
                ),
                ("Touch", kv.touch("a", None).await.err()),
                ("Lifetime", kv.lifetime("a").await.err()),
                ("Push", kv.push("q", "v").await.err()),
                ("Pop", kv.pop("q", ttl).await.err()),
                ("Watch", kv.watch("").await.err()),
            ];
            for (call, error) in errors {
                let Some(error @ Error::Unsupported { .. }) = error else {
                    panic!("{call}: {error:?}");
                };
                let text = error.to_string();
                for part in ["tkrzw://127.0.0.1:", reason] {
                    assert!(text.contains(part), "{text}");
                }
                assert!(
                    text.contains(&format!("tsumugi_kv.StoreService/{call},")),
                    "{text}"
                );
            }
            assert!(kv.require_own_service().await.is_err());
            let paths = paths.borrow();
            assert!(
                paths.iter().all(|path| path.contains("Reflection")),
                "{paths:?}"
            );
        });
    }
}

#[test]
fn server_is_asked_once_a_connection_whether_it_has_our_own_service() {
    on_loop(async {
        let services = Reflection::Services(&["tsumugi_kv.StoreService"]);
        let (kv, paths) = foreign(services).await;
        // It shows the service and has no call of it, as one that took the place of ours would.
        for _ in 0..3 {
            let error = kv.touch("a", None).await.unwrap_err();
            assert!(matches!(error, Error::Unsupported { .. }), "{error}");
            assert!(error.to_string().contains("it says `unknown`"), "{error}");
        }
        let reflected = |path: &&String| path.contains("Reflection");
        assert_eq!(paths.borrow().iter().filter(reflected).count(), 1);
    });
}
