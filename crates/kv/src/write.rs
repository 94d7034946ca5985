//! Writes and their answers: one type for everything that changes a database. Applies none of them; `decide` says what they mean.
//! Rule: what a caller may expect in ordinary work (missing, there already, not as expected) is an answer, not an error.

use std::time::{Duration, SystemTime};

use bytes::Bytes;

use crate::error::{Error, Result};
use crate::limits::{BATCH_WRITES_MAX, EXCHANGE_RECORDS_MAX, KEY_BYTES_MAX, QUEUE_NAME_BYTES_MAX};

/// One change of a database. Each is atomic, but [`Batch`](Self::Batch), whose parts are.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// Stores a value. Answers [`WriteResult::Done`], or [`WriteResult::Duplicate`] by [`SetMode::IfAbsent`].
    Set {
        /// The record's key.
        key: Bytes,
        /// The bytes of the value.
        value: Bytes,
        /// What becomes of a record that is there.
        mode: SetMode,
        /// How long the record is there; for ever without it, also when the one before was not.
        ttl: Option<Duration>,
    },
    /// Removes a record. Answers [`WriteResult::Done`] or [`WriteResult::Missing`].
    Remove {
        /// The record's key.
        key: Bytes,
    },
    /// Adds to the end of a value, or stores a new record. A time to live stays as it is. Answers [`WriteResult::Done`].
    Append {
        /// The record's key.
        key: Bytes,
        /// What is added.
        value: Bytes,
        /// What comes between, when the record is there.
        delimiter: Bytes,
    },
    /// Adds to a number of eight bytes, most significant first, around the ends of its range. A time to live stays as it is.
    /// Answers [`WriteResult::Number`], the new one.
    Increment {
        /// The record's key.
        key: Bytes,
        /// What is added; [`i64::MIN`] only reads.
        by: i64,
        /// What it is added to when the record is missing.
        initial: i64,
    },
    /// Changes a record that is as expected. Answers [`WriteResult::Exchanged`] or [`WriteResult::Mismatch`].
    CompareExchange {
        /// The record's key.
        key: Bytes,
        /// What the record must be.
        expected: Expected,
        /// What it becomes.
        desired: Desired,
    },
    /// Changes records if all are as expected. Answers [`WriteResult::Done`] or [`WriteResult::Mismatch`] without a value.
    CompareExchangeMulti {
        /// What each of these must be.
        expected: Vec<(Bytes, Expected)>,
        /// What each of these becomes, in order.
        desired: Vec<(Bytes, Desired)>,
    },
    /// Gives a record another key; its time to live goes with it. Answers [`WriteResult::Done`], [`WriteResult::Missing`], or
    /// [`WriteResult::Duplicate`].
    Rekey {
        /// The key now.
        old: Bytes,
        /// The key then.
        new: Bytes,
        /// What becomes of a record that has the new key.
        mode: SetMode,
        /// What becomes of the record with the old key.
        source: RekeySource,
    },
    /// Gives a record another time to live, counted from now; none without one. Its value stays. Answers [`WriteResult::Done`] or
    /// [`WriteResult::Missing`].
    Touch {
        /// The record's key.
        key: Bytes,
        /// How long the record is there; for ever without it.
        ttl: Option<Duration>,
    },
    /// Removes the record with the least key. Answers [`WriteResult::Popped`] or [`WriteResult::Missing`].
    PopFirst,
    /// Stores a value behind those pushed before: its key is the time in units of 10 ns as eight bytes, or the first one
    /// after it that is free. Answers [`WriteResult::Pushed`].
    PushLast {
        /// The bytes of the value.
        value: Bytes,
        /// The time; now without it.
        at: Option<SystemTime>,
    },
    /// Stores a value behind all others of a queue, whose records are apart from those of other queues. Answers [`WriteResult::Pushed`].
    Push {
        /// The name of the queue, at most [`QUEUE_NAME_BYTES_MAX`](crate::limits::QUEUE_NAME_BYTES_MAX).
        queue: Bytes,
        /// The bytes of the value.
        value: Bytes,
    },
    /// Removes the first record of a queue. Answers [`WriteResult::Popped`] or [`WriteResult::Missing`].
    Pop {
        /// The name of the queue.
        queue: Bytes,
    },
    /// Writes on their own, in order; other callers' may come between. Answers [`WriteResult::Each`].
    Batch(Vec<Write>),
    /// Removes every record. Answers [`WriteResult::Done`].
    Clear,
}

/// What becomes of a record that is there already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetMode {
    /// It is replaced.
    Overwrite,
    /// It stays, and nothing is written.
    IfAbsent,
}

/// What becomes of the record that is given another key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RekeySource {
    /// It is gone.
    Move,
    /// It stays.
    Copy,
}

/// How long a record is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// Until it is removed.
    Unlimited,
    /// For so long, from now on.
    Left(Duration),
}

/// What a record must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Missing.
    Absent,
    /// There, with any value.
    Any,
    /// There, with this value.
    Value(Bytes),
}

/// What a record becomes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Desired {
    /// What it is.
    Keep,
    /// Missing.
    Remove,
    /// There with this value, for this time.
    Put(Bytes, Option<Duration>),
}

/// The answer to a [`Write`].
#[non_exhaustive]
#[derive(Clone, Debug)]
pub enum WriteResult {
    /// It took place.
    Done,
    /// Nothing changed: there is no record.
    Missing,
    /// Nothing changed: there is a record, with this value.
    Duplicate {
        /// The bytes of the value.
        value: Bytes,
    },
    /// The exchange took place.
    Exchanged {
        /// The value before; `None` when the record was missing.
        actual: Option<Bytes>,
    },
    /// Nothing changed: a record is not as expected.
    Mismatch {
        /// The value; `None` when the record is missing, and for exchanges of several records.
        actual: Option<Bytes>,
    },
    /// The number after the increment.
    Number(i64),
    /// The record that was removed.
    Popped {
        /// The removed record's key.
        key: Bytes,
        /// The removed record's value.
        value: Bytes,
    },
    /// The key that was taken.
    Pushed {
        /// The record's key.
        key: Bytes,
    },
    /// The answers to the writes of a batch, in order.
    Each(Vec<Result<WriteResult>>),
}

impl Write {
    /// Stores `value` at `key`, for ever, whatever is there.
    pub fn set(key: impl Into<Bytes>, value: impl Into<Bytes>) -> Self {
        Self::Set {
            key: key.into(),
            value: value.into(),
            mode: SetMode::Overwrite,
            ttl: None,
        }
    }

    /// Removes `key`.
    pub fn remove(key: impl Into<Bytes>) -> Self {
        Self::Remove { key: key.into() }
    }

    /// Refuses what no engine is asked: keys and values beyond their limits. A batch is checked by its parts' own answers.
    pub(crate) fn check(&self, value_max: usize) -> Result<()> {
        match self {
            Self::Remove { key } | Self::Increment { key, .. } | Self::Touch { key, .. } => {
                check_key(key)
            }
            Self::Set { key, value, .. } | Self::Append { key, value, .. } => {
                check_key(key)?;
                check_value(value.len(), value_max)
            }
            Self::CompareExchange { key, desired, .. } => {
                check_key(key)?;
                check_desired(desired, value_max)
            }
            Self::CompareExchangeMulti { expected, desired } => {
                for (what, asked) in [
                    ("records to compare", expected.len()),
                    ("records to change", desired.len()),
                ] {
                    check_many(what, asked, EXCHANGE_RECORDS_MAX, "EXCHANGE_RECORDS_MAX")?;
                }
                expected.iter().try_for_each(|(key, _)| check_key(key))?;
                desired.iter().try_for_each(|(key, desired)| {
                    check_key(key)?;
                    check_desired(desired, value_max)
                })
            }
            Self::Rekey { old, new, .. } => {
                check_key(old)?;
                check_key(new)
            }
            Self::PushLast { value, .. } => check_value(value.len(), value_max),
            Self::Push { queue, value } => {
                check_queue(queue)?;
                check_value(value.len(), value_max)
            }
            Self::Pop { queue } => check_queue(queue),
            Self::Batch(writes) => check_many(
                "writes in a batch",
                writes.len(),
                BATCH_WRITES_MAX,
                "BATCH_WRITES_MAX",
            ),
            Self::PopFirst | Self::Clear => Ok(()),
        }
    }
}

pub(crate) fn check_key(key: &[u8]) -> Result<()> {
    match key.len() {
        0..=KEY_BYTES_MAX => Ok(()),
        length => Err(Error::InvalidKey {
            length,
            max: KEY_BYTES_MAX,
        }),
    }
}

pub(crate) fn check_value(length: usize, max: usize) -> Result<()> {
    if length > max {
        return Err(Error::ValueTooLong { length, max });
    }
    Ok(())
}

fn check_queue(name: &[u8]) -> Result<()> {
    let (what, limit) = ("bytes in the name of a queue", "QUEUE_NAME_BYTES_MAX");
    check_many(what, name.len(), QUEUE_NAME_BYTES_MAX, limit)
}

fn check_desired(desired: &Desired, value_max: usize) -> Result<()> {
    match desired {
        Desired::Put(value, _) => check_value(value.len(), value_max),
        Desired::Keep | Desired::Remove => Ok(()),
    }
}

pub(crate) fn check_many(
    what: &'static str,
    asked: usize,
    max: usize,
    limit: &'static str,
) -> Result<()> {
    if asked > max {
        return Err(Error::TooMany {
            what,
            asked,
            max,
            limit,
        });
    }
    Ok(())
}
