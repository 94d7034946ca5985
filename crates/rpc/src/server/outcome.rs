//! What a database's answer is on the wire: its status, and the conversions between messages and writes. Decides nothing.
//! Outcomes have codes of their own; an error of the database is a code by what its caller can do.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use tsumugi_kv::{self as kv, Desired, Expected, RekeySource, SetMode, Write, WriteResult};

use crate::code::TkrzwCode;
use crate::proto::*;

/// Values up to this size are copied out of the buffer they arrived in, which holds more than them: a database keeps what it is given.
const COPIED_BYTES_MAX: usize = 64 * 1024;

pub(crate) fn success() -> StatusProto {
    StatusProto::default()
}

pub(crate) fn status(code: TkrzwCode, message: impl Into<String>) -> StatusProto {
    StatusProto {
        code: code as i32,
        message: message.into(),
    }
}

pub(crate) fn missing() -> StatusProto {
    status(TkrzwCode::NotFound, "there is no such record")
}

/// An error of a database, or of an engine, that has a code.
pub(crate) trait DatabaseError {
    fn status(&self) -> StatusProto;
}

impl DatabaseError for kv::Error {
    fn status(&self) -> StatusProto {
        of_error(self)
    }
}

impl DatabaseError for StatusProto {
    fn status(&self) -> StatusProto {
        self.clone()
    }
}

pub(crate) fn of_error(error: &kv::Error) -> StatusProto {
    use kv::Error;
    let code = match error {
        Error::InvalidKey { .. }
        | Error::ValueTooLong { .. }
        | Error::NotANumber { .. }
        | Error::TooMany { .. }
        | Error::Pattern { .. }
        | Error::Spec { .. } => TkrzwCode::InvalidArgument,
        Error::NotBuiltIn { .. } => TkrzwCode::NotImplemented,
        Error::Broken { .. } => TkrzwCode::BrokenData,
        // The place of a backup.
        Error::Io { source, .. } if source.kind() == io::ErrorKind::AlreadyExists => {
            TkrzwCode::Precondition
        }
        Error::Locked { .. } | Error::Conflict { .. } | Error::ReadOnly { .. } | Error::Closed => {
            TkrzwCode::Precondition
        }
        Error::Full { .. }
        | Error::QueueFull { .. }
        | Error::DiskFull { .. }
        | Error::Io { .. } => TkrzwCode::System,
        _ => TkrzwCode::Unknown,
    };
    status(code, error.to_string())
}

/// The status of a write that answers no more than that.
pub(crate) fn of_write<E: DatabaseError>(written: &Result<WriteResult, E>) -> StatusProto {
    match written {
        Ok(WriteResult::Missing) => missing(),
        Ok(WriteResult::Duplicate { .. }) => {
            status(TkrzwCode::Duplication, "there is a record already")
        }
        Ok(WriteResult::Mismatch { .. }) => {
            status(TkrzwCode::Infeasible, "a record is not as expected")
        }
        Ok(WriteResult::Each(each)) => of_each(each),
        Ok(_) => success(),
        Err(error) => error.status(),
    }
}

/// An error before anything else, since it says what to mend; then the first that was not done.
fn of_each(each: &[kv::Result<WriteResult>]) -> StatusProto {
    if let Some(Err(error)) = each.iter().find(|written| written.is_err()) {
        return of_error(error);
    }
    each.iter()
        .map(of_write)
        .find(|status| status.code != TkrzwCode::Success as i32)
        .unwrap_or_default()
}

pub(crate) fn of_read<T, E: DatabaseError>(read: Result<Option<T>, E>) -> (StatusProto, Option<T>) {
    match read {
        Ok(Some(value)) => (success(), Some(value)),
        Ok(None) => (missing(), None),
        Err(error) => (error.status(), None),
    }
}

pub(crate) fn of_done<E: DatabaseError>(done: Result<(), E>) -> StatusProto {
    done.map_or_else(|error| error.status(), |()| success())
}

/// A value as a database may store it: a small one without the larger message that it came in.
pub(crate) fn compact(bytes: Bytes) -> Bytes {
    if bytes.len() <= COPIED_BYTES_MAX {
        Bytes::copy_from_slice(&bytes)
    } else {
        bytes
    }
}

fn mode(overwrite: bool) -> SetMode {
    match overwrite {
        true => SetMode::Overwrite,
        false => SetMode::IfAbsent,
    }
}

fn set_one(key: Bytes, value: Bytes, mode: SetMode) -> Write {
    Write::Set {
        key,
        value: compact(value),
        mode,
        ttl: None,
    }
}

pub(crate) fn set(request: SetRequest) -> Write {
    set_one(request.key, request.value, mode(request.overwrite))
}

pub(crate) fn set_each(request: SetMultiRequest) -> Write {
    let mode = mode(request.overwrite);
    let set = |BytesPair { first, second }| set_one(first, second, mode);
    Write::Batch(request.records.into_iter().map(set).collect())
}

/// A write of what was made for ever, with this time to live for all that it stores.
pub(crate) fn expiring(write: Write, time: Option<Duration>) -> Write {
    match write {
        Write::Set {
            key, value, mode, ..
        } => Write::Set {
            key,
            value,
            mode,
            ttl: time,
        },
        Write::CompareExchange {
            key,
            expected,
            desired,
        } => Write::CompareExchange {
            key,
            expected,
            desired: expiring_record(desired, time),
        },
        Write::CompareExchangeMulti { expected, desired } => {
            let desired = desired.into_iter();
            let desired = desired.map(|(key, desired)| (key, expiring_record(desired, time)));
            Write::CompareExchangeMulti {
                expected,
                desired: desired.collect(),
            }
        }
        Write::Batch(writes) => {
            let writes = writes.into_iter().map(|write| expiring(write, time));
            Write::Batch(writes.collect())
        }
        other => other,
    }
}

fn expiring_record(desired: Desired, time: Option<Duration>) -> Desired {
    match desired {
        Desired::Put(value, _) => Desired::Put(value, time),
        other => other,
    }
}

pub(crate) fn remove(request: RemoveRequest) -> Write {
    Write::remove(request.key)
}

pub(crate) fn remove_each(request: RemoveMultiRequest) -> Write {
    Write::Batch(request.keys.into_iter().map(Write::remove).collect())
}

pub(crate) fn append(request: AppendRequest) -> Write {
    Write::Append {
        key: request.key,
        value: compact(request.value),
        delimiter: request.delim,
    }
}

pub(crate) fn append_each(mut request: AppendMultiRequest) -> Write {
    // What is added to one value is added at once, in the order it has here.
    request
        .records
        .sort_by(|one, other| one.first.cmp(&other.first));
    let append = |BytesPair { first, second }| Write::Append {
        key: first,
        value: compact(second),
        delimiter: request.delim.clone(),
    };
    Write::Batch(request.records.into_iter().map(append).collect())
}

pub(crate) fn increment(request: &IncrementRequest) -> Write {
    Write::Increment {
        key: request.key.clone(),
        by: request.increment,
        initial: request.initial,
    }
}

/// The number that an increment answers; 0 when it failed.
pub(crate) fn number<E>(written: &Result<WriteResult, E>) -> i64 {
    match written {
        Ok(WriteResult::Number(number)) => *number,
        _ => 0,
    }
}

pub(crate) fn rekey(request: RekeyRequest) -> Write {
    Write::Rekey {
        old: request.old_key,
        new: request.new_key,
        mode: mode(request.overwrite),
        source: match request.copying {
            true => RekeySource::Copy,
            false => RekeySource::Move,
        },
    }
}

pub(crate) fn clear(_: ClearRequest) -> Write {
    Write::Clear
}

fn expected(existence: bool, any_value: bool, value: Bytes) -> Expected {
    match (existence, any_value) {
        (false, _) => Expected::Absent,
        (true, true) => Expected::Any,
        (true, false) => Expected::Value(value),
    }
}

pub(crate) fn exchange(request: CompareExchangeRequest) -> Write {
    let (existence, any_value) = (request.expected_existence, request.expect_any_value);
    let expected = expected(existence, any_value, request.expected_value);
    let desired = match (request.desire_no_update, request.desired_existence) {
        (true, _) => Desired::Keep,
        (false, false) => Desired::Remove,
        (false, true) => Desired::Put(compact(request.desired_value), None),
    };
    Write::CompareExchange {
        key: request.key,
        expected,
        desired,
    }
}

pub(crate) fn exchange_each(request: CompareExchangeMultiRequest) -> Write {
    let state = |state: RecordState| {
        let expected = expected(state.existence, state.any_value, state.value);
        (state.key, expected)
    };
    Write::CompareExchangeMulti {
        expected: request.expected.into_iter().map(state).collect(),
        desired: request.desired.into_iter().map(desired).collect(),
    }
}

fn desired(state: RecordState) -> (Bytes, Desired) {
    let desired = match (state.existence, state.any_value) {
        (false, _) => Desired::Remove,
        (true, true) => Desired::Keep,
        (true, false) => Desired::Put(compact(state.value), None),
    };
    (state.key, desired)
}

pub(crate) fn echo(request: EchoRequest) -> EchoResponse {
    EchoResponse {
        status: Some(success()),
        echo: request.message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(written: kv::Result<WriteResult>, expected: TkrzwCode) {
        assert_eq!(
            TkrzwCode::of(of_write(&written).code),
            expected,
            "{written:?}"
        );
    }

    #[test]
    fn outcomes_and_errors_have_the_codes_of_the_protocol() {
        check(Ok(WriteResult::Done), TkrzwCode::Success);
        check(Ok(WriteResult::Missing), TkrzwCode::NotFound);
        check(
            Ok(WriteResult::Duplicate {
                value: Bytes::new(),
            }),
            TkrzwCode::Duplication,
        );
        check(
            Ok(WriteResult::Mismatch { actual: None }),
            TkrzwCode::Infeasible,
        );
        check(Err(kv::Error::Full { capacity: 1 }), TkrzwCode::System);
        check(
            Err(kv::Error::InvalidKey { length: 2, max: 1 }),
            TkrzwCode::InvalidArgument,
        );
        check(Err(kv::Error::Closed), TkrzwCode::Precondition);
    }

    #[test]
    fn error_of_many_comes_before_what_was_not_done() {
        let each = |each| Ok(WriteResult::Each(each));
        check(each(vec![]), TkrzwCode::Success);
        check(
            each(vec![Ok(WriteResult::Done), Ok(WriteResult::Missing)]),
            TkrzwCode::NotFound,
        );
        check(
            each(vec![
                Ok(WriteResult::Missing),
                Err(kv::Error::Full { capacity: 1 }),
            ]),
            TkrzwCode::System,
        );
    }
}
