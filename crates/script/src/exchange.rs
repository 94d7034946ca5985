//! One request and the response being made for it, as the natives of its context see them.
//! Its driver owns it, the context object in the VM only points to it: what a request holds is free when the request is
//! over, not when the collector comes by.

use std::cell::RefCell;
use std::rc::Rc;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};
use tsumugi_http::{Request, RequestBody};

use crate::streaming::StreamPlan;

/// A request on its way through a handler.
pub(crate) struct Exchange {
    pub request: Request,
    /// Taken while it is read.
    pub body: RefCell<Option<RequestBody>>,
    /// Read at last: several readers get the same bytes.
    pub read: RefCell<Option<Bytes>>,
    pub captures: Captured,
    pub draft: RefCell<Draft>,
}

/// The captures of a route, owned.
#[derive(Default)]
pub(crate) struct Captured {
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
    /// Set by `json`, `text`, …
    pub body: Option<Content>,
    /// What `rputs` and `echo` wrote.
    pub written: Option<Vec<u8>>,
    /// The handler itself set a status or a header.
    pub touched: bool,
}

/// A body with its type.
pub(crate) struct Content {
    /// None leaves the header as it is.
    pub media_type: Option<http::HeaderValue>,
    pub body: ContentBody,
}

pub(crate) enum ContentBody {
    Bytes(Bytes),
    Stream(StreamPlan),
}

impl Exchange {
    pub fn new(mut request: Request, captures: Captured) -> Exchange {
        let body = std::mem::replace(&mut request.body, RequestBody::in_memory(Bytes::new()));
        Exchange {
            request,
            body: RefCell::new(Some(body)),
            read: RefCell::new(None),
            captures,
            draft: RefCell::default(),
        }
    }
}
