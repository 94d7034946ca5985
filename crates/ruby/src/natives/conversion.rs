//! Text from clients to values, and the fields of a body by their types. Reads no request.
//! Rule: what is none of the type is no value; text (of a form) is converted, and what JSON already typed must be of the type.

use tsumugi_mruby::{Kind, Raise, Result, Scope, Value};
use tsumugi_shapes::scalar::is_plain_decimal;

pub(super) use tsumugi_shapes::scalar::{boolean, integer};

use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    // The values of the fields `{name: type}` in a Hash, as a Hash with Symbol keys; Invalid with all that are wrong.
    natives.plain("body_fields", |_, scope, call| {
        let (given, fields) = (call.argument(0), call.argument(1));
        let required = call.argument(2).truthy();
        let entries = scope.entries(fields)?;
        let values = scope.hash(entries.len())?;
        let mut errors = Vec::new();
        for (name, kind) in entries {
            let key = match name.as_symbol() {
                Some(symbol) => scope.string(scope.symbol_name(symbol))?,
                None => scope.call(name, "to_s", &[])?,
            };
            let value = scope.hash_fetch(given, key)?;
            if is_missing(scope, value, kind) {
                if required {
                    errors.push((name, absence(scope, value, kind)?.to_owned()));
                }
                continue;
            }
            match field(scope, value, kind)? {
                Some(value) => scope.hash_set(values, name, value)?,
                None => errors.push((name, format!("must be {}", name_of(scope, kind)?))),
            }
        }
        match errors.is_empty() {
            true => Ok(values),
            false => Err(invalid(scope, &errors)?),
        }
    })
}

/// What `Float(text)` takes.
pub(super) fn float<'c>(scope: &'c Scope<'c>, text: &str) -> Result<'c, Option<f64>> {
    if is_plain_decimal(text) {
        return Ok(text.parse().ok());
    }
    match scope.call(scope.main(), "Float", &[scope.string(text)?]) {
        Ok(value) => Ok(value.as_float()),
        Err(Raise(raised)) if scope.is_a(raised, scope.constant("ArgumentError")?) => Ok(None),
        Err(raised) => Err(raised),
    }
}

/// nil, and an empty text unless it stands for a truth.
fn is_missing(scope: &Scope<'_>, value: Value<'_>, kind: Value<'_>) -> bool {
    let is_empty = || scope.with_bytes(value, <[u8]>::is_empty) == Some(true);
    value.is_nil() || (is_empty() && !is_bool(scope, kind))
}

/// What is wrong with what is missing: a form sends an empty text for what was not filled in, and for a file that was not chosen.
fn absence<'c>(
    scope: &'c Scope<'c>,
    value: Value<'c>,
    kind: Value<'c>,
) -> Result<'c, &'static str> {
    let is_field = !value.is_nil() && name_of(scope, kind)? != FILE;
    Ok(if is_field { "is empty" } else { "is missing" })
}

fn is_bool(scope: &Scope<'_>, kind: Value<'_>) -> bool {
    kind.as_symbol() == Some(scope.intern("bool"))
}

/// `value` as this type, a class or `:bool`.
fn field<'c>(
    scope: &'c Scope<'c>,
    value: Value<'c>,
    kind: Value<'c>,
) -> Result<'c, Option<Value<'c>>> {
    let text = || match value.kind() {
        Kind::String => scope.text(value),
        _ => None,
    };
    if is_bool(scope, kind) {
        return Ok(match value.kind() {
            Kind::True | Kind::False => Some(value),
            _ => text().and_then(|text| boolean(&text)).map(Value::boolean),
        });
    }
    let is_of_kind = match kind.kind() {
        Kind::Class => scope.is_a(value, kind),
        _ => scope.call(value, "is_a?", &[kind])?.truthy(),
    };
    if is_of_kind {
        return Ok(Some(value));
    }
    let is_float = kind.is_same(scope.class_of(scope.float(0.0)));
    if let (true, Some(integer)) = (is_float, value.as_integer()) {
        return Ok(Some(scope.float(integer as f64)));
    }
    let Some(text) = text() else {
        return Ok(None);
    };
    if is_float {
        return Ok(float(scope, &text)?.map(|float| scope.float(float)));
    }
    let is_integer = kind.is_same(scope.class_of(scope.integer(0)));
    Ok(is_integer
        .then(|| integer(&text).map(|integer| scope.integer(integer)))
        .flatten())
}

/// What a message calls an upload.
const FILE: &str = "a file";

/// A type in the words of a message.
fn name_of<'c>(scope: &'c Scope<'c>, kind: Value<'c>) -> Result<'c, String> {
    let shown = scope.text_by(kind, "to_s")?;
    Ok(match shown.as_str() {
        "bool" => "true or false".to_owned(),
        "String" => "a string".to_owned(),
        "Integer" => "an integer".to_owned(),
        "Float" => "a number".to_owned(),
        "Array" => "a list".to_owned(),
        "Hash" => "an object".to_owned(),
        "Upload" => FILE.to_owned(),
        other => format!("of type {other}"),
    })
}

fn invalid<'c>(scope: &'c Scope<'c>, errors: &[(Value<'c>, String)]) -> Result<'c, Raise<'c>> {
    let hash = scope.hash(errors.len())?;
    for (name, error) in errors {
        scope.hash_set(hash, *name, scope.string(error)?)?;
    }
    let class = scope.constant("Tsumugi::Invalid")?;
    scope.call(class, "new", &[hash]).map(Raise)
}
