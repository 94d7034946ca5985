//! Parts of a request's trace that authors name. Records nothing itself.

use std::panic::Location;
use std::sync::Arc;

use tsumugi_trace::{SpanKind, SpanScope, is_observed, within};

/// Runs a future as a part of the request's trace that has a name of its own: `tsumugi::span("prices", async { … }).await`. What it waits for is
/// below it.
#[track_caller]
pub fn span<F: Future>(name: &str, future: F) -> SpanScope<F> {
    if !is_observed() {
        return tsumugi_trace::Span::default().scope(future);
    }
    let caller = Location::caller();
    let place: Arc<str> = format!("{}:{}", caller.file(), caller.line()).into();
    let span = within(None, Some(&place), || {
        tsumugi_trace::span(SpanKind::Named, name)
    });
    span.scope(future)
}
