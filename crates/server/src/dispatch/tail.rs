//! What follows the head of a response: a body that a task feeds. Rule: the application does not retire before the task has ended.

use std::cell::RefCell;
use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::Poll;

use http::Method;
use http::uri::PathAndQuery;
use tsumugi_http::{HttpBody, HttpLimits, Request, Sender};
use tsumugi_worker::WorkerHandle;

use super::drain::{HasJobs, JobGuard};

/// The sender of a body, shared by its writer and by what watches the client. Absent while a piece is being sent.
pub type SharedSender = Rc<RefCell<Option<Sender>>>;

/// A body that a task of its own feeds.
pub fn feed<A, F>(
    job: JobGuard<A>,
    worker: &WorkerHandle,
    limits: &HttpLimits,
    feed: impl FnOnce(Sender) -> F,
) -> HttpBody
where
    A: HasJobs,
    F: Future<Output = ()> + 'static,
{
    let (sender, body) = HttpBody::channel(limits);
    let feeding = feed(sender);
    drop(worker.spawn(async move {
        feeding.await;
        drop(job);
    }));
    body
}

/// Resolves when the client has gone. While a piece is being sent, `send` notices by itself.
pub async fn client_gone(sender: &SharedSender) {
    poll_fn(|cx| match sender.borrow_mut().as_mut() {
        Some(sender) => pin!(sender.closed()).poll(cx),
        None => Poll::Pending,
    })
    .await;
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
