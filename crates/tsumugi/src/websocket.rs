//! The function of a handler that talks over the WebSocket it granted. The protocol is the HTTP crate's, until when it runs the server's.
//! Rule: what a client did wrong is no error of the application.

use std::pin::Pin;
use std::rc::Rc;

use tsumugi_http::websocket::WebSocket;
use tsumugi_http::{HttpLimits, Switch};
use tsumugi_server::dispatch::{ConversationError, HasJobs, JobGuard, RequestLine, conversation};
use tsumugi_worker::WorkerHandle;

use crate::error::{Error, Result, report, story};

/// What follows the response that grants a WebSocket.
pub(crate) struct WebSocketTask {
    protocol: Option<String>,
    run: Conversation,
}

/// The function of the handler that talks.
type Conversation = Box<dyn for<'w> FnOnce(&'w WebSocket) -> ConversationFuture<'w>>;

type ConversationFuture<'w> = Pin<Box<dyn Future<Output = Result<()>> + 'w>>;

impl WebSocketTask {
    pub(crate) fn new<F>(run: F) -> WebSocketTask
    where
        F: AsyncFnOnce(&WebSocket) -> Result<()> + 'static,
    {
        WebSocketTask {
            protocol: None,
            run: Box::new(move |socket| Box::pin(async move { run(socket).await })),
        }
    }

    /// The same over the subprotocol that client and handler agreed on.
    pub(crate) fn speaking(self, protocol: Option<String>) -> WebSocketTask {
        WebSocketTask { protocol, ..self }
    }

    /// The conversation, for the connection that the response is sent on.
    pub(crate) fn switch<A: HasJobs>(
        self,
        worker: &WorkerHandle,
        limits: fn(&A) -> &HttpLimits,
        job: JobGuard<A>,
        line: RequestLine,
    ) -> Switch {
        let WebSocketTask { protocol, run } = self;
        let subject = line.clone();
        let talk = async move |socket: &Rc<WebSocket>| {
            run(socket).await.map_err(|error| failure(&subject, &error))
        };
        conversation(job, worker, limits, (line, protocol), talk)
    }
}

/// Logs an error that is the application's.
fn failure(line: &RequestLine, error: &Error) -> ConversationError {
    let is_crowded = matches!(error, Error::Http(tsumugi_http::Error::Crowded { .. }));
    if !error.status().is_server_error() || is_crowded {
        return ConversationError::Client(error.to_string());
    }
    let story = story(error);
    tracing::error!("{line}: in its WebSocket: {story}");
    report(error.class(), &story, line);
    ConversationError::Fault
}
