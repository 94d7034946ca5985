//! The log and standard output, as Ruby writes to them.

use tsumugi_mruby::{Result, Scope, Value};
use tsumugi_worker::LogFormat;

use crate::json;
use crate::natives::arguments::text;
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.plain("version", |_, scope, _| {
        scope.string(env!("CARGO_PKG_VERSION"))
    })?;
    natives.plain("vm_bytes", |host, scope, _| {
        Ok(scope.count(host.vm.memory_used()))
    })?;
    natives.plain("turn_cpu_ms_max", |host, scope, _| {
        let max = host.worker.limits().turn_cpu_ms_max;
        Ok(scope.integer(i64::try_from(max).unwrap_or(i64::MAX)))
    })?;
    natives.plain("log", |host, scope, call| {
        let level = text(scope, call.argument(0), "the level")?;
        let mut line = text(scope, call.argument(1), "the message")?;
        if LogFormat::of_process() == LogFormat::Json {
            let depth_max = host.settings.limits.json_depth_max;
            let mut fields = vec![b'{'];
            for (name, value) in scope.entries(call.argument(2))? {
                if fields.len() > 1 {
                    fields.push(b',');
                }
                let name = scope.text(name).unwrap_or_default();
                json::string(name.as_bytes(), &mut fields);
                fields.push(b':');
                let begin = fields.len();
                // What JSON does not hold is inspected: a line of the log never raises for a value.
                if json::write(scope, value, depth_max, &mut fields).is_err() {
                    fields.truncate(begin);
                    json::string(field(scope, value)?.as_bytes(), &mut fields);
                }
            }
            fields.push(b'}');
            log_with_fields(&level, &line, &String::from_utf8_lossy(&fields));
            return Ok(Value::nil());
        }
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

/// `fields` is the text of an object; its name is that of [`LogFormat::FIELDS`].
fn log_with_fields(level: &str, message: &str, fields: &str) {
    match level {
        "debug" => tracing::debug!(target: "app", { fields.json = fields }, "{message}"),
        "info" => tracing::info!(target: "app", { fields.json = fields }, "{message}"),
        "warn" => tracing::warn!(target: "app", { fields.json = fields }, "{message}"),
        _ => tracing::error!(target: "app", { fields.json = fields }, "{message}"),
    }
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
