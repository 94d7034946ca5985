//! What answers in place of other servers while an application is tested: stubs by method and URL, and the calls that they got. Opens nothing.
//! Rule: a call that no stub answers fails and says how to write one; redirects, sizes and times are those of real calls, since only the
//! connection is replaced. The stub that was added last is asked first.

use std::cell::{Cell, RefCell};
use std::future::{Future, pending};
use std::pin::Pin;
use std::rc::Rc;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use tsumugi_http::percent::{Plus, decode};

use crate::limits::STUBBED_CALLS_MAX;
use crate::target::{TargetUrl, UrlOrigin};
use crate::{ClientRequest, ClientResponse, Error};

/// A call as a stub sees it and a test can look at it.
#[derive(Clone, Debug)]
pub struct StubbedCall {
    /// The method.
    pub method: Method,
    /// Where it went, with its query and without credentials.
    pub url: String,
    /// The header fields that the caller gave.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// What the pattern of the stub that answered has captured, decoded. Empty when none did.
    pub captures: StubCaptures,
}

/// Names and values, in the order of the pattern.
pub type StubCaptures = Vec<(String, String)>;

/// What a stub answers.
#[derive(Clone, Debug)]
pub struct StubReply {
    /// The status.
    pub status: StatusCode,
    /// The header fields.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}

impl StubReply {
    /// A body with its type, and 200.
    pub fn new(content_type: &'static str, body: impl Into<Bytes>) -> StubReply {
        let content_type = HeaderValue::from_static(content_type);
        StubReply {
            status: StatusCode::OK,
            headers: HeaderMap::from_iter([(CONTENT_TYPE, content_type)]),
            body: body.into(),
        }
    }

    /// A status without a body.
    pub fn status(status: StatusCode) -> StubReply {
        StubReply {
            status,
            headers: HeaderMap::new(),
            body: Bytes::new(),
        }
    }
}

/// What becomes of a call.
#[derive(Clone, Debug)]
pub enum StubOutcome {
    /// The server answers.
    Reply(StubReply),
    /// It never does: the call takes its whole time.
    Silence,
    /// It is not there.
    Refused,
    /// It breaks off.
    BrokenOff,
}

/// What a stub's answer is made in; an error is what is wrong with the stub itself.
pub type StubFuture = Pin<Box<dyn Future<Output = Result<StubOutcome, String>>>>;

/// Answers the calls of one stub.
pub type StubAnswer = Box<dyn Fn(StubbedCall) -> StubFuture>;

/// Why a stub's URL cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StubPatternError {
    /// It is no URL.
    #[error("{0}")]
    Url(Error),
    /// A name stands twice, or none stands after its mark.
    #[error(
        "{segment:?} in the URL of a stub has no name of its own; write :id, or *rest at the end"
    )]
    Capture {
        /// The segment.
        segment: String,
    },
}

/// The stubs of one application under test, and the calls it has made.
#[derive(Default)]
pub struct HttpStubs {
    stubs: RefCell<Vec<Rc<Stub>>>,
    calls: RefCell<Vec<StubbedCall>>,
    is_open: Cell<bool>,
}

struct Stub {
    /// Any, where there is none.
    method: Option<Method>,
    pattern: StubPattern,
    answer: StubAnswer,
}

impl std::fmt::Debug for HttpStubs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("HttpStubs")
    }
}

impl HttpStubs {
    /// No stubs yet.
    pub fn new() -> Rc<HttpStubs> {
        Rc::default()
    }

    /// Adds a stub. The pattern is a URL in whose path `:name` stands for a segment and `*name` for the rest; a query counts when it has one, and
    /// then as it stands. Without a method it answers all of them.
    ///
    /// # Errors
    /// When the pattern is none.
    pub fn add(
        &self,
        method: Option<Method>,
        pattern: &str,
        answer: StubAnswer,
    ) -> Result<(), StubPatternError> {
        let pattern = StubPattern::parse(pattern)?;
        let stub = Stub {
            method,
            pattern,
            answer,
        };
        self.stubs.borrow_mut().push(Rc::new(stub));
        Ok(())
    }

    /// From now on calls go to the servers that they name, and are kept no longer.
    pub fn open(&self) {
        self.is_open.set(true);
    }

    /// Whether calls go to servers.
    pub fn are_open(&self) -> bool {
        self.is_open.get()
    }

    /// The calls so far, those that failed among them.
    pub fn calls(&self) -> Vec<StubbedCall> {
        self.calls.borrow().clone()
    }

    /// Answers a call in place of its server.
    pub(crate) async fn answer(&self, call: &ClientRequest) -> Result<ClientResponse, Error> {
        let mut stubbed = StubbedCall {
            method: call.method.clone(),
            url: call.target.to_string(),
            headers: call.headers.clone(),
            body: call.body.clone(),
            captures: Vec::new(),
        };
        let stub = self.find(call).map(|(stub, captures)| {
            stubbed.captures = captures;
            stub
        });
        self.keep(&stubbed)?;
        let Some(stub) = stub else {
            return Err(Error::NotStubbed {
                method: stubbed.method,
                url: without_query(&stubbed.url).to_owned(),
            });
        };
        let (url, place) = (stubbed.url.clone(), call.target.place());
        let outcome = (stub.answer)(stubbed).await;
        let outcome = outcome.map_err(|reason| Error::Stub {
            url: without_query(&url).to_owned(),
            reason,
        })?;
        match outcome {
            StubOutcome::Reply(reply) if reply.body.len() > call.response_bytes_max => {
                Err(Error::TooLarge {
                    place,
                    max: call.response_bytes_max,
                })
            }
            StubOutcome::Reply(reply) => Ok(ClientResponse {
                status: reply.status,
                headers: reply.headers,
                body: reply.body,
                url,
            }),
            StubOutcome::Silence => pending().await,
            StubOutcome::Refused => Err(Error::Connect {
                place,
                reason: "the stub refuses the connection".to_owned(),
            }),
            StubOutcome::BrokenOff => Err(Error::Protocol {
                place,
                reason: "the stub breaks off".to_owned(),
            }),
        }
    }

    fn find(&self, call: &ClientRequest) -> Option<(Rc<Stub>, StubCaptures)> {
        let stubs = self.stubs.borrow();
        let of_method = |stub: &&Rc<Stub>| {
            let method = stub.method.as_ref();
            method.is_none_or(|method| *method == call.method)
        };
        let mut found = stubs.iter().rev().filter(of_method);
        found.find_map(|stub| Some((Rc::clone(stub), stub.pattern.captures(&call.target)?)))
    }

    fn keep(&self, call: &StubbedCall) -> Result<(), Error> {
        let mut calls = self.calls.borrow_mut();
        if calls.len() >= STUBBED_CALLS_MAX {
            return Err(Error::Stub {
                url: without_query(&call.url).to_owned(),
                reason: format!("the test has made STUBBED_CALLS_MAX ({STUBBED_CALLS_MAX}) calls"),
            });
        }
        calls.push(call.clone());
        Ok(())
    }
}

fn without_query(url: &str) -> &str {
    url.split('?').next().unwrap_or_default()
}

/// The URLs that a stub answers.
struct StubPattern {
    origin: UrlOrigin,
    segments: Vec<Segment>,
    query: Option<String>,
}

enum Segment {
    Text(String),
    Capture(String),
    Rest(String),
}

impl StubPattern {
    fn parse(pattern: &str) -> Result<StubPattern, StubPatternError> {
        let target = TargetUrl::parse(pattern).map_err(StubPatternError::Url)?;
        let uri = target.path_and_query();
        let mut segments: Vec<Segment> = Vec::new();
        let mut texts = uri.path().split('/').skip(1).peekable();
        while let Some(text) = texts.next() {
            let is_last = texts.peek().is_none();
            let wrong = || StubPatternError::Capture {
                segment: text.to_owned(),
            };
            let is_taken = |name: &str| {
                let is =
                    |segment: &Segment| matches!(segment, Segment::Capture(known) if known == name);
                name.is_empty() || segments.iter().any(is)
            };
            let segment = match (text.strip_prefix(':'), text.strip_prefix('*')) {
                (Some(name), _) if is_taken(name) => return Err(wrong()),
                (Some(name), _) => Segment::Capture(name.to_owned()),
                (_, Some(name)) if is_taken(name) || !is_last => return Err(wrong()),
                (_, Some(name)) => Segment::Rest(name.to_owned()),
                (None, None) => Segment::Text(decoded(text)),
            };
            segments.push(segment);
        }
        Ok(StubPattern {
            origin: target.origin().clone(),
            segments,
            query: uri.query().map(str::to_owned),
        })
    }

    /// What the pattern captures of a URL; none when it is another one.
    fn captures(&self, target: &TargetUrl) -> Option<StubCaptures> {
        let uri = target.path_and_query();
        let has_query = self.query.is_none() || self.query.as_deref() == uri.query();
        if !has_query || *target.origin() != self.origin {
            return None;
        }
        let mut captures = Vec::new();
        let mut rest = uri.path().strip_prefix('/')?;
        let mut segments = self.segments.iter().peekable();
        while let Some(segment) = segments.next() {
            if let Segment::Rest(name) = segment {
                captures.push((name.clone(), decoded(rest)));
                return Some(captures);
            }
            let (text, after) = match rest.split_once('/') {
                Some((text, after)) => (text, Some(after)),
                None => (rest, None),
            };
            match segment {
                Segment::Text(known) if *known == decoded(text) => {}
                Segment::Capture(name) if !text.is_empty() => {
                    captures.push((name.clone(), decoded(text)));
                }
                _ => return None,
            }
            match (after, segments.peek()) {
                (Some(after), Some(_)) => rest = after,
                (None, None) => return Some(captures),
                _ => return None,
            }
        }
        None
    }
}

fn decoded(text: &str) -> String {
    decode(text, Plus::Plus).map_or_else(|_| text.to_owned(), |text| text.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, url: &str, expected: Option<&[(&str, &str)]>) {
        let pattern = StubPattern::parse(pattern).unwrap();
        let found = pattern.captures(&TargetUrl::parse(url).unwrap());
        let expected = expected.map(|pairs| {
            let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
            pairs.iter().map(owned).collect::<Vec<_>>()
        });
        assert_eq!(found, expected, "{url}");
    }

    #[test]
    fn pattern_takes_the_urls_of_its_origin_path_and_query() {
        let users = "https://api.example.org/users/:id";
        check(
            users,
            "https://api.example.org/users/7",
            Some(&[("id", "7")]),
        );
        check(
            users,
            "https://api.example.org:443/users/a%20b?x=1",
            Some(&[("id", "a b")]),
        );
        check(
            users,
            "https://user:pass@API.example.org/users/7",
            Some(&[("id", "7")]),
        );
        check(users, "http://api.example.org/users/7", None);
        check(users, "https://api.example.org:444/users/7", None);
        check(users, "https://example.org/users/7", None);
        check(users, "https://api.example.org/users/", None);
        check(users, "https://api.example.org/users/7/", None);
        check(users, "https://api.example.org/users", None);
        check("http://a", "http://a/", Some(&[]));
        check(
            "http://a/*path",
            "http://a/x/y%2Fz",
            Some(&[("path", "x/y/z")]),
        );
        check("http://a/x?q=1", "http://a/x?q=1", Some(&[]));
        check("http://a/x?q=1", "http://a/x?q=2", None);
        check("http://a/x?q=1", "http://a/x", None);
    }

    #[test]
    fn pattern_without_names_of_its_own_is_refused() {
        for pattern in [
            "/users",
            "http://a/:",
            "http://a/:x/:x",
            "http://a/*x/y",
            "http://a/*",
        ] {
            assert!(StubPattern::parse(pattern).is_err(), "{pattern}");
        }
    }
}
