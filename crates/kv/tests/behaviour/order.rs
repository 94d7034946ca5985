//! The order of keys: places in it, pages, searches. Not what writes answer.

use std::ops::Bound;

use bytes::Bytes;
use tsumugi_kv::limits::PAGE_BYTES_MAX;
use tsumugi_kv::{KeyRange, ReadDirection, SearchMode, Seek, Write};

use crate::engines::each_engine;
use crate::words::{check, records, set};

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
        for direction in [ReadDirection::Forward, ReadDirection::Backward] {
            for limit in [1, 7, 100, 499, 500, 10_000] {
                let mut range = KeyRange {
                    direction,
                    ..KeyRange::all()
                };
                let mut keys = Vec::new();
                loop {
                    let page = kv.page(&range, limit).unwrap();
                    assert!(page.len() <= limit);
                    let Some((last, _)) = page.last() else { break };
                    range = range.after(last.clone());
                    keys.extend(page.into_iter().map(|(key, _)| key));
                }
                if direction == ReadDirection::Backward {
                    keys.reverse();
                }
                assert_eq!(keys, expected, "{direction:?} {limit}");
            }
        }
        let some = KeyRange {
            from: Bound::Excluded("00010".into()),
            to: Bound::Included("00012".into()),
            direction: ReadDirection::Backward,
        };
        assert_eq!(records(kv, &some), "00012=v 00011=v");
        assert_eq!(
            records(kv, &KeyRange::prefix("0000")).split(' ').count(),
            10
        );
        assert_eq!(kv.page(&KeyRange::all(), 0).unwrap(), []);
    });
}

#[test]
fn a_page_ends_when_it_is_large() {
    each_engine(|kv, _| {
        for key in ["a", "b", "c", "d"] {
            check(kv, Write::set(key, vec![b'v'; PAGE_BYTES_MAX / 2]), "Done");
        }
        let page = kv.page(&KeyRange::all(), 10).unwrap();
        assert_eq!(page.len(), 2);
        let rest = kv
            .page(&KeyRange::all().after(page[1].0.clone()), 10)
            .unwrap();
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
            let keys = kv.search(mode, pattern.as_bytes(), 0, || true).unwrap();
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
