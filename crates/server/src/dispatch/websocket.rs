//! The conversation over a WebSocket that a handler granted, in either language: until when it runs.
//! Knows no message. Rule: a conversation keeps its application from retiring, like a stream; no deadline of requests ends it.

use std::rc::Rc;

use tsumugi_http::websocket::{WebSocket, converse};
use tsumugi_http::{HttpLimits, Switch};
use tsumugi_worker::WorkerHandle;

use super::drain::{HasJobs, JobGuard};
use super::tail::RequestLine;

/// Why a conversation failed, as the log has it.
#[derive(Debug)]
pub enum ConversationError {
    /// The application's fault, which its face has logged.
    Fault,
    /// The doing of its client, or of the worker's other clients, which is in the log by its limit.
    Client(String),
}

/// The conversation, for the connection that the response is sent on. `protocol` is what both agreed on.
pub fn conversation<A, F>(
    job: JobGuard<A>,
    worker: &WorkerHandle,
    limits: fn(&A) -> &HttpLimits,
    (line, protocol): (RequestLine, Option<String>),
    talk: F,
) -> Switch
where
    A: HasJobs,
    F: AsyncFnOnce(&Rc<WebSocket>) -> Result<(), ConversationError> + 'static,
{
    let worker = worker.clone();
    Switch::new(async move |upgraded| {
        let leave = worker.drain_started();
        match converse(upgraded, protocol, limits(job.app()), leave, talk).await {
            Some(Err(ConversationError::Client(what))) => tracing::debug!("{line}: {what}"),
            Some(Ok(()) | Err(ConversationError::Fault)) => {}
            None => tracing::debug!("{line}: dropped, since its WebSocket was over"),
        }
        drop(job);
    })
}
