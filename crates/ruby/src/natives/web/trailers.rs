//! Trailers: the fields behind the body of a request, and behind a stream. Not which fields may stand there, which is HTTP's.
//! Rule: the trailers of a request are there once its body has been read to its end.

use http::header::TRAILER;
use tsumugi_http::insert_field;
use tsumugi_http::trailers::{TrailerError, announcement};
use tsumugi_mruby::{Raise, Result, Scope, Value};
use tsumugi_server::dispatch::SharedSender;

use crate::answer::attempt;
use crate::natives::arguments::{data, text};
use crate::natives::context::{field_text, headers_hash};
use crate::natives::definitions::{Natives, exchange};

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.waiting("request_trailers", |_, scope, call| {
        let exchange = exchange(scope, call.argument(0))?;
        Ok(attempt(
            async move { exchange.body.trailers().await },
            |scope, trailers| headers_hash(scope, &trailers),
        ))
    })?;
    natives.of_request("announce_trailers", |_, scope, exchange, call| {
        let names = scope.elements(call.argument(1));
        let names = names.map(|name| text(scope, name, "the name of a trailer"));
        let names = names.collect::<Result<'_, Vec<String>>>()?;
        let announced = announcement(names.iter().map(String::as_str));
        if let Some(value) = announced.map_err(|error| refused(scope, &error))? {
            let headers = &mut exchange.draft.borrow_mut().headers;
            let added = insert_field(headers, TRAILER, value);
            added.map_err(|full| scope.error("ArgumentError", full.to_string()))?;
        }
        Ok(Value::nil())
    })?;
    natives.plain("send_trailer", |_, scope, call| {
        let output = call.argument(0);
        let sender = data::<SharedSender>(scope, output, "the output", "an open output")?;
        let name = text(scope, call.argument(1), "the name of a trailer")?;
        let value = field_text(scope, call.argument(2), &|| {
            format!("the value of the trailer {name}")
        })?;
        let mut sender = sender.borrow_mut();
        let Some(sender) = sender.as_mut() else {
            let message = "the body of this response is complete, or another fibre writes to it";
            return Err(scope.error("IOError", message));
        };
        let set = sender.set_trailer_text(&name, &value);
        set.map_err(|error| refused(scope, &error))?;
        Ok(Value::nil())
    })
}

fn refused<'c>(scope: &'c Scope<'_>, error: &TrailerError) -> Raise<'c> {
    scope.error("ArgumentError", error.to_string())
}
