//! WebSockets of handlers: the extractor that asks for one, and the conversation once it is granted. The protocol is the HTTP crate's.
//! Rule: a conversation keeps its plugin from being stopped, like a stream; pages of other origins are refused unless they are named.

use std::pin::Pin;

use tsumugi_http::websocket::{Offer, WebSocket, converse};
use tsumugi_http::{Response as HttpResponse, Switch};
use tsumugi_server::dispatch::{HasJobs, JobGuard, RequestLine};

use crate::context::Context;
use crate::error::{Result, story};
use crate::extract::Extract;
use crate::plugin::Worker;
use crate::response::{Answer, Response, ResponseTail};

/// A client's wish for a WebSocket: `upgrade.accept(async |socket| { … })` grants it. Another request is answered 426.
#[derive(Clone, Debug)]
pub struct WebSocketUpgrade {
    offer: Offer,
    protocols: Vec<String>,
    origins: Origins,
}

#[derive(Clone, Debug)]
enum Origins {
    /// That of the host itself, and these.
    Named(Vec<String>),
    Any,
}

impl<S> Extract<S> for WebSocketUpgrade {
    async fn extract(context: &mut Context<S>) -> Result<WebSocketUpgrade> {
        Ok(WebSocketUpgrade {
            offer: Offer::of(context.request())?,
            protocols: Vec::new(),
            origins: Origins::Named(Vec::new()),
        })
    }
}

impl WebSocketUpgrade {
    /// Speaks the first of these that the client knows; [`WebSocket::protocol`] says which. Without one of them it speaks none.
    #[must_use]
    pub fn protocols(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.protocols = names.into_iter().map(Into::into).collect();
        self
    }

    /// Lets pages of these origins (`https://example.com`) in too. A browser sends the user's cookies with a WebSocket whatever page
    /// opens it, so others get 403.
    #[must_use]
    pub fn origins(mut self, origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.origins = Origins::Named(origins.into_iter().map(Into::into).collect());
        self
    }

    /// Lets pages of every origin in: for what needs no cookie.
    #[must_use]
    pub fn any_origin(mut self) -> Self {
        self.origins = Origins::Any;
        self
    }

    /// Grants it and talks. When the function returns, the WebSocket is closed: with 1000, or with 1011 after an error, which is logged when
    /// its status is 500 or more. Once the conversation is over for another reason, the function has `websocket_close_ms` to return and is
    /// dropped then.
    pub fn accept<F>(self, talk: F) -> Accepted
    where
        F: AsyncFnOnce(&WebSocket) -> Result<()> + 'static,
    {
        Accepted {
            upgrade: self,
            run: boxed(move |socket| Box::pin(async move { talk(socket).await })),
        }
    }
}

/// A WebSocket that is granted: what a handler returns.
pub struct Accepted {
    upgrade: WebSocketUpgrade,
    run: Run,
}

type Run = Box<dyn for<'w> FnOnce(&'w WebSocket) -> Talking<'w>>;

type Talking<'w> = Pin<Box<dyn Future<Output = Result<()>> + 'w>>;

/// Tells a closure its type.
fn boxed(run: impl for<'w> FnOnce(&'w WebSocket) -> Talking<'w> + 'static) -> Run {
    Box::new(run)
}

/// What follows the response that grants a WebSocket.
pub(crate) struct WebSocketTask {
    protocol: Option<String>,
    run: Run,
}

impl Answer for Accepted {
    async fn answer(self) -> Result<Response> {
        let Accepted { upgrade, run } = self;
        if let Origins::Named(origins) = &upgrade.origins {
            upgrade.offer.check_origin(origins)?;
        }
        let protocol = upgrade.offer.agreed(&upgrade.protocols);
        let response: HttpResponse = upgrade.offer.accept(protocol.as_deref());
        Ok(Response::followed(
            response,
            ResponseTail::Talk(WebSocketTask { protocol, run }),
        ))
    }
}

impl WebSocketTask {
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
                Some(Err(error)) if error.status().is_server_error() => {
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
