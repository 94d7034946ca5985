//! The conversation over a WebSocket that a handler granted, in either language: until when it runs, and as what it is seen meanwhile.
//! Knows no message. Rule: a conversation keeps its application from retiring, like a stream; no deadline of requests ends it.

use std::rc::Rc;
use std::time::Instant;

use tsumugi_http::websocket::{WebSocket, converse};
use tsumugi_http::{HttpLimits, Switch};
use tsumugi_trace::{
    Activity, ActivityKind, ActivityStart, Ending, OwnedActivity, ShownActivity, cancelled,
};
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
    let request = tsumugi_trace::current();
    Switch::new(async move |upgraded| {
        let activity = request.as_deref().map(begin);
        drop(request);
        let shared = activity.as_ref().map(OwnedActivity::share);
        let talk = async move |socket: &Rc<WebSocket>| until_cancelled(socket, talk).await;
        let leave = worker.drain_started();
        let talking = converse(upgraded, protocol, limits(job.app()), leave, talk);
        let ended = Activity::scope(shared, talking).await;
        let mut ending = Ending::default();
        match ended {
            Some(Err(ConversationError::Client(what))) => tracing::debug!("{line}: {what}"),
            Some(Err(ConversationError::Fault)) => {
                ending.error = Some("the handler failed".to_owned());
            }
            Some(Ok(())) => {}
            None => tracing::debug!("{line}: dropped, since its WebSocket was over"),
        }
        if let Some(activity) = activity {
            activity.end(ending);
        }
        drop(job);
    })
}

/// What the log and traces know of a conversation: it is a part of the request's trace and has its names.
fn begin(request: &Activity) -> OwnedActivity {
    let activity = Activity::begin(ActivityStart {
        kind: ActivityKind::WebSocket,
        subject: request.subject().clone(),
        number: None,
        given_id: Some(&request.id().to_string()),
        parent: Some(request.as_parent()),
        trace_state: request.trace_state().map(Into::into),
        started_at: Instant::now(),
    });
    if let Some(route) = request.route() {
        activity.set_route(route);
    }
    activity
}

/// Talks until somebody cancels it: what runs is dropped where it waits, and the client is told.
async fn until_cancelled<F>(socket: &Rc<WebSocket>, talk: F) -> Result<(), ConversationError>
where
    F: AsyncFnOnce(&Rc<WebSocket>) -> Result<(), ConversationError>,
{
    let _shown = ShownActivity::new();
    tokio::select! {
        biased;
        () = cancelled() => {
            socket.mark_cancelled();
            Err(ConversationError::Client("cancelled".to_owned()))
        }
        ended = talk(socket) => ended,
    }
}
