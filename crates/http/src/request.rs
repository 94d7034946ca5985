//! A request as a handler gets it, and its body, which is read only when the handler asks. Knows no connection.
//! A body is never larger than its reader's limit, and never waited for longer than its limit between two pieces.

use std::{
    cell::Cell,
    future::{Future, poll_fn},
    hash::{BuildHasher, RandomState},
    net::SocketAddr,
    ops::{Deref, DerefMut},
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, ready},
    time::{Duration, Instant},
};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Method, Uri, Version, uri::PathAndQuery};
use http_body::{Body as _, Frame};
use hyper::body::Incoming;
use tokio::time::Sleep;
use tsumugi_trace::{
    Activity, ActivityKind, ActivityStart, OwnedActivity, SpanKind, Subject, TraceId, TraceParent,
    brief_span, in_wait, span, trace_state,
};

use crate::{
    byte_sum::{ByteShare, ByteSum, WorkerSums},
    connection_state::{ConnectionState, UnreadBody},
    error::{Error, Result},
    limits::{BODY_RESERVED_BYTES_MAX, BODY_SKIPPED_BYTES_MAX, HttpLimits, REQUEST_ID_BYTES_MAX},
    spare, trailers,
};

/// A request whose header is complete. Its body may still be on the way.
#[derive(Debug)]
pub struct Request {
    /// The method.
    pub method: Method,
    /// The target, as it was sent.
    pub uri: Uri,
    /// The protocol version.
    pub version: Version,
    /// The header fields.
    pub headers: RequestHeaders,
    /// The body.
    pub body: RequestBody,
    /// The client's address; none on a UNIX socket. Behind a trusted proxy it is what the proxy says, with port 0 when it says none.
    pub peer: Option<SocketAddr>,
    /// Whether the client has sent it over TLS, to this server or to a trusted proxy.
    pub scheme: RequestScheme,
    /// When the header was complete.
    pub received_at: Instant,
    /// What the log calls it, unless the client has named it: see [`Request::id`].
    pub number: RequestNumber,
    /// The path as it was sent, where an application that is mounted below a prefix finds another one in `uri`.
    pub mounted_path: Option<PathAndQuery>,
    /// What it is a part of, where it came from a connection: see [`Request::begin_activity`].
    pub activity: Option<Arc<Activity>>,
}

/// How a client sends its requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestScheme {
    /// In the clear.
    #[default]
    Http,
    /// Over TLS.
    Https,
}

impl RequestScheme {
    /// Its name in a URL.
    pub fn name(self) -> &'static str {
        match self {
            RequestScheme::Http => "http",
            RequestScheme::Https => "https",
        }
    }

    /// The scheme of this name in any case; those of WebSockets are those that they begin with.
    pub(crate) fn from_name(name: &str) -> Option<RequestScheme> {
        let is = |known: &str| name.eq_ignore_ascii_case(known);
        match () {
            () if is("http") || is("ws") => Some(RequestScheme::Http),
            () if is("https") || is("wss") => Some(RequestScheme::Https),
            () => None,
        }
    }

    /// The port that a URL leaves out.
    pub(crate) fn usual_port(self) -> u16 {
        match self {
            RequestScheme::Http => 80,
            RequestScheme::Https => 443,
        }
    }
}

/// A number that no other request of this process has, and that says nothing about how many there were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestNumber(u128);

/// Makes the numbers of one thread's requests. Counting is all that a request pays; text is made on request only.
#[derive(Debug)]
pub(crate) struct RequestNumbers {
    seed: u64,
    next: Cell<u64>,
}

impl RequestNumbers {
    /// Numbers that begin at a random place.
    pub(crate) fn new() -> RequestNumbers {
        // The standard hasher's keys are the one source of randomness in the standard library.
        let random = || RandomState::new().hash_one(std::thread::current().id());
        RequestNumbers {
            seed: random(),
            next: Cell::new(random()),
        }
    }

    pub(crate) fn take(&self) -> RequestNumber {
        let count = self.next.get();
        // An odd step reaches every number before it comes back to one.
        self.next.set(count.wrapping_add(0x9E37_79B9_7F4A_7C15));
        RequestNumber(u128::from(self.seed) << 64 | u128::from(count))
    }
}

impl Request {
    /// The path as the client knows it: what a redirect has to begin with.
    pub fn sent_path(&self) -> &str {
        let mounted = self.mounted_path.as_ref();
        mounted.map_or(self.uri.path(), PathAndQuery::path)
    }

    /// The host that the client asked for, with its port unless it is the usual one. It is the client's word: compare it with the names of your
    /// own before it goes into a link that others get.
    pub fn host(&self) -> Option<&str> {
        let host = self.headers.get(http::header::HOST)?.to_str().ok();
        host.filter(|host| !host.is_empty())
    }

    /// Scheme and host as the client knows them, `https://example.org:8443`, without a slash at its end.
    pub fn base_url(&self) -> Option<String> {
        let host = self.host()?;
        Some(format!("{}://{host}", self.scheme.name()))
    }

    /// The id for logs: the client's `x-request-id` when that is a plain word of up to 128 bytes, else 32 hexadecimal digits.
    pub fn id(&self) -> String {
        match self.given_id() {
            Some(given) => given.to_owned(),
            None => format!("{:032x}", self.number.0),
        }
    }

    fn given_id(&self) -> Option<&str> {
        let given = self.headers.get("x-request-id").map(HeaderValue::as_bytes);
        let given = given.and_then(|given| std::str::from_utf8(given).ok());
        given.filter(|given| is_request_id(given))
    }

    /// The trace that it belongs to: its caller's, as `traceparent` says it, or one of its own.
    pub fn trace_id(&self) -> TraceId {
        match &self.activity {
            Some(activity) => activity.trace_id(),
            None => TraceParent::of_headers(&self.headers)
                .map_or(TraceId::of(self.number.0), |parent| parent.trace_id),
        }
    }

    /// Begins what the log and traces know of it.
    pub(crate) fn begin_activity(&mut self) -> OwnedActivity {
        let parent = TraceParent::of_headers(&self.headers);
        let activity = Activity::begin(ActivityStart {
            kind: ActivityKind::Request,
            subject: Subject::Request(self.method.clone(), self.uri.path_and_query().cloned()),
            number: Some(self.number.0),
            given_id: self.given_id(),
            parent,
            trace_state: parent.and_then(|_| trace_state(&self.headers)),
            started_at: self.received_at,
        });
        self.activity = Some(activity.share());
        activity
    }
}

/// What a client may call its request: nothing that a log line or a header would have to escape.
fn is_request_id(text: &str) -> bool {
    (1..=REQUEST_ID_BYTES_MAX).contains(&text.len())
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.:/@+=".contains(&byte))
}

/// The header fields of a request: an [`http::HeaderMap`] whose memory serves the next message.
#[derive(Debug)]
pub struct RequestHeaders(Option<HeaderMap>);

impl Deref for RequestHeaders {
    type Target = HeaderMap;

    fn deref(&self) -> &HeaderMap {
        match &self.0 {
            Some(map) => map,
            None => unreachable!("only its drop takes the map"),
        }
    }
}

impl DerefMut for RequestHeaders {
    fn deref_mut(&mut self) -> &mut HeaderMap {
        match &mut self.0 {
            Some(map) => map,
            None => unreachable!("only its drop takes the map"),
        }
    }
}

impl From<HeaderMap> for RequestHeaders {
    fn from(map: HeaderMap) -> RequestHeaders {
        RequestHeaders(Some(map))
    }
}

impl Drop for RequestHeaders {
    fn drop(&mut self) {
        if let Some(map) = self.0.take() {
            spare::keep(map);
        }
    }
}

/// The body of a request. Dropping it before its end gives it up: HTTP/1 then closes the connection after the response unless the rest
/// has already come, HTTP/2 resets the stream.
#[derive(Debug)]
pub struct RequestBody {
    source: Source,
    /// Shown once the body has been read.
    trailers: Option<Box<HeaderMap>>,
}

#[derive(Debug)]
enum Source {
    /// The request has no body, or it has been read to its end.
    Empty,
    Memory(Bytes),
    Connection(Box<IncomingBody>),
}

/// How far the body has been read.
#[derive(Clone, Copy, Debug)]
enum End {
    Ahead,
    Reached,
    Failed,
}

#[derive(Debug)]
struct IncomingBody {
    incoming: Incoming,
    end: End,
    limits: Rc<HttpLimits>,
    state: Rc<ConnectionState>,
    load: Rc<ByteShare>,
    /// Its files on disk, beside those of other requests.
    uploads: Arc<ByteSum>,
    /// Runs only while a piece is waited for.
    timer: Option<Pin<Box<Sleep>>>,
    trailers: Option<Box<HeaderMap>>,
}

impl RequestBody {
    fn of(source: Source) -> RequestBody {
        RequestBody {
            source,
            trailers: None,
        }
    }

    pub(crate) fn new(
        incoming: Incoming,
        limits: &Rc<HttpLimits>,
        state: &Rc<ConnectionState>,
        sums: &WorkerSums,
    ) -> RequestBody {
        if incoming.is_end_stream() {
            return RequestBody::of(Source::Empty);
        }
        let load = Rc::new(ByteShare::new(&sums.bodies));
        let (limits, state) = (Rc::clone(limits), Rc::clone(state));
        state.body_begins();
        RequestBody::of(Source::Connection(Box::new(IncomingBody {
            incoming,
            end: End::Ahead,
            limits,
            state,
            load,
            uploads: Arc::clone(&sums.uploads),
            timer: None,
            trailers: None,
        })))
    }

    fn arriving(&self) -> Option<&IncomingBody> {
        match &self.source {
            Source::Connection(arriving) => Some(arriving),
            Source::Empty | Source::Memory(_) => None,
        }
    }

    /// Its bytes in memory, for callers that keep it until the reply is sent.
    pub(crate) fn load(&self) -> Option<Rc<ByteShare>> {
        self.arriving().map(|arriving| Rc::clone(&arriving.load))
    }

    /// What its files on disk count for; nothing when it does not come from a connection.
    pub(crate) fn uploads(&self) -> Option<Arc<ByteSum>> {
        self.arriving()
            .map(|arriving| Arc::clone(&arriving.uploads))
    }

    /// So many bytes of it have come and stay in memory. One for which there is no room is given up.
    pub(crate) fn keep(&mut self, bytes: usize) -> Result<()> {
        self.count(|load| load.add(bytes))
    }

    /// Counts something of it; the body is given up when there is no room.
    fn count(&mut self, count: impl FnOnce(&ByteShare) -> Result<()>) -> Result<()> {
        let counted = self.arriving().map_or(Ok(()), |body| count(&body.load));
        counted.inspect_err(|_| self.give_up())
    }

    fn give_up(&mut self) {
        if let Source::Connection(arriving) = &mut self.source {
            arriving.end = End::Failed;
        }
    }

    /// A body that is already in memory, for requests that do not come from a connection.
    pub fn in_memory(bytes: Bytes) -> RequestBody {
        RequestBody::of(Source::Memory(bytes))
    }

    /// With fields behind it, for requests that do not come from a connection: those that a client of one may send.
    ///
    /// # Errors
    /// When there are more of them, or more bytes, than there may be.
    pub fn with_trailers(mut self, trailers: HeaderMap) -> Result<RequestBody> {
        self.trailers = Some(trailers::received(trailers)?)
            .filter(|trailers| !trailers.is_empty())
            .map(Box::new);
        Ok(self)
    }

    /// The fields behind it; none before all of it has been read, or when its client has sent none. Fields that mean something before a body
    /// only are left out (RFC 9110 section 6.5.1).
    pub fn trailers(&self) -> Option<&HeaderMap> {
        let trailers = self.trailers.as_deref();
        trailers.filter(|_| matches!(self.source, Source::Empty))
    }

    /// The bytes still to come, when the client has announced them.
    pub fn length(&self) -> Option<u64> {
        match &self.source {
            Source::Empty => Some(0),
            Source::Memory(bytes) => Some(bytes.len() as u64),
            Source::Connection(arriving) => arriving.incoming.size_hint().exact(),
        }
    }

    /// The whole body, up to `body_bytes_max`.
    pub async fn read_all(&mut self) -> Result<Bytes> {
        let limits = self.arriving().map(|arriving| &arriving.limits);
        let bytes_max = limits.map_or(u64::MAX, |limits| limits.body_bytes_max);
        self.read_all_within("body_bytes_max", bytes_max).await
    }

    /// The whole body, up to a limit of the caller with a name for the error. A body that says it is longer is refused before anything
    /// of it is read.
    pub async fn read_all_within(&mut self, name: &'static str, bytes_max: u64) -> Result<Bytes> {
        self.check_length(name, bytes_max)?;
        self.check_room()?;
        let read = self.collect(name, bytes_max);
        in_wait(|| span(SpanKind::Body, "body"), read).await
    }

    async fn collect(&mut self, name: &'static str, bytes_max: u64) -> Result<Bytes> {
        let Some(first) = self.piece_within(name, bytes_max, 0).await? else {
            return Ok(Bytes::new());
        };
        let Some(second) = self.piece_within(name, bytes_max, first.len()).await? else {
            return Ok(first);
        };
        // What is expected is reserved only as far as it has begun to arrive: a length costs the client nothing to claim.
        let expected = self.length().unwrap_or(0).min(BODY_RESERVED_BYTES_MAX) as usize;
        let mut whole = BytesMut::with_capacity(first.len() + second.len() + expected);
        whole.extend_from_slice(&first);
        whole.extend_from_slice(&second);
        while let Some(piece) = self.piece_within(name, bytes_max, whole.len()).await? {
            whole.extend_from_slice(&piece);
        }
        Ok(whole.freeze())
    }

    /// An error when the body says that it is longer than a limit of the caller.
    pub fn check_length(&mut self, name: &'static str, bytes_max: u64) -> Result<()> {
        match self.length() {
            Some(length) if length > bytes_max => Err(self.too_large(name, bytes_max)),
            _ => Ok(()),
        }
    }

    /// An error when what it says of its length does not fit beside the bodies that are there.
    fn check_room(&mut self) -> Result<()> {
        let length = self.length().unwrap_or(0);
        self.count(|load| load.check(length))
    }

    async fn piece_within(
        &mut self,
        name: &'static str,
        bytes_max: u64,
        before: usize,
    ) -> Result<Option<Bytes>> {
        let piece = self.piece().await?;
        match &piece {
            Some(piece) if (before + piece.len()) as u64 > bytes_max => {
                Err(self.too_large(name, bytes_max))
            }
            Some(bytes) => self.keep(bytes.len()).map(|()| piece),
            None => Ok(piece),
        }
    }

    pub(crate) fn too_large(&mut self, name: &'static str, limit: u64) -> Error {
        self.give_up();
        Error::TooLarge { name, limit }
    }

    /// The next piece, never empty; `None` at the end. Only the time is limited here, the caller counts the bytes.
    pub async fn piece(&mut self) -> Result<Option<Bytes>> {
        let piece = poll_fn(|cx| self.poll_piece(cx));
        in_wait(|| brief_span(SpanKind::Body, "body"), piece).await
    }

    /// See [`RequestBody::piece`].
    pub fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>>> {
        let arriving = match &mut self.source {
            Source::Empty => return Poll::Ready(Ok(None)),
            Source::Memory(bytes) => {
                let bytes = std::mem::take(bytes);
                self.source = Source::Empty;
                return Poll::Ready(Ok(Some(bytes).filter(|bytes| !bytes.is_empty())));
            }
            Source::Connection(arriving) => arriving,
        };
        let piece = ready!(arriving.poll_piece(cx));
        if let Ok(None) = piece {
            self.trailers = arriving.trailers.take();
            self.source = Source::Empty;
        }
        Poll::Ready(piece)
    }
}

impl IncomingBody {
    fn keep_trailers(&mut self, frame: Frame<Bytes>) -> Result<()> {
        if let Ok(fields) = frame.into_trailers() {
            self.trailers = Some(Box::new(trailers::received(fields)?));
        }
        Ok(())
    }

    fn poll_piece(&mut self, cx: &mut Context<'_>) -> Poll<Result<Option<Bytes>>> {
        loop {
            match Pin::new(&mut self.incoming).poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    self.timer = None;
                    match frame.into_data() {
                        Ok(data) if data.is_empty() => {}
                        Ok(data) => return Poll::Ready(Ok(Some(data))),
                        Err(frame) => {
                            if let Err(error) = self.keep_trailers(frame) {
                                self.end = End::Failed;
                                return Poll::Ready(Err(error));
                            }
                        }
                    }
                }
                Poll::Ready(Some(Err(error))) => {
                    self.end = End::Failed;
                    return Poll::Ready(Err(broken(&error)));
                }
                Poll::Ready(None) => {
                    self.end = End::Reached;
                    return Poll::Ready(Ok(None));
                }
                Poll::Pending => {
                    let limit_ms = self.limits.body_timeout_ms;
                    let timer = self.timer.get_or_insert_with(|| {
                        Box::pin(tokio::time::sleep(Duration::from_millis(limit_ms)))
                    });
                    ready!(timer.as_mut().poll(cx));
                    self.end = End::Failed;
                    return Poll::Ready(Err(Error::Timeout { limit_ms }));
                }
            }
        }
    }
}

impl Drop for IncomingBody {
    fn drop(&mut self) {
        self.state.body_ends();
        let unread = match (self.end, self.incoming.size_hint().exact()) {
            (End::Reached, _) | (End::Ahead, Some(0)) => return,
            (End::Ahead, Some(left)) if left <= BODY_SKIPPED_BYTES_MAX => UnreadBody::Little,
            _ => UnreadBody::Much,
        };
        self.state.body_given_up(unread);
    }
}

/// What an error of the connection means for the reader of a body: broken framing is the client's fault, the rest is its absence.
fn broken(error: &hyper::Error) -> Error {
    let source =
        std::error::Error::source(error).and_then(|source| source.downcast_ref::<std::io::Error>());
    match source.map(std::io::Error::kind) {
        Some(std::io::ErrorKind::InvalidInput | std::io::ErrorKind::InvalidData) => {
            Error::Malformed("request body")
        }
        _ => Error::Closed,
    }
}
