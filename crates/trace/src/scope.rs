//! Futures that belong to an activity or to a span wherever they are polled. Knows no runtime.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::activity::Activity;
use crate::span::{Span, SpanKind, span};

pin_project! {
    /// A future that is a part of an activity: see [`Activity::scope`].
    pub struct ActivityScope<F> {
        activity: Option<Arc<Activity>>,
        #[pin]
        future: F,
    }
}

pin_project! {
    /// A future that is a part of a span: see [`Span::scope`].
    pub struct SpanScope<F> {
        // Dropped behind the future, whose spans are below it.
        #[pin]
        future: F,
        span: Option<Span>,
    }
}

impl Activity {
    /// A future as a part of an activity, for a task of its own. Without one it runs as it is.
    pub fn scope<F: Future>(activity: Option<Arc<Activity>>, future: F) -> ActivityScope<F> {
        ActivityScope { activity, future }
    }
}

impl Span {
    /// A future as a part of the span, which ends with it.
    pub fn scope<F: Future>(self, future: F) -> SpanScope<F> {
        let span = Some(self);
        SpanScope { future, span }
    }
}

/// Runs a future in a span of the current activity.
pub fn in_span<F: Future>(kind: SpanKind, name: &str, future: F) -> SpanScope<F> {
    span(kind, name).scope(future)
}

impl<F: Future> Future for ActivityScope<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        match this.activity {
            Some(activity) => activity.enter(|| this.future.poll(cx)),
            None => this.future.poll(cx),
        }
    }
}

impl<F: Future> Future for SpanScope<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let polled = match this.span {
            Some(span) => span.enter(|| this.future.poll(cx)),
            None => this.future.poll(cx),
        };
        if polled.is_ready() {
            *this.span = None;
        }
        polled
    }
}
