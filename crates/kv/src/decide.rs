//! What each write means: what it reads, what it answers, what it changes. Changes nothing itself, and knows no engine.
//! Rule: a pure function of the records it is shown, so that both engines and the tests' model agree by construction.

use std::time::{Duration, SystemTime};

use bytes::{BufMut, Bytes, BytesMut};
use smallvec::{SmallVec, smallvec};

use crate::clock::millis_ceil;
use crate::error::{Error, Result};
use crate::limits::TTL_MAX;
use crate::queue::{place_at, place_key, place_of, queue_prefix};
use crate::record::StoredRecord;
use crate::write::{Desired, Expected, RekeySource, SetMode, Write, WriteResult, check_value};

/// The records as a write finds them. None of them has expired.
pub(crate) trait View {
    fn record(&mut self, key: &Bytes) -> Result<Option<StoredRecord>>;
    /// [`record`](Self::record), for callers that change the record for certain: if the value is not shared, it can be added to without a copy.
    fn take(&mut self, key: &Bytes) -> Result<Option<StoredRecord>> {
        self.record(key)
    }
    /// The record with the least key.
    fn first(&mut self) -> Result<Option<(Bytes, StoredRecord)>>;
    /// The record with the least key of those that begin with the prefix of a queue.
    fn first_of(&mut self, prefix: &Bytes) -> Result<Option<(Bytes, StoredRecord)>>;
    /// The greatest key of those that begin with the prefix of a queue; its record may have expired.
    fn last_of(&mut self, prefix: &Bytes) -> Result<Option<Bytes>>;
}

/// A key, and the record it has from now on.
pub(crate) type Change = (Bytes, Option<StoredRecord>);

/// What a write answers once its changes are made.
pub(crate) struct WriteDecision {
    pub(crate) written: WriteResult,
    /// In order; a later change of the same key holds.
    pub(crate) changes: SmallVec<[Change; 1]>,
}

/// What the decisions of one moment share: the time and the limit of a value.
#[derive(Clone, Copy)]
pub(crate) struct DecisionContext {
    pub(crate) now_ms: u64,
    /// As [`Clock::cut_off_ms`](crate::clock::Clock::cut_off_ms).
    pub(crate) cut_off_ms: u64,
    pub(crate) value_max: usize,
}

impl DecisionContext {
    fn expires_ms(self, ttl: Option<Duration>) -> u64 {
        ttl.map_or(0, |ttl| {
            let ttl_ms = millis_ceil(ttl.min(TTL_MAX)).saturating_add(self.cut_off_ms);
            self.now_ms.saturating_add(ttl_ms).max(1)
        })
    }

    fn record(self, value: Bytes, ttl: Option<Duration>) -> StoredRecord {
        StoredRecord {
            value,
            expires_ms: self.expires_ms(ttl),
        }
    }
}

impl WriteDecision {
    fn unchanged(written: WriteResult) -> Self {
        Self {
            written,
            changes: SmallVec::new(),
        }
    }

    fn one(written: WriteResult, key: Bytes, record: Option<StoredRecord>) -> Self {
        Self {
            written,
            changes: smallvec![(key, record)],
        }
    }
}

/// Decides one write. `Batch` and `Clear` are the engine's: the one is many decisions, the other touches every record.
pub(crate) fn decide(
    write: Write,
    view: &mut impl View,
    context: DecisionContext,
) -> Result<WriteDecision> {
    match write {
        Write::Set {
            key,
            value,
            mode,
            ttl,
        } => {
            if mode == SetMode::IfAbsent
                && let Some(there) = view.record(&key)?
            {
                return Ok(WriteDecision::unchanged(WriteResult::Duplicate {
                    value: there.value,
                }));
            }
            let record = context.record(value, ttl);
            Ok(WriteDecision::one(WriteResult::Done, key, Some(record)))
        }
        Write::Remove { key } => Ok(match view.record(&key)? {
            Some(_) => WriteDecision::one(WriteResult::Done, key, None),
            None => WriteDecision::unchanged(WriteResult::Missing),
        }),
        Write::Append {
            key,
            value,
            delimiter,
        } => append(key, value, &delimiter, view, context),
        Write::Increment { key, by, initial } => increment(key, by, initial, view),
        Write::CompareExchange {
            key,
            expected,
            desired,
        } => exchange(key, &expected, desired, view, context),
        Write::CompareExchangeMulti { expected, desired } => {
            exchange_multi(&expected, desired, view, context)
        }
        Write::Rekey {
            old,
            new,
            mode,
            source,
        } => rekey(old, new, mode, source, view),
        Write::Touch { key, ttl } => Ok(match view.record(&key)? {
            Some(StoredRecord { value, .. }) => {
                WriteDecision::one(WriteResult::Done, key, Some(context.record(value, ttl)))
            }
            None => WriteDecision::unchanged(WriteResult::Missing),
        }),
        Write::PopFirst => Ok(popped(view.first()?)),
        Write::PushLast { value, at } => push_last(value, at, view, context),
        Write::Pop { queue } => Ok(popped(view.first_of(&queue_prefix(&queue))?)),
        Write::Push { queue, value } => push(&queue_prefix(&queue), value, view, context),
        Write::Batch(_) | Write::Clear => {
            unreachable!("engines take batches apart and clear on their own")
        }
    }
}

fn append(
    key: Bytes,
    value: Bytes,
    delimiter: &[u8],
    view: &mut impl View,
    context: DecisionContext,
) -> Result<WriteDecision> {
    let before = view.record(&key)?.map(|there| there.value.len());
    let taken = match before {
        Some(before) => {
            let length = before + delimiter.len() + value.len();
            check_value(length, context.value_max)?;
            view.take(&key)?
        }
        None => None,
    };
    let record = match taken {
        None => context.record(value, None),
        Some(there) => {
            let added = delimiter.len() + value.len();
            let mut joined = there.value.try_into_mut().unwrap_or_else(|shared| {
                let mut copy = BytesMut::with_capacity(shared.len() + added);
                copy.put_slice(&shared);
                copy
            });
            joined.put_slice(delimiter);
            joined.put_slice(&value);
            StoredRecord {
                value: joined.freeze(),
                expires_ms: there.expires_ms,
            }
        }
    };
    Ok(WriteDecision::one(WriteResult::Done, key, Some(record)))
}

fn increment(key: Bytes, by: i64, initial: i64, view: &mut impl View) -> Result<WriteDecision> {
    let there = view.record(&key)?;
    let before = match &there {
        None => initial,
        Some(record) => match <[u8; 8]>::try_from(&record.value[..]) {
            Ok(bytes) => i64::from_be_bytes(bytes),
            Err(_) => {
                let length = record.value.len();
                return Err(Error::NotANumber { length });
            }
        },
    };
    if by == i64::MIN {
        return Ok(WriteDecision::unchanged(WriteResult::Number(before)));
    }
    let number = before.wrapping_add(by);
    let record = StoredRecord {
        value: Bytes::copy_from_slice(&number.to_be_bytes()),
        expires_ms: there.map_or(0, |record| record.expires_ms),
    };
    Ok(WriteDecision::one(
        WriteResult::Number(number),
        key,
        Some(record),
    ))
}

fn is_expected(there: Option<&StoredRecord>, expected: &Expected) -> bool {
    match (there, expected) {
        (None, Expected::Absent) | (Some(_), Expected::Any) => true,
        (Some(record), Expected::Value(value)) => record.value == value,
        (Some(_), Expected::Absent) | (None, Expected::Any | Expected::Value(_)) => false,
    }
}

fn exchange(
    key: Bytes,
    expected: &Expected,
    desired: Desired,
    view: &mut impl View,
    context: DecisionContext,
) -> Result<WriteDecision> {
    let there = view.record(&key)?;
    let fits = is_expected(there.as_ref(), expected);
    let found = there.is_some();
    let actual = there.map(|record| record.value);
    if !fits {
        return Ok(WriteDecision::unchanged(WriteResult::Mismatch { actual }));
    }
    let written = WriteResult::Exchanged { actual };
    Ok(match desired {
        Desired::Put(value, ttl) => {
            WriteDecision::one(written, key, Some(context.record(value, ttl)))
        }
        Desired::Remove if found => WriteDecision::one(written, key, None),
        Desired::Remove | Desired::Keep => WriteDecision::unchanged(written),
    })
}

fn exchange_multi(
    expected: &[(Bytes, Expected)],
    desired: Vec<(Bytes, Desired)>,
    view: &mut impl View,
    context: DecisionContext,
) -> Result<WriteDecision> {
    for (key, expected) in expected {
        if !is_expected(view.record(key)?.as_ref(), expected) {
            return Ok(WriteDecision::unchanged(WriteResult::Mismatch {
                actual: None,
            }));
        }
    }
    let changes = desired
        .into_iter()
        .filter_map(|(key, desired)| match desired {
            Desired::Keep => None,
            Desired::Remove => Some((key, None)),
            Desired::Put(value, ttl) => Some((key, Some(context.record(value, ttl)))),
        });
    Ok(WriteDecision {
        written: WriteResult::Done,
        changes: changes.collect(),
    })
}

fn rekey(
    old: Bytes,
    new: Bytes,
    mode: SetMode,
    source: RekeySource,
    view: &mut impl View,
) -> Result<WriteDecision> {
    let Some(record) = view.record(&old)? else {
        return Ok(WriteDecision::unchanged(WriteResult::Missing));
    };
    if mode == SetMode::IfAbsent
        && let Some(there) = view.record(&new)?
    {
        return Ok(WriteDecision::unchanged(WriteResult::Duplicate {
            value: there.value,
        }));
    }
    if old == new {
        return Ok(WriteDecision::unchanged(WriteResult::Done));
    }
    let mut changes: SmallVec<[Change; 1]> = SmallVec::new();
    if source == RekeySource::Move {
        changes.push((old, None));
    }
    changes.push((new, Some(record)));
    Ok(WriteDecision {
        written: WriteResult::Done,
        changes,
    })
}

fn popped(first: Option<(Bytes, StoredRecord)>) -> WriteDecision {
    match first {
        Some((key, StoredRecord { value, .. })) => {
            let popped = WriteResult::Popped {
                key: key.clone(),
                value,
            };
            WriteDecision::one(popped, key, None)
        }
        None => WriteDecision::unchanged(WriteResult::Missing),
    }
}

/// Behind the last record that is there: a clock that was set back changes no order.
fn push(
    prefix: &Bytes,
    value: Bytes,
    view: &mut impl View,
    context: DecisionContext,
) -> Result<WriteDecision> {
    let now = place_at(SystemTime::now());
    let last = view.last_of(prefix)?;
    let last = last.and_then(|key| place_of(prefix, &key));
    let place = match last {
        None => now,
        Some(u64::MAX) => {
            return Err(Error::TooMany {
                what: "bits of a place in a queue",
                asked: 65,
                max: 64,
                limit: "the last place is taken",
            });
        }
        Some(last) => now.max(last + 1),
    };
    let key = place_key(prefix, place);
    let pushed = WriteResult::Pushed { key: key.clone() };
    let record = context.record(value, None);
    Ok(WriteDecision::one(pushed, key, Some(record)))
}

fn push_last(
    value: Bytes,
    at: Option<SystemTime>,
    view: &mut impl View,
    context: DecisionContext,
) -> Result<WriteDecision> {
    let mut sequence = place_at(at.unwrap_or_else(SystemTime::now));
    loop {
        let key = Bytes::copy_from_slice(&sequence.to_be_bytes());
        if view.record(&key)?.is_none() {
            let pushed = WriteResult::Pushed { key: key.clone() };
            return Ok(WriteDecision::one(
                pushed,
                key,
                Some(context.record(value, None)),
            ));
        }
        sequence = sequence.wrapping_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(cut_off_ms: u64) -> DecisionContext {
        DecisionContext {
            now_ms: 1_000,
            cut_off_ms,
            value_max: 1,
        }
    }

    #[test]
    fn time_to_live_is_no_shorter_than_was_asked_for_counted_from_any_fraction_of_a_millisecond() {
        let ttl = Some(Duration::from_millis(2));
        assert_eq!(context(0).expires_ms(ttl), 1_002);
        assert_eq!(context(1).expires_ms(ttl), 1_003);
        let ttl = Some(Duration::from_micros(1_500));
        assert_eq!(context(0).expires_ms(ttl), 1_002);
        assert_eq!(context(1).expires_ms(None), 0);
    }
}
