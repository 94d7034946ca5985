//! Values of Ruby as values of a statement. What each database makes of them is the driver's.
//! Rule: a value is bound as what it is, or refused with what would work; never by guessing.

use tsumugi_db::BindRoom;
use tsumugi_mruby::{Kind, Result, Scope, Value};
use tsumugi_sql::Value as Bind;

use crate::answer::Failure as _;
use crate::limits::{BIND_DEPTH_MAX, COPIED_UNCHECKED_BYTES_MAX};

/// One value of a statement whose values have this room; a number that is bound as text is a Decimal.
pub(crate) fn bind<'c>(
    scope: &'c Scope<'c>,
    value: Value<'c>,
    json_depth_max: usize,
    room: &mut BindRoom,
) -> Result<'c, Bind> {
    at(scope, value, json_depth_max, 0, room)
}

/// All values of one statement.
pub(crate) fn binds<'c>(
    scope: &'c Scope<'c>,
    values: impl Iterator<Item = Value<'c>>,
    json_depth_max: usize,
    mut room: BindRoom,
) -> Result<'c, Vec<Bind>> {
    values
        .map(|value| bind(scope, value, json_depth_max, &mut room))
        .collect()
}

/// A text or blob of Ruby, copied if there is room for it.
fn copied<'c>(
    scope: &'c Scope<'c>,
    value: Value<'c>,
    room: &mut BindRoom,
) -> Result<'c, Option<Vec<u8>>> {
    let Some(length) = scope.with_bytes(value, <[u8]>::len) else {
        return Ok(None);
    };
    room.take(length).map_err(|error| error.raise(scope))?;
    if length > COPIED_UNCHECKED_BYTES_MAX {
        scope.check_interrupt()?;
    }
    Ok(scope.bytes(value))
}

fn at<'c>(
    scope: &'c Scope<'c>,
    value: Value<'c>,
    json_depth_max: usize,
    depth: usize,
    room: &mut BindRoom,
) -> Result<'c, Bind> {
    Ok(match value.kind() {
        Kind::Nil => Bind::Null,
        Kind::True => Bind::Boolean(true),
        Kind::False => Bind::Boolean(false),
        Kind::Integer => Bind::Integer(value.as_integer().unwrap_or_default()),
        Kind::BigInteger => Bind::Decimal(scope.text_by(value, "to_s")?),
        Kind::Float => Bind::Real(value.as_float().unwrap_or_default()),
        Kind::Symbol => Bind::Text(scope.text(value).unwrap_or_default()),
        Kind::String => {
            let bytes = copied(scope, value, room)?.unwrap_or_default();
            match String::from_utf8(bytes) {
                Ok(text) => Bind::Text(text),
                Err(bytes) => Bind::Blob(bytes.into_bytes()),
            }
        }
        Kind::Array if depth < BIND_DEPTH_MAX => {
            let elements = scope.elements(value);
            let elements =
                elements.map(|element| at(scope, element, json_depth_max, depth + 1, room));
            Bind::List(elements.collect::<Result<'c, Vec<Bind>>>()?)
        }
        Kind::Array => {
            let message = format!("arrays are bound up to {BIND_DEPTH_MAX} levels deep");
            return Err(scope.error("ArgumentError", message));
        }
        Kind::Hash => {
            let mut json = Vec::new();
            crate::json::write(scope, value, json_depth_max, &mut json)?;
            room.take(json.len()).map_err(|error| error.raise(scope))?;
            Bind::Json(String::from_utf8(json).unwrap_or_default())
        }
        _ => {
            let blob = scope.ivar(value, scope.intern("@tsumugi_blob"));
            if let Some(blob) = copied(scope, blob, room)? {
                return Ok(Bind::Blob(blob));
            }
            if scope.responds_to(value, "__bind") {
                let text = scope.text_by(value, "__bind")?;
                let is_exact = scope.is_a(value, scope.constant("DB::Decimal")?);
                return Ok(match is_exact {
                    true => Bind::Decimal(text),
                    false => Bind::Text(text),
                });
            }
            let class = scope.class_name(value);
            let message = format!(
                "a value of class {class} cannot be bound: convert it to a String or a number"
            );
            return Err(scope.error("TypeError", message));
        }
    })
}
