//! Times to live: what has expired is not there, whether it was swept or not.

use std::time::Duration;

use bytes::Bytes;
use tsumugi_kv::{
    Clock, Expected, KvDatabase, Lifetime, RekeySource, Seek, SeekOutcome, SetMode, Write,
};

use crate::engines::each_engine;
use crate::words::{all, check, exchange, expiring, put, set};

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
fn a_record_that_is_touched_lives_as_long_as_was_said_last() {
    let touch = |seconds: Option<u64>| Write::Touch {
        key: "a".into(),
        ttl: seconds.map(Duration::from_secs),
    };
    each_engine(|kv, clock| {
        let lifetime = || kv.lifetime(b"a").unwrap();
        let left = |seconds| Some(Lifetime::Left(Duration::from_secs(seconds)));
        check(kv, touch(Some(1)), "Missing");
        assert_eq!(lifetime(), None);
        check(kv, set("a", "1"), "Done");
        assert_eq!(lifetime(), Some(Lifetime::Unlimited));
        check(kv, touch(Some(10)), "Done");
        clock.advance(Duration::from_secs(4));
        assert_eq!(lifetime(), left(6));
        check(kv, touch(Some(10)), "Done");
        clock.advance(Duration::from_secs(9));
        assert_eq!((all(kv), lifetime()), ("a=1".to_owned(), left(1)));
        check(kv, touch(None), "Done");
        clock.advance(Duration::from_secs(1_000));
        kv.sweep();
        assert_eq!(lifetime(), Some(Lifetime::Unlimited));
        check(kv, touch(Some(1)), "Done");
        clock.advance(Duration::from_secs(1));
        assert_eq!((all(kv), lifetime()), (String::new(), None));
        check(kv, touch(Some(1)), "Missing");
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

/// Sixty thousand records that have expired, with one behind them that has not.
fn behind_expired(kv: &KvDatabase, clock: &Clock) {
    let sets = (0..60_000).map(|n| Write::Set {
        key: format!("a{n:05}").into(),
        value: "v".into(),
        mode: SetMode::Overwrite,
        ttl: Some(Duration::from_secs(1)),
    });
    kv.submit_wait(Write::Batch(sets.collect())).unwrap();
    check(kv, set("b", "live"), "Done");
    clock.advance(Duration::from_secs(1));
}

#[test]
fn a_look_for_a_record_passes_over_few_expired_ones_at_a_time() {
    each_engine(|kv, clock| {
        behind_expired(kv, clock);
        for (mut seek, expected) in [(Seek::First, Some("b")), (Seek::Before("b".into()), None)] {
            let mut steps = 0;
            let found = loop {
                match kv.seek_step(&seek).unwrap() {
                    SeekOutcome::Found((key, _)) => break Some(key),
                    SeekOutcome::Nothing => break None,
                    SeekOutcome::Farther(farther) => seek = farther,
                }
                steps += 1;
            };
            assert_eq!(found.as_deref(), expected.map(str::as_bytes));
            // What is swept meanwhile is not passed over.
            assert!(steps <= 60, "{steps}");
            assert!(kv.seek(&Seek::Last).unwrap().unwrap().0 == "b");
        }
    });
}

#[test]
fn a_count_is_known_unless_what_has_expired_is_still_there() {
    each_engine(|kv, clock| {
        assert_eq!(kv.known_count(), Some(0));
        behind_expired(kv, clock);
        assert!(kv.known_count().is_none_or(|count| count == 1));
        assert_eq!(kv.count().unwrap(), 1);
        kv.sweep();
        assert_eq!(kv.known_count(), Some(1));
        check(kv, Write::PopFirst, "Popped b=live");
    });
}

#[test]
fn the_first_record_is_found_behind_any_number_that_expired() {
    each_engine(|kv, clock| {
        behind_expired(kv, clock);
        check(kv, Write::PopFirst, "Popped b=live");
        check(kv, Write::PopFirst, "Missing");
        assert_eq!(kv.count().unwrap(), 0);
    });
}
