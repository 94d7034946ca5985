//! Cursors while records come and go: random moves, reads and removals beside a sorted map and a key.

use std::collections::BTreeMap;
use std::ops::Bound::{Excluded, Unbounded};
use std::time::Duration;

use bytes::Bytes;
use tsumugi_kv::limits::SEEK_LOOKS_MAX;
use tsumugi_kv::{Cursor, KvDatabase, Move, MoveOutcome, Present, Seek, SetMode, Write};
use tsumugi_testkit::Dice;

use crate::engines::each_engine;
use crate::model::{some_key, some_value};

type Model = BTreeMap<Bytes, Bytes>;

fn go(cursor: &mut Cursor, to: &Move) -> bool {
    loop {
        match cursor.go(to).unwrap() {
            MoveOutcome::Done => return true,
            MoveOutcome::Missing => return false,
            MoveOutcome::Farther => {}
        }
    }
}

fn record(cursor: &mut Cursor) -> Option<(Bytes, Bytes)> {
    loop {
        match cursor.record().unwrap() {
            Present::Record(pair) => return Some(pair),
            Present::Missing => return None,
            Present::Farther => {}
        }
    }
}

/// Where the iterator of an ordered database of Tkrzw would be.
struct StoreId(Option<Bytes>);

impl StoreId {
    fn go(&mut self, model: &Model, to: &Move) -> bool {
        let after = |key: &Bytes| model.range((Excluded(key.clone()), Unbounded)).next();
        let before = |key: &Bytes| model.range(..key.clone()).next_back();
        let found = match to {
            Move::Jump(key) => {
                self.0 = Some(key.clone());
                return true;
            }
            Move::To(Seek::First) => model.first_key_value(),
            Move::To(Seek::Last) => model.last_key_value(),
            Move::To(Seek::AtOrAfter(key)) => model.range(key.clone()..).next(),
            Move::To(Seek::AtOrBefore(key)) => model.range(..=key.clone()).next_back(),
            Move::To(Seek::After(key)) => after(key),
            Move::To(Seek::Before(key)) => before(key),
            Move::Next | Move::Previous => match (&self.0, to) {
                (None, _) => return false,
                (Some(key), Move::Next) => after(key),
                (Some(key), _) => before(key),
            },
        };
        self.0 = found.map(|(key, _)| key.clone());
        true
    }

    fn record(&mut self, model: &Model) -> Option<(Bytes, Bytes)> {
        let found = model.range(self.0.clone()?..).next();
        let found = found.map(|(key, value)| (key.clone(), value.clone()));
        self.0 = found.as_ref().map(|(key, _)| key.clone());
        found
    }
}

fn some_move(dice: &Dice) -> Move {
    let key = some_key(dice);
    match dice.below(12) {
        0 => Move::To(Seek::First),
        1 => Move::To(Seek::Last),
        2 => Move::Jump(key),
        3 => Move::To(Seek::AtOrAfter(key)),
        4 => Move::To(Seek::After(key)),
        5 => Move::To(Seek::AtOrBefore(key)),
        6 => Move::To(Seek::Before(key)),
        7..10 => Move::Next,
        _ => Move::Previous,
    }
}

/// One change, by somebody else or at the cursor.
fn change(kv: &KvDatabase, model: &mut Model, key: Bytes, value: Option<Bytes>) {
    match value {
        Some(value) => {
            kv.submit_wait(Write::set(key.clone(), value.clone()))
                .unwrap();
            model.insert(key, value);
        }
        None => {
            kv.submit_wait(Write::remove(key.clone())).unwrap();
            model.remove(&key);
        }
    }
}

#[test]
fn cursors_are_where_a_key_in_a_map_would_be() {
    let steps = if cfg!(debug_assertions) {
        3_000
    } else {
        30_000
    };
    each_engine(|kv, _| {
        let dice = Dice::new(1);
        let mut model = Model::new();
        let mut cursors = [0; 3].map(|_| (Cursor::new(kv.clone()), StoreId(None)));
        for step in 0..steps {
            let number = dice.place(3);
            let (cursor, place) = &mut cursors[number];
            match dice.below(10) {
                0..4 => {
                    let to = some_move(&dice);
                    assert_eq!(go(cursor, &to), place.go(&model, &to), "{step}: {to:?}");
                }
                4..7 => assert_eq!(record(cursor), place.record(&model), "{step}"),
                7 => {
                    // At the cursor, whose place stays.
                    let found = record(cursor);
                    assert_eq!(found, place.record(&model), "{step}");
                    if let Some((key, _)) = found {
                        change(kv, &mut model, key, None);
                    }
                }
                8 => change(kv, &mut model, some_key(&dice), None),
                _ => {
                    let (key, value) = (some_key(&dice), some_value(&dice));
                    change(kv, &mut model, key, Some(value));
                }
            }
        }
        assert!(!model.is_empty());
    });
}

fn fill(kv: &KvDatabase, count: usize) {
    for number in 0..count {
        kv.submit_wait(Write::set(format!("{number:04}"), "v"))
            .unwrap();
    }
}

#[test]
fn a_loop_that_removes_what_it_reads_leaves_nothing() {
    each_engine(|kv, _| {
        fill(kv, 10);
        let mut cursor = Cursor::new(kv.clone());
        assert!(go(&mut cursor, &Move::To(Seek::First)));
        while let Some((key, _)) = record(&mut cursor) {
            kv.submit_wait(Write::remove(key)).unwrap();
            go(&mut cursor, &Move::Next);
        }
        assert_eq!(kv.count().unwrap(), 0);
    });
}

#[test]
fn a_last_record_that_is_removed_leaves_no_other_at_the_cursor() {
    each_engine(|kv, _| {
        fill(kv, 3);
        let mut cursor = Cursor::new(kv.clone());
        assert!(go(&mut cursor, &Move::To(Seek::Last)));
        kv.submit_wait(Write::remove("0002")).unwrap();
        assert_eq!(record(&mut cursor), None);
        assert!(!go(&mut cursor, &Move::Next) && !go(&mut cursor, &Move::Previous));
    });
}

#[test]
fn a_move_over_many_expired_records_takes_several_steps_and_arrives() {
    each_engine(|kv, clock| {
        for number in 0..SEEK_LOOKS_MAX * 2 + 10 {
            kv.submit_wait(Write::Set {
                key: format!("e{number:05}").into(),
                value: "v".into(),
                mode: SetMode::Overwrite,
                ttl: Some(Duration::from_secs(1)),
            })
            .unwrap();
        }
        for key in ["a", "z"] {
            kv.submit_wait(Write::set(key, "v")).unwrap();
        }
        clock.advance(Duration::from_secs(2));
        let mut cursor = Cursor::new(kv.clone());
        assert!(go(&mut cursor, &Move::To(Seek::First)) && go(&mut cursor, &Move::Next));
        assert_eq!(record(&mut cursor).unwrap().0, "z");
        assert!(go(&mut cursor, &Move::Previous));
        assert_eq!(record(&mut cursor).unwrap().0, "a");
        assert!(go(&mut cursor, &Move::Jump("b".into())));
        assert_eq!(record(&mut cursor).unwrap().0, "z");
    });
}
