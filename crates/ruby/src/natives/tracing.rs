//! Spans, as Ruby opens them. Records nothing itself; where they begin is found in `span_place`.

use tsumugi_mruby::{Result, Value};
use tsumugi_trace::{SpanKind, is_observed, span, within};

use crate::natives::arguments::{text, whole};
use crate::natives::definitions::Natives;
use crate::natives::span_place::place;

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
