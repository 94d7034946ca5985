//! What follows the head of a response: a body that a task feeds. Rule: the application does not retire before the task has ended, and a
//! stream of events, which has no end of its own, ends when the server drains.

use std::cell::RefCell;
use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::Poll;

use http::header::CONTENT_TYPE;
use http::uri::PathAndQuery;
use http::{HeaderMap, Method};
use tsumugi_http::{HttpBody, HttpLimits, Request, Sender, sse};
use tsumugi_trace::{Activity, ShownActivity, cancelled};
use tsumugi_worker::WorkerHandle;

use super::drain::{HasJobs, JobGuard};
use crate::limits::{RECONNECT_MS_MAX, RECONNECT_MS_MIN};

/// The sender of a body, shared by its writer and by what watches the client. Absent while a piece is being sent.
pub type SharedSender = Rc<RefCell<Option<Sender>>>;

/// A body that a task of its own feeds, behind a head of these fields.
pub fn feed<A, F>(
    job: JobGuard<A>,
    worker: &WorkerHandle,
    limits: &HttpLimits,
    head: &HeaderMap,
    feed: impl FnOnce(Sender) -> F,
) -> HttpBody
where
    A: HasJobs,
    F: Future<Output = ()> + 'static,
{
    let (mut sender, body) = HttpBody::channel(limits);
    sender.announce(head);
    let feeding = feed(sender);
    let activity = tsumugi_trace::current();
    drop(worker.spawn(Activity::scope(activity, async move {
        // Only now: until it has answered, the request itself looks whether it is cancelled.
        let shown = ShownActivity::of_stream();
        feeding.await;
        drop(shown);
        drop(job);
    })));
    body
}

/// Resolves when the client has gone, or somebody has cancelled the stream. While a piece is being sent, `send` notices by itself that the
/// client has gone.
pub async fn client_gone(sender: &SharedSender) {
    let gone = poll_fn(|cx| match sender.borrow_mut().as_mut() {
        Some(sender) => pin!(sender.closed()).poll(cx),
        None => Poll::Pending,
    });
    tokio::select! {
        () = gone => {}
        () = cancelled() => {}
    }
}

/// What a body consists of that is sent while it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamKind {
    /// Server-sent events: a client comes back when they end.
    Events,
    /// Anything else, which is whole only with its end.
    Pieces,
}

impl StreamKind {
    /// What the header fields say.
    pub fn of(headers: &HeaderMap) -> StreamKind {
        let media_type = headers.get(CONTENT_TYPE).map(|value| value.as_bytes());
        match media_type {
            Some(text) if text.starts_with(sse::MEDIA_TYPE.as_bytes()) => StreamKind::Events,
            _ => StreamKind::Pieces,
        }
    }

    /// Resolves when the body is to end because the server drains: between two events, never while one is being sent. Its writer must be
    /// polled before this, in the same task.
    pub async fn over(self, worker: &WorkerHandle, sender: &SharedSender) {
        if self == StreamKind::Pieces {
            return std::future::pending().await;
        }
        worker.drain_started().await;
        poll_fn(|_| match sender.borrow().is_some() {
            true => Poll::Ready(()),
            // The task is woken when the piece is sent.
            false => Poll::Pending,
        })
        .await;
    }
}

/// Ends a stream of events whose writer has ended, and tells its client when to come back.
pub async fn send_back(sender: &SharedSender) {
    static CLIENTS: AtomicU64 = AtomicU64::new(0);
    let Some(mut sender) = sender.borrow_mut().take() else {
        return;
    };
    // A step that is prime to the range visits all of it before it comes to the same moment again.
    let spread = CLIENTS.fetch_add(1, Relaxed).wrapping_mul(617);
    let after_ms = RECONNECT_MS_MIN + spread % (RECONNECT_MS_MAX - RECONNECT_MS_MIN);
    if sender.send(sse::reconnect(after_ms).into()).await.is_ok() {
        sender.finish();
    }
}

/// What the log says of a request when the request is gone.
#[derive(Clone, Debug, Default)]
pub struct RequestLine {
    /// The request's method.
    pub method: Method,
    target: Option<PathAndQuery>,
}

impl RequestLine {
    /// That of this request.
    pub fn of(request: &Request) -> RequestLine {
        RequestLine {
            method: request.method.clone(),
            target: request.uri.path_and_query().cloned(),
        }
    }
}

impl fmt::Display for RequestLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.target.as_ref().map_or("", PathAndQuery::path);
        write!(f, "{} {path}", self.method)
    }
}
