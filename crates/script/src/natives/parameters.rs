//! What clients send as names and values: the query string, and bodies.

use bytes::Bytes;
use tsumugi_http::{Error, query};
use tsumugi_mruby::{Result, Scope, Value};

use super::{Natives, exchange};
use crate::answer::{Answer, Operation, answer, raise};

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.plain("query", |host, scope, call| {
        let exchange = exchange(scope, call.argument(0))?;
        let text = exchange.request.uri.query().unwrap_or_default();
        let found = query::pairs(text, host.settings.http.parameters_max);
        let found = found.map_err(|error| refused(scope, &error))?;
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
        let found = found.map_err(|error| refused(scope, &error))?;
        pairs(
            scope,
            found
                .iter()
                .map(|(name, value)| (name.as_ref(), value.as_ref())),
        )
    })?;
    natives.waiting("body", |_, scope, call| {
        let exchange = exchange(scope, call.argument(0))?;
        Ok(Box::pin(async move {
            if let Some(read) = exchange.read.borrow().clone() {
                return bytes(read);
            }
            let Some(mut body) = exchange.body.borrow_mut().take() else {
                return raise("IOError", "another fibre reads the body of this request");
            };
            match body.read_all().await {
                Ok(read) => {
                    *exchange.read.borrow_mut() = Some(read.clone());
                    bytes(read)
                }
                Err(error) => refusal(&error),
            }
        }) as Operation)
    })
}

fn bytes(read: Bytes) -> Answer {
    answer(move |scope| scope.string(&read))
}

/// The error of reading a request, as the halt that answers it.
fn refusal(error: &Error) -> Answer {
    let (status, message) = (error.status().as_u16(), error.to_string());
    answer(move |scope| Err(halt(scope, status, &message)))
}

fn refused<'c>(scope: &'c Scope<'c>, error: &Error) -> tsumugi_mruby::Raise<'c> {
    halt(scope, error.status().as_u16(), &error.to_string())
}

fn halt<'c>(scope: &'c Scope<'c>, status: u16, message: &str) -> tsumugi_mruby::Raise<'c> {
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
