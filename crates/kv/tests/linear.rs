//! Whether what many clients see at once could have been seen by one after another, over every engine in process.
//! LINEAR_ROUNDS sets how many histories; where each write waits for the disk there are at most DISK_ROUNDS_MAX.

mod engines;
mod history;

use bytes::Bytes;
use engines::each_engine;
use history::{Answer, Call, Event, check, has_order, rounds};
use tsumugi_kv::{
    Desired, Durability, Expected, KvDatabase, RekeySource, SetMode, Write, WriteResult,
};

/// Minutes on a common disk, where a thousand take an hour.
const DISK_ROUNDS_MAX: u64 = 100;

fn write_of(keys: &[Bytes; 2], call: &Call) -> Write {
    let expected = |value: &Option<Bytes>| match value {
        Some(value) => Expected::Value(value.clone()),
        None => Expected::Absent,
    };
    match call {
        Call::Get(_) => unreachable!("a read is no write"),
        Call::Set(at, value) => Write::set(keys[*at].clone(), value.clone()),
        Call::Remove(at) => Write::remove(keys[*at].clone()),
        Call::Append(at, value) => Write::Append {
            key: keys[*at].clone(),
            value: value.clone(),
            delimiter: Bytes::new(),
        },
        Call::Increment(at) => Write::Increment {
            key: keys[*at].clone(),
            by: 1,
            initial: 0,
        },
        Call::Exchange(at, before, after) => Write::CompareExchange {
            key: keys[*at].clone(),
            expected: expected(before),
            desired: Desired::Put(after.clone(), None),
        },
        Call::ExchangeBoth(before, after) => Write::CompareExchangeMulti {
            expected: keys
                .iter()
                .cloned()
                .zip(before.iter().map(expected))
                .collect(),
            desired: keys
                .iter()
                .map(|key| (key.clone(), Desired::Put(after.clone(), None)))
                .collect(),
        },
        Call::Rekey => Write::Rekey {
            old: keys[0].clone(),
            new: keys[1].clone(),
            mode: SetMode::Overwrite,
            source: RekeySource::Move,
        },
    }
}

fn perform(kv: &KvDatabase, keys: &[Bytes; 2], call: &Call) -> Answer {
    if let Call::Get(at) = call {
        return Answer::Value(kv.get(&keys[*at]).unwrap());
    }
    match kv.submit_wait(write_of(keys, call)) {
        Ok(WriteResult::Done) => Answer::Done,
        Ok(WriteResult::Missing) => Answer::Missing,
        Ok(WriteResult::Number(number)) => Answer::Number(number),
        Ok(WriteResult::Exchanged { actual }) => Answer::Exchanged(actual),
        Ok(WriteResult::Mismatch { actual }) => Answer::Mismatch(actual),
        Err(tsumugi_kv::Error::NotANumber { .. }) => Answer::NotANumber,
        other => panic!("{call:?}: {other:?}"),
    }
}

#[test]
fn every_history_has_an_order() {
    let rounds = rounds(20);
    each_engine(|kv, _| {
        let rounds = match kv.spec().durability {
            Durability::Disk => rounds.min(DISK_ROUNDS_MAX),
            _ => rounds,
        };
        check(rounds, || {
            |keys: &[Bytes; 2], call: &Call| perform(kv, keys, call)
        })
    });
}

#[test]
fn a_history_without_an_order_is_found() {
    let event = |began, ended, call, answer| Event {
        began,
        ended,
        call,
        answer,
    };
    let set = || Call::Set(0, Bytes::from_static(b"1"));
    let read = |value: Option<&'static str>| Answer::Value(value.map(Bytes::from));
    let mut stale = [
        event(0, 1, set(), Answer::Done),
        event(2, 3, Call::Get(0), read(None)),
    ];
    assert_eq!(has_order(&mut stale), Some(false));
    let mut at_once = [
        event(0, 3, set(), Answer::Done),
        event(1, 2, Call::Get(0), read(None)),
        event(4, 5, Call::Get(0), read(Some("1"))),
    ];
    assert_eq!(has_order(&mut at_once), Some(true));
    let mut back = [
        event(0, 9, set(), Answer::Done),
        event(1, 2, Call::Get(0), read(Some("1"))),
        event(3, 4, Call::Get(0), read(None)),
    ];
    assert_eq!(has_order(&mut back), Some(false));
    let both = Call::ExchangeBoth([None, None], Bytes::from_static(b"x"));
    let mut torn = [
        event(0, 9, both, Answer::Done),
        event(1, 2, Call::Get(0), read(Some("x"))),
        event(3, 4, Call::Get(1), read(None)),
    ];
    assert_eq!(has_order(&mut torn), Some(false));
}
