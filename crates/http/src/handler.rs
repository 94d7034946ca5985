//! What a connection needs of its caller: the handler of requests, and where futures run. Knows no connection and no protocol.
//! Rule: every request that begins is reported as finished once, however it ends.

use std::future::Future;

use crate::{request::Request, response::HttpResponse, summary::FinishedRequest};

/// Answers requests.
pub trait HttpHandler: 'static {
    /// What the handler remembers of a request until it is over: for its log, for instance. `()` when nothing.
    type Note: Unpin;

    /// Called once for every request, before anything else.
    fn begin(&self, request: &Request) -> Self::Note;

    /// Answers one request. When the client goes away (or resets the stream) before there is a response, the future is dropped at the
    /// point where it waits: whatever must happen then belongs into a `Drop`. A client that has already sent more on the connection
    /// (the rest of a body that nobody read, or further requests) is noticed only when that has been read. On HTTP/1 one that only closes
    /// its sending side has [`half_close_ms`](crate::HttpLimits::half_close_ms) left, since it may wait for the answer.
    fn handle(&self, request: Box<Request>) -> impl Future<Output = HttpResponse>;

    /// Called once for every request when it is over, however it ended.
    fn finish(&self, finished: &FinishedRequest, note: &Self::Note) {
        let _ = (finished, note);
    }
}

/// Starts futures on the current thread. HTTP/2 runs each request as a task of its own.
pub trait Spawn: Clone + 'static {
    /// Starts a future.
    fn spawn(&self, future: impl Future<Output = ()> + 'static);
}

/// Starts futures on the `LocalSet` or local runtime of the current thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct SpawnLocal;

impl Spawn for SpawnLocal {
    fn spawn(&self, future: impl Future<Output = ()> + 'static) {
        tokio::task::spawn_local(future);
    }
}
