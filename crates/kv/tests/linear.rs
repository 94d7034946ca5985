//! Whether what many clients see at once could have been seen by one after another, over every engine in process.
//! LINEAR_ROUNDS sets how many histories; where each write waits for the disk there are at most DISK_ROUNDS_MAX.

mod engines;
mod history;
#[path = "history/writes.rs"]
mod writes;

use bytes::Bytes;
use engines::each_engine;
use history::{Answer, Call, Event, check, has_order, rounds};
use tsumugi_kv::{Durability, KvDatabase};
use writes::{answer_to, write_of};

/// Minutes on a common disk, where a thousand take an hour.
const DISK_ROUNDS_MAX: u64 = 100;

fn perform(kv: &KvDatabase, keys: &[Bytes; 2], call: &Call) -> Answer {
    if let Call::Get(at) = call {
        return Answer::Value(kv.get(&keys[*at]).unwrap());
    }
    match kv.submit_wait(write_of(keys, call)) {
        Ok(written) => answer_to(call, written),
        Err(tsumugi_kv::Error::NotANumber { .. }) => Answer::NotANumber,
        Err(error) => panic!("{call:?}: {error}"),
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
    let lost = |answer| {
        [
            event(0, u64::MAX, set(), Answer::Unknown),
            event(1, 2, Call::Get(0), read(answer)),
        ]
    };
    for answer in [None, Some("1")] {
        assert_eq!(has_order(&mut lost(answer)), Some(true));
    }
    assert_eq!(has_order(&mut lost(Some("2"))), Some(false));
}
