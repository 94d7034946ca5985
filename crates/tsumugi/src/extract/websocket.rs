//! The extractor of a WebSocket, and what a handler returns to grant it. Knows nothing of the conversation but its function.
//! Rule: pages of other origins are refused unless they are named.

use http::StatusCode;
use tsumugi_http::websocket::{PageOrigins, WebSocket, WebSocketOffer, WebSocketTerms};
use tsumugi_server::openapi::OperationShape;

use super::Extract;
use crate::context::Context;
use crate::error::Result;
use crate::response::{Answer, Response, ResponseTail};
use crate::websocket::WebSocketTask;

/// A client's wish for a WebSocket: `upgrade.accept(async |socket| { … })` grants it. Another request is answered 426.
#[derive(Clone, Debug)]
pub struct WebSocketUpgrade {
    offer: WebSocketOffer,
    terms: WebSocketTerms,
}

impl<S> Extract<S> for WebSocketUpgrade {
    async fn extract(context: &mut Context<S>) -> Result<WebSocketUpgrade> {
        Ok(WebSocketUpgrade {
            offer: WebSocketOffer::of(context.request())?,
            terms: WebSocketTerms::default(),
        })
    }

    fn describe(operation: &mut OperationShape) {
        operation.status(StatusCode::SWITCHING_PROTOCOLS.as_u16().into());
    }
}

impl WebSocketUpgrade {
    /// Speaks the first of these that the client knows; [`WebSocket::protocol`] says which. Without one of them it speaks none.
    #[must_use]
    pub fn protocols(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.terms.protocols = names.into_iter().map(Into::into).collect();
        self
    }

    /// Lets pages of these origins (`https://example.com`) in too. A browser sends the user's cookies with a WebSocket whatever page
    /// opens it, so others get 403.
    #[must_use]
    pub fn origins(mut self, origins: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let origins = origins.into_iter().map(Into::into).collect();
        self.terms.origins = PageOrigins::Named(origins);
        self
    }

    /// Lets pages of every origin in: for what needs no cookie.
    #[must_use]
    pub fn any_origin(mut self) -> Self {
        self.terms.origins = PageOrigins::Any;
        self
    }

    /// Grants it and talks. When the function returns, the WebSocket is closed: with 1000, or with 1011 after an error, which is logged when
    /// its status is 500 or more. Once the conversation is over for another reason, the function has `websocket_close_ms` to return and is
    /// dropped then.
    pub fn accept<F>(self, talk: F) -> WebSocketResponse
    where
        F: AsyncFnOnce(&WebSocket) -> Result<()> + 'static,
    {
        WebSocketResponse {
            upgrade: self,
            task: WebSocketTask::new(talk),
        }
    }
}

/// A WebSocket that is granted: what a handler returns.
pub struct WebSocketResponse {
    upgrade: WebSocketUpgrade,
    task: WebSocketTask,
}

impl Answer for WebSocketResponse {
    async fn answer(self) -> Result<Response> {
        let WebSocketResponse { upgrade, task } = self;
        let (response, protocol) = upgrade.terms.accept(upgrade.offer)?;
        let task = task.speaking(protocol);
        Ok(Response::followed(response, ResponseTail::WebSocket(task)))
    }
}
