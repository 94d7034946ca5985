//! WebSockets: who is let in, and what the block of one calls. The words are Ruby's, the conversation is driven in `crate::conversation`.
//! Rule: one fibre receives at a time; any number may send.

use std::rc::Rc;

use bytes::Bytes;
use http::StatusCode;
use http::header::CONTENT_TYPE;
use tsumugi_http::websocket::{Close, Message, PageOrigins, WebSocketOffer, WebSocketTerms};
use tsumugi_http::{Error, HttpResponse};
use tsumugi_mruby::{NativeCall, Raise, Result, Scope, Value};

use super::super::parameters::halt;
use crate::answer::{Failure, Operation, attempt, attempt_only, nil};
use crate::conversation::{BROKEN, CLOSED, Conversation, ConversationHandle};
use crate::exchange::{Content, ContentBody, Exchange, StreamPlan, WebSocketPlan};
use crate::limits::WEBSOCKET_FIBRES_MAX;
use crate::natives::arguments::{bytes, data, exact_text, text};
use crate::natives::definitions::Natives;

pub(super) fn install<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.data_class("Conversation")?;
    // context, protocols, origins, task
    natives.of_request("websocket", |_, scope, exchange, call| {
        let terms = WebSocketTerms {
            protocols: texts(scope, call.argument(1), "a protocol")?,
            origins: match scope.text(call.argument(2)).as_deref() {
                Some("any") => PageOrigins::Any,
                _ => PageOrigins::Named(texts(scope, call.argument(2), "an origin")?),
            },
        };
        let offer = WebSocketOffer::of(&exchange.request);
        let accepted = offer.and_then(|offer| terms.accept(offer));
        let (response, protocol) = accepted.map_err(|error| refuse(scope, exchange, &error))?;
        let plan = Box::new(WebSocketPlan {
            task: scope.root(call.argument(3))?,
            response,
            protocol,
        });
        exchange.draft.borrow_mut().body = Some(Content {
            media_type: None,
            body: ContentBody::Stream(StreamPlan::WebSocket(plan)),
        });
        Ok(Value::symbol(scope.intern("tsumugi.responded")))
    })?;
    messages(natives)?;
    natives.plain("socket_protocol", |_, scope, call| {
        let conversation = open(scope, call)?;
        scope.string_or_nil(conversation.socket.protocol())
    })?;
    // Code and reason of the client's close; nil before it.
    natives.plain("socket_closed", |_, scope, call| {
        let conversation = handle(scope, call)?.upgrade();
        match conversation.and_then(|conversation| conversation.socket.closed()) {
            Some(Close { code, reason }) => {
                scope.array_of(&[scope.integer(code.into()), scope.string(reason)?])
            }
            None => Ok(Value::nil()),
        }
    })?;
    natives.plain("socket_beside", |_, scope, call| {
        let conversation = open(scope, call)?;
        if !conversation.has_room() {
            let message = format!("{WEBSOCKET_FIBRES_MAX} fibres (WEBSOCKET_FIBRES_MAX) run beside this WebSocket already");
            return Err(scope.error("ArgumentError", message));
        }
        conversation.add(scope.root(call.argument(1))?);
        Ok(Value::nil())
    })
}

fn messages<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    // `[bytes, is binary]`, or nil when none comes any more.
    natives.waiting("socket_receive", |_, scope, call| {
        let Some(conversation) = handle(scope, call)?.upgrade() else {
            return Ok(Box::pin(async { nil() }) as Operation);
        };
        let reader = Reader::of(conversation)
            .ok_or_else(|| scope.error("IOError", "another fibre receives from this WebSocket"))?;
        let received = async move { reader.0.socket.receive().await.map_err(SocketFailure) };
        Ok(attempt(received, |scope, message| match message {
            Some(Message::Text(text)) => {
                scope.array_of(&[scope.string(text)?, Value::boolean(false)])
            }
            Some(Message::Binary(bytes)) => {
                scope.array_of(&[scope.string(bytes)?, Value::boolean(true)])
            }
            None => Ok(Value::nil()),
        }))
    })?;
    natives.waiting("socket_send", |_, scope, call| {
        let conversation = open(scope, call)?;
        let message = Message::Text(exact_text(
            scope,
            call.argument(1),
            "the text of a message",
        )?);
        Ok(send(conversation, message))
    })?;
    natives.waiting("socket_send_bytes", |_, scope, call| {
        let conversation = open(scope, call)?;
        let bytes = bytes(scope, call.argument(1), "a message of bytes")?;
        Ok(send(conversation, Message::Binary(Bytes::from(bytes))))
    })?;
    natives.waiting("socket_close", |_, scope, call| {
        let conversation = handle(scope, call)?.upgrade();
        let reason = text(scope, call.argument(2), "the reason")?;
        let code = call.argument(1).as_integer().unwrap_or_default();
        let code = u16::try_from(code).unwrap_or_default();
        let closed = async move {
            match conversation {
                Some(conversation) => conversation.socket.close(code, &reason).await,
                None => Ok(()),
            }
        };
        // One that is closed already is what was wanted.
        Ok(attempt_only(async move {
            match closed.await {
                Ok(()) | Err(Error::Closed) => Ok(()),
                Err(error) => Err(SocketFailure(error)),
            }
        }))
    })
}

fn send(conversation: Rc<Conversation>, message: Message) -> Operation {
    attempt_only(async move {
        conversation
            .socket
            .send(message)
            .await
            .map_err(SocketFailure)
    })
}

/// The one fibre that waits for a message.
struct Reader(Rc<Conversation>);

impl Reader {
    fn of(conversation: Rc<Conversation>) -> Option<Reader> {
        (!conversation.is_read.replace(true)).then_some(Reader(conversation))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.is_read.set(false);
    }
}

/// What went wrong with a message.
struct SocketFailure(Error);

impl Failure for SocketFailure {
    fn raise<'s>(&self, scope: &'s Scope<'_>) -> Raise<'s> {
        match &self.0 {
            Error::Closed => closed(scope),
            Error::CloseFrame(what) => scope.error("ArgumentError", *what),
            error => scope.error(BROKEN, error.to_string()),
        }
    }
}

fn closed<'s>(scope: &'s Scope<'_>) -> Raise<'s> {
    scope.error(CLOSED, "this WebSocket is closed")
}

/// A refusal, with the header fields that belong to its status.
fn refuse<'c>(scope: &'c Scope<'_>, exchange: &Exchange, error: &Error) -> Raise<'c> {
    if error.status() == StatusCode::UPGRADE_REQUIRED {
        let mut headers = HttpResponse::from_error(error).into_parts().headers;
        headers.remove(CONTENT_TYPE);
        exchange.draft.borrow_mut().headers.extend(headers);
    }
    halt(scope, error.status().as_u16(), &error.to_string())
}

fn handle<'c>(scope: &'c Scope<'c>, call: &NativeCall<'c>) -> Result<'c, &'c ConversationHandle> {
    data(scope, call.argument(0), "the WebSocket", "a WebSocket")
}

fn open<'c>(scope: &'c Scope<'c>, call: &NativeCall<'c>) -> Result<'c, Rc<Conversation>> {
    handle(scope, call)?.upgrade().ok_or_else(|| closed(scope))
}

fn texts<'c>(scope: &'c Scope<'c>, array: Value<'c>, what: &str) -> Result<'c, Vec<String>> {
    scope
        .elements(array)
        .map(|value| text(scope, value, what))
        .collect()
}
