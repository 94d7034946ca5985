//! Server-sent events as text, for `EventStream` of prelude/context.rb. How one is written is `tsumugi_http::sse`'s. Sends nothing.

use tsumugi_http::sse::{self, Event};
use tsumugi_mruby::Result;

use crate::natives::arguments::text;
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    // `data, name, id, milliseconds`
    natives.plain("event_text", |_, scope, call| {
        let reconnect_ms = call.argument(3);
        let milliseconds = reconnect_ms.as_integer().and_then(|ms| ms.try_into().ok());
        if milliseconds.is_none() && !reconnect_ms.is_nil() {
            let message = "reconnect_ms: of an event is a number of milliseconds";
            return Err(scope.error("ArgumentError", message));
        }
        let event = Event {
            data: text(scope, call.argument(0), "the data of an event")?,
            name: scope.text(call.argument(1)),
            id: scope.text(call.argument(2)),
            reconnect_ms: milliseconds,
        };
        match event.encode() {
            Ok(text) => scope.string(text),
            Err(error) => Err(scope.error("ArgumentError", error.to_string())),
        }
    })?;
    natives.plain("event_comment", |_, scope, call| {
        let lines = text(scope, call.argument(0), "a comment")?;
        scope.string(sse::comment(&lines))
    })?;
    natives.plain("event_position", |_, scope, call| {
        let id = text(scope, call.argument(0), "the id of an event")?;
        match sse::position(&id) {
            Ok(text) => scope.string(text),
            Err(error) => Err(scope.error("ArgumentError", error.to_string())),
        }
    })
}
