//! Errors of the database as exceptions of Ruby's `DB::…` classes. Decides nothing.

use tsumugi_db::{Error, Value as Bind};
use tsumugi_mruby::{Raise, Result, Scope, Value};

use crate::answer::Failure;

impl Failure for Error {
    /// Of the class that the error's kind names, with what a handler asks for.
    fn raise<'s>(&self, scope: &'s Scope<'_>) -> Raise<'s> {
        scope_error(scope, self).unwrap_or_else(|raised| raised)
    }
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
    set("@retryable", Value::boolean(error.is_retryable()))?;
    if let Some(xid) = error.xid().and_then(|xid| i64::try_from(xid).ok()) {
        set("@xid", scope.integer(xid))?;
    }
    if let Some(refusal) = error.refusal() {
        set("@refusal", scope.string(refusal.text())?)?;
        set("@refusal_status", scope.integer(refusal.status().into()))?;
    }
    if let Some(sql) = error.sql() {
        set("@sql", scope.string(sql)?)?;
        let binds = error.binds().iter();
        set(
            "@binds",
            scope.list(binds.map(|bind| bind_value(scope, bind)))?,
        )?;
    }
    if let Some(position) = error.position() {
        set("@position", scope.count(position))?;
    }
    Ok(Raise(exception))
}

/// What an exception shows of a value.
pub(crate) fn bind_value<'c>(scope: &'c Scope<'c>, bind: &Bind) -> Result<'c, Value<'c>> {
    match bind {
        Bind::Boolean(truth) => Ok(Value::boolean(*truth)),
        Bind::Integer(integer) => Ok(scope.integer(*integer)),
        Bind::Real(real) => Ok(scope.float(*real)),
        Bind::Text(text) | Bind::Decimal(text) | Bind::Json(text) => scope.string(text),
        Bind::Null => Ok(Value::nil()),
        Bind::Blob(blob) => scope.string(blob),
        Bind::List(binds) => scope.list(binds.iter().map(|bind| bind_value(scope, bind))),
    }
}
