//! The log and standard output, as Ruby writes to them.

use tsumugi_mruby::{Result, Scope, Value};

use crate::natives::arguments::text;
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.plain("version", |_, scope, _| {
        scope.string(env!("CARGO_PKG_VERSION"))
    })?;
    natives.plain("vm_bytes", |host, scope, _| {
        Ok(scope.count(host.vm.memory_used()))
    })?;
    natives.plain("log", |_, scope, call| {
        let level = text(scope, call.argument(0), "the level")?;
        let mut line = text(scope, call.argument(1), "the message")?;
        for (name, value) in scope.entries(call.argument(2))? {
            line.push(' ');
            line.push_str(&scope.text(name).unwrap_or_default());
            line.push('=');
            line.push_str(&field(scope, value)?);
        }
        match level.as_str() {
            "debug" => tracing::debug!(target: "app", "{line}"),
            "info" => tracing::info!(target: "app", "{line}"),
            "warn" => tracing::warn!(target: "app", "{line}"),
            _ => tracing::error!(target: "app", "{line}"),
        }
        Ok(Value::nil())
    })?;
    natives.plain("print", |_, scope, call| {
        let text = text(scope, call.argument(0), "the text")?;
        // A closed standard output ends nothing, and one without a reader costs only the lines.
        let _ = tsumugi_worker::OUTPUT.write(text.as_bytes());
        Ok(Value::nil())
    })
}

/// A field's value: a bare word as it is, anything else inspected, so that a line stays one line.
fn field<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, String> {
    if let Some(word) = scope.text(value)
        && !word.is_empty()
        && word
            .chars()
            .all(|c| c.is_alphanumeric() || "-_.:/@".contains(c))
    {
        return Ok(word);
    }
    scope.text_by(value, "inspect")
}
