//! The conversation over a WebSocket that a handler granted, for the connection that its response is sent on. The protocol is the
//! HTTP crate's. Rule: a conversation keeps its plugin from being stopped, like a stream.

use std::pin::Pin;

use tsumugi_http::Switch;
use tsumugi_http::websocket::{WebSocket, converse};
use tsumugi_server::dispatch::{HasJobs, JobGuard, RequestLine};

use crate::error::{Error, Result, story};
use crate::plugin::Worker;

/// What follows the response that grants a WebSocket.
pub(crate) struct WebSocketTask {
    protocol: Option<String>,
    run: Conversation,
}

/// The function of the handler that talks.
type Conversation = Box<dyn for<'w> FnOnce(&'w WebSocket) -> ConversationFuture<'w>>;

type ConversationFuture<'w> = Pin<Box<dyn Future<Output = Result<()>> + 'w>>;

impl WebSocketTask {
    pub(crate) fn new<F>(protocol: Option<String>, run: F) -> WebSocketTask
    where
        F: AsyncFnOnce(&WebSocket) -> Result<()> + 'static,
    {
        WebSocketTask {
            protocol,
            run: Box::new(move |socket| Box::pin(async move { run(socket).await })),
        }
    }

    /// The subprotocol that client and handler agree on.
    pub(crate) fn protocol(&self) -> Option<&str> {
        self.protocol.as_deref()
    }

    /// The conversation, for the connection that the response is sent on.
    pub(crate) fn switch<A: HasJobs>(
        self,
        worker: &Worker,
        job: JobGuard<A>,
        line: RequestLine,
    ) -> Switch {
        let worker = worker.clone();
        Switch::new(async move |upgraded| {
            let leave = worker.inner().drain_started();
            let limits = &worker.settings().http;
            let run = async move |socket: &WebSocket| (self.run)(socket).await;
            match converse(upgraded, self.protocol, limits, leave, run).await {
                // What finds no room is the worker's other clients' doing, and is in the log by its limit.
                Some(Err(error)) if error.status().is_server_error() && !is_crowded(&error) => {
                    tracing::error!("{line}: in its WebSocket: {}", story(&error));
                }
                // The client's doing.
                Some(Err(error)) => tracing::debug!("{line}: {error}"),
                Some(Ok(())) => {}
                None => tracing::debug!("{line}: dropped, since its WebSocket was over"),
            }
            drop(job);
        })
    }
}

fn is_crowded(error: &Error) -> bool {
    matches!(error, Error::Http(tsumugi_http::Error::Crowded { .. }))
}
