//! What clients send as names and values: the parameters of a query string with their conversions, and the fields of forms.
//! The parameters of a query stay in Rust: a handler reads some of them, each by one call.

use std::ops::RangeInclusive;

use tsumugi_http::{Error, query};
use tsumugi_mruby::{Kind, NativeCall, Raise, Result, Scope, Value};

use crate::natives::arguments::with_name;
use crate::natives::conversion;
use crate::natives::definitions::{Natives, exchange, wrong_count};

/// The parameters of a query string, decoded, in the order they were sent. Carried by `Tsumugi::Parameters`.
struct QueryParameters(Vec<(String, String)>);

impl QueryParameters {
    /// The values of this name.
    fn values(&self, name: &[u8]) -> impl Iterator<Item = &str> {
        let same = move |(key, _): &&(String, String)| key.as_bytes() == name;
        self.0.iter().filter(same).map(|(_, value)| value.as_str())
    }
}

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    let scope = natives.scope();
    let tsumugi = scope.constant("Tsumugi")?;
    let class = scope.define_class(tsumugi, "Parameters", scope.object_class())?;
    scope.carries_data(class);
    install_query(natives)?;
    install_values(natives, class)?;
    install_conversions(natives, class)?;
    natives.plain("form", |host, scope, call| {
        let bytes = scope.bytes(call.argument(0)).unwrap_or_default();
        let found = query::form(&bytes, host.settings.http.parameters_max);
        let found = found.map_err(|error| refusal(scope, &error))?;
        pairs(
            scope,
            found
                .iter()
                .map(|(name, value)| (name.as_ref(), value.as_ref())),
        )
    })
}

/// `query` of a context, read once.
fn install_query<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    let scope = natives.scope();
    let context = scope.constant("Tsumugi::Context")?;
    let read = scope.intern("@query");
    let context_of = scope.intern("@context");
    natives.method(context, "query", 0..=0, move |host, scope, call| {
        let known = scope.ivar(call.this, read);
        if !known.is_nil() {
            return Ok(known);
        }
        let exchange = exchange(scope, call.this)?;
        let text = exchange.request.uri.query().unwrap_or_default();
        let found = query::pairs(text, host.settings.http.parameters_max);
        let found = found.map_err(|error| refusal(scope, &error))?;
        let owned = found
            .into_iter()
            .map(|(name, value)| (name.into_owned(), value.into_owned()));
        let owned: Vec<(String, String)> = owned.collect();
        let bytes = text.len() + size_of_val(owned.as_slice());
        let class = scope.constant("Tsumugi::Parameters")?;
        let parameters = scope.wrap_sized(class, QueryParameters(owned), bytes)?;
        scope.set_ivar(call.this, read, parameters)?;
        scope.set_ivar(parameters, context_of, call.this)?;
        Ok(parameters)
    })
}

fn install_values<'s>(natives: &Natives<'s>, class: Value<'s>) -> Result<'s, ()> {
    natives.method(class, "[]", 1..=1, |_, scope, call| {
        scope.string_or_nil(first(scope, call)?)
    })?;
    natives.method(class, "key?", 1..=1, |_, scope, call| {
        Ok(Value::boolean(first(scope, call)?.is_some()))
    })?;
    natives.method(class, "list", 1..=1, |_, scope, call| {
        let parameters = parameters(scope, call.this)?;
        let values: Vec<&str> = with_name(scope, call.argument(0), |name| {
            parameters.values(name).collect()
        })?;
        scope.strings(values)
    })?;
    natives.method(class, "empty?", 0..=0, |_, scope, call| {
        Ok(Value::boolean(parameters(scope, call.this)?.0.is_empty()))
    })?;
    natives.method(class, "to_a", 0..=0, |_, scope, call| {
        let parameters = parameters(scope, call.this)?;
        pairs(
            scope,
            parameters
                .0
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str())),
        )
    })?;
    // Of several values of a name, the first. Names stay Strings: what a client sends never becomes a Symbol.
    natives.method(class, "to_h", 0..=0, |_, scope, call| {
        let parameters = parameters(scope, call.this)?;
        let hash = scope.hash(parameters.0.len())?;
        for (name, value) in &parameters.0 {
            let name = scope.string(name)?;
            if scope.hash_fetch(hash, name)?.is_nil() {
                scope.hash_set(hash, name, scope.string(value)?)?;
            }
        }
        Ok(hash)
    })
}

fn install_conversions<'s>(natives: &Natives<'s>, class: Value<'s>) -> Result<'s, ()> {
    natives.uncounted_method(class, "int", |_, scope, call| {
        let (default, options) = optional(scope, call)?;
        let Some(text) = first(scope, call)?.filter(|text| !text.is_empty()) else {
            return Ok(default);
        };
        match conversion::integer(text) {
            Some(integer) => within(scope, call, scope.integer(integer), options),
            None => Err(wrong(scope, call, "must be an integer")?),
        }
    })?;
    natives.uncounted_method(class, "float", |_, scope, call| {
        let (default, options) = optional(scope, call)?;
        let Some(text) = first(scope, call)?.filter(|text| !text.is_empty()) else {
            return Ok(default);
        };
        match conversion::float(scope, text)? {
            Some(float) => within(scope, call, scope.float(float), options),
            None => Err(wrong(scope, call, "must be a number")?),
        }
    })?;
    natives.method(class, "bool", 1..=2, |_, scope, call| {
        let Some(text) = first(scope, call)?.filter(|text| !text.is_empty()) else {
            return Ok(call.argument(1));
        };
        match conversion::boolean(text) {
            Some(boolean) => Ok(Value::boolean(boolean)),
            None => Err(wrong(scope, call, "must be true or false")?),
        }
    })
}

fn parameters<'c>(scope: &'c Scope<'c>, this: Value<'c>) -> Result<'c, &'c QueryParameters> {
    let message = "these parameters are of no request";
    scope
        .data(this)
        .ok_or_else(|| scope.error("TypeError", message))
}

/// The first value of the name that is the first argument.
fn first<'c>(scope: &'c Scope<'c>, call: &NativeCall<'c>) -> Result<'c, Option<&'c str>> {
    let parameters = parameters(scope, call.this)?;
    with_name(scope, call.argument(0), |name| {
        parameters.values(name).next()
    })
}

/// A name, a value for want of one, and keywords: the value and the keywords.
fn optional<'c>(scope: &'c Scope<'c>, call: &NativeCall<'c>) -> Result<'c, (Value<'c>, Value<'c>)> {
    const POSITIONAL: RangeInclusive<usize> = 1..=2;
    let (positional, options) = match call.arguments().split_last() {
        Some((last, others)) if last.kind() == Kind::Hash && !others.is_empty() => (others, *last),
        _ => (call.arguments(), Value::nil()),
    };
    if !POSITIONAL.contains(&positional.len()) {
        return Err(wrong_count(scope, positional.len(), &POSITIONAL));
    }
    Ok((
        positional.get(1).copied().unwrap_or_else(Value::nil),
        options,
    ))
}

/// The value, if it is in the range that `in:` says.
fn within<'c>(
    scope: &'c Scope<'c>,
    call: &NativeCall<'c>,
    value: Value<'c>,
    options: Value<'c>,
) -> Result<'c, Value<'c>> {
    if options.is_nil() {
        return Ok(value);
    }
    let range = scope.keyword(options, "in")?;
    if !range.truthy() || scope.call(range, "include?", &[value])?.truthy() {
        return Ok(value);
    }
    let shown = scope.text_by(range, "to_s")?;
    Err(wrong(scope, call, &format!("must be in {shown}"))?)
}

/// The answer to a parameter that is not as it must be.
fn wrong<'c>(scope: &'c Scope<'c>, call: &NativeCall<'c>, how: &str) -> Result<'c, Raise<'c>> {
    let name = with_name(scope, call.argument(0), |name| {
        String::from_utf8_lossy(name).into_owned()
    })?;
    Ok(halt(scope, 400, &format!("parameter {name} {how}")))
}

fn refusal<'c>(scope: &'c Scope<'c>, error: &Error) -> Raise<'c> {
    halt(scope, error.status().as_u16(), &error.to_string())
}

pub(super) fn halt<'c>(scope: &'c Scope<'_>, status: u16, message: &str) -> Raise<'c> {
    let make = || {
        let arguments = [scope.integer(status.into()), scope.string(message)?];
        scope.call(scope.constant("Tsumugi::Refused")?, "new", &arguments)
    };
    make().map_or_else(|raised| raised, Raise)
}

/// `[[name, value], …]` in the order they were sent.
fn pairs<'c, 'a>(
    scope: &'c Scope<'c>,
    found: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<'c, Value<'c>> {
    scope.list(found.map(|(name, value)| scope.strings([name, value])))
}
