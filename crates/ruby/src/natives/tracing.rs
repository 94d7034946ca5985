//! Spans, as Ruby opens them, and where in the author's code a fibre waits. Records nothing itself.
//! Rule: a request that nobody watches pays one look at its thread for each wait.

use std::sync::Arc;

use tsumugi_mruby::{Result, Scope, Value};
use tsumugi_trace::{SpanKind, is_observed, span, within};

use crate::answer::Operation;
use crate::host::Host;
use crate::natives::arguments::{text, whole};
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.plain("is_observed", |_, _, _| Ok(Value::boolean(is_observed())))?;
    // kind, name; its number among those that are open
    natives.plain("span_begin", |host, scope, call| {
        let kind = match text(scope, call.argument(0), "the kind")?.as_str() {
            "template" => SpanKind::Template,
            _ => SpanKind::Named,
        };
        let name = text(scope, call.argument(1), "the name")?;
        let place = place(host, scope);
        let begun = within(host.job.span(), place.as_ref(), || span(kind, &name));
        Ok(scope.count(host.job.enter_span(begun)))
    })?;
    // number, the class of the exception that ended it or nil
    natives.plain("span_end", |host, scope, call| {
        let number = whole::<usize>(call.argument(0)).unwrap_or_default();
        let failure = scope.text(call.argument(1));
        host.job.leave_span(number, failure.as_deref());
        Ok(Value::nil())
    })
}

/// The place in the author's code that runs now, `app.rb:12`, from the application's folder.
fn place(host: &Host, scope: &Scope<'_>) -> Option<Arc<str>> {
    if !is_observed() {
        return None;
    }
    let (file, line) = scope.location()?;
    let folder = host
        .settings
        .app
        .parent()
        .and_then(|folder| folder.to_str());
    let inside = folder.and_then(|folder| file.strip_prefix(folder));
    let file = inside.map_or(&*file, |file| file.trim_start_matches('/'));
    Some(format!("{file}:{line}").into())
}

/// An operation whose spans are below that of its fibre and know its place.
pub(super) fn placed(host: &Host, scope: &Scope<'_>, mut operation: Operation) -> Operation {
    if !is_observed() {
        return operation;
    }
    let (parent, place) = (host.job.span(), place(host, scope));
    Box::pin(std::future::poll_fn(move |cx| {
        within(parent, place.as_ref(), || operation.as_mut().poll(cx))
    }))
}
