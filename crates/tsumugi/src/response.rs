//! What handlers return, as responses: texts, JSON, statuses with them, redirects. Knows no connection.
//! Rule: `()` is 204, text is 200 in UTF-8, a number before a value is its status.

use std::ops::{Deref, DerefMut};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderName, HeaderValue, StatusCode};
use serde::Serialize;
use tsumugi_http::{HttpBody, location_value};
use tsumugi_worker::LocalTask;

use crate::error::{Error, Result};
use crate::streaming::Output;
use crate::websocket::WebSocketTask;

/// A response: status, header fields and a body, or what follows them.
pub struct Response {
    inner: tsumugi_http::HttpResponse,
    tail: Option<ResponseTail>,
}

/// What follows the head of a response.
pub(crate) enum ResponseTail {
    /// Something writes the body.
    Body(Producer),
    /// A conversation over a WebSocket.
    WebSocket(WebSocketTask),
}

impl Default for Response {
    fn default() -> Response {
        Response::new(StatusCode::OK, HttpBody::Empty)
    }
}

/// Writes a body while it is sent.
pub(crate) type Producer = Box<dyn FnOnce(Output) -> LocalTask<Result<()>>>;

impl Response {
    /// A response with this status and body, without header fields.
    pub fn new(status: StatusCode, body: impl Into<HttpBody>) -> Response {
        tsumugi_http::HttpResponse::new(status, body).into()
    }

    /// A response whose body is written while it is sent.
    pub(crate) fn produced(content_type: &'static str, producer: Producer) -> Response {
        let response = tsumugi_http::HttpResponse::new(StatusCode::OK, HttpBody::Empty)
            .with(CONTENT_TYPE, HeaderValue::from_static(content_type));
        Response::followed(response, ResponseTail::Body(producer))
    }

    pub(crate) fn followed(response: tsumugi_http::HttpResponse, tail: ResponseTail) -> Response {
        Response {
            inner: response,
            tail: Some(tail),
        }
    }

    /// The response with one more header field; a field of the same name is replaced.
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> Response {
        self.headers.insert(name, value);
        self
    }

    pub(crate) fn into_parts(self) -> (tsumugi_http::HttpResponse, Option<ResponseTail>) {
        (self.inner, self.tail)
    }
}

impl From<tsumugi_http::HttpResponse> for Response {
    fn from(response: tsumugi_http::HttpResponse) -> Response {
        Response {
            inner: response,
            tail: None,
        }
    }
}

impl Deref for Response {
    type Target = tsumugi_http::HttpResponse;

    fn deref(&self) -> &tsumugi_http::HttpResponse {
        &self.inner
    }
}

impl DerefMut for Response {
    fn deref_mut(&mut self) -> &mut tsumugi_http::HttpResponse {
        &mut self.inner
    }
}

/// A value that is a response.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no response",
    label = "cannot be returned by a handler",
    note = "return text, `Json<T>`, `Html`, `Redirect`, `Response`, `()`, `(status, …)`, or a `Result` of one of these"
)]
pub trait IntoResponse {
    /// The response.
    fn into_response(self) -> Response;
}

/// What a handler may return: a response, or a result of one.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be returned by a handler",
    note = "return text, `Json<T>`, `Html`, `Redirect`, `Response`, `()`, `(status, …)`, or a `Result` of one of these"
)]
pub trait Answer {
    /// The response, or the error for whoever maps errors.
    fn answer(self) -> impl Future<Output = Result<Response>>;
}

impl<T: IntoResponse> Answer for T {
    async fn answer(self) -> Result<Response> {
        Ok(self.into_response())
    }
}

impl<T: Answer, E: Into<Error>> Answer for Result<T, E> {
    async fn answer(self) -> Result<Response> {
        match self {
            Ok(value) => value.answer().await,
            Err(error) => Err(error.into()),
        }
    }
}

impl IntoResponse for Response {
    fn into_response(self) -> Response {
        self
    }
}

impl IntoResponse for Error {
    fn into_response(self) -> Response {
        self.response().into()
    }
}

impl IntoResponse for () {
    fn into_response(self) -> Response {
        Response::new(StatusCode::NO_CONTENT, HttpBody::Empty)
    }
}

impl IntoResponse for &'static str {
    fn into_response(self) -> Response {
        tsumugi_http::HttpResponse::text(StatusCode::OK, self).into()
    }
}

impl IntoResponse for String {
    fn into_response(self) -> Response {
        tsumugi_http::HttpResponse::text(StatusCode::OK, self).into()
    }
}

impl IntoResponse for Bytes {
    fn into_response(self) -> Response {
        typed("application/octet-stream", self)
    }
}

impl IntoResponse for Vec<u8> {
    fn into_response(self) -> Response {
        Bytes::from(self).into_response()
    }
}

impl IntoResponse for StatusCode {
    fn into_response(self) -> Response {
        Response::new(self, HttpBody::Empty)
    }
}

impl<T: IntoResponse> IntoResponse for (StatusCode, T) {
    fn into_response(self) -> Response {
        let mut response = self.1.into_response();
        response.status = self.0;
        response
    }
}

/// A number that is no status makes 500.
impl<T: IntoResponse> IntoResponse for (u16, T) {
    fn into_response(self) -> Response {
        match StatusCode::from_u16(self.0) {
            Ok(status) => (status, self.1).into_response(),
            Err(_) => {
                tracing::error!("a handler returned the status {}, which is none", self.0);
                tsumugi_http::HttpResponse::internal_error().into()
            }
        }
    }
}

impl<T: IntoResponse> IntoResponse for Option<T> {
    /// 404 for none.
    fn into_response(self) -> Response {
        match self {
            Some(value) => value.into_response(),
            None => tsumugi_http::HttpResponse::not_found().into(),
        }
    }
}

/// A value as JSON; as an argument of a handler, the body of the request. A body of another content type is answered 415, one that is no
/// JSON 400, and one that does not fit the type 422.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(bytes) => typed("application/json", Bytes::from(bytes)),
            Err(error) => {
                tracing::error!("a handler returned a value that JSON cannot hold: {error}");
                tsumugi_http::HttpResponse::internal_error().into()
            }
        }
    }
}

/// Text of HTML, as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Html<T>(pub T);

impl<T: Into<HttpBody>> IntoResponse for Html<T> {
    fn into_response(self) -> Response {
        typed("text/html; charset=utf-8", self.0)
    }
}

/// Sends the client elsewhere, with GET: 303. Spaces and characters beyond ASCII of the address are sent as escapes; with a control character it is 500.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect(pub String);

impl IntoResponse for Redirect {
    fn into_response(self) -> Response {
        match location_value(self.0.as_bytes()) {
            Some(place) => {
                Response::new(StatusCode::SEE_OTHER, HttpBody::Empty).with(LOCATION, place)
            }
            None => {
                tracing::error!("a handler redirects to an address with a control character");
                tsumugi_http::HttpResponse::internal_error().into()
            }
        }
    }
}

fn typed(content_type: &'static str, body: impl Into<HttpBody>) -> Response {
    Response::new(StatusCode::OK, body).with(CONTENT_TYPE, HeaderValue::from_static(content_type))
}
