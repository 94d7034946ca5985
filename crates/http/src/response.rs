//! A response as a handler returns it. Knows neither connection nor protocol version; framing headers are not its business.

use std::ops::{Deref, DerefMut};

use bytes::{Bytes, BytesMut};
use http::{
    HeaderMap, HeaderName, HeaderValue, StatusCode,
    header::{ALLOW, CONNECTION, CONTENT_TYPE, RETRY_AFTER, SEC_WEBSOCKET_VERSION, UPGRADE},
};

use crate::{
    error::Error,
    limits::HttpLimits,
    router::Allow,
    spare,
    stream::{self, Receiver, Sender, StreamAborted},
    summary::RequestSummary,
    switch::Switch,
};

/// Status, header fields and body, and what the handler reports of its work. `content-length`, `transfer-encoding`, `connection` and
/// `date` are added by the connection; a body is dropped where the status forbids one (204 and 304). In a box: it goes through many
/// futures on its way from the handler, each of which would copy it.
#[derive(Debug)]
pub struct HttpResponse(pub(crate) Box<ResponseParts>);

/// What a response consists of.
#[derive(Debug)]
pub struct ResponseParts {
    /// The status. 1xx is not for handlers and becomes 500, but for 101 with a [`HttpBody::Switch`].
    pub status: StatusCode,
    /// The header fields.
    pub headers: HeaderMap,
    /// The body.
    pub body: HttpBody,
    /// What the handler reports of its work.
    pub summary: RequestSummary,
}

impl Deref for HttpResponse {
    type Target = ResponseParts;

    fn deref(&self) -> &ResponseParts {
        &self.0
    }
}

impl DerefMut for HttpResponse {
    fn deref_mut(&mut self) -> &mut ResponseParts {
        &mut self.0
    }
}

/// The body of a response.
#[derive(Debug, Default)]
pub enum HttpBody {
    /// No bytes.
    #[default]
    Empty,
    /// All bytes at once.
    Full(Bytes),
    /// Bytes as they are sent.
    Stream(Receiver),
    /// None: the connection leaves HTTP. Only with the status 101, on HTTP/1.1, for a request that asked for it.
    Switch(Switch),
}

impl HttpBody {
    /// A body that is sent piece by piece, with a queue of up to `stream_buffer_bytes_max` bytes.
    pub fn channel(limits: &HttpLimits) -> (Sender, HttpBody) {
        let (sender, receiver) = stream::channel(limits);
        (sender, HttpBody::Stream(receiver))
    }

    /// All bytes, for readers that are no connection, such as a client in the same process.
    pub async fn read_all(self) -> Result<Bytes, StreamAborted> {
        Ok(self.read_with_trailers().await?.0)
    }

    /// The same with the fields behind them.
    pub async fn read_with_trailers(self) -> Result<(Bytes, HeaderMap), StreamAborted> {
        let mut receiver = match self {
            HttpBody::Empty | HttpBody::Switch(_) => return Ok(Default::default()),
            HttpBody::Full(bytes) => return Ok((bytes, HeaderMap::new())),
            HttpBody::Stream(receiver) => receiver,
        };
        let mut whole = BytesMut::new();
        while let Some(piece) = receiver.piece().await {
            whole.extend_from_slice(&piece?);
        }
        let trailers = receiver.take_trailers().unwrap_or_default();
        Ok((whole.freeze(), trailers))
    }
}

impl From<Bytes> for HttpBody {
    fn from(bytes: Bytes) -> HttpBody {
        if bytes.is_empty() {
            HttpBody::Empty
        } else {
            HttpBody::Full(bytes)
        }
    }
}

impl From<&'static str> for HttpBody {
    fn from(text: &'static str) -> HttpBody {
        HttpBody::from(Bytes::from_static(text.as_bytes()))
    }
}

impl From<String> for HttpBody {
    fn from(text: String) -> HttpBody {
        HttpBody::from(Bytes::from(text))
    }
}

impl HttpResponse {
    /// A response with this status and body, without header fields.
    pub fn new(status: StatusCode, body: impl Into<HttpBody>) -> HttpResponse {
        HttpResponse(Box::new(ResponseParts {
            status,
            headers: spare::take(),
            body: body.into(),
            summary: RequestSummary::default(),
        }))
    }

    /// What it consists of.
    pub fn into_parts(self) -> ResponseParts {
        *self.0
    }

    /// A response of plain text in UTF-8.
    pub fn text(status: StatusCode, body: impl Into<HttpBody>) -> HttpResponse {
        HttpResponse::new(status, body).with(
            CONTENT_TYPE,
            HeaderValue::from_static("text/plain; charset=utf-8"),
        )
    }

    /// The response with one more header field; a field of the same name is replaced.
    pub fn with(mut self, name: HeaderName, value: HeaderValue) -> HttpResponse {
        self.headers.insert(name, value);
        self
    }

    /// A refusal: a small text that says why; 503 with the time after which another attempt makes sense (RFC 9110 section 10.2.3).
    pub fn refusal(status: StatusCode, reason: &str) -> HttpResponse {
        let refusal = HttpResponse::text(status, format!("{reason}\n"));
        match status {
            StatusCode::SERVICE_UNAVAILABLE => {
                refusal.with(RETRY_AFTER, HeaderValue::from_static("1"))
            }
            _ => refusal,
        }
    }

    /// A refusal for what went wrong while the request was read. The reason of an internal error is not shown to the client.
    pub fn from_error(error: &Error) -> HttpResponse {
        match error.status() {
            StatusCode::INTERNAL_SERVER_ERROR => HttpResponse::internal_error(),
            // RFC 9110 section 15.5.22, RFC 6455 section 4.4.
            status @ StatusCode::UPGRADE_REQUIRED => {
                HttpResponse::refusal(status, &error.to_string())
                    .with(CONNECTION, HeaderValue::from_static("upgrade"))
                    .with(UPGRADE, HeaderValue::from_static("websocket"))
                    .with(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"))
            }
            status => HttpResponse::refusal(status, &error.to_string()),
        }
    }

    /// 404.
    pub fn not_found() -> HttpResponse {
        HttpResponse::text(StatusCode::NOT_FOUND, "not found\n")
    }

    /// 405, with the methods that would do.
    pub fn method_not_allowed(allow: &Allow) -> HttpResponse {
        HttpResponse::text(StatusCode::METHOD_NOT_ALLOWED, "method not allowed\n")
            .with(ALLOW, allow.header())
    }

    /// The answer to OPTIONS for a path whose routes do not answer it themselves.
    pub fn options(allow: &Allow) -> HttpResponse {
        HttpResponse::new(StatusCode::NO_CONTENT, HttpBody::Empty).with(ALLOW, allow.header())
    }

    /// 500, without a reason: that belongs in the log.
    pub fn internal_error() -> HttpResponse {
        HttpResponse::text(StatusCode::INTERNAL_SERVER_ERROR, "internal server error\n")
    }

    /// 503.
    pub fn unavailable() -> HttpResponse {
        HttpResponse::refusal(StatusCode::SERVICE_UNAVAILABLE, "service unavailable")
    }
}
