//! What each write does and answers, within which bounds, and which changes it reports.

use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use tsumugi_kv::limits::{BATCH_WRITES_MAX, EXCHANGE_RECORDS_MAX, KEY_BYTES_MAX};
use tsumugi_kv::{
    ChangeEvent, Desired, Error, Expected, KeyRange, RekeySource, SetMode, Write, WriteResult,
};

use crate::engines::each_engine;
use crate::words::{all, answer, check, exchange, expiring, put, set, value};

#[test]
fn record_set_is_read_until_it_is_removed() {
    each_engine(|kv, _| {
        assert_eq!(kv.get(b"a").unwrap(), None);
        check(kv, set("a", "1"), "Done");
        check(kv, set("a", "2"), "Done");
        check(kv, set("花", "桜"), "Done");
        assert_eq!(kv.get(b"a").unwrap().unwrap(), "2");
        assert_eq!(kv.get("花".as_bytes()).unwrap().unwrap(), "桜");
        assert_eq!(kv.count().unwrap(), 2);
        check(kv, Write::remove("a"), "Done");
        check(kv, Write::remove("a"), "Missing");
        assert_eq!((kv.get(b"a").unwrap(), kv.count().unwrap()), (None, 1));
    });
}

#[test]
fn keys_and_values_may_be_empty_or_any_bytes() {
    each_engine(|kv, _| {
        let keys: [&[u8]; 6] = [b"", b"\0", b"\0\0", b"\x01", b"\xff", b"\xff\xff"];
        for key in keys.iter().rev() {
            check(kv, Write::set(*key, *key), "Done");
        }
        let pairs = kv.page(&KeyRange::all(), 10).unwrap();
        assert!(pairs.iter().map(|(key, _)| &key[..]).eq(keys));
        assert!(keys.iter().all(|key| kv.get(key).unwrap().unwrap() == key));
        assert_eq!(kv.count().unwrap(), 6);
        check(kv, Write::PopFirst, "Popped =");
        check(kv, Write::remove(Bytes::new()), "Missing");
    });
}

#[test]
fn set_if_absent_keeps_what_is_there() {
    let write = |value: &'static str| Write::Set {
        key: "a".into(),
        value: value.into(),
        mode: SetMode::IfAbsent,
        ttl: None,
    };
    each_engine(|kv, _| {
        check(kv, write("1"), "Done");
        check(kv, write("2"), "Duplicate 1");
        assert_eq!(all(kv), "a=1");
    });
}

#[test]
fn append_puts_the_delimiter_between() {
    let append = |value: &'static str| Write::Append {
        key: "a".into(),
        value: value.into(),
        delimiter: ",".into(),
    };
    each_engine(|kv, _| {
        check(kv, append("x"), "Done");
        check(kv, append(""), "Done");
        check(kv, append("y"), "Done");
        assert_eq!(all(kv), "a=x,,y");
    });
}

#[test]
fn increment_counts_in_eight_bytes() {
    let add = |by, initial| Write::Increment {
        key: "n".into(),
        by,
        initial,
    };
    each_engine(|kv, _| {
        check(kv, add(i64::MIN, 40), "40");
        assert_eq!(kv.count().unwrap(), 0, "that only reads");
        check(kv, add(2, 40), "42");
        check(kv, add(-43, 7), "-1");
        assert_eq!(&kv.get(b"n").unwrap().unwrap()[..], [0xff; 8]);
        check(kv, add(i64::MIN, 0), "-1");
        check(kv, add(i64::MAX, 0), &(i64::MAX - 1).to_string());
        check(kv, add(2, 0), &i64::MIN.to_string());
        check(kv, set("n", "1"), "Done");
        check(
            kv,
            add(1, 0),
            "error: the value to increment has 1 bytes, a number has 8",
        );
    });
}

#[test]
fn an_exchange_takes_place_when_the_record_is_as_expected() {
    each_engine(|kv, _| {
        for (expected, desired, answer, after) in [
            (Expected::Any, put("x"), "Mismatch None", ""),
            (value(""), put("x"), "Mismatch None", ""),
            (Expected::Absent, Desired::Keep, "Exchanged None", ""),
            (Expected::Absent, Desired::Remove, "Exchanged None", ""),
            (Expected::Absent, put("1"), "Exchanged None", "a=1"),
            (Expected::Absent, put("2"), "Mismatch Some(\"1\")", "a=1"),
            (value("2"), put("3"), "Mismatch Some(\"1\")", "a=1"),
            (Expected::Any, Desired::Keep, "Exchanged Some(\"1\")", "a=1"),
            (value("1"), put(""), "Exchanged Some(\"1\")", "a="),
            (Expected::Any, put("4"), "Exchanged Some(\"\")", "a=4"),
            (value("4"), Desired::Remove, "Exchanged Some(\"4\")", ""),
        ] {
            check(kv, exchange("a", expected, desired), answer);
            assert_eq!(all(kv), after);
        }
    });
}

#[test]
fn an_exchange_of_several_records_is_all_or_nothing() {
    let multi = |expected: Vec<(&'static str, Expected)>, desired: Vec<(&'static str, Desired)>| {
        Write::CompareExchangeMulti {
            expected: expected.into_iter().map(|(k, e)| (k.into(), e)).collect(),
            desired: desired.into_iter().map(|(k, d)| (k.into(), d)).collect(),
        }
    };
    each_engine(|kv, _| {
        check(kv, multi(vec![], vec![]), "Done");
        check(
            kv,
            multi(
                vec![("a", Expected::Absent), ("b", Expected::Absent)],
                vec![("a", put("1")), ("b", put("2")), ("c", Desired::Keep)],
            ),
            "Done",
        );
        assert_eq!(all(kv), "a=1 b=2");
        check(
            kv,
            multi(
                vec![("a", value("1")), ("b", value("9"))],
                vec![("a", Desired::Remove), ("b", put("3"))],
            ),
            "Mismatch None",
        );
        assert_eq!(all(kv), "a=1 b=2");
        check(
            kv,
            multi(
                vec![
                    ("a", value("1")),
                    ("b", Expected::Any),
                    ("", Expected::Absent),
                ],
                vec![
                    ("a", Desired::Remove),
                    ("b", put("x")),
                    ("b", put("y")),
                    ("c", put("z")),
                    ("c", Desired::Remove),
                ],
            ),
            "Done",
        );
        assert_eq!((all(kv), kv.count().unwrap()), ("b=y".to_owned(), 1));
        let many = vec![("k", Expected::Absent); EXCHANGE_RECORDS_MAX + 1];
        assert!(answer(kv, multi(many, vec![])).contains("EXCHANGE_RECORDS_MAX"));
    });
}

#[test]
fn rekey_moves_or_copies() {
    let rekey = |old: &'static str, new: &'static str, mode, source| Write::Rekey {
        old: old.into(),
        new: new.into(),
        mode,
        source,
    };
    use RekeySource::{Copy, Move};
    use SetMode::{IfAbsent, Overwrite};
    each_engine(|kv, _| {
        check(kv, rekey("a", "b", Overwrite, Move), "Missing");
        check(kv, set("a", "1"), "Done");
        check(kv, rekey("a", "b", IfAbsent, Move), "Done");
        assert_eq!(all(kv), "b=1");
        check(kv, rekey("b", "c", IfAbsent, Copy), "Done");
        assert_eq!((all(kv), kv.count().unwrap()), ("b=1 c=1".to_owned(), 2));
        check(kv, set("c", "2"), "Done");
        check(kv, rekey("b", "c", IfAbsent, Move), "Duplicate 2");
        check(kv, rekey("b", "c", Overwrite, Move), "Done");
        assert_eq!((all(kv), kv.count().unwrap()), ("c=1".to_owned(), 1));
        check(kv, rekey("c", "c", Overwrite, Move), "Done");
        assert_eq!(all(kv), "c=1");
    });
}

#[test]
fn record_pushed_last_is_popped_last() {
    let push = |value: &'static str, seconds| Write::PushLast {
        value: value.into(),
        at: Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)),
    };
    each_engine(|kv, _| {
        check(kv, Write::PopFirst, "Missing");
        for (value, seconds) in [("b", 2), ("a", 1), ("c", 2), ("d", 3)] {
            assert!(answer(kv, push(value, seconds)).starts_with("Pushed"));
        }
        let pairs = kv.page(&KeyRange::all(), 9).unwrap();
        let keys: Vec<u64> = pairs
            .iter()
            .map(|(key, _)| u64::from_be_bytes(key[..].try_into().unwrap()))
            .collect();
        assert_eq!(keys, [100_000_000, 200_000_000, 200_000_001, 300_000_000]);
        for expected in ["a", "b", "c", "d"] {
            let popped = answer(kv, Write::PopFirst);
            assert!(popped.ends_with(&format!("={expected}")), "{popped}");
        }
        check(kv, Write::PopFirst, "Missing");
        let now = Write::PushLast {
            value: "now".into(),
            at: None,
        };
        assert!(answer(kv, now).starts_with("Pushed"));
    });
}

#[test]
fn the_writes_of_a_batch_are_answered_in_order() {
    each_engine(|kv, _| {
        let batch = vec![
            set("a", "1"),
            Write::remove("b"),
            Write::set(vec![0; KEY_BYTES_MAX + 1], ""),
            Write::Batch(vec![]),
            exchange("a", value("1"), put("2")),
            Write::Clear,
            set("c", "3"),
        ];
        let answer = answer(kv, Write::Batch(batch));
        let each: Vec<&str> = answer.split(", ").collect();
        assert_eq!(each[..2], ["Done", "Missing"]);
        assert!(answer.contains("KEY_BYTES_MAX") && answer.contains("a batch holds no batch"));
        assert!(
            answer.ends_with("Exchanged Some(\"1\"), Done, Done"),
            "{answer}"
        );
        assert_eq!((all(kv), kv.count().unwrap()), ("c=3".to_owned(), 1));
        let many = vec![Write::PopFirst; BATCH_WRITES_MAX + 1];
        let error = kv.submit_wait(Write::Batch(many)).unwrap_err();
        assert!(error.to_string().contains("BATCH_WRITES_MAX"), "{error}");
    });
}

#[test]
fn clear_leaves_nothing() {
    each_engine(|kv, _| {
        for n in 0..1000_u32 {
            check(kv, Write::set(n.to_be_bytes().to_vec(), "v"), "Done");
        }
        check(kv, expiring("t", "v", 10), "Done");
        assert_eq!(kv.count().unwrap(), 1001);
        check(kv, Write::Clear, "Done");
        assert_eq!((kv.count().unwrap(), all(kv)), (0, String::new()));
        check(kv, set("a", "1"), "Done");
        assert_eq!((kv.count().unwrap(), all(kv)), (1, "a=1".to_owned()));
    });
}

#[test]
fn keys_and_values_have_bounds() {
    each_engine(|kv, _| {
        let longest = vec![b'k'; KEY_BYTES_MAX];
        check(kv, Write::set(longest.clone(), "v"), "Done");
        assert_eq!(kv.get(&longest).unwrap().unwrap(), "v");
        let ttl = Write::Set {
            key: longest.clone().into(),
            value: "w".into(),
            mode: SetMode::Overwrite,
            ttl: Some(Duration::from_secs(1)),
        };
        check(kv, ttl, "Done");
        check(kv, Write::remove(longest), "Done");
        let long = vec![b'k'; KEY_BYTES_MAX + 1];
        assert!(answer(kv, Write::set(long.clone(), "v")).contains("KEY_BYTES_MAX"));
        assert!(matches!(kv.get(&long), Err(Error::InvalidKey { .. })));
        let max = kv.spec().value_max;
        check(kv, Write::set("big", vec![7; max]), "Done");
        assert_eq!(kv.get(b"big").unwrap().unwrap(), vec![7; max]);
        assert!(answer(kv, Write::set("big", vec![7; max + 1])).contains("value_max"));
        let append = Write::Append {
            key: "big".into(),
            value: "x".into(),
            delimiter: Bytes::new(),
        };
        assert!(answer(kv, append).contains("value_max"));
        assert_eq!(kv.get(b"big").unwrap().unwrap().len(), max);
    });
}

#[test]
fn changes_are_reported_to_watchers() {
    each_engine(|kv, clock| {
        let mut watch = kv.watch("a:").unwrap();
        check(kv, set("a:1", "v"), "Done");
        check(kv, set("b:1", "v"), "Done");
        check(kv, expiring("a:2", "v", 1), "Done");
        check(kv, Write::remove("a:1"), "Done");
        check(kv, Write::remove("a:1"), "Missing");
        clock.advance(Duration::from_secs(2));
        kv.sweep();
        check(kv, Write::Clear, "Done");
        let changes = std::iter::from_fn(|| watch.try_next()).collect::<Vec<_>>();
        assert_eq!(
            changes,
            [
                ChangeEvent::Put("a:1".into()),
                ChangeEvent::Put("a:2".into()),
                ChangeEvent::Removed("a:1".into()),
                ChangeEvent::Expired("a:2".into()),
                ChangeEvent::Cleared,
            ]
        );
    });
}

#[test]
fn many_appends_to_a_long_value_take_the_time_of_what_they_add() {
    const PIECES: usize = 20_000;
    /// No finding, whatever a short value takes.
    const LITTLE: Duration = Duration::from_secs(4);
    // To copy the value for each piece takes hundreds of times as long.
    let is_too_long = |long: Duration, short: Duration| long > LITTLE && long > short * 20;
    let piece = |key: &'static str, number: usize| Write::Append {
        key: key.into(),
        value: vec![number as u8].into(),
        delimiter: ",".into(),
    };
    let long = vec![b'v'; 3 << 20];
    let mut expected = long.clone();
    for number in 0..PIECES {
        expected.extend([b',', number as u8]);
    }
    each_engine(|kv, _| {
        let batch = |key: &'static str| {
            let since = Instant::now();
            let pieces = (0..PIECES).map(|number| piece(key, number)).collect();
            kv.submit_wait(Write::Batch(pieces)).unwrap();
            since.elapsed()
        };
        check(kv, Write::set("a", long.clone()), "Done");
        let (short, took) = (batch("short"), batch("a"));
        assert!(!is_too_long(took, short), "{took:?}, {short:?}");
        assert!(kv.get(b"a").unwrap().unwrap() == expected);
        if kv.is_in_memory() {
            return;
        }
        // Calls that wait together, and keys in turn.
        check(kv, Write::set("b", long.clone()), "Done");
        check(kv, Write::set("c", long.clone()), "Done");
        let together = |one: &'static str, other: &'static str| {
            let since = Instant::now();
            let all: Vec<_> = (0..PIECES)
                .flat_map(|number| [one, other].map(|key| kv.submit(piece(key, number))))
                .collect();
            for one in all {
                one.wait().unwrap();
            }
            since.elapsed()
        };
        let (short, took) = (together("d", "e"), together("b", "c"));
        assert!(!is_too_long(took, short), "{took:?}, {short:?}");
        for key in [b"b", b"c"] {
            assert!(kv.get(key).unwrap().unwrap() == expected);
        }
    });
}

#[test]
fn appends_of_a_batch_that_are_too_long_are_refused_alone() {
    let piece = |bytes: usize| Write::Append {
        key: "a".into(),
        value: vec![b'v'; bytes].into(),
        delimiter: "".into(),
    };
    each_engine(|kv, _| {
        let mebi = 1 << 20;
        let pieces = [3 * mebi, 3 * mebi, mebi, 2 * mebi, 1].map(piece);
        let written = kv.submit_wait(Write::Batch(pieces.to_vec())).unwrap();
        let WriteResult::Each(each) = written else {
            panic!("{written:?}");
        };
        let refused: Vec<_> = each.iter().map(Result::is_err).collect();
        assert_eq!(refused, [false, true, false, true, false]);
        assert_eq!(kv.get(b"a").unwrap().unwrap().len(), 4 * mebi + 1);
    });
}
