//! Writing: from the arguments of a method to a `Write`, and from what was written to the method's value.
//! Rule: each method is defined once here; in memory it answers at once, elsewhere its fibre parks until the write is as safe as it is to be.

use bytes::Bytes;
use tsumugi_kv::{Desired, Expected, RekeySource, SetMode, Write, WriteResult};
use tsumugi_mruby::{Kind, NativeCall, Result, Scope, Value};
use tsumugi_stores::Capabilities;

use super::arguments::{Options, integer, key, ttl, value};
use super::reads::keys;
use super::store::{KvStore, at_once, store};
use crate::answer::{Failure as _, attempt};
use crate::limits::KV_MULTI_MAX;
use crate::natives::arguments::wrong_type;
use crate::natives::definitions::Natives;

/// A method that writes: how it is called, with `__` where a method in Ruby that sorts its arguments calls it; what it asks for; what it
/// answers.
struct Verb(&'static str, ArgumentsToWrite, ResultToValue);

type ArgumentsToWrite = for<'c> fn(&'c Scope<'c>, &KvStore, &[Value<'c>]) -> Result<'c, Write>;
type ResultToValue = for<'c> fn(&'c Scope<'c>, WriteResult) -> Result<'c, Value<'c>>;

const VERBS: [Verb; 12] = [
    Verb("set", set, took_place),
    Verb("delete", remove, took_place),
    Verb("append", append, took_place),
    Verb("incr", increment, number),
    Verb("cas", exchange, took_place),
    Verb("__cas_multi", exchange_multi, took_place),
    Verb("rekey", rekey, took_place),
    Verb("touch", touch, took_place),
    Verb("push", push, push_key),
    Verb("clear", |_, _, _| Ok(Write::Clear), took_place),
    Verb("__set_multi", set_multi, how_many),
    Verb("delete_multi", delete_multi, how_many),
];

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    let scope = natives.scope();
    let memory = scope.constant("KV::Memory")?;
    for Verb(name, write, make) in VERBS {
        let native = format!("kv_{}", name.trim_start_matches('_'));
        natives.waiting(&native, move |_, scope, call| {
            let store = store(scope, call.argument(0))?;
            let given = call.arguments().get(1..).unwrap_or_default();
            let write = write(scope, store, given)?;
            let store = store.store.clone();
            Ok(attempt(async move { store.write(write).await }, make))
        })?;
        natives.in_place(memory, name, move |scope, call| {
            make(scope, write_at_once(scope, call, write)?)
        })?;
    }
    natives.in_place(memory, "[]=", |scope, call| {
        write_at_once(scope, call, set)?;
        Ok(call.argument(1))
    })
}

fn write_at_once<'c>(
    scope: &'c Scope<'c>,
    call: &NativeCall<'c>,
    write: ArgumentsToWrite,
) -> Result<'c, WriteResult> {
    let store = store(scope, call.this)?;
    let write = write(scope, store, call.arguments())?;
    at_once(scope, store.store.write(write))
}

fn at<'c>(given: &[Value<'c>], index: usize) -> Value<'c> {
    given.get(index).copied().unwrap_or_else(Value::nil)
}

fn mode(scope: &Scope<'_>, options: &Options<'_>) -> SetMode {
    match options.find(scope, "overwrite").is_none_or(Value::truthy) {
        true => SetMode::Overwrite,
        false => SetMode::IfAbsent,
    }
}

fn lifetime<'c>(
    scope: &'c Scope<'c>,
    store: &KvStore,
    options: &Options<'c>,
) -> Result<'c, Option<std::time::Duration>> {
    match options.find(scope, "ttl") {
        Some(value) => ttl(scope, value),
        None => Ok(store.ttl),
    }
}

fn set<'c>(scope: &'c Scope<'c>, store: &KvStore, given: &[Value<'c>]) -> Result<'c, Write> {
    let options = Options::after(2, scope, given, &["ttl", "overwrite"])?;
    Ok(Write::Set {
        key: key(scope, at(given, 0))?,
        value: value(scope, at(given, 1))?,
        mode: mode(scope, &options),
        ttl: lifetime(scope, store, &options)?,
    })
}

fn remove<'c>(scope: &'c Scope<'c>, _: &KvStore, given: &[Value<'c>]) -> Result<'c, Write> {
    let key = key(scope, at(given, 0))?;
    Ok(Write::Remove { key })
}

fn append<'c>(scope: &'c Scope<'c>, _: &KvStore, given: &[Value<'c>]) -> Result<'c, Write> {
    // What it adds to may live for ever or not: it takes no time to live, and says so.
    let options_at = match at(given, 2).kind() {
        Kind::Hash => 2,
        _ => 3,
    };
    Options::after(options_at, scope, given, &[])?;
    let delimiter = match at(given, 2) {
        missing if missing.is_nil() => Bytes::new(),
        delimiter => value(scope, delimiter)?,
    };
    Ok(Write::Append {
        key: key(scope, at(given, 0))?,
        value: value(scope, at(given, 1))?,
        delimiter,
    })
}

fn increment<'c>(scope: &'c Scope<'c>, _: &KvStore, given: &[Value<'c>]) -> Result<'c, Write> {
    let options_at = given
        .iter()
        .take(2)
        .position(|one| one.kind() == Kind::Hash);
    let options_at = options_at.unwrap_or(2);
    let options = Options::after(options_at, scope, given, &["initial"])?;
    let by = match options_at {
        2 => at(given, 1),
        _ => Value::nil(),
    };
    // The least number only reads, says the protocol; here it is a number as any other would be, and out of range.
    let by = integer(scope, by, "what is added", 1)?;
    if by == i64::MIN {
        return Err(scope.error("ArgumentError", "what is added is too small"));
    }
    let initial = options.find(scope, "initial");
    Ok(Write::Increment {
        key: key(scope, at(given, 0))?,
        by,
        initial: integer(scope, initial.unwrap_or_else(Value::nil), "initial:", 0)?,
    })
}

/// nil is a missing record, `:any` one with whatever value.
fn read_expected<'c>(scope: &'c Scope<'c>, given: Value<'c>) -> Result<'c, Expected> {
    if given.is_nil() {
        return Ok(Expected::Absent);
    }
    match given.as_symbol() {
        Some(symbol) if scope.symbol_name(symbol) == "any" => Ok(Expected::Any),
        _ if given.kind() == Kind::String => Ok(Expected::Value(value(scope, given)?)),
        _ => Err(wrong_type(
            scope,
            given,
            "what is expected",
            "a String, nil for none, or :any",
        )),
    }
}

/// nil removes, `:keep` leaves the record as it is.
fn read_desired<'c>(
    scope: &'c Scope<'c>,
    given: Value<'c>,
    ttl: Option<std::time::Duration>,
) -> Result<'c, Desired> {
    if given.is_nil() {
        return Ok(Desired::Remove);
    }
    match given.as_symbol() {
        Some(symbol) if scope.symbol_name(symbol) == "keep" => Ok(Desired::Keep),
        _ if given.kind() == Kind::String => Ok(Desired::Put(value(scope, given)?, ttl)),
        _ => Err(wrong_type(
            scope,
            given,
            "what is desired",
            "a String, nil to remove, or :keep",
        )),
    }
}

fn exchange<'c>(scope: &'c Scope<'c>, store: &KvStore, given: &[Value<'c>]) -> Result<'c, Write> {
    let options = Options::after(3, scope, given, &["ttl"])?;
    let ttl = lifetime(scope, store, &options)?;
    Ok(Write::CompareExchange {
        key: key(scope, at(given, 0))?,
        expected: read_expected(scope, at(given, 1))?,
        desired: read_desired(scope, at(given, 2), ttl)?,
    })
}

fn exchange_multi<'c>(
    scope: &'c Scope<'c>,
    store: &KvStore,
    given: &[Value<'c>],
) -> Result<'c, Write> {
    let options = Options::after(2, scope, given, &["ttl"])?;
    let ttl = lifetime(scope, store, &options)?;
    let before = records(scope, at(given, 0), "what is expected")?.into_iter();
    let after = records(scope, at(given, 1), "what is desired")?.into_iter();
    Ok(Write::CompareExchangeMulti {
        expected: before
            .map(|(name, value)| Ok((key(scope, name)?, read_expected(scope, value)?)))
            .collect::<Result<'c, Vec<_>>>()?,
        desired: after
            .map(|(name, value)| Ok((key(scope, name)?, read_desired(scope, value, ttl)?)))
            .collect::<Result<'c, Vec<_>>>()?,
    })
}

fn rekey<'c>(scope: &'c Scope<'c>, _: &KvStore, given: &[Value<'c>]) -> Result<'c, Write> {
    let options = Options::after(2, scope, given, &["overwrite", "copy"])?;
    Ok(Write::Rekey {
        old: key(scope, at(given, 0))?,
        new: key(scope, at(given, 1))?,
        mode: mode(scope, &options),
        source: match options.find(scope, "copy").is_some_and(Value::truthy) {
            true => RekeySource::Copy,
            false => RekeySource::Move,
        },
    })
}

fn touch<'c>(scope: &'c Scope<'c>, _: &KvStore, given: &[Value<'c>]) -> Result<'c, Write> {
    let options = Options::after(1, scope, given, &["ttl"])?;
    let Some(given_ttl) = options.find(scope, "ttl") else {
        let message = "touch takes ttl:, a number of seconds, or nil for ever";
        return Err(scope.error("ArgumentError", message));
    };
    Ok(Write::Touch {
        key: key(scope, at(given, 0))?,
        ttl: ttl(scope, given_ttl)?,
    })
}

/// A value, or the name of a queue and a value.
fn push<'c>(scope: &'c Scope<'c>, _: &KvStore, given: &[Value<'c>]) -> Result<'c, Write> {
    let is_named = given
        .get(1)
        .is_some_and(|second| second.kind() != Kind::Hash);
    Options::after(1 + usize::from(is_named), scope, given, &[])?;
    Ok(match is_named {
        true => Write::Push {
            queue: key(scope, at(given, 0))?,
            value: value(scope, at(given, 1))?,
        },
        false => Write::PushLast {
            value: value(scope, at(given, 0))?,
            at: None,
        },
    })
}

fn records<'c>(
    scope: &'c Scope<'c>,
    hash: Value<'c>,
    what: &str,
) -> Result<'c, Vec<(Value<'c>, Value<'c>)>> {
    if hash.kind() != Kind::Hash {
        return Err(wrong_type(scope, hash, what, "a Hash of keys and values"));
    }
    let count = scope.hash_len(hash);
    if count > KV_MULTI_MAX {
        let message = format!("{count} records at once; kv_multi_max is {KV_MULTI_MAX}");
        return Err(scope.error("KV::LimitExceeded", message));
    }
    let entries = scope.entries(hash)?;
    let length = |value: Value<'c>| scope.with_bytes(value, <[u8]>::len).unwrap_or_default();
    let lengths = entries
        .iter()
        .map(|(name, content)| length(*name) + length(*content));
    Capabilities::check_bytes(lengths.sum()).map_err(|error| error.raise(scope))?;
    Ok(entries)
}

fn set_multi<'c>(scope: &'c Scope<'c>, store: &KvStore, given: &[Value<'c>]) -> Result<'c, Write> {
    let options = Options::after(1, scope, given, &["ttl", "overwrite"])?;
    let (mode, ttl) = (mode(scope, &options), lifetime(scope, store, &options)?);
    let records = records(scope, at(given, 0), "what is set")?;
    let sets = records.into_iter().map(|(name, content)| {
        Ok(Write::Set {
            key: key(scope, name)?,
            value: value(scope, content)?,
            mode,
            ttl,
        })
    });
    Ok(Write::Batch(sets.collect::<Result<'c, Vec<_>>>()?))
}

fn delete_multi<'c>(scope: &'c Scope<'c>, _: &KvStore, given: &[Value<'c>]) -> Result<'c, Write> {
    let keys = keys(scope, given)?.into_iter();
    Ok(Write::Batch(
        keys.map(|key| Write::Remove { key }).collect(),
    ))
}

fn took_place<'c>(_: &'c Scope<'c>, written: WriteResult) -> Result<'c, Value<'c>> {
    Ok(Value::boolean(matches!(
        written,
        WriteResult::Done | WriteResult::Exchanged { .. }
    )))
}

fn number<'c>(scope: &'c Scope<'c>, written: WriteResult) -> Result<'c, Value<'c>> {
    match written {
        WriteResult::Number(number) => Ok(scope.integer(number)),
        _ => Ok(Value::nil()),
    }
}

fn push_key<'c>(scope: &'c Scope<'c>, written: WriteResult) -> Result<'c, Value<'c>> {
    match written {
        WriteResult::Pushed { key } => scope.string(&key),
        _ => Ok(Value::nil()),
    }
}

/// How many of several took place. The first that failed is raised once all were tried.
fn how_many<'c>(scope: &'c Scope<'c>, written: WriteResult) -> Result<'c, Value<'c>> {
    let WriteResult::Each(each) = written else {
        return Ok(scope.integer(0));
    };
    let mut count = 0;
    for written in each {
        match written {
            Ok(WriteResult::Done) => count += 1,
            Ok(_) => {}
            Err(error) => return Err(error.raise(scope)),
        }
    }
    Ok(scope.integer(count))
}
