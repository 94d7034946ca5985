//! Arguments of a store's methods: keys, values, times, options. Knows no store.
//! Rule: a value that is no String is refused, never converted by guessing; what a key lends is read in place.

use std::time::Duration;

use bytes::Bytes;
use tsumugi_mruby::{Kind, Result, Scope, Value};

use crate::limits::{COPIED_UNCHECKED_BYTES_MAX, SLEEP_SECONDS_MAX};
use crate::natives::arguments::{float, wrong_type};

const KEY: &str = "a String (or a Symbol, which stands for its name)";

/// Lends a key's bytes to `f`, which must not enter the VM.
pub(super) fn with_key<'c, R>(
    scope: &'c Scope<'c>,
    key: Value<'c>,
    f: impl FnOnce(&[u8]) -> R,
) -> Result<'c, R> {
    match key.as_symbol() {
        Some(symbol) => Ok(scope.with_symbol_name(symbol, f)),
        None => scope
            .with_bytes(key, f)
            .ok_or_else(|| wrong_type(scope, key, "a key", KEY)),
    }
}

/// A copy of a key.
pub(super) fn key<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, Bytes> {
    copy(scope, with_key(scope, value, Bytes::copy_from_slice)?)
}

/// A copy of a value.
pub(super) fn value<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, Bytes> {
    let bytes = scope.with_bytes(value, Bytes::copy_from_slice);
    let bytes = bytes.ok_or_else(|| {
        let wanted = "a String: JSON.generate makes one of anything, and fetch does it by itself";
        wrong_type(scope, value, "a value", wanted)
    })?;
    copy(scope, bytes)
}

fn copy<'c>(scope: &'c Scope<'c>, bytes: Bytes) -> Result<'c, Bytes> {
    if bytes.len() > COPIED_UNCHECKED_BYTES_MAX {
        scope.check_interrupt()?;
    }
    Ok(bytes)
}

/// A time to live in seconds; nil is for ever.
pub(super) fn ttl<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, Option<Duration>> {
    if value.is_nil() {
        return Ok(None);
    }
    let seconds = float(value).filter(|seconds| *seconds > 0.0);
    match seconds.map(|seconds| Duration::from_secs_f64(seconds.min(SLEEP_SECONDS_MAX))) {
        Some(ttl) => Ok(Some(ttl.max(Duration::from_millis(1)))),
        None => Err(scope.error(
            "ArgumentError",
            "ttl: is a positive number of seconds, or nil",
        )),
    }
}

/// How long to wait, in seconds; nil is not at all.
pub(super) fn wait<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, Option<Duration>> {
    if value.is_nil() {
        return Ok(None);
    }
    match float(value).filter(|seconds| (0.0..=SLEEP_SECONDS_MAX).contains(seconds)) {
        Some(seconds) => Ok(Some(Duration::from_secs_f64(seconds))),
        None => Err(scope.error("ArgumentError", "wait: is a number of seconds, or nil")),
    }
}

/// A whole number, or what stands for a missing one.
pub(super) fn integer<'c>(
    scope: &'c Scope<'c>,
    value: Value<'c>,
    what: &str,
    missing: i64,
) -> Result<'c, i64> {
    if value.is_nil() {
        return Ok(missing);
    }
    value
        .as_integer()
        .ok_or_else(|| wrong_type(scope, value, what, "an Integer of 64 bits"))
}

/// Keywords that came as a Hash behind the other arguments.
pub(super) struct Options<'c> {
    entries: Vec<(Value<'c>, Value<'c>)>,
}

impl<'c> Options<'c> {
    /// Those after the first `before` arguments; only `known` ones.
    pub(super) fn after(
        before: usize,
        scope: &'c Scope<'c>,
        arguments: &[Value<'c>],
        known: &[&str],
    ) -> Result<'c, Options<'c>> {
        let Some(given) = arguments.get(before) else {
            let entries = Vec::new();
            return Ok(Options { entries });
        };
        if given.kind() != Kind::Hash {
            let message = format!(
                "it takes {before} arguments and keywords, not {}",
                arguments.len()
            );
            return Err(scope.error("ArgumentError", message));
        }
        let entries = scope.entries(*given)?;
        for (name, _) in &entries {
            // `"ttl" => 5` is no keyword.
            let symbol = name.as_symbol().map(|symbol| scope.symbol_name(symbol));
            let is_known = |symbol: &String| known.contains(&symbol.as_str());
            if !symbol.as_ref().is_some_and(is_known) {
                let name = match symbol {
                    Some(symbol) => symbol,
                    None => format!("{:?}", scope.text(*name).unwrap_or_default()),
                };
                let known = match known {
                    [] => "there are none".to_owned(),
                    known => format!("known are {}:", known.join(":, ")),
                };
                let message = format!("unknown keyword: {name}; {known}");
                return Err(scope.error("ArgumentError", message));
            }
        }
        Ok(Options { entries })
    }

    /// The value of a keyword that was given.
    pub(super) fn find(&self, scope: &Scope<'_>, name: &str) -> Option<Value<'c>> {
        let is_it = |key: Value<'_>| {
            key.as_symbol().is_some_and(|symbol| {
                scope.with_symbol_name(symbol, |bytes| bytes == name.as_bytes())
            })
        };
        let found = self.entries.iter().find(|(key, _)| is_it(*key));
        found.map(|(_, value)| *value)
    }
}
