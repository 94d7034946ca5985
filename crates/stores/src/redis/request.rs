//! A write as the command or the script that Redis runs for it, and what its answer means. Sends nothing.
//! Rule: each write is one command or one script, so that the server does all of it or nothing; an answer of another shape is an error.

use std::borrow::Cow;
use std::time::Duration;

use bytes::Bytes;
use redis::{Cmd, Value, cmd};
use tsumugi_kv::limits::TTL_MAX;
use tsumugi_kv::{Desired, Error as KvError, Expected, RekeySource, SetMode, Write, WriteResult};

use super::scripts::{self, Script};
use super::table::CAPABILITIES;
use crate::error::{CallFate, Error, Result};

/// Whether a request may be repeated when its answer was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It changes nothing.
    Reads,
    /// It may change something, and twice is not once.
    Writes,
}

/// How a script is named to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScriptForm {
    /// By its SHA-1.
    Name,
    /// By its text, for a server that has not run it yet.
    Text,
}

/// What a server is asked.
pub(super) struct Request {
    pub(super) effect: Effect,
    /// The key that says which node of a cluster is asked. All keys of a request are in its slot.
    pub(super) key: Option<Bytes>,
    body: Body,
}

enum Body {
    Command(Cmd),
    Script {
        script: &'static Script,
        keys: Vec<Bytes>,
        arguments: Vec<Bytes>,
    },
}

impl Request {
    /// One that changes nothing.
    pub(super) fn read(key: Option<Bytes>, command: Cmd) -> Request {
        Request {
            effect: Effect::Reads,
            key,
            body: Body::Command(command),
        }
    }

    /// One that may change something.
    pub(super) fn write(key: Option<Bytes>, command: Cmd) -> Request {
        Request {
            effect: Effect::Writes,
            key,
            body: Body::Command(command),
        }
    }

    /// A message to the subscribers of a channel, by `PUBLISH` or, in a cluster, `SPUBLISH`. As a script that counts as a write it is refused by a server that is a master no more, whose
    /// subscribers are not those who are meant.
    pub(super) fn publish(channel: Bytes, message: &Bytes, command: &'static str) -> Request {
        let arguments = vec![message.clone(), Bytes::from(command)];
        Request::script(&scripts::PUBLISH, vec![channel], arguments)
    }

    fn script(script: &'static Script, keys: Vec<Bytes>, arguments: Vec<Bytes>) -> Request {
        Request {
            effect: Effect::Writes,
            key: keys.first().cloned(),
            body: Body::Script {
                script,
                keys,
                arguments,
            },
        }
    }

    /// All keys that it names, where they may be in different slots.
    pub(super) fn keys(&self) -> &[Bytes] {
        match &self.body {
            Body::Command(_) => self.key.as_slice(),
            Body::Script { keys, .. } => keys,
        }
    }

    /// What is sent.
    pub(super) fn command(&self, form: ScriptForm) -> Cow<'_, Cmd> {
        match &self.body {
            Body::Command(command) => Cow::Borrowed(command),
            Body::Script {
                script,
                keys,
                arguments,
            } => {
                let mut command = match form {
                    ScriptForm::Name => cmd("EVALSHA"),
                    ScriptForm::Text => cmd("EVAL"),
                };
                match form {
                    ScriptForm::Name => command.arg(script.sha1()),
                    ScriptForm::Text => command.arg(script.text),
                };
                command.arg(keys.len());
                for part in keys.iter().chain(arguments) {
                    command.arg(&part[..]);
                }
                Cow::Owned(command)
            }
        }
    }
}

/// The command or the script of a write; `key` makes a record's key into the server's. Batches, queues and what all records are
/// concerned by are no requests of one server.
pub(super) fn request_of(write: Write, key: impl Fn(&Bytes) -> Bytes) -> Option<Request> {
    Some(match write {
        Write::Set {
            key: record,
            value,
            mode,
            ttl,
        } => {
            let record = key(&record);
            let mut command = cmd("SET");
            command.arg(&record[..]).arg(&value[..]);
            if mode == SetMode::IfAbsent {
                command.arg("NX").arg("GET");
            }
            if let Some(ttl) = ttl {
                command.arg("PX").arg(milliseconds(ttl));
            }
            Request::write(Some(record), command)
        }
        Write::Remove { key: record } => {
            let record = key(&record);
            let mut command = cmd("UNLINK");
            command.arg(&record[..]);
            Request::write(Some(record), command)
        }
        Write::Append {
            key: record,
            value,
            delimiter,
        } => {
            let longest = Bytes::from(CAPABILITIES.value_bytes.max.to_string());
            Request::script(
                &scripts::APPEND,
                vec![key(&record)],
                vec![value, delimiter, longest],
            )
        }
        Write::Increment {
            key: record,
            by,
            initial,
        } => {
            let only_reads = if by == i64::MIN { "1" } else { "0" };
            let number = |number: i64| Bytes::copy_from_slice(&number.to_be_bytes());
            let arguments = vec![number(by), number(initial), Bytes::from(only_reads)];
            Request::script(&scripts::INCREMENT, vec![key(&record)], arguments)
        }
        Write::CompareExchange {
            key: record,
            expected,
            desired,
        } => {
            let mut arguments = Vec::new();
            push_expected(&mut arguments, expected);
            push_desired(&mut arguments, desired);
            Request::script(&scripts::EXCHANGE, vec![key(&record)], arguments)
        }
        Write::CompareExchangeMulti { expected, desired } => exchange_multi(expected, desired, key),
        Write::Touch { key: record, ttl } => {
            Request::script(&scripts::TOUCH, vec![key(&record)], vec![time(ttl)])
        }
        Write::Rekey {
            old,
            new,
            mode,
            source,
        } => rekey(vec![key(&old), key(&new)], mode, source),
        _ => return None,
    })
}

fn rekey(keys: Vec<Bytes>, mode: SetMode, source: RekeySource) -> Request {
    let mode = match mode {
        SetMode::IfAbsent => "absent",
        SetMode::Overwrite => "",
    };
    let source = match source {
        RekeySource::Copy => "copy",
        RekeySource::Move => "",
    };
    let arguments = vec![Bytes::from(mode), Bytes::from(source)];
    Request::script(&scripts::REKEY, keys, arguments)
}

fn exchange_multi(
    expected: Vec<(Bytes, Expected)>,
    desired: Vec<(Bytes, Desired)>,
    key: impl Fn(&Bytes) -> Bytes,
) -> Request {
    let mut arguments = vec![Bytes::from(expected.len().to_string())];
    let mut keys = Vec::with_capacity(expected.len() + desired.len());
    for (record, expected) in expected {
        keys.push(key(&record));
        push_expected(&mut arguments, expected);
    }
    for (record, desired) in desired {
        keys.push(key(&record));
        push_desired(&mut arguments, desired);
    }
    Request::script(&scripts::EXCHANGE_MULTI, keys, arguments)
}

fn push_expected(arguments: &mut Vec<Bytes>, expected: Expected) {
    let (kind, value) = match expected {
        Expected::Absent => ("absent", Bytes::new()),
        Expected::Any => ("any", Bytes::new()),
        Expected::Value(value) => ("value", value),
    };
    arguments.extend([Bytes::from(kind), value]);
}

fn push_desired(arguments: &mut Vec<Bytes>, desired: Desired) {
    let (kind, value, ttl) = match desired {
        Desired::Keep => ("keep", Bytes::new(), None),
        Desired::Remove => ("remove", Bytes::new(), None),
        Desired::Put(value, ttl) => ("put", value, ttl),
    };
    arguments.extend([Bytes::from(kind), value, time(ttl)]);
}

/// Milliseconds as a script takes them; nothing stands for ever.
fn time(ttl: Option<Duration>) -> Bytes {
    ttl.map_or(Bytes::new(), |ttl| {
        Bytes::from(milliseconds(ttl).to_string())
    })
}

/// At least as long as was asked for: Redis counts from a millisecond that it has cut off, and takes no time of nothing.
fn milliseconds(ttl: Duration) -> u64 {
    let at_least = ttl.min(TTL_MAX) + Duration::from_nanos(1_999_999);
    u64::try_from(at_least.as_millis()).unwrap_or(u64::MAX)
}

/// What a write may answer, so that its answer is read as no other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AnswerKind {
    /// `OK`.
    Set,
    /// Nothing where it was stored, else the value that is there.
    SetIfAbsent,
    /// How many were removed.
    Remove,
    /// A script's word, and what belongs to it.
    Script,
}

impl AnswerKind {
    pub(super) fn of(write: &Write) -> AnswerKind {
        match write {
            Write::Set { mode, .. } => match mode {
                SetMode::Overwrite => AnswerKind::Set,
                SetMode::IfAbsent => AnswerKind::SetIfAbsent,
            },
            Write::Remove { .. } => AnswerKind::Remove,
            _ => AnswerKind::Script,
        }
    }

    /// What the answer means.
    ///
    /// # Errors
    /// What a script refused, or an answer of another shape.
    pub(super) fn read(self, answer: Value) -> Result<WriteResult> {
        match (self, answer) {
            (AnswerKind::Set, Value::Okay) | (AnswerKind::SetIfAbsent, Value::Nil) => {
                Ok(WriteResult::Done)
            }
            (AnswerKind::SetIfAbsent, Value::BulkString(value)) => Ok(WriteResult::Duplicate {
                value: value.into(),
            }),
            (AnswerKind::Remove, Value::Int(0)) => Ok(WriteResult::Missing),
            (AnswerKind::Remove, Value::Int(1)) => Ok(WriteResult::Done),
            (AnswerKind::Script, Value::Array(answer)) => script_answer(answer),
            _ => Err(unexpected()),
        }
    }
}

fn script_answer(answer: Vec<Value>) -> Result<WriteResult> {
    let mut answer = answer.into_iter();
    let Some(Value::BulkString(word)) = answer.next() else {
        return Err(unexpected());
    };
    let value = match answer.next() {
        None | Some(Value::Nil) => None,
        Some(Value::BulkString(value)) => Some(Bytes::from(value)),
        Some(Value::Int(number)) => return Err(refusal(&word, number)),
        Some(_) => return Err(unexpected()),
    };
    Ok(match (&word[..], value) {
        (b"done", None) => WriteResult::Done,
        (b"missing", None) => WriteResult::Missing,
        (b"duplicate", Some(value)) => WriteResult::Duplicate { value },
        (b"mismatch", actual) => WriteResult::Mismatch { actual },
        (b"exchanged", actual) => WriteResult::Exchanged { actual },
        (b"number", Some(value)) => {
            let bytes = <[u8; 8]>::try_from(&value[..]).map_err(|_| unexpected())?;
            WriteResult::Number(i64::from_be_bytes(bytes))
        }
        _ => return Err(unexpected()),
    })
}

/// A script that changed nothing because of a length.
fn refusal(word: &[u8], length: i64) -> Error {
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    match word {
        b"long" => match CAPABILITIES.check_value(length) {
            Err(error) => error,
            Ok(()) => unexpected(),
        },
        b"other" => Error::Kv(KvError::NotANumber { length }),
        _ => unexpected(),
    }
}

/// The answer is none of those that the request has. It took place in some way.
pub(super) fn unexpected() -> Error {
    Error::Server {
        engine: CAPABILITIES.engine,
        message: "something else than was asked for; it may be another kind of server".to_owned(),
        fate: CallFate::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: AnswerKind, answer: Value, expected: &str) {
        let shown = match kind.read(answer) {
            Ok(result) => format!("{result:?}"),
            Err(error) => error.to_string(),
        };
        assert!(shown.contains(expected), "{shown}, not {expected}");
    }

    fn text(text: &str) -> Value {
        Value::BulkString(text.as_bytes().to_vec())
    }

    #[test]
    fn answer_of_a_script_is_what_the_write_answers() {
        let check = |answer, expected| check(AnswerKind::Script, Value::Array(answer), expected);
        check(vec![text("done")], "Done");
        check(vec![text("exchanged"), Value::Nil], "actual: None");
        check(vec![text("mismatch"), text("v")], "actual: Some(b\"v\")");
        check(
            vec![
                text("number"),
                Value::BulkString(7_i64.to_be_bytes().into()),
            ],
            "Number(7)",
        );
        check(vec![text("other"), Value::Int(3)], "has 3 bytes");
        check(
            vec![text("long"), Value::Int(1 << 40)],
            "at most 67108864 (REDIS_VALUE_BYTES_MAX)",
        );
    }

    #[test]
    fn answer_of_another_shape_is_an_error_after_which_it_may_have_taken_place() {
        for (kind, answer) in [
            (AnswerKind::Set, Value::Nil),
            (AnswerKind::Remove, Value::Okay),
            (AnswerKind::Script, Value::Array(vec![])),
            (AnswerKind::Script, Value::Array(vec![text("x")])),
            (
                AnswerKind::Script,
                Value::Array(vec![text("number"), text("1")]),
            ),
        ] {
            assert_eq!(kind.read(answer).unwrap_err().fate(), CallFate::Unknown);
        }
    }

    #[test]
    fn time_to_live_is_no_shorter_than_was_asked_for_counted_from_any_fraction_of_a_millisecond() {
        assert_eq!(milliseconds(Duration::ZERO), 1);
        assert_eq!(milliseconds(Duration::from_millis(1)), 2);
        assert_eq!(milliseconds(Duration::from_micros(1_500)), 3);
        let longest = u128::from(milliseconds(Duration::MAX));
        assert_eq!(longest, TTL_MAX.as_millis() + 1);
    }
}
