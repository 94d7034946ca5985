//! Short words for writes and what they answer, for the tests beside. No tests in here.

use std::time::Duration;

use bytes::Bytes;
use tsumugi_kv::limits::PAGE_RECORDS_MAX;
use tsumugi_kv::{Desired, Expected, KeyRange, KvDatabase, SetMode, Write, WriteResult};

/// Applies a write and shows its answer as text.
pub fn answer(kv: &KvDatabase, write: Write) -> String {
    match kv.submit_wait(write) {
        Ok(written) => text_of(written),
        Err(error) => format!("error: {error}"),
    }
}

pub fn text_of(written: WriteResult) -> String {
    let text = |value: Bytes| String::from_utf8_lossy(&value).into_owned();
    match written {
        WriteResult::Exchanged { actual } => format!("Exchanged {:?}", actual.map(text)),
        WriteResult::Mismatch { actual } => format!("Mismatch {:?}", actual.map(text)),
        WriteResult::Duplicate { value } => format!("Duplicate {}", text(value)),
        WriteResult::Popped { key, value } => format!("Popped {}={}", text(key), text(value)),
        WriteResult::Number(number) => number.to_string(),
        WriteResult::Each(each) => {
            let each = each
                .into_iter()
                .map(|one| one.map_or_else(|e| e.to_string(), text_of));
            each.collect::<Vec<_>>().join(", ")
        }
        other => format!("{other:?}"),
    }
}

pub fn check(kv: &KvDatabase, write: Write, expected: &str) {
    assert_eq!(answer(kv, write.clone()), expected, "{write:?}");
}

pub fn set(key: &'static str, value: &'static str) -> Write {
    Write::set(key, value)
}

pub fn expiring(key: &'static str, value: &'static str, seconds: u64) -> Write {
    Write::Set {
        key: key.into(),
        value: value.into(),
        mode: SetMode::Overwrite,
        ttl: Some(Duration::from_secs(seconds)),
    }
}

pub fn exchange(key: &'static str, expected: Expected, desired: Desired) -> Write {
    Write::CompareExchange {
        key: key.into(),
        expected,
        desired,
    }
}

pub fn value(text: &'static str) -> Expected {
    Expected::Value(text.into())
}

pub fn put(text: &'static str) -> Desired {
    Desired::Put(text.into(), None)
}

pub fn records(kv: &KvDatabase, range: &KeyRange) -> String {
    let pairs = kv.page(range, PAGE_RECORDS_MAX).unwrap();
    let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
    let each = pairs
        .iter()
        .map(|(key, value)| format!("{}={}", text(key), text(value)));
    each.collect::<Vec<_>>().join(" ")
}

pub fn all(kv: &KvDatabase) -> String {
    records(kv, &KeyRange::all())
}
