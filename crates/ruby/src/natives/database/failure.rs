//! Errors of the database as exceptions of Ruby's `DB::…` classes. Decides nothing.

use tsumugi_db::Error;
use tsumugi_mruby::{Raise, Result, Scope, Value};

use super::binds::shown;
use crate::answer::{Answer, answer};

/// The answer to an operation that failed.
pub(crate) fn failure(error: Error) -> Answer {
    answer(move |scope| Err(raise(scope, &error)))
}

/// The exception of the class that the error's kind names, with what a handler asks for.
pub(crate) fn raise<'c>(scope: &'c Scope<'_>, error: &Error) -> Raise<'c> {
    scope_error(scope, error).unwrap_or_else(|raised| raised)
}

fn scope_error<'c>(scope: &'c Scope<'_>, error: &Error) -> Result<'c, Raise<'c>> {
    let class = scope.constant("DB")?;
    let name = Value::symbol(scope.intern(error.kind()));
    let class = match scope.call(class, "const_get", &[name]) {
        Ok(class) => class,
        Err(_) => scope.constant("DB::Error")?,
    };
    let exception = scope.error_of(class, error.to_string()).0;
    let set = |name: &str, value| scope.set_ivar(exception, scope.intern(name), value);
    if let Some(constraint) = error.constraint() {
        set("@constraint", scope.string(constraint)?)?;
    }
    if let Some(code) = error.code() {
        set("@code", scope.string(code)?)?;
    }
    set("@about_value", Value::boolean(error.is_about_value()))?;
    if let Some(refusal) = error.refusal() {
        set("@refusal", scope.string(refusal.text())?)?;
        set("@refusal_status", scope.integer(refusal.status().into()))?;
    }
    if let Some(sql) = error.sql() {
        set("@sql", scope.string(sql)?)?;
        let binds = scope.array(error.binds().len())?;
        for bind in error.binds() {
            scope.push(binds, shown(scope, bind)?)?;
        }
        set("@binds", binds)?;
    }
    if let Some(position) = error.position() {
        let position = i64::try_from(position).unwrap_or(0);
        set("@position", scope.integer(position))?;
    }
    Ok(Raise(exception))
}
