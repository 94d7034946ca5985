//! Calls to other servers: HTTP/1.1 over TCP or TLS, kept-alive connections, redirects, limits. Stays on its worker. Knows no Ruby.
//! A call that is dropped closes its connection; a connection goes back to the pool only after a whole response. Where a
//! call may go is for the caller to say ([`Reach`]). URLs are never logged, they may hold secrets.
//! Boxed edge: all of it.

#![forbid(unsafe_code)]

mod connect;
mod error;
mod limits;
mod pool;
mod public_address;
mod stub;
mod target;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::future::{FutureExt as _, LocalBoxFuture};
use http::header::{
    AUTHORIZATION, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, COOKIE, HOST, HeaderMap, HeaderName,
    HeaderValue, LOCATION, PROXY_AUTHORIZATION, TRANSFER_ENCODING, UPGRADE, USER_AGENT,
};
use http::{Method, Request, Response, StatusCode, Version};
use http_body_util::{BodyExt, Full};
use hyper::body::{Body as _, Incoming};
use hyper::client::conn::TrySendError;
use hyper::client::conn::http1::SendRequest;
use tsumugi_trace::{Span, SpanKind, outgoing, span};
use tsumugi_worker::WorkerHandle;

use self::connect::{HttpConnector, Internet};
use self::pool::{ConnectionLease, Pool};
use self::target::Scheme;

pub use self::connect::tls_configuration;
pub use self::error::Error;
pub use self::limits::CallLimits;
pub use self::public_address::is_public;
pub use self::stub::{
    HttpStubs, StubAnswer, StubCaptures, StubFuture, StubOutcome, StubPatternError, StubReply,
    StubbedCall,
};
pub use self::target::{TargetUrl, append_pair};

/// The header fields of W3C Trace Context.
const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// A connection's end for requests.
type Sender = SendRequest<Full<Bytes>>;

/// What is to be sent.
pub struct ClientRequest {
    /// The method.
    pub method: Method,
    /// Where it goes.
    pub target: TargetUrl,
    /// The header fields; those of framing are replaced.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// For the whole call: waiting for a place, connecting, redirects, the body.
    pub timeout: Duration,
    /// Where it may go, redirects included.
    pub reach: Reach,
    /// Redirects that are followed; with 0 a redirect is an answer.
    pub redirects_max: usize,
    /// Bytes of the answer's body.
    pub response_bytes_max: usize,
}

/// Where a call may go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Reach {
    /// To whatever the URL names.
    #[default]
    Anywhere,
    /// To addresses of the public internet ([`is_public`]): the URL may be a stranger's. A name of which one address is not public is refused.
    PublicOnly,
}

/// Who answers the calls of an application.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallMode {
    /// The servers that they name.
    #[default]
    Network,
    /// The stubs of a test, and nobody else unless the test allows it.
    Stubbed,
}

/// What came back.
pub struct ClientResponse {
    /// The status.
    pub status: StatusCode,
    /// The header fields.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
    /// Where it came from in the end, without credentials.
    pub url: String,
}

/// Calls other servers from one worker.
pub struct HttpClient {
    limits: CallLimits,
    pool: Rc<Pool>,
    connector: HttpConnector,
    /// What answers in place of servers.
    stubs: Option<Rc<HttpStubs>>,
}

impl std::fmt::Debug for HttpClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HttpClient")
    }
}

impl HttpClient {
    /// A client of one worker that trusts the certificates of this file, else those of `SSL_CERT_FILE`, else the system's.
    pub fn new(
        worker: &WorkerHandle,
        limits: CallLimits,
        certificates: Option<PathBuf>,
    ) -> Rc<HttpClient> {
        HttpClient::over(worker, limits, certificates, Internet::default(), None)
    }

    /// The same for tests: these stubs answer its calls, and servers only if they allow it.
    pub fn stubbed(
        worker: &WorkerHandle,
        limits: CallLimits,
        certificates: Option<PathBuf>,
        stubs: Rc<HttpStubs>,
    ) -> Rc<HttpClient> {
        HttpClient::over(
            worker,
            limits,
            certificates,
            Internet::default(),
            Some(stubs),
        )
    }

    fn over(
        worker: &WorkerHandle,
        limits: CallLimits,
        certificates: Option<PathBuf>,
        internet: Internet,
        stubs: Option<Rc<HttpStubs>>,
    ) -> Rc<HttpClient> {
        Rc::new(HttpClient {
            pool: Pool::new(worker, &limits),
            connector: HttpConnector::new(worker, &limits, certificates, internet),
            stubs,
            limits,
        })
    }

    /// The limits it was made with.
    pub fn limits(&self) -> &CallLimits {
        &self.limits
    }

    /// Sends a call and reads the whole answer.
    pub fn call(&self, call: ClientRequest) -> LocalBoxFuture<'_, Result<ClientResponse, Error>> {
        async move {
            let (timeout, place) = (call.timeout, call.target.place());
            let (span, call) = traced(call, &place);
            let outcome = match tokio::time::timeout(timeout, self.follow(call)).await {
                Ok(result) => result,
                Err(_) => Err(Error::Timeout {
                    place,
                    seconds: timeout.as_secs_f64(),
                }),
            };
            match &outcome {
                Ok(reply) => span.set("http.response.status_code", reply.status.as_u16()),
                Err(error) => span.fail(&error.to_string()),
            }
            outcome
        }
        .boxed_local()
    }

    async fn follow(&self, mut call: ClientRequest) -> Result<ClientResponse, Error> {
        let mut hops = 0;
        loop {
            let reply = self.once(&call).await?;
            let Some(location) = redirection(&reply).filter(|_| call.redirects_max > 0) else {
                return Ok(reply);
            };
            if hops == call.redirects_max {
                return Err(Error::TooManyRedirects {
                    max: call.redirects_max,
                });
            }
            hops += 1;
            let next = call.target.join(location)?;
            if call.target.scheme == Scheme::Https && next.scheme == Scheme::Http {
                return Err(Error::InsecureRedirect {
                    from: call.target.place(),
                    to: next.place(),
                });
            }
            if next.origin() != call.target.origin() {
                for name in [AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION] {
                    call.headers.remove(name);
                }
                call.headers.remove(HOST);
            }
            call.target = next;
            change_method(&mut call, reply.status);
        }
    }

    /// One request. A kept-alive connection that the server has closed meanwhile is replaced by another.
    async fn once(&self, call: &ClientRequest) -> Result<ClientResponse, Error> {
        if let Some(stubs) = &self.stubs
            && !stubs.are_open()
        {
            return stubs.answer(call).await;
        }
        let lease = self.pool.place(&call.target, call.reach).await?;
        loop {
            let (mut sender, reused) = match lease.idle() {
                Some(sender) => (sender, PoolHit::Yes),
                None => (
                    self.connector.open(&call.target, call.reach).await?,
                    PoolHit::No,
                ),
            };
            match sender.try_send_request(request(call)).await {
                Ok(response) => return self.read(call, response, sender, &lease).await,
                // A server may close a waiting connection at any time; then the call goes out on another one.
                Err(error) if reused == PoolHit::Yes && may_repeat(call, &error) => {}
                Err(error) => return Err(Error::of(call.target.place(), error.into_error())),
            }
        }
    }

    async fn read(
        &self,
        call: &ClientRequest,
        response: Response<Incoming>,
        sender: Sender,
        lease: &ConnectionLease,
    ) -> Result<ClientResponse, Error> {
        let (head, mut body) = response.into_parts();
        let max = call.response_bytes_max;
        let too_large = || Error::TooLarge {
            place: call.target.place(),
            max,
        };
        if body.size_hint().lower() > max as u64 {
            return Err(too_large());
        }
        let mut whole = BytesMut::new();
        while let Some(frame) = body.frame().await {
            let frame = frame.map_err(|error| Error::of(call.target.place(), error))?;
            if let Ok(data) = frame.into_data() {
                if whole.len() + data.len() > max {
                    return Err(too_large());
                }
                whole.extend_from_slice(&data);
            }
        }
        drop(body);
        lease.keep(sender).await;
        Ok(ClientResponse {
            status: head.status,
            headers: head.headers,
            body: whole.freeze(),
            url: call.target.to_string(),
        })
    }
}

/// The span of a call, and the call with what its server is to know of the trace. Of the URL only method and place are shown.
fn traced(mut call: ClientRequest, place: &str) -> (Span, ClientRequest) {
    let span = match tsumugi_trace::is_observed() {
        false => Span::default(),
        true => span(SpanKind::Http, &format!("{} {place}", call.method)),
    };
    span.set("http.request.method", call.method.as_str());
    span.set("server.address", place);
    // What the author has set stays.
    if let (Some(outgoing), false) = (outgoing(&span), call.headers.contains_key(TRACEPARENT)) {
        let value = HeaderValue::try_from(outgoing.trace_parent.to_string());
        let state = outgoing
            .trace_state
            .map(|state| HeaderValue::try_from(&*state));
        if let Ok(value) = value {
            call.headers.insert(TRACEPARENT, value);
        }
        if let Some(Ok(state)) = state {
            call.headers.insert(TRACESTATE, state);
        }
    }
    (span, call)
}

/// Was the connection in the pool?
#[derive(Clone, Copy, PartialEq, Eq)]
enum PoolHit {
    Yes,
    No,
}

/// Can sending it again do no more than sending it once?
fn may_repeat(call: &ClientRequest, error: &TrySendError<Request<Full<Bytes>>>) -> bool {
    let unsent = error.message().is_some();
    // What came back and was no HTTP is an answer, if a bad one; all else is the connection's end.
    let unanswered = !error.error().is_parse() && !error.error().is_user();
    unsent || (unanswered && call.method.is_idempotent())
}

fn request(call: &ClientRequest) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(call.body.clone()));
    *request.method_mut() = call.method.clone();
    *request.uri_mut() = call.target.path_and_query();
    *request.version_mut() = Version::HTTP_11;
    let headers = request.headers_mut();
    *headers = call.headers.clone();
    // Framing is the connection's business: a second opinion would let one request be read as two.
    for name in [CONTENT_LENGTH, TRANSFER_ENCODING, CONNECTION, UPGRADE] {
        headers.remove(name);
    }
    headers
        .entry(HOST)
        .or_insert_with(|| call.target.host_header());
    if let Some(credentials) = call.target.authorization() {
        headers.entry(AUTHORIZATION).or_insert(credentials);
    }
    headers
        .entry(USER_AGENT)
        .or_insert(HeaderValue::from_static(concat!(
            "tsumugi/",
            env!("CARGO_PKG_VERSION")
        )));
    let empty_by_custom = matches!(
        call.method,
        Method::GET | Method::HEAD | Method::DELETE | Method::OPTIONS | Method::TRACE
    );
    if call.body.is_empty() && !empty_by_custom {
        headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
    }
    request
}

fn redirection(reply: &ClientResponse) -> Option<&HeaderValue> {
    let redirects = [
        StatusCode::MOVED_PERMANENTLY,
        StatusCode::FOUND,
        StatusCode::SEE_OTHER,
        StatusCode::TEMPORARY_REDIRECT,
        StatusCode::PERMANENT_REDIRECT,
    ];
    redirects
        .contains(&reply.status)
        .then(|| reply.headers.get(LOCATION))
        .flatten()
}

/// RFC 9110 section 15.4: 303 asks for a GET, and 301 and 302 are taken so after a POST.
fn change_method(call: &mut ClientRequest, status: StatusCode) {
    let becomes_get = match status {
        StatusCode::SEE_OTHER => call.method != Method::HEAD,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => call.method == Method::POST,
        _ => false,
    };
    if becomes_get {
        call.method = Method::GET;
        call.body = Bytes::new();
        call.headers.remove(CONTENT_TYPE);
    }
}
