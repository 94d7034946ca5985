//! Futures that belong to an activity or to a span wherever they are polled and dropped. Knows no runtime.

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
        // None once it is dropped.
        #[pin]
        future: Option<F>,
    }

    impl<F> PinnedDrop for ActivityScope<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            // What it leaves to be done is a part of the activity too.
            if let Some(activity) = this.activity {
                activity.enter(|| this.future.set(None));
            }
        }
    }
}

pin_project! {
    /// A future that is a part of a span: see [`Span::scope`].
    pub struct SpanScope<F> {
        #[pin]
        future: Option<F>,
        span: Option<Span>,
    }

    impl<F> PinnedDrop for SpanScope<F> {
        fn drop(this: Pin<&mut Self>) {
            let mut this = this.project();
            if let Some(span) = this.span {
                span.enter(|| this.future.set(None));
            }
        }
    }
}

pin_project! {
    /// A future that is in a span once it waits: see [`in_wait`].
    pub struct WaitScope<F, B> {
        // Dropped before the span, whose end is that of the wait.
        #[pin]
        future: F,
        span: Option<Span>,
        begin: Option<B>,
    }
}

impl Activity {
    /// A future as a part of an activity, for a task of its own. Without one it runs as it is.
    pub fn scope<F: Future>(activity: Option<Arc<Activity>>, future: F) -> ActivityScope<F> {
        let future = Some(future);
        ActivityScope { activity, future }
    }
}

impl Span {
    /// A future as a part of the span, which ends with it.
    pub fn scope<F: Future>(self, future: F) -> SpanScope<F> {
        SpanScope {
            future: Some(future),
            span: Some(self),
        }
    }
}

/// Runs a future in a span of the current activity.
pub fn in_span<F: Future>(kind: SpanKind, name: &str, future: F) -> SpanScope<F> {
    span(kind, name).scope(future)
}

/// Runs a future of which `begin` makes the span when it has to wait: what is ready at once has none.
pub fn in_wait<F: Future, B: FnOnce() -> Span>(begin: B, future: F) -> WaitScope<F, B> {
    WaitScope {
        future,
        span: None,
        begin: Some(begin),
    }
}

/// A future that is there until its scope is dropped.
fn poll_in<F: Future>(future: Pin<&mut Option<F>>, cx: &mut Context<'_>) -> Poll<F::Output> {
    match future.as_pin_mut() {
        Some(future) => future.poll(cx),
        None => unreachable!("only a drop takes the future"),
    }
}

impl<F: Future> Future for ActivityScope<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        match this.activity {
            Some(activity) => activity.enter(|| poll_in(this.future, cx)),
            None => poll_in(this.future, cx),
        }
    }
}

impl<F: Future> Future for SpanScope<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let polled = match this.span {
            Some(span) => span.enter(|| poll_in(this.future, cx)),
            None => poll_in(this.future, cx),
        };
        if polled.is_ready() {
            *this.span = None;
        }
        polled
    }
}

impl<F: Future, B: FnOnce() -> Span> Future for WaitScope<F, B> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let polled = match this.span {
            Some(span) => span.enter(|| this.future.poll(cx)),
            None => this.future.poll(cx),
        };
        if polled.is_ready() {
            *this.span = None;
        } else if let Some(begin) = this.begin.take() {
            *this.span = Some(begin());
        }
        polled
    }
}
