//! What clients send as names and values: the query string and forms.

use tsumugi_http::{Error, query};
use tsumugi_mruby::{Result, Scope, Value};

use crate::natives::definitions::{Natives, exchange};

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.plain("query", |host, scope, call| {
        let exchange = exchange(scope, call.argument(0))?;
        let text = exchange.request.uri.query().unwrap_or_default();
        let found = query::pairs(text, host.settings.http.parameters_max);
        let found = found.map_err(|error| refusal(scope, &error))?;
        pairs(
            scope,
            found
                .iter()
                .map(|(name, value)| (name.as_ref(), value.as_ref())),
        )
    })?;
    natives.plain("form", |host, scope, call| {
        let bytes = scope.bytes(call.argument(0)).unwrap_or_default();
        let found = query::form(&bytes, host.settings.http.parameters_max);
        let found = found.map_err(|error| refusal(scope, &error))?;
        pairs(
            scope,
            found
                .iter()
                .map(|(name, value)| (name.as_ref(), value.as_ref())),
        )
    })
}

fn refusal<'c>(scope: &'c Scope<'c>, error: &Error) -> tsumugi_mruby::Raise<'c> {
    halt(scope, error.status().as_u16(), &error.to_string())
}

pub(super) fn halt<'c>(
    scope: &'c Scope<'c>,
    status: u16,
    message: &str,
) -> tsumugi_mruby::Raise<'c> {
    let make = || {
        let class = scope.constant("Tsumugi::Refused")?;
        scope.call(
            class,
            "new",
            &[scope.integer(status.into()), scope.string(message)?],
        )
    };
    match make() {
        Ok(exception) => tsumugi_mruby::Raise(exception),
        Err(raised) => raised,
    }
}

/// `[[name, value], …]` in the order they were sent.
fn pairs<'c, 'a>(
    scope: &'c Scope<'c>,
    found: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<'c, Value<'c>> {
    let array = scope.array(4)?;
    for (name, value) in found {
        let pair = scope.array(2)?;
        scope.push(pair, scope.string(name)?)?;
        scope.push(pair, scope.string(value)?)?;
        scope.push(array, pair)?;
    }
    Ok(array)
}
