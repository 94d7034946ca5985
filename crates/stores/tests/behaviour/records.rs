//! Records: reading, setting, adding, exchanging, renaming, several at once.

use bytes::Bytes;
use tsumugi_kv::{Desired, Error as KvError, Expected, RekeySource, SetMode, Write, WriteResult};
use tsumugi_stores::{Capability, Error, Store};

use crate::engines::{Engine, check_count, each};

fn set(key: &'static str, value: &'static str, mode: SetMode) -> Write {
    Write::Set {
        key: key.into(),
        value: value.into(),
        mode,
        ttl: None,
    }
}

async fn value(store: &Store, key: &'static str) -> Option<Bytes> {
    store.get(key).await.unwrap()
}

async fn check(store: &Store, write: Write, expected: &str) {
    let shown = match store.write(write.clone()).await {
        Ok(written) => format!("{written:?}"),
        Err(error) => error.to_string(),
    };
    assert_eq!(shown, expected, "{write:?}");
}

#[test]
fn record_is_set_read_and_removed() {
    each("set", async |store, _| {
        assert_eq!(value(store, "a").await, None);
        check(store, set("a", "1", SetMode::Overwrite), "Done").await;
        assert_eq!(value(store, "a").await, Some("1".into()));
        check(
            store,
            set("a", "2", SetMode::IfAbsent),
            "Duplicate { value: b\"1\" }",
        )
        .await;
        check(store, set("b", "", SetMode::IfAbsent), "Done").await;
        assert_eq!(value(store, "b").await, Some("".into()));
        check(store, Write::remove("a"), "Done").await;
        check(store, Write::remove("a"), "Missing").await;
        check_count(store, 1).await;
        // Any bytes are a key, and none too.
        let odd = Bytes::from_static(b"\xff\x00\xff");
        store.write(Write::set(odd.clone(), "x")).await.unwrap();
        store.write(Write::set("", "y")).await.unwrap();
        assert_eq!(store.get(odd).await.unwrap(), Some("x".into()));
        assert_eq!(value(store, "").await, Some("y".into()));
        if store.capabilities().check(Capability::Clear).is_ok() {
            check(store, Write::Clear, "Done").await;
            check_count(store, 0).await;
        }
    });
}

#[test]
fn value_is_added_to() {
    each("added", async |store, _| {
        let append = |value: &'static str| Write::Append {
            key: "t".into(),
            value: value.into(),
            delimiter: ",".into(),
        };
        check(store, append("a"), "Done").await;
        check(store, append("b"), "Done").await;
        assert_eq!(value(store, "t").await, Some("a,b".into()));
        let add = |key: &'static str, by, initial| Write::Increment {
            key: key.into(),
            by,
            initial,
        };
        check(store, add("n", 2, 5), "Number(7)").await;
        check(store, add("n", -8, 5), "Number(-1)").await;
        check(store, add("n", i64::MIN, 0), "Number(-1)").await;
        check(store, add("m", i64::MIN, 3), "Number(3)").await;
        assert_eq!(value(store, "m").await, None);
        let refused = store.write(add("t", 1, 0)).await.unwrap_err();
        assert!(matches!(
            refused,
            Error::NotANumber(_) | Error::Kv(KvError::NotANumber { length: 3 })
        ));
        assert_eq!(value(store, "t").await, Some("a,b".into()));
    });
}

#[test]
fn exchange_takes_place_only_where_the_record_is_as_expected() {
    each("exchanged", async |store, _| {
        let exchange = |expected, desired| Write::CompareExchange {
            key: "k".into(),
            expected,
            desired,
        };
        let put = |value: &'static str| Desired::Put(value.into(), None);
        let has = |value: &'static str| Expected::Value(value.into());
        check(
            store,
            exchange(has("1"), put("2")),
            "Mismatch { actual: None }",
        )
        .await;
        check(
            store,
            exchange(Expected::Any, put("2")),
            "Mismatch { actual: None }",
        )
        .await;
        check(
            store,
            exchange(Expected::Absent, put("1")),
            "Exchanged { actual: None }",
        )
        .await;
        check(
            store,
            exchange(Expected::Absent, put("2")),
            "Mismatch { actual: Some(b\"1\") }",
        )
        .await;
        check(
            store,
            exchange(has("1"), Desired::Keep),
            "Exchanged { actual: Some(b\"1\") }",
        )
        .await;
        check(
            store,
            exchange(has("1"), put("2")),
            "Exchanged { actual: Some(b\"1\") }",
        )
        .await;
        check(
            store,
            exchange(Expected::Any, Desired::Remove),
            "Exchanged { actual: Some(b\"2\") }",
        )
        .await;
        assert_eq!(value(store, "k").await, None);
    });
}

#[test]
fn exchange_of_several_is_done_whole_or_not_at_all() {
    each("exchanged-together", async |store, _| {
        let put = |value: &'static str| Desired::Put(value.into(), None);
        let both = |a: Expected, b: Expected, desired: Vec<(Bytes, Desired)>| {
            Write::CompareExchangeMulti {
                expected: vec![("a".into(), a), ("b".into(), b)],
                desired,
            }
        };
        let absent = || Expected::Absent;
        let one = vec![("a".into(), put("1")), ("b".into(), put("2"))];
        check(store, both(absent(), absent(), one.clone()), "Done").await;
        let mismatch = "Mismatch { actual: None }";
        check(store, both(absent(), Expected::Any, one), mismatch).await;
        // Of several changes of one record the last holds.
        let moved = vec![
            ("a".into(), Desired::Remove),
            ("c".into(), put("x")),
            ("b".into(), Desired::Keep),
            ("c".into(), put("3")),
        ];
        let expected = both(
            Expected::Value("1".into()),
            Expected::Value("2".into()),
            moved,
        );
        check(store, expected, "Done").await;
        let found = store
            .records(vec!["a".into(), "c".into(), "b".into()])
            .await;
        let expected: Vec<(Bytes, Bytes)> =
            vec![("c".into(), "3".into()), ("b".into(), "2".into())];
        assert_eq!(found.unwrap(), expected);
    });
}

#[test]
fn record_is_given_another_key() {
    each("rekeyed", async |store, _| {
        let rekey = |old: &'static str, new: &'static str, mode, source| Write::Rekey {
            old: old.into(),
            new: new.into(),
            mode,
            source,
        };
        let (over, absent) = (SetMode::Overwrite, SetMode::IfAbsent);
        let missing = rekey("a", "b", over, RekeySource::Move);
        check(store, missing, "Missing").await;
        check(store, set("a", "1", over), "Done").await;
        check(store, set("b", "2", over), "Done").await;
        check(
            store,
            rekey("a", "b", absent, RekeySource::Move),
            "Duplicate { value: b\"2\" }",
        )
        .await;
        check(store, rekey("a", "c", absent, RekeySource::Copy), "Done").await;
        check(store, rekey("a", "b", over, RekeySource::Move), "Done").await;
        assert_eq!(value(store, "a").await, None);
        assert_eq!(value(store, "b").await, Some("1".into()));
        assert_eq!(value(store, "c").await, Some("1".into()));
    });
}

#[test]
fn batch_is_many_writes_each_on_its_own() {
    each("batch", async |store, engine| {
        let many = (0..300).map(|at| Write::set(format!("k{at:03}"), format!("{at}")));
        let mut writes: Vec<Write> = many.collect();
        writes.push(Write::remove("k000"));
        writes.push(Write::remove("none"));
        writes.push(set("k001", "x", SetMode::IfAbsent));
        writes.push(set("new", "x", SetMode::IfAbsent));
        let written = store.write(Write::Batch(writes)).await.unwrap();
        let WriteResult::Each(each) = written else {
            panic!("{written:?}");
        };
        let done =
            |written: &&Result<WriteResult, KvError>| matches!(written, Ok(WriteResult::Done));
        assert_eq!(each.len(), 304);
        assert_eq!(each.iter().filter(done).count(), 302);
        check_count(store, 300).await;
        assert_eq!(value(store, "k001").await, Some("1".into()));
        if engine == Engine::Etcd {
            let odd = Write::Batch(vec![Write::Clear]);
            let refused = store.write(odd).await.unwrap_err().to_string();
            assert!(
                refused.contains("only set and delete in a batch"),
                "{refused}"
            );
        }
    });
}
