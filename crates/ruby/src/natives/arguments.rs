//! What natives read of any argument: texts, the data that it carries, and the error for one of a wrong class. Knows no subject.
//! Rule: an error names the argument, the class that is wanted and the class that was given.

use tsumugi_mruby::{Kind, Raise, Result, Scope, Value};

use crate::limits::STRING_BYTES_MAX;

/// A String or Symbol argument as text.
pub(crate) fn text<'c>(scope: &'c Scope<'c>, value: Value<'c>, what: &str) -> Result<'c, String> {
    scope
        .text(value)
        .ok_or_else(|| wrong_type(scope, value, what, "a String"))
}

/// The same where another text must not stand for it: one that is no UTF-8 is refused.
pub(crate) fn exact_text<'c>(
    scope: &'c Scope<'c>,
    value: Value<'c>,
    what: &str,
) -> Result<'c, String> {
    match scope.bytes(value) {
        None => text(scope, value, what),
        Some(bytes) => String::from_utf8(bytes)
            .map_err(|_| scope.error("ArgumentError", format!("{what} must be UTF-8"))),
    }
}

/// A copy of the bytes of a String argument.
pub(crate) fn bytes<'c>(scope: &'c Scope<'c>, value: Value<'c>, what: &str) -> Result<'c, Vec<u8>> {
    scope
        .bytes(value)
        .ok_or_else(|| wrong_type(scope, value, what, "a String"))
}

/// The Rust data that an argument carries.
pub(crate) fn data<'c, T: 'static>(
    scope: &'c Scope<'c>,
    value: Value<'c>,
    what: &str,
    wanted: &str,
) -> Result<'c, &'c T> {
    scope
        .data(value)
        .ok_or_else(|| wrong_type(scope, value, what, wanted))
}

/// An argument that is a number, as a Float.
pub(crate) fn float(value: Value<'_>) -> Option<f64> {
    let float = value.as_float();
    float.or_else(|| value.as_integer().map(|integer| integer as f64))
}

/// An argument that is an Integer from 0.
pub(crate) fn whole<N: TryFrom<i64>>(value: Value<'_>) -> Option<N> {
    let integer = value.as_integer().filter(|integer| *integer >= 0);
    integer.and_then(|integer| integer.try_into().ok())
}

/// The error for a text that is too long for a String.
pub(crate) fn too_long<'c>(scope: &'c Scope<'_>) -> Raise<'c> {
    let message = format!("the text is longer than string_bytes_max ({STRING_BYTES_MAX})");
    scope.error("ArgumentError", message)
}

/// Lends the name that a Symbol, a String or the text of anything else is. `f` must not enter the VM.
pub(crate) fn with_name<'c, R>(
    scope: &'c Scope<'c>,
    value: Value<'c>,
    f: impl FnOnce(&[u8]) -> R,
) -> Result<'c, R> {
    if let Some(symbol) = value.as_symbol() {
        return Ok(scope.with_symbol_name(symbol, f));
    }
    let text = match value.kind() {
        Kind::String => value,
        _ => scope.call(value, "to_s", &[])?,
    };
    scope
        .with_bytes(text, f)
        .ok_or_else(|| wrong_type(scope, value, "a name", "a String or Symbol"))
}

/// The TypeError for an argument.
pub(crate) fn wrong_type<'c>(
    scope: &'c Scope<'c>,
    value: Value<'c>,
    what: &str,
    wanted: &str,
) -> Raise<'c> {
    scope.error(
        "TypeError",
        format!("{what} must be {wanted}, not {}", scope.class_name(value)),
    )
}

/// Whether this is what `json`, `text` and `redirect` return: the response is in the draft already.
pub(crate) fn is_responded(scope: &Scope<'_>, value: Value<'_>) -> bool {
    value.as_symbol() == Some(scope.intern("tsumugi.responded"))
}
