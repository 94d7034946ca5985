//! One request and the response being made for it, as the natives of its context see them.
//! Its driver owns it, the context object in the VM only points to it: what a request holds is free when the request is
//! over, not when the collector comes by.

use std::cell::{OnceCell, RefCell};
use std::path::PathBuf;
use std::rc::Rc;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, StatusCode};
use tsumugi_db::{Recency, RowFeed};
use tsumugi_http::{HttpResponse, Request, RequestBody};
use tsumugi_mruby::Root;
use tsumugi_server::dispatch::RequestLine;
use tsumugi_server::session::SessionSlot;

use crate::admission::Entry;
use crate::held_streams::HeldStreams;
use crate::web::incoming::Incoming;

/// A request on its way through a handler.
pub(crate) struct Exchange {
    pub request: Box<Request>,
    pub body: Incoming,
    pub captures: OwnedCaptures,
    /// `file:line` of the route, for errors that have no place of their own.
    pub location: Option<Rc<str>>,
    pub draft: RefCell<Draft>,
    /// Filled when a handler asks for its session.
    pub session: OnceCell<SessionSlot>,
    /// What its reads have to have seen; empty where no database has replicas.
    pub recency: OnceCell<Rc<Recency>>,
    /// What its handler and the branches of that have opened. They end with the response.
    pub streams: HeldStreams,
    /// What is to be run after the response.
    pub later: RefCell<Vec<Root>>,
    _entry: Entry,
}

/// The captures of a route, owned.
#[derive(Default)]
pub(crate) struct OwnedCaptures {
    pub names: Option<Rc<[Box<str>]>>,
    pub values: Vec<Capture>,
}

pub(crate) enum Capture {
    Integer(i64),
    Float(f64),
    Text(String),
}

/// The response so far.
#[derive(Default)]
pub(crate) struct Draft {
    pub status: Option<StatusCode>,
    pub headers: HeaderMap,
    /// `Set-Cookie` headers by what identifies a cookie: a later one takes the place of an earlier one.
    pub cookies: Vec<(CookieKey, HeaderValue)>,
    /// Set by `json`, `text`, …
    pub body: Option<Content>,
    /// What `rputs` and `echo` wrote.
    pub written: Option<Vec<u8>>,
    /// The handler itself set a status or a header: its filters did not.
    pub touched: bool,
    /// The handler has ended; what follows is done by filters.
    pub filtering: bool,
}

/// What tells cookies of a browser apart (RFC 6265 section 5.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CookieKey {
    pub name: String,
    pub path: Option<String>,
    pub domain: Option<String>,
}

impl Draft {
    /// Adds a cookie, or replaces it.
    pub fn set_cookie(&mut self, key: CookieKey, header: HeaderValue) {
        self.cookies.retain(|(other, _)| *other != key);
        self.cookies.push((key, header));
    }
}

/// A body with its type.
pub(crate) struct Content {
    /// None leaves the header as it is.
    pub media_type: Option<HeaderValue>,
    pub body: ContentBody,
}

pub(crate) enum ContentBody {
    Bytes(Bytes),
    Stream(StreamPlan),
    /// A file that is opened once the handler has ended.
    File(SentFile),
}

/// A file that a handler answers with.
pub(crate) struct SentFile {
    pub path: String,
    /// The folder of the application that it has to be in, by its path from the application file.
    pub within: Option<PathBuf>,
}

/// A body that is sent while it is made.
pub(crate) enum StreamPlan {
    /// The block of `stream`, a `Tsumugi::Task` whose argument is the output.
    Block(Root),
    /// The rows of a query.
    Rows(Box<RowFeed>),
    /// A conversation, which takes the connection over.
    WebSocket(Box<WebSocketPlan>),
}

/// A WebSocket that a handler has granted.
pub(crate) struct WebSocketPlan {
    /// The block, a `Tsumugi::Task` whose argument is the socket.
    pub task: Root,
    /// Its head begins the conversation.
    pub response: HttpResponse,
    /// The protocol that is spoken.
    pub protocol: Option<String>,
}

impl Exchange {
    pub fn new(
        mut request: Box<Request>,
        captures: OwnedCaptures,
        location: Option<Rc<str>>,
        entry: Entry,
    ) -> Exchange {
        let body = std::mem::replace(&mut request.body, RequestBody::in_memory(Bytes::new()));
        Exchange {
            request,
            body: Incoming::new(body),
            captures,
            location,
            draft: RefCell::default(),
            session: OnceCell::new(),
            recency: OnceCell::new(),
            streams: HeldStreams::default(),
            later: RefCell::default(),
            _entry: entry,
        }
    }
    /// What the log says of it.
    pub fn line(&self) -> RequestLine {
        RequestLine::of(&self.request)
    }
}
