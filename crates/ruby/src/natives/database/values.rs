//! Values of a result as Ruby's: numbers, strings and booleans directly; exact numbers, dates and structures as their classes.
//! Rule: nothing is rounded; what Ruby has no class for is the String that the database prints.

use tsumugi_db::{TypedValueRef, ValueKind, ValueRef};
use tsumugi_mruby::{RecordField, Result, Scope, Value};

use crate::answer::Failure as _;
use crate::natives::standard;

/// One value.
pub(crate) fn value<'c>(
    scope: &'c Scope<'c>,
    value: ValueRef<'_>,
    json_depth_max: usize,
) -> Result<'c, Value<'c>> {
    match value {
        ValueRef::Integer(integer) => Ok(scope.integer(integer)),
        ValueRef::Real(real) => Ok(scope.float(real)),
        ValueRef::Text(text) => scope.string(text),
        ValueRef::Blob(blob) => scope.string(blob),
        ValueRef::Boolean(truth) => Ok(Value::boolean(truth)),
        ValueRef::Typed(typed) => self::typed(scope, typed, json_depth_max),
        _ => Ok(Value::nil()),
    }
}

/// One value, as a field of its row.
pub(crate) fn field<'c, 'v>(
    scope: &'c Scope<'c>,
    value: ValueRef<'v>,
    json_depth_max: usize,
) -> Result<'c, RecordField<'v>>
where
    'c: 'v,
{
    Ok(match value {
        ValueRef::Text(text) => RecordField::string(text.as_bytes()),
        ValueRef::Blob(blob) => RecordField::string(blob),
        other => self::value(scope, other, json_depth_max)?.into(),
    })
}

fn typed<'c>(
    scope: &'c Scope<'c>,
    typed: TypedValueRef<'_>,
    json_depth_max: usize,
) -> Result<'c, Value<'c>> {
    let mut text = Vec::new();
    match typed.kind() {
        ValueKind::Structure => {
            typed
                .write_json(&mut text)
                .map_err(|error| error.raise(scope))?;
            return standard::read_json(scope, &text, json_depth_max);
        }
        ValueKind::Timestamp | ValueKind::TimestampTz => {
            if let Some(micros) = typed.unix_micros() {
                let seconds = scope.integer(micros.div_euclid(1_000_000));
                let rest = scope.integer(micros.rem_euclid(1_000_000));
                let time = scope.call(scope.constant("Time")?, "at", &[seconds, rest])?;
                return scope.call(time, "utc", &[]);
            }
        }
        _ => {}
    }
    typed
        .write_text(&mut text)
        .map_err(|error| error.raise(scope))?;
    match typed.kind() {
        ValueKind::Timestamp | ValueKind::TimestampTz => {
            Ok(scope.float(if text.first() == Some(&b'-') {
                f64::NEG_INFINITY
            } else {
                f64::INFINITY
            }))
        }
        ValueKind::Decimal => new_object(scope, "DB::Decimal", "parse", &text),
        ValueKind::Date => new_object(scope, "DB::Date", "__read", &text),
        _ => scope.string(&text),
    }
}

fn new_object<'c>(
    scope: &'c Scope<'c>,
    class: &str,
    constructor: &str,
    text: &[u8],
) -> Result<'c, Value<'c>> {
    let text = scope.string(text)?;
    scope.call(scope.constant(class)?, constructor, &[text])
}
