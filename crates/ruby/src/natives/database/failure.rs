//! Errors of the database as exceptions of Ruby's `DB::…` classes. Decides nothing.

use tsumugi_db::{Error, Value as Bind};
use tsumugi_mruby::{Raise, Result, Scope, Value};

use crate::answer::{Answer, answer, nil};

/// The answer to an operation that failed.
pub(crate) fn failure(error: Error) -> Answer {
    answer(move |scope| Err(raise(scope, &error)))
}

/// The answer to an operation that gives nothing.
pub(super) fn done(outcome: tsumugi_db::Result<()>) -> Answer {
    outcome.map_or_else(failure, |()| nil())
}

/// The exception of the class that the error's kind names, with what a handler asks for.
pub(crate) fn raise<'c>(scope: &'c Scope<'_>, error: &Error) -> Raise<'c> {
    scope_error(scope, error).unwrap_or_else(|raised| raised)
}

fn scope_error<'c>(scope: &'c Scope<'_>, error: &Error) -> Result<'c, Raise<'c>> {
    let class = match scope.constant(&format!("DB::{}", error.kind())) {
        Ok(class) => class,
        // Some kinds have no class of their own. What else stops the look-up, such as a full VM, is no error of a database.
        Err(raised) if scope.report(raised).class == "NameError" => scope.constant("DB::Error")?,
        Err(raised) => return Err(raised),
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
            scope.push(binds, bind_value(scope, bind)?)?;
        }
        set("@binds", binds)?;
    }
    if let Some(position) = error.position() {
        let position = i64::try_from(position).unwrap_or(0);
        set("@position", scope.integer(position))?;
    }
    Ok(Raise(exception))
}

/// What an exception shows of a value.
pub(crate) fn bind_value<'c>(scope: &'c Scope<'c>, bind: &Bind) -> Result<'c, Value<'c>> {
    match bind {
        Bind::Boolean(truth) => Ok(Value::boolean(*truth)),
        Bind::Integer(integer) => Ok(scope.integer(*integer)),
        Bind::Real(real) => Ok(scope.float(*real)),
        Bind::Text(text) | Bind::Json(text) => scope.string(text),
        Bind::Blob(blob) => scope.string(blob),
        Bind::List(binds) => {
            let list = scope.array(binds.len())?;
            for bind in binds {
                scope.push(list, bind_value(scope, bind)?)?;
            }
            Ok(list)
        }
        _ => Ok(Value::nil()),
    }
}
