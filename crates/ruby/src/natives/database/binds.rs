//! Values of Ruby as values of a statement. What each database makes of them is the driver's.
//! Rule: a value is bound as what it is, or refused with what would work; never by guessing.

use tsumugi_db::Value as Bind;
use tsumugi_mruby::{Kind, Result, Scope, Value};

use crate::limits::{BIND_DEPTH_MAX, COPIED_UNCHECKED_BYTES_MAX};

/// One value.
pub(crate) fn bind<'c>(
    scope: &'c Scope<'c>,
    value: Value<'c>,
    json_depth_max: usize,
) -> Result<'c, Bind> {
    at(scope, value, json_depth_max, 0)
}

fn at<'c>(
    scope: &'c Scope<'c>,
    value: Value<'c>,
    json_depth_max: usize,
    depth: usize,
) -> Result<'c, Bind> {
    Ok(match value.kind() {
        Kind::Nil => Bind::Null,
        Kind::True => Bind::Boolean(true),
        Kind::False => Bind::Boolean(false),
        Kind::Integer => Bind::Integer(value.as_integer().unwrap_or_default()),
        Kind::BigInteger => {
            let text = scope.call(value, "to_s", &[])?;
            Bind::Text(scope.text(text).unwrap_or_default())
        }
        Kind::Float => Bind::Real(value.as_float().unwrap_or_default()),
        Kind::Symbol => Bind::Text(scope.text(value).unwrap_or_default()),
        Kind::String => {
            let bytes = scope.bytes(value).unwrap_or_default();
            if bytes.len() > COPIED_UNCHECKED_BYTES_MAX {
                scope.check_interrupt()?;
            }
            match String::from_utf8(bytes) {
                Ok(text) => Bind::Text(text),
                Err(bytes) => Bind::Blob(bytes.into_bytes()),
            }
        }
        Kind::Array if depth < BIND_DEPTH_MAX => {
            let elements = (0..scope.array_len(value)).map(|i| scope.array_at(value, i));
            let elements = elements.map(|element| at(scope, element, json_depth_max, depth + 1));
            Bind::List(elements.collect::<Result<'c, Vec<Bind>>>()?)
        }
        Kind::Array => {
            let message = format!("arrays are bound up to {BIND_DEPTH_MAX} levels deep");
            return Err(scope.error("ArgumentError", message));
        }
        Kind::Hash => {
            let mut json = Vec::new();
            crate::json::write(scope, value, json_depth_max, &mut json)?;
            Bind::Json(String::from_utf8(json).unwrap_or_default())
        }
        _ => {
            if let Some(blob) = scope.bytes(scope.ivar(value, scope.intern("@tsumugi_blob"))) {
                return Ok(Bind::Blob(blob));
            }
            if scope.responds_to(value, "__bind") {
                let text = scope.call(value, "__bind", &[])?;
                return Ok(Bind::Text(scope.text(text).unwrap_or_default()));
            }
            let class = scope.class_name(value);
            let message = format!(
                "a value of class {class} cannot be bound: convert it to a String or a number"
            );
            return Err(scope.error("TypeError", message));
        }
    })
}
