//! The client in the same process: a request is answered by the application itself, on the same worker. No socket.
//! The fibre of the request parks as in any other wait, so the handler runs meanwhile.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, Uri, Version};
use tokio::io::DuplexStream;
use tsumugi_http::websocket::{Close, Message, WEBSOCKET_WISH, WebSocketClient};
use tsumugi_http::{
    Error, HttpBody, HttpResponse, Receiver, Request, RequestBody, ResponseParts, Switch,
    append_field,
};
use tsumugi_mruby::{NativeCall, Result, Scope, Value};

use crate::answer::{Answer, answer, nil, operation, raise};
use crate::natives::arguments::{bytes, data, float, text};
use crate::natives::context::headers_hash;
use crate::natives::definitions::Natives;
use crate::natives::web::header_pairs;

/// What is left of a response's body. Taken while a piece is waited for.
struct Incoming {
    rest: RefCell<Rest>,
    /// Set at the end of a stream.
    trailers: RefCell<HeaderMap>,
}

enum Rest {
    Nothing,
    Bytes(Bytes),
    Stream(Receiver),
    /// A WebSocket that was granted.
    Switch(Switch),
    /// A fibre waits for a piece.
    Taken,
}

pub(super) fn install<'s, A>(
    natives: &Natives<'s>,
    answer: impl Fn(Box<Request>) -> A + 'static,
) -> Result<'s, ()>
where
    A: Future<Output = Option<HttpResponse>> + 'static,
{
    natives.data_class("Incoming")?;
    natives.waiting("client_request", move |_, scope, call| {
        let request = request(scope, call)?;
        let answered = answer(Box::new(request));
        Ok(Box::pin(async move {
            match answered.await {
                Some(response) => response_value(response),
                None => raise("RuntimeError", "the application is gone"),
            }
        }))
    })?;
    natives.plain("client_wish", |_, scope, _| {
        let hash = scope.hash(WEBSOCKET_WISH.len())?;
        for (name, value) in WEBSOCKET_WISH {
            scope.hash_set(hash, scope.string(name)?, scope.string(value)?)?;
        }
        Ok(hash)
    })?;
    socket(natives)?;
    natives.waiting("client_piece", |_, scope, call| {
        let seconds = call.argument(1).as_float();
        let incoming = incoming(scope, call.argument(0))?;
        let rest = incoming.rest.replace(Rest::Taken);
        if matches!(rest, Rest::Taken) {
            return Err(scope.error("IOError", "another fibre reads this response"));
        }
        Ok(operation(piece(incoming, rest, seconds)))
    })?;
    natives.plain("client_close", |_, scope, call| {
        let incoming = incoming(scope, call.argument(0))?;
        drop(incoming.rest.replace(Rest::Nothing));
        Ok(Value::nil())
    })?;
    natives.plain("client_trailers", |_, scope, call| {
        let incoming = incoming(scope, call.argument(0))?;
        headers_hash(scope, &incoming.trailers.borrow())
    })
}

/// The client's end of a WebSocket; empty while a fibre waits with it, and once it is over.
type ClientSocket = Rc<RefCell<Option<WebSocketClient<DuplexStream>>>>;

fn socket<'s>(natives: &Natives<'s>) -> Result<'s, ()> {
    natives.data_class("ClientSocket")?;
    // The socket of a response that grants one.
    natives.waiting("client_socket", |host, scope, call| {
        let incoming = incoming(scope, call.argument(0))?;
        let worker = host.worker.clone();
        let Rest::Switch(switch) = incoming.rest.replace(Rest::Nothing) else {
            return Err(scope.error("IOError", "this response is no WebSocket"));
        };
        Ok(operation(async move {
            let (client, talking) = WebSocketClient::in_process(switch).await;
            drop(worker.spawn(talking));
            let socket: ClientSocket = Rc::new(RefCell::new(Some(client)));
            answer(move |scope| scope.wrap_as("Tsumugi::Native::ClientSocket", socket))
        }))
    })?;
    natives.waiting("client_send", |_, scope, call| {
        let (socket, mut client) = take(scope, call)?;
        let message = match call.argument(2).truthy() {
            true => Message::from(bytes(scope, call.argument(1), "the message")?),
            false => Message::from(text(scope, call.argument(1), "the message")?),
        };
        Ok(operation(async move {
            let sent = client.send(message).await;
            socket.replace(Some(client));
            match sent {
                Ok(()) => nil(),
                Err(_) => raise("Tsumugi::WebSocket::Closed", "this WebSocket is closed"),
            }
        }))
    })?;
    // `[message, is binary]`, or `[nil, code, reason]` of the server's close.
    natives.waiting("client_receive", |_, scope, call| {
        let seconds = float(call.argument(1)).unwrap_or_default();
        let limit = Duration::try_from_secs_f64(seconds).unwrap_or_default();
        let (socket, mut client) = take(scope, call)?;
        Ok(operation(async move {
            let received = tokio::time::timeout(limit, client.receive()).await;
            if !matches!(received, Ok(Err(_))) {
                socket.replace(Some(client));
            }
            match received {
                Ok(received) => answer(move |scope| message_value(scope, received)),
                Err(_) => {
                    let message = format!("no message came within {seconds} s");
                    raise("Tsumugi::Client::Timeout", message)
                }
            }
        }))
    })?;
    natives.waiting("client_end", |_, scope, call| {
        let (_, client) = take(scope, call)?;
        let reason = text(scope, call.argument(2), "the reason")?;
        let code = call.argument(1).as_integer().unwrap_or_default();
        let code = u16::try_from(code).unwrap_or_default();
        Ok(operation(async move {
            match client.close(code, &reason).await {
                Err(Error::CloseFrame(what)) => raise("ArgumentError", what),
                _ => nil(),
            }
        }))
    })?;
    natives.plain("client_drop", |_, scope, call| {
        drop(client_socket(scope, call)?.take());
        Ok(Value::nil())
    })
}

fn message_value<'s>(
    scope: &'s Scope<'s>,
    received: std::result::Result<Message, Close>,
) -> Result<'s, Value<'s>> {
    match received {
        Ok(Message::Text(text)) => scope.array_of(&[scope.string(text)?, Value::boolean(false)]),
        Ok(Message::Binary(bytes)) => scope.array_of(&[scope.string(bytes)?, Value::boolean(true)]),
        Err(Close { code, reason }) => {
            let code = scope.integer(code.into());
            scope.array_of(&[Value::nil(), code, scope.string(reason)?])
        }
    }
}

fn client_socket<'c>(scope: &'c Scope<'c>, call: &NativeCall<'c>) -> Result<'c, &'c ClientSocket> {
    data(
        scope,
        call.argument(0),
        "the WebSocket",
        "a client's WebSocket",
    )
}

/// For the one fibre that uses it.
fn take<'c>(
    scope: &'c Scope<'c>,
    call: &NativeCall<'c>,
) -> Result<'c, (ClientSocket, WebSocketClient<DuplexStream>)> {
    let socket = client_socket(scope, call)?;
    let client = socket.take().ok_or_else(|| {
        let message = "this WebSocket is over, or another fibre waits with it";
        scope.error("Tsumugi::WebSocket::Closed", message)
    })?;
    Ok((Rc::clone(socket), client))
}

fn incoming<'c>(scope: &'c Scope<'c>, value: Value<'c>) -> Result<'c, Rc<Incoming>> {
    data(scope, value, "the body", "a response's body").cloned()
}

/// Of a method, a target, fields and a body.
fn request<'c>(scope: &'c Scope<'c>, call: &NativeCall<'c>) -> Result<'c, Request> {
    let wrong = |message: String| scope.error("ArgumentError", message);
    let method = text(scope, call.argument(0), "the method")?;
    let method = Method::from_bytes(method.as_bytes())
        .map_err(|_| wrong(format!("{method:?} is no method")))?;
    let target = text(scope, call.argument(1), "the path")?;
    let uri: Uri = target
        .parse()
        .ok()
        .filter(|_| target.starts_with('/'))
        .ok_or_else(|| {
            wrong(format!(
                "{target:?} is no path; it begins with / and is percent-encoded"
            ))
        })?;
    let headers = fields(scope, call.argument(2))?;
    let trailers = fields(scope, call.argument(4))?;
    let body = Bytes::from(scope.bytes(call.argument(3)).unwrap_or_default());
    let body = RequestBody::in_memory(body).with_trailers(trailers);
    Ok(Request {
        method,
        uri,
        version: Version::HTTP_11,
        headers: headers.into(),
        body: body.map_err(|error| wrong(error.to_string()))?,
        peer: Some(([127, 0, 0, 1], 0).into()),
        scheme: tsumugi_http::RequestScheme::Http,
        received_at: Instant::now(),
        number: tsumugi_http::RequestNumber::default(),
        mounted_path: None,
        activity: None,
    })
}

/// The fields of a Hash.
fn fields<'c>(scope: &'c Scope<'c>, hash: Value<'c>) -> Result<'c, HeaderMap> {
    let wrong = |message: String| scope.error("ArgumentError", message);
    let mut fields = HeaderMap::new();
    for (name, value) in scope.entries(hash)? {
        let name = text(scope, name, "a header's name")?;
        let value = scope.text_by(value, "to_s")?;
        let pair = HeaderName::from_bytes(name.as_bytes())
            .ok()
            .zip(HeaderValue::from_str(&value).ok());
        let Some((name, value)) = pair else {
            return Err(wrong(format!("{name}: {value:?} is no header")));
        };
        append_field(&mut fields, name, value).map_err(|full| wrong(full.to_string()))?;
    }
    Ok(fields)
}

/// `[status, [[name, value], …], body]`
fn response_value(response: HttpResponse) -> Answer {
    let ResponseParts {
        status,
        headers,
        body,
        ..
    } = response.into_parts();
    answer(move |scope| {
        let rest = match body {
            HttpBody::Empty => Rest::Nothing,
            HttpBody::Switch(switch) => Rest::Switch(switch),
            HttpBody::Full(bytes) => Rest::Bytes(bytes),
            HttpBody::Stream(receiver) => Rest::Stream(receiver),
        };
        let incoming = Rc::new(Incoming {
            rest: RefCell::new(rest),
            trailers: RefCell::default(),
        });
        scope.array_of(&[
            scope.integer(i64::from(status.as_u16())),
            header_pairs(scope, &headers)?,
            scope.wrap_as("Tsumugi::Native::Incoming", incoming)?,
        ])
    })
}

/// The next piece as a String; nil at the end.
async fn piece(incoming: Rc<Incoming>, rest: Rest, seconds: Option<f64>) -> Answer {
    let (piece, rest) = match rest {
        Rest::Nothing | Rest::Taken => (None, Rest::Nothing),
        Rest::Switch(switch) => (None, Rest::Switch(switch)),
        Rest::Bytes(bytes) => (Some(bytes), Rest::Nothing),
        Rest::Stream(mut receiver) => {
            let next = receiver.piece();
            let limit = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
            let next = match limit {
                Some(limit) => tokio::time::timeout(limit, next).await,
                None => Ok(next.await),
            };
            match next {
                Ok(Some(Ok(piece))) => (Some(piece), Rest::Stream(receiver)),
                Ok(Some(Err(_))) => {
                    incoming.rest.replace(Rest::Nothing);
                    let message = "the application broke off this response; its log says why";
                    return raise("Tsumugi::Client::BrokenOff", message);
                }
                Ok(None) => {
                    let trailers = receiver.take_trailers().unwrap_or_default();
                    incoming.trailers.replace(trailers);
                    (None, Rest::Nothing)
                }
                Err(_) => {
                    incoming.rest.replace(Rest::Stream(receiver));
                    let seconds = seconds.unwrap_or_default();
                    let message = format!("no further piece of the body came within {seconds} s");
                    return raise("Tsumugi::Client::Timeout", message);
                }
            }
        }
    };
    incoming.rest.replace(rest);
    answer(move |scope| scope.string_or_nil(piece))
}
