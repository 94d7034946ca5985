//! Floats exactly: mruby prints 15 digits and loses bits of floats beyond 64 bit integers.

use std::fmt::Write as _;

use tsumugi_mruby::{Result, Scope, Value};

use crate::natives::definitions::Natives;

/// Beyond it a Float is no 64 bit Integer.
const INTEGER_LIMIT: f64 = 9_223_372_036_854_775_808.0;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    let float = natives.scope().constant("Float")?;
    let scope = natives.scope();
    for name in ["to_i", "to_int", "truncate"] {
        let alias =
            [format!("__{name}"), name.to_owned()].map(|name| Value::symbol(scope.intern(&name)));
        if scope.call(float, "method_defined?", &alias[1..])?.truthy() {
            scope.call(float, "alias_method", &alias)?;
        }
    }
    for name in ["to_s", "inspect"] {
        natives.uncounted_method(float, name, |_, scope, call| {
            scope.string(float_text(call.this.as_float().unwrap_or_default()))
        })?;
    }
    for name in ["to_i", "to_int", "truncate"] {
        let own = natives.scope().intern(&format!("__{name}"));
        natives.uncounted_method(float, name, move |_, scope, call| {
            let float = call.this.as_float().unwrap_or_default();
            if !call.arguments().is_empty() || !float.is_finite() {
                return scope.call_symbol(call.this, own, call.arguments());
            }
            integer(scope, float)
        })?;
    }
    Ok(())
}

fn integer<'s>(scope: &'s Scope<'s>, float: f64) -> Result<'s, Value<'s>> {
    if float.abs() < INTEGER_LIMIT {
        return Ok(scope.integer(float as i64));
    }
    scope.call(scope.string(format!("{float:.0}"))?, "to_i", &[])
}

/// The shortest digits that read back as the same number, as CRuby writes them.
fn float_text(float: f64) -> String {
    if float.is_nan() {
        return "NaN".to_owned();
    }
    if float.is_infinite() {
        return if float > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    if float == 0.0 || (1e-4..1e16).contains(&float.abs()) {
        return format!("{float:?}");
    }
    let exponential = format!("{float:e}");
    let (digits, exponent) = exponential.split_once('e').unwrap_or((&exponential, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let mut out = digits.to_owned();
    if !digits.contains('.') {
        out.push_str(".0");
    }
    let _ = write!(out, "e{exponent:+03}"); // a String takes every write
    out
}

#[cfg(test)]
mod tests {
    use super::float_text;

    #[test]
    fn floats_are_shown_as_in_cruby() {
        for (float, text) in [
            (0.1 + 0.2, "0.30000000000000004"),
            (-0.0, "-0.0"),
            (100.0, "100.0"),
            (1e15, "1000000000000000.0"),
            (1e16, "1.0e+16"),
            (1.5e300, "1.5e+300"),
            (0.0001, "0.0001"),
            (0.00001, "1.0e-05"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(float_text(float), text);
        }
    }
}
