//! A request on its way through middleware and extractors to its handler. Knows no connection.
//! Rule: the body is taken at most once; a second attempt is an error that says so.

use std::any::Any;
use std::rc::Rc;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode, Uri};
use smallvec::SmallVec;
use tsumugi_http::{Request, RequestBody};
use tsumugi_server::session::SessionSlot;
use tsumugi_trace::TraceId;

use crate::error::{Error, Result};
use crate::plugin::Worker;
use crate::session::Session;

/// A request and what belongs to it.
pub struct Context<S> {
    request: Box<Request>,
    body: Ownership,
    /// Those of a body that was read whole.
    trailers: Option<HeaderMap>,
    captures: Captures,
    state: Rc<S>,
    worker: Worker,
    extensions: Vec<Box<dyn Any>>,
    /// None when the application declares no sessions.
    session: Option<Rc<SessionSlot>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Ownership {
    Here,
    Taken,
}

/// What the pattern of the route captured, decoded, with the names.
pub(crate) type Captures = SmallVec<[(Rc<str>, Box<str>); 2]>;

impl<S> Context<S> {
    pub(crate) fn new(
        request: Box<Request>,
        captures: Captures,
        state: Rc<S>,
        worker: Worker,
        session: Option<Rc<SessionSlot>>,
    ) -> Context<S> {
        Context {
            request,
            body: Ownership::Here,
            trailers: None,
            captures,
            state,
            worker,
            extensions: Vec::new(),
            session,
        }
    }

    /// The session of this request.
    pub(crate) async fn session(&self) -> Result<Session> {
        let undeclared = Error::Usage(
            "this application has no sessions: declare them with Router::sessions".into(),
        );
        let session = self.session.as_ref().ok_or(undeclared)?;
        let session = session.read(&self.request.headers).await?;
        Ok(Session(Rc::clone(session)))
    }

    /// Whether this request must show its session's token.
    pub(crate) fn needs_token(&self) -> bool {
        let session = self.session.as_ref();
        session.is_some_and(|session| session.sessions().guards(&self.request))
    }

    /// The method.
    pub fn method(&self) -> &Method {
        &self.request.method
    }

    /// The target.
    pub fn uri(&self) -> &Uri {
        &self.request.uri
    }

    /// The header fields.
    pub fn headers(&self) -> &HeaderMap {
        &self.request.headers
    }

    /// The request; without its body, once that has been taken.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// The trace that it belongs to: that of its caller's `traceparent`, or one of its own.
    pub fn trace_id(&self) -> TraceId {
        self.request.trace_id()
    }

    /// The plugin of this worker.
    pub fn state(&self) -> &Rc<S> {
        &self.state
    }

    /// The worker.
    pub fn worker(&self) -> &Worker {
        &self.worker
    }

    /// Leaves a value for later extractors: middleware for the handler. A value of the same type is replaced.
    pub fn put<T: 'static>(&mut self, value: T) {
        self.extensions.retain(|known| !known.is::<T>());
        self.extensions.push(Box::new(value));
    }

    /// The value of this type that was left.
    pub fn find<T: 'static>(&self) -> Option<&T> {
        self.extensions
            .iter()
            .find_map(|value| value.downcast_ref())
    }

    pub(crate) fn captures(&self) -> &Captures {
        &self.captures
    }

    /// The body, with the header fields beside it.
    pub(crate) fn take_body(&mut self) -> Result<RequestBody> {
        match std::mem::replace(&mut self.body, Ownership::Taken) {
            Ownership::Here => {
                let empty = RequestBody::in_memory(Bytes::new());
                Ok(std::mem::replace(&mut self.request.body, empty))
            }
            Ownership::Taken => Err(body_taken_error()),
        }
    }

    /// The body whole; the fields behind it stay here.
    pub(crate) async fn read_body(&mut self) -> Result<Bytes> {
        let mut body = self.take_body()?;
        let bytes = body.read_all().await?;
        self.keep_trailers(&body);
        Ok(bytes)
    }

    /// Keeps the fields behind a body that was read to its end.
    pub(crate) fn keep_trailers(&mut self, body: &RequestBody) {
        self.trailers = Some(body.trailers().cloned().unwrap_or_default());
    }

    /// The fields behind the body; none before it has been read whole.
    pub(crate) fn trailers(&self) -> Option<&HeaderMap> {
        self.trailers.as_ref()
    }

    /// Gives back a body that was taken.
    pub(crate) fn put_body(&mut self, body: RequestBody) {
        self.request.body = body;
        self.body = Ownership::Here;
    }

    /// The request as it came.
    pub(crate) fn take_request(&mut self) -> Result<Request> {
        let body = self.take_body()?;
        Ok(Request {
            body,
            ..self.head()
        })
    }

    /// The request without its body.
    pub(crate) fn head(&self) -> Request {
        Request {
            method: self.request.method.clone(),
            uri: self.request.uri.clone(),
            version: self.request.version,
            headers: HeaderMap::clone(&self.request.headers).into(),
            body: RequestBody::in_memory(Bytes::new()),
            peer: self.request.peer,
            scheme: self.request.scheme,
            received_at: self.request.received_at,
            number: self.request.number,
            activity: self.request.activity.clone(),
            mounted_path: self.request.mounted_path.clone(),
        }
    }

    /// The request for an application that is mounted here, which needs the body whole.
    pub(crate) fn into_request(self) -> Result<Box<Request>> {
        match self.body {
            Ownership::Here => Ok(self.request),
            Ownership::Taken => Err(body_taken_error()),
        }
    }
}

fn body_taken_error() -> Error {
    Error::Usage(
        "two arguments of a handler, or a layer and what is mounted behind it, want the body of the request; only one can have it"
            .into(),
    )
}

/// What a search captured, as it outlives the request's path.
pub(crate) fn captures(found: &tsumugi_http::CaptureValues<'_>, names: &[Rc<str>]) -> Captures {
    if found.is_empty() {
        return Captures::new();
    }
    let text = |value: &tsumugi_http::Value<'_>| match value {
        tsumugi_http::Value::Text(text) => Box::from(&**text),
        tsumugi_http::Value::Integer(integer) => integer.to_string().into(),
        tsumugi_http::Value::Float(float) => float.to_string().into(),
    };
    let pairs = names.iter().cloned().zip(found.iter().map(text));
    pairs.collect()
}

/// The refusal of a value of the request that has another form than the handler expects.
pub(crate) fn unfit(status: StatusCode, what: &str, reason: impl std::fmt::Display) -> Error {
    Error::refused(status, format!("{what}: {reason}"))
}
