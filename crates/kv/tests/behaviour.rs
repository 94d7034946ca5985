//! What a database does, the same for every engine: each test runs over all of them. Not what is left after a crash.

mod engines;

use std::collections::BTreeMap;
use std::ops::Bound;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use engines::each_engine;
use tsumugi_kv::limits::{
    BATCH_WRITES_MAX, EXCHANGE_RECORDS_MAX, KEY_BYTES_MAX, PAGE_BYTES_MAX, PAGE_RECORDS_MAX,
};
use tsumugi_kv::{
    Changed, Database, Desired, Direction, Error, Expected, Range, RekeySource, SearchMode, Seek,
    SetMode, Write, Written,
};

/// Applies a write and shows its answer as text.
fn answer(kv: &Database, write: Write) -> String {
    match kv.submit_wait(write) {
        Ok(written) => shown(written),
        Err(error) => format!("error: {error}"),
    }
}

fn shown(written: Written) -> String {
    let text = |value: Bytes| String::from_utf8_lossy(&value).into_owned();
    match written {
        Written::Exchanged { actual } => format!("Exchanged {:?}", actual.map(text)),
        Written::Mismatch { actual } => format!("Mismatch {:?}", actual.map(text)),
        Written::Duplicate { value } => format!("Duplicate {}", text(value)),
        Written::Popped { key, value } => format!("Popped {}={}", text(key), text(value)),
        Written::Number(number) => number.to_string(),
        Written::Each(each) => {
            let each = each
                .into_iter()
                .map(|one| one.map_or_else(|e| e.to_string(), shown));
            each.collect::<Vec<_>>().join(", ")
        }
        other => format!("{other:?}"),
    }
}

fn check(kv: &Database, write: Write, expected: &str) {
    assert_eq!(answer(kv, write.clone()), expected, "{write:?}");
}

fn set(key: &'static str, value: &'static str) -> Write {
    Write::set(key, value)
}

fn expiring(key: &'static str, value: &'static str, seconds: u64) -> Write {
    Write::Set {
        key: key.into(),
        value: value.into(),
        mode: SetMode::Overwrite,
        ttl: Some(Duration::from_secs(seconds)),
    }
}

fn exchange(key: &'static str, expected: Expected, desired: Desired) -> Write {
    Write::CompareExchange {
        key: key.into(),
        expected,
        desired,
    }
}

fn value(text: &'static str) -> Expected {
    Expected::Value(text.into())
}

fn put(text: &'static str) -> Desired {
    Desired::Put(text.into(), None)
}

fn records(kv: &Database, range: &Range) -> String {
    let pairs = kv.page(range, PAGE_RECORDS_MAX).unwrap();
    let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
    let each = pairs
        .iter()
        .map(|(key, value)| format!("{}={}", text(key), text(value)));
    each.collect::<Vec<_>>().join(" ")
}

fn all(kv: &Database) -> String {
    records(kv, &Range::all())
}

#[test]
fn what_is_set_is_there_until_it_is_removed() {
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
        let pairs = kv.page(&Range::all(), 10).unwrap();
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
fn what_is_pushed_last_is_popped_last() {
    let push = |value: &'static str, seconds| Write::PushLast {
        value: value.into(),
        at: Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)),
    };
    each_engine(|kv, _| {
        check(kv, Write::PopFirst, "Missing");
        for (value, seconds) in [("b", 2), ("a", 1), ("c", 2), ("d", 3)] {
            assert!(answer(kv, push(value, seconds)).starts_with("Pushed"));
        }
        let pairs = kv.page(&Range::all(), 9).unwrap();
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
fn seek_finds_what_is_beside_a_key() {
    each_engine(|kv, _| {
        assert_eq!(kv.seek(&Seek::First).unwrap(), None);
        for key in ["b", "d", "f"] {
            check(kv, set(key, key), "Done");
        }
        let at = |seek: fn(Bytes) -> Seek, key: &'static str| {
            let pair = kv.seek(&seek(key.into())).unwrap();
            pair.map_or("-".to_owned(), |(key, _)| {
                String::from_utf8_lossy(&key).into_owned()
            })
        };
        assert_eq!(kv.seek(&Seek::First).unwrap().unwrap().0, "b");
        assert_eq!(kv.seek(&Seek::Last).unwrap().unwrap().0, "f");
        for (key, expected) in [
            ("a", "b b - -"),
            ("b", "b d b -"),
            ("c", "d d b b"),
            ("f", "f - f d"),
            ("g", "- - f f"),
        ] {
            let beside = [
                at(Seek::AtOrAfter, key),
                at(Seek::After, key),
                at(Seek::AtOrBefore, key),
                at(Seek::Before, key),
            ];
            assert_eq!(beside.join(" "), expected, "{key}");
        }
    });
}

#[test]
fn pages_follow_each_other_both_ways() {
    each_engine(|kv, _| {
        let expected: Vec<Bytes> = (0..500_u32)
            .map(|n| Bytes::from(format!("{n:05}")))
            .collect();
        for key in &expected {
            check(kv, Write::set(key.clone(), "v"), "Done");
        }
        for direction in [Direction::Forward, Direction::Backward] {
            for limit in [1, 7, 100, 499, 500, 10_000] {
                let mut range = Range {
                    direction,
                    ..Range::all()
                };
                let mut keys = Vec::new();
                loop {
                    let page = kv.page(&range, limit).unwrap();
                    assert!(page.len() <= limit);
                    let Some((last, _)) = page.last() else { break };
                    range = range.after(last.clone());
                    keys.extend(page.into_iter().map(|(key, _)| key));
                }
                if direction == Direction::Backward {
                    keys.reverse();
                }
                assert_eq!(keys, expected, "{direction:?} {limit}");
            }
        }
        let some = Range {
            from: Bound::Excluded("00010".into()),
            to: Bound::Included("00012".into()),
            direction: Direction::Backward,
        };
        assert_eq!(records(kv, &some), "00012=v 00011=v");
        assert_eq!(records(kv, &Range::prefix("0000")).split(' ').count(), 10);
        assert_eq!(kv.page(&Range::all(), 0).unwrap(), []);
    });
}

#[test]
fn a_page_ends_when_it_is_large() {
    each_engine(|kv, _| {
        for key in ["a", "b", "c", "d"] {
            check(kv, Write::set(key, vec![b'v'; PAGE_BYTES_MAX / 2]), "Done");
        }
        let page = kv.page(&Range::all(), 10).unwrap();
        assert_eq!(page.len(), 2);
        let rest = kv.page(&Range::all().after(page[1].0.clone()), 10).unwrap();
        assert_eq!((rest.len(), &rest[0].0[..]), (2, &b"c"[..]));
    });
}

#[test]
fn search_reads_all_keys() {
    each_engine(|kv, _| {
        for key in ["apple", "banana", "pineapple", "桜"] {
            check(kv, set(key, "v"), "Done");
        }
        let found = |mode, pattern: &str| {
            let keys = kv.search(mode, pattern.as_bytes(), 0).unwrap();
            let keys = keys
                .iter()
                .map(|key| String::from_utf8_lossy(key).into_owned());
            keys.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(found(SearchMode::End, "apple"), "apple pineapple");
        assert_eq!(found(SearchMode::Regex, "^.a|桜"), "banana 桜");
        assert_eq!(found(SearchMode::Lower, "pineapple"), "banana apple");
    });
}

#[test]
fn an_expired_record_is_gone() {
    each_engine(|kv, clock| {
        check(kv, expiring("a", "1", 10), "Done");
        check(kv, expiring("b", "2", 20), "Done");
        check(kv, set("c", "3"), "Done");
        clock.advance(Duration::from_millis(9_999));
        assert_eq!(
            (all(kv), kv.count().unwrap()),
            ("a=1 b=2 c=3".to_owned(), 3)
        );
        clock.advance(Duration::from_millis(1));
        assert_eq!(kv.get(b"a").unwrap(), None);
        assert_eq!((all(kv), kv.count().unwrap()), ("b=2 c=3".to_owned(), 2));
        assert_eq!(kv.seek(&Seek::First).unwrap().unwrap().0, "b");
        check(kv, Write::remove("a"), "Missing");
        check(
            kv,
            exchange("a", Expected::Absent, put("new")),
            "Exchanged None",
        );
        assert_eq!(
            (all(kv), kv.count().unwrap()),
            ("a=new b=2 c=3".to_owned(), 3)
        );
        clock.advance(Duration::from_secs(10));
        check(kv, Write::PopFirst, "Popped a=new");
        check(kv, Write::PopFirst, "Popped c=3");
        assert_eq!(kv.count().unwrap(), 0);
        check(kv, Write::PopFirst, "Missing");
    });
}

#[test]
fn a_time_to_live_goes_with_its_record() {
    each_engine(|kv, clock| {
        let append = Write::Append {
            key: "a".into(),
            value: "+".into(),
            delimiter: Bytes::new(),
        };
        let rekey = |old: &'static str, new: &'static str| Write::Rekey {
            old: old.into(),
            new: new.into(),
            mode: SetMode::Overwrite,
            source: RekeySource::Move,
        };
        for key in ["a", "b", "c", "d"] {
            check(kv, expiring(key, "v", 10), "Done");
        }
        check(kv, append, "Done");
        check(kv, rekey("b", "e"), "Done");
        check(kv, set("c", "for ever"), "Done");
        check(kv, expiring("d", "longer", 30), "Done");
        clock.advance(Duration::from_secs(10));
        assert_eq!(all(kv), "c=for ever d=longer");
        kv.sweep();
        assert_eq!(
            (all(kv), kv.count().unwrap()),
            ("c=for ever d=longer".to_owned(), 2)
        );
        clock.advance(Duration::from_secs(20));
        kv.sweep();
        assert_eq!((all(kv), kv.count().unwrap()), ("c=for ever".to_owned(), 1));
    });
}

#[test]
fn sweeping_gives_space_back() {
    each_engine(|kv, clock| {
        for n in 0..1000 {
            let write = Write::Set {
                key: format!("{n}").into(),
                value: vec![b'v'; 100].into(),
                mode: SetMode::Overwrite,
                ttl: Some(Duration::from_secs(1 + n % 7)),
            };
            check(kv, write, "Done");
        }
        clock.advance(Duration::from_secs(3));
        let live = (0..1000).filter(|n| 1 + n % 7 > 3).count() as u64;
        assert_eq!(kv.count().unwrap(), live);
        clock.advance(Duration::from_secs(7));
        kv.sweep();
        assert_eq!(kv.count().unwrap(), 0);
        assert_eq!(kv.metrics().expired, 1000);
        if kv.is_in_memory() {
            assert_eq!(kv.file_size().unwrap(), 0);
        }
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
fn changes_are_told_to_who_watches() {
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
        let told = std::iter::from_fn(|| watch.try_next()).collect::<Vec<_>>();
        assert_eq!(
            told,
            [
                Changed::Put("a:1".into()),
                Changed::Put("a:2".into()),
                Changed::Removed("a:1".into()),
                Changed::Expired("a:2".into()),
                Changed::Cleared,
            ]
        );
    });
}

/// Random numbers that are the same each time (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }

    fn key(&mut self) -> Bytes {
        Bytes::from(format!("k{}", self.below(40)))
    }

    fn value(&mut self) -> Bytes {
        let length = self.below(30);
        let byte = self.below(256) as u8;
        Bytes::from(vec![byte; length as usize])
    }
}

type Model = BTreeMap<Bytes, Bytes>;

fn put_if(model: &mut Model, key: Bytes, value: Option<Bytes>) {
    match value {
        Some(value) => model.insert(key, value),
        None => model.remove(&key),
    };
}

fn random_exchange(random: &mut Random, model: &mut Model, key: Bytes, value: Bytes) -> Write {
    let there = model.get(&key).cloned();
    let expected = match (random.below(3), &there) {
        (0, _) => Expected::Any,
        (1, _) => Expected::Absent,
        (_, Some(there)) => Expected::Value(there.clone()),
        (_, None) => Expected::Value(value.clone()),
    };
    let fits = match &expected {
        Expected::Any => there.is_some(),
        Expected::Absent => there.is_none(),
        Expected::Value(value) => there.as_ref() == Some(value),
    };
    let desired = (random.below(2) == 0).then(|| value.clone());
    if fits {
        put_if(model, key.clone(), desired.clone());
    }
    let desired = desired.map_or(Desired::Remove, |value| Desired::Put(value, None));
    Write::CompareExchange {
        key,
        expected,
        desired,
    }
}

/// Makes up a write and does to the model what it should do.
fn random_write(random: &mut Random, model: &mut Model) -> Write {
    let key = random.key();
    let value = random.value();
    match random.below(100) {
        0..35 => {
            model.insert(key.clone(), value.clone());
            Write::set(key, value)
        }
        35..50 => {
            model.remove(&key);
            Write::remove(key)
        }
        50..60 => {
            let joined = model.entry(key.clone()).or_default();
            *joined = [&joined[..], &value[..]].concat().into();
            Write::Append {
                key,
                value,
                delimiter: Bytes::new(),
            }
        }
        60..75 => random_exchange(random, model, key, value),
        75..85 => {
            let new = random.key();
            if let Some(value) = model.remove(&key) {
                model.insert(new.clone(), value);
            }
            Write::Rekey {
                old: key,
                new,
                mode: SetMode::Overwrite,
                source: RekeySource::Move,
            }
        }
        85..95 => {
            model.pop_first();
            Write::PopFirst
        }
        95..99 => {
            let writes = (0..5).map(|_| random_write(random, model));
            let flat = writes.flat_map(|write| match write {
                Write::Batch(writes) => writes,
                write => vec![write],
            });
            Write::Batch(flat.collect())
        }
        _ => {
            model.clear();
            Write::Clear
        }
    }
}

#[test]
fn a_database_is_a_sorted_map() {
    each_engine(|kv, _| {
        let mut random = Random(0x9E37_79B9_7F4A_7C15);
        let mut model = Model::new();
        for step in 0..4_000 {
            let write = random_write(&mut random, &mut model);
            kv.submit_wait(write).unwrap();
            assert_eq!(kv.count().unwrap(), model.len() as u64, "step {step}");
            if step % 16 == 0 {
                let pairs = kv.page(&Range::all(), 100).unwrap();
                assert!(
                    pairs.iter().map(|(k, v)| (k, v)).eq(model.iter()),
                    "step {step}"
                );
                let key = random.key();
                assert_eq!(kv.get(&key).unwrap().as_ref(), model.get(&key));
                let after = model
                    .range::<Bytes, _>((Bound::Excluded(&key), Bound::Unbounded))
                    .next();
                let sought = kv.seek(&Seek::After(key.clone())).unwrap();
                assert_eq!(sought.as_ref().map(|(k, v)| (k, v)), after);
                let before = model.range::<Bytes, _>(..=&key).next_back();
                let sought = kv.seek(&Seek::AtOrBefore(key.clone())).unwrap();
                assert_eq!(sought.as_ref().map(|(k, v)| (k, v)), before);
            }
        }
    });
}
