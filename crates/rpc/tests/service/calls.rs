//! Every call of the service by the client: outcomes, statuses, refusals. One table for every store that can be behind a service: the rig says
//! which. Not the bytes on the wire; those are in wire.rs.

use std::time::{Duration, SystemTime};

use crate::rig::{Need, each, has, many};
use bytes::Bytes;
use tsumugi_kv::{Desired, Expected, RekeySource, SetMode};
use tsumugi_rpc::client::{CompareExchange, NotifyMode, RekeyOutcome};
use tsumugi_rpc::proto::*;
use tsumugi_rpc::{Client, Error, GrpcCode, TkrzwCode};

const ABSENT: SetMode = SetMode::IfAbsent;
const OVER: SetMode = SetMode::Overwrite;

/// How many records there are, where the store counts them.
async fn check_count(kv: &Client, expected: u64) {
    if has(Need::Count) {
        assert_eq!(kv.count().await.unwrap(), expected);
    }
}

#[test]
fn echo_comes_back() {
    each(&[], async |kv| {
        assert_eq!(kv.echo("紡ぎ").await.unwrap(), "紡ぎ")
    });
}

#[test]
fn a_value_is_set_once_or_overwritten_and_removed() {
    each(&[], async |kv| {
        assert_eq!(kv.get("a").await.unwrap(), None);
        assert!(kv.set("a", "1", ABSENT).await.unwrap());
        assert!(!kv.set("a", "2", ABSENT).await.unwrap());
        assert_eq!(kv.get("a").await.unwrap().unwrap(), "1");
        assert!(kv.set("a", "2", OVER).await.unwrap());
        assert_eq!(kv.get("a").await.unwrap().unwrap(), "2");
        assert!(kv.remove("a").await.unwrap());
        assert!(!kv.remove("a").await.unwrap());
    });
}

#[test]
fn keys_and_values_are_any_bytes_also_none() {
    each(&[], async |kv| {
        for bytes in [&b""[..], b"\0\xff\n", &[0x80; 40_000]] {
            kv.set(bytes, bytes, OVER).await.unwrap();
            assert_eq!(kv.get(bytes).await.unwrap().unwrap(), bytes);
        }
        check_count(&kv, 3).await;
    });
}

#[test]
fn databases_are_apart() {
    each(&[], async |kv| {
        kv.set("a", "first", OVER).await.unwrap();
        kv.at(1).set("a", "second", OVER).await.unwrap();
        assert_eq!(kv.get("a").await.unwrap().unwrap(), "first");
        assert_eq!(kv.at(1).get("a").await.unwrap().unwrap(), "second");
    });
}

#[test]
fn many_records_go_in_few_calls() {
    each(&[], async |kv| {
        let records: Vec<(Bytes, Bytes)> = (0..many(2_500))
            .map(|n| (format!("{n:04}").into(), format!("v{n}").into()))
            .collect();
        let keys = records.iter().map(|(key, _)| key.clone());
        assert!(kv.set_multi(records.clone(), ABSENT).await.unwrap());
        assert!(!kv.set_multi(records[..2].to_vec(), ABSENT).await.unwrap());
        let wanted = keys.clone().chain(["none".into()]);
        assert_eq!(kv.records(wanted).await.unwrap(), records);
        let more = vec![("0000".into(), "x".into()), ("new".into(), "y".into())];
        kv.append_multi(more, ",".into()).await.unwrap();
        assert_eq!(kv.get("0000").await.unwrap().unwrap(), "v0,x");
        assert_eq!(kv.get("new").await.unwrap().unwrap(), "y");
        assert!(kv.remove_multi(keys.clone()).await.unwrap());
        assert!(!kv.remove_multi(keys.take(1)).await.unwrap());
        check_count(&kv, 1).await;
    });
}

#[test]
fn a_partial_get_multi_says_not_found() {
    each(&[], async |kv| {
        kv.set("a", "1", OVER).await.unwrap();
        let request = GetMultiRequest {
            dbm_index: 0,
            keys: vec!["a".into(), "b".into()],
        };
        let answer: GetMultiResponse = kv.call("GetMulti", &request).await.unwrap();
        assert_eq!(answer.status.unwrap().code, TkrzwCode::NotFound as i32);
        assert_eq!(answer.records.len(), 1);
    });
}

#[test]
fn append_has_its_delimiter_only_between() {
    each(&[], async |kv| {
        kv.append("a", "1", ",").await.unwrap();
        kv.append("a", "2", ",").await.unwrap();
        assert_eq!(kv.get("a").await.unwrap().unwrap(), "1,2");
    });
}

#[test]
fn numbers_are_eight_bytes_with_the_highest_first() {
    each(&[], async |kv| {
        assert_eq!(kv.increment("n", 5, 100).await.unwrap(), 105);
        assert_eq!(kv.increment("n", -7, 0).await.unwrap(), 98);
        assert_eq!(kv.increment("n", i64::MIN, 0).await.unwrap(), 98);
        assert_eq!(
            kv.get("n").await.unwrap().unwrap(),
            &98_i64.to_be_bytes()[..]
        );
        kv.set("text", "no number", OVER).await.unwrap();
        let error = kv.increment("text", 1, 0).await.unwrap_err();
        assert!(matches!(error, Error::Database { .. }), "{error}");
    });
}

#[test]
fn an_exchange_tells_what_was_there() {
    each(&[], async |kv| {
        let exchange = async |expected, desired| {
            let exchange = CompareExchange::new("k", expected, desired);
            let done = kv.compare_exchange(exchange).await.unwrap();
            (done.exchanged, done.actual)
        };
        let value = |text: &'static str| Expected::Value(text.into());
        let put = |text: &'static str| Desired::Put(text.into(), None);
        assert_eq!(exchange(Expected::Absent, put("1")).await, (true, None));
        assert_eq!(
            exchange(Expected::Absent, put("2")).await,
            (false, Some("1".into()))
        );
        assert_eq!(
            exchange(value("x"), put("2")).await,
            (false, Some("1".into()))
        );
        assert_eq!(
            exchange(value("1"), put("2")).await,
            (true, Some("1".into()))
        );
        assert_eq!(
            exchange(Expected::Any, Desired::Keep).await,
            (true, Some("2".into()))
        );
        assert_eq!(
            exchange(value("2"), Desired::Remove).await,
            (true, Some("2".into()))
        );
        assert_eq!(exchange(Expected::Any, put("3")).await, (false, None));
    });
}

#[test]
fn an_exchange_of_several_is_all_or_nothing() {
    each(&[], async |kv| {
        let state = |key: &'static str, value: Option<&'static str>| RecordState {
            existence: value.is_some(),
            key: key.into(),
            value: value.unwrap_or_default().into(),
            any_value: false,
        };
        let set = vec![state("a", Some("1")), state("b", Some("2"))];
        let none = vec![state("a", None), state("b", None)];
        assert!(
            kv.compare_exchange_multi(none.clone(), set.clone())
                .await
                .unwrap()
        );
        assert!(
            !kv.compare_exchange_multi(none.clone(), set.clone())
                .await
                .unwrap()
        );
        let wrong = vec![state("a", Some("1")), state("b", Some("x"))];
        assert!(
            !kv.compare_exchange_multi(wrong, none.clone())
                .await
                .unwrap()
        );
        check_count(&kv, 2).await;
        let any = RecordState {
            any_value: true,
            ..state("a", Some(""))
        };
        assert!(kv.compare_exchange_multi(vec![any], none).await.unwrap());
        check_count(&kv, 0).await;
    });
}

#[test]
fn a_record_gets_another_key() {
    each(&[], async |kv| {
        let (moved, copied) = (RekeySource::Move, RekeySource::Copy);
        assert_eq!(
            kv.rekey("a", "b", OVER, moved).await.unwrap(),
            RekeyOutcome::Missing
        );
        kv.set("a", "1", OVER).await.unwrap();
        kv.set("b", "2", OVER).await.unwrap();
        assert_eq!(
            kv.rekey("a", "b", ABSENT, moved).await.unwrap(),
            RekeyOutcome::Duplicate
        );
        assert_eq!(
            kv.rekey("a", "c", ABSENT, copied).await.unwrap(),
            RekeyOutcome::Done
        );
        assert_eq!(
            kv.rekey("a", "b", OVER, moved).await.unwrap(),
            RekeyOutcome::Done
        );
        assert_eq!(kv.get("a").await.unwrap(), None);
        assert_eq!(kv.get("b").await.unwrap().unwrap(), "1");
        assert_eq!(kv.get("c").await.unwrap().unwrap(), "1");
    });
}

#[test]
fn a_queue_gives_what_was_pushed_first_and_waits_for_more() {
    each(&[Need::Queue], async |kv| {
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_500);
        kv.push_last("one", Some(at)).await.unwrap();
        kv.push_last("two", Some(at)).await.unwrap();
        let (key, value) = kv.pop_first(Duration::ZERO).await.unwrap().unwrap();
        assert_eq!(
            (key, value),
            (150_000_000_u64.to_be_bytes().to_vec().into(), "one".into())
        );
        let (key, value) = kv.pop_first(Duration::ZERO).await.unwrap().unwrap();
        assert_eq!(
            (key, value),
            (150_000_001_u64.to_be_bytes().to_vec().into(), "two".into())
        );
        assert_eq!(kv.pop_first(Duration::ZERO).await.unwrap(), None);
        assert_eq!(kv.pop_first(Duration::from_millis(20)).await.unwrap(), None);
        let other = kv.clone();
        let waiting =
            tokio::task::spawn_local(async move { other.pop_first(Duration::from_secs(60)).await });
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(!waiting.is_finished());
        kv.push_last("three", None).await.unwrap();
        assert_eq!(waiting.await.unwrap().unwrap().unwrap().1, "three");
    });
}

#[test]
fn a_time_that_is_none_is_refused() {
    each(&[], async |kv| {
        for wtime in [f64::NAN, f64::INFINITY, 1e300] {
            let request = PushLastRequest {
                wtime,
                ..PushLastRequest::default()
            };
            let answer: PushLastResponse = kv.call("PushLast", &request).await.unwrap();
            assert_eq!(
                answer.status.unwrap().code,
                TkrzwCode::InvalidArgument as i32,
                "{wtime}"
            );
        }
    });
}

#[test]
fn an_exchange_waits_for_a_notice_about_its_key() {
    each(&[], async |kv| {
        let waits = CompareExchange {
            wait: Duration::from_secs(60),
            ..CompareExchange::new("k", Expected::Value("ready".into()), Desired::Remove)
        };
        let other = kv.clone();
        let waiting = tokio::task::spawn_local(async move { other.compare_exchange(waits).await });
        tokio::time::sleep(Duration::from_millis(50)).await;
        kv.set("k", "ready", OVER).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        // Without a notice nobody looks for now.
        assert!(!waiting.is_finished() || !has(Need::Local));
        let given = CompareExchange {
            notice: NotifyMode::Given,
            ..CompareExchange::new("k", Expected::Any, Desired::Keep)
        };
        assert!(kv.compare_exchange(given).await.unwrap().exchanged);
        assert!(waiting.await.unwrap().unwrap().exchanged);
        assert_eq!(kv.get("k").await.unwrap(), None);
    });
}

#[test]
fn sizes_are_reported_and_all_records_are_cleared() {
    each(&[Need::Local], async |kv| {
        kv.set("a", "1", OVER).await.unwrap();
        assert!(kv.file_size().await.unwrap() > 0);
        kv.synchronize().await.unwrap();
        kv.rebuild().await.unwrap();
        let request = ShouldBeRebuiltRequest { dbm_index: 0 };
        let answer: ShouldBeRebuiltResponse = kv.call("ShouldBeRebuilt", &request).await.unwrap();
        assert!(!answer.tobe);
        kv.clear().await.unwrap();
        check_count(&kv, 0).await;
    });
}

#[test]
fn keys_are_searched_by_every_mode() {
    each(&[Need::Search], async |kv| {
        for key in ["apple", "Apple pie", "banana", "pineapple"] {
            kv.set(key, "", OVER).await.unwrap();
        }
        for (mode, pattern, expected) in [
            ("contain", "apple", vec!["apple", "pineapple"]),
            ("begin", "b", vec!["banana"]),
            ("end", "e", vec!["Apple pie", "apple", "pineapple"]),
            ("regex", "^[ab].*[ae]$", vec!["apple", "banana"]),
            ("edit", "aple", vec!["apple"]),
            ("editbin", "aple", vec!["apple"]),
            (
                "containcase",
                "APPLE",
                vec!["Apple pie", "apple", "pineapple"],
            ),
            ("containword", "Apple", vec!["Apple pie"]),
            ("containcaseword", "apple", vec!["Apple pie", "apple"]),
            ("upper", "banana", vec!["pineapple"]),
            ("upperinc", "banana", vec!["banana", "pineapple"]),
            ("lower", "apple", vec!["Apple pie"]),
            ("lowerinc", "apple", vec!["apple", "Apple pie"]),
        ] {
            let capacity = if mode.starts_with("edit") { 1 } else { 0 };
            let found = kv.search(mode, pattern, capacity).await.unwrap();
            assert_eq!(found, expected, "{mode}");
        }
        let error = kv.search("sideways", "", 0).await.unwrap_err();
        assert!(
            matches!(
                error,
                Error::Database {
                    code: TkrzwCode::InvalidArgument,
                    ..
                }
            ),
            "{error}"
        );
    });
}

#[test]
fn served_databases_can_be_inspected() {
    each(&[Need::Local], async |kv| {
        kv.set("a", "1", OVER).await.unwrap();
        let server = kv.at(-1).inspect().await.unwrap();
        let value = |records: &[(String, String)], name: &str| {
            let found = records.iter().find(|(known, _)| known == name);
            found.unwrap_or_else(|| panic!("no {name}")).1.clone()
        };
        assert_eq!(value(&server, "num_dbms"), "2");
        assert_eq!(value(&server, "dbm_0_count"), "1");
        assert_eq!(value(&server, "num_active_calls"), "1");
        for name in [
            "version",
            "process_id",
            "dbm_1_path",
            "dbm_1_class",
            "memory_usage",
            "memory_capacity",
            "current_time",
            "running_time",
        ] {
            value(&server, name);
        }
        let database = kv.inspect().await.unwrap();
        assert_eq!(value(&database, "num_records"), "1");
        assert!(["memory", "process"].contains(&&*value(&database, "durability")));
        assert_eq!(value(&database, "healthy"), "true");
        value(&database, "class");
        value(&database, "path");
    });
}

#[test]
fn missing_call_is_refused_by_name() {
    each(&[], async |kv| {
        let refused = async |name: &str| match kv
            .call::<_, ChangeMasterResponse>(name, &ChangeMasterRequest::default())
            .await
        {
            Err(Error::Refused { code, .. }) => code,
            other => panic!("{name}: {other:?}"),
        };
        assert_eq!(refused("Replicate").await, GrpcCode::FailedPrecondition);
        assert_eq!(refused("ChangeMaster").await, GrpcCode::Unimplemented);
        assert_eq!(refused("other").await, GrpcCode::Unimplemented);
    });
}

#[test]
fn too_long_a_key_is_the_databases_answer() {
    each(&[], async |kv| {
        let error = kv.get(vec![0; 70_000]).await.unwrap_err();
        assert!(
            matches!(
                error,
                Error::Database {
                    code: TkrzwCode::InvalidArgument,
                    ..
                }
            ),
            "{error}"
        );
    });
}

/// Waits for `wait` on one call while another says nothing of what it does.
async fn without_notice<T>(
    kv: &Client,
    wait: Duration,
    call: impl Future<Output = T>,
    other: impl AsyncFn(&Client),
) -> T {
    let later = async {
        tokio::time::sleep(wait / 9).await;
        other(kv).await;
    };
    tokio::join!(call, later).0
}

async fn push_in_silence(kv: &Client) {
    let request = PushLastRequest {
        value: "job".into(),
        wtime: -1.0,
        ..PushLastRequest::default()
    };
    let answer: PushLastResponse = kv.call("PushLast", &request).await.unwrap();
    assert_eq!(answer.status.unwrap().code, 0);
}

/// Below the time after which an engine is looked at in between.
const WAIT: Duration = Duration::from_millis(900);

#[test]
fn a_pop_that_waits_looks_once_more_when_its_time_is_over() {
    each(&[Need::Queue], async |kv| {
        let popped = without_notice(&kv, WAIT, kv.pop_first(WAIT), push_in_silence);
        assert_eq!(popped.await.unwrap().unwrap().1, "job");
    });
}

#[test]
fn an_exchange_that_waits_looks_once_more_when_its_time_is_over() {
    each(&[], async |kv| {
        let expected = Expected::Value("ready".into());
        let mut exchange = CompareExchange::new("k", expected, Desired::Remove);
        exchange.wait = WAIT;
        let exchanged = kv.compare_exchange(exchange);
        let exchanged = without_notice(&kv, WAIT, exchanged, async |kv| {
            assert!(kv.set("k", "ready", OVER).await.unwrap());
        });
        assert!(exchanged.await.unwrap().exchanged);
    });
}

#[test]
fn a_call_that_waits_long_sees_in_between_what_came_without_a_notice() {
    each(&[Need::Queue], async |kv| {
        let popped = kv.pop_first(Duration::from_secs(3_600));
        let popped = tokio::time::timeout(Duration::from_secs(60), popped);
        let popped = without_notice(&kv, WAIT, popped, push_in_silence).await;
        assert_eq!(popped.expect("a look").unwrap().unwrap().1, "job");
    });
}
