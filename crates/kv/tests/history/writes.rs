//! The calls of a history as writes, and their results as its answers. Performs none of them.

use bytes::Bytes;
use tsumugi_kv::{Desired, Expected, RekeySource, SetMode, Write, WriteResult};

use crate::history::{Answer, Call};

/// The write that a call is; a read is none.
pub fn write_of(keys: &[Bytes; 2], call: &Call) -> Write {
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

/// What a write came to.
pub fn answer_to(call: &Call, written: WriteResult) -> Answer {
    match written {
        WriteResult::Done => Answer::Done,
        WriteResult::Missing => Answer::Missing,
        WriteResult::Number(number) => Answer::Number(number),
        WriteResult::Exchanged { actual } => Answer::Exchanged(actual),
        WriteResult::Mismatch { actual } => Answer::Mismatch(actual),
        other => panic!("{call:?}: {other:?}"),
    }
}
