//! The session of one request: what it read, what it knows of its record in a store, and the cookie for the response. Waits for nothing.
//! Rule: once the response has begun, no cookie can go with it, and a change of the session is refused.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderValue;
use serde_json::{Map, Value};
use tsumugi_http::session::{self, TOKEN, key_of};
use tsumugi_kv::KvDatabase;

use crate::error::{Error, Result};
use crate::store::Kv;

/// The sessions of a loaded application.
pub(crate) struct SessionStore {
    pub(crate) declared: session::SessionSettings,
    store: Option<Kv>,
    cookies_max: usize,
}

impl SessionStore {
    /// Sessions in cookies have no store.
    pub(super) fn new(
        declared: session::SessionSettings,
        store: Option<Kv>,
        cookies_max: usize,
    ) -> SessionStore {
        SessionStore {
            declared,
            store,
            cookies_max,
        }
    }

    /// Must this request show the session's token?
    pub(crate) fn guards(&self, request: &tsumugi_http::Request) -> bool {
        self.declared
            .guards(&request.method, &request.headers, self.cookies_max)
    }
}

/// The session of one request, once it is read, and the cookie of its response.
pub(crate) struct RequestSession {
    pub(crate) sessions: Rc<SessionStore>,
    session: RefCell<Option<Session>>,
    /// For the response; none leaves the client's cookie as it is.
    cookie: RefCell<Option<HeaderValue>>,
    response: Cell<ResponseState>,
}

/// Whether the head of the response has left, after which no cookie goes with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ResponseState {
    Pending,
    Started,
}

impl RequestSession {
    pub(crate) fn new(sessions: &Rc<SessionStore>) -> Rc<RequestSession> {
        Rc::new(RequestSession {
            sessions: Rc::clone(sessions),
            session: RefCell::default(),
            cookie: RefCell::default(),
            response: Cell::new(ResponseState::Pending),
        })
    }

    /// The cookie for the response, which leaves now.
    pub(crate) fn leave(&self) -> Option<HeaderValue> {
        self.response.set(ResponseState::Started);
        self.cookie.take()
    }

    /// The session of this request, read once.
    pub(crate) async fn session(
        self: &Rc<Self>,
        request: &tsumugi_http::Request,
    ) -> Result<Session> {
        if let Some(session) = &*self.session.borrow() {
            return Ok(session.clone());
        }
        let session = Session::read(self, request)?;
        *self.session.borrow_mut() = Some(session.clone());
        Ok(session)
    }

    fn set_cookie(&self, content: &[u8]) -> Result<()> {
        self.check_response()?;
        let header = self
            .sessions
            .declared
            .write(content)
            .map_err(Error::other)?;
        *self.cookie.borrow_mut() = Some(header);
        Ok(())
    }

    /// Makes the client delete its cookie, if it has one.
    fn delete_cookie(&self, cookie: RequestCookie) -> Result<()> {
        self.check_response()?;
        *self.cookie.borrow_mut() = match cookie {
            RequestCookie::Present => Some(self.sessions.declared.end().map_err(Error::other)?),
            RequestCookie::Absent => None,
        };
        Ok(())
    }

    fn check_response(&self) -> Result<()> {
        match self.response.get() {
            ResponseState::Pending => Ok(()),
            ResponseState::Started => Err(Error::Usage(
                "the response has begun, and no cookie can go with it: write the session before the stream or WebSocket"
                    .into(),
            )),
        }
    }
}

/// Whether the request has a cookie of the session's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestCookie {
    Absent,
    Present,
}

/// The session of a request: values of JSON by name. Cheap to clone; all clones are the request's one.
///
/// In a cookie the client can read it: no secrets in it. Kept in a store, requests that overlap change their own names and leave each
/// other's alone.
#[derive(Clone)]
pub struct Session(Rc<Inner>);

struct Inner {
    request: Rc<RequestSession>,
    cookie: RequestCookie,
    content: RefCell<Map<String, Value>>,
    /// The record in the store; nothing of it is used for a session in a cookie.
    record: RefCell<Record>,
}

impl Session {
    /// Where the content is, unless it is in the cookie. Refused once the response has begun.
    pub(super) fn store_for_change(&self) -> Result<Option<&Kv>> {
        self.0.request.check_response()?;
        Ok(self.0.request.sessions.store.as_ref())
    }

    /// The content by name.
    pub(super) fn content(&self) -> &RefCell<Map<String, Value>> {
        &self.0.content
    }

    /// The record in the store.
    pub(super) fn record(&self) -> &RefCell<Record> {
        &self.0.record
    }

    fn read(session: &Rc<RequestSession>, request: &tsumugi_http::Request) -> Result<Session> {
        let SessionStore {
            declared,
            store,
            cookies_max,
        } = &*session.sessions;
        let (text, record) = match store {
            Some(store) => {
                let id = declared.read_id(&request.headers, *cookies_max);
                let record = Record::find(store, id)?;
                (record.text.clone(), record)
            }
            None => {
                let text = declared.read(&request.headers, *cookies_max);
                (text.map(Bytes::from), Record::default())
            }
        };
        Ok(Session(Rc::new(Inner {
            request: Rc::clone(session),
            cookie: match declared.is_sent(&request.headers, *cookies_max) {
                true => RequestCookie::Present,
                false => RequestCookie::Absent,
            },
            content: RefCell::new(from_json(text.as_deref())?),
            record: RefCell::new(record),
        })))
    }

    pub(crate) fn is_token(&self, sent: &str) -> bool {
        let data = self.0.content.borrow();
        let token = data.get(TOKEN).and_then(Value::as_str);
        token.is_some_and(|token| session::is_token(token, sent))
    }

    /// Whether there is one, in the cookie or in the store.
    pub(crate) fn is_stored(&self) -> bool {
        match &self.0.request.sessions.store {
            Some(_) => self.0.record.borrow().id.is_some(),
            None => !self.0.content.borrow().is_empty(),
        }
    }

    /// Puts the content into the cookie.
    pub(super) fn write_cookie(&self, data: Map<String, Value>) -> Result<()> {
        match data.is_empty() {
            true => self.0.request.delete_cookie(self.0.cookie)?,
            false => self.0.request.set_cookie(&to_json(&data)?)?,
        }
        *self.0.content.borrow_mut() = data;
        Ok(())
    }

    /// The id and the text of the record, if there is one.
    pub(super) fn stored(&self) -> Option<(String, Bytes)> {
        let record = self.0.record.borrow();
        record.id.clone().zip(record.text.clone())
    }

    pub(super) fn max_age(&self) -> Duration {
        Duration::from_secs(self.0.request.sessions.declared.max_age_seconds)
    }

    /// Goes on with this record.
    pub(super) fn adopt(&self, id: String, text: Bytes, data: Map<String, Value>) -> Result<()> {
        self.0.request.set_cookie(id.as_bytes())?;
        let mut record = self.0.record.borrow_mut();
        record.id = Some(id);
        record.text = Some(text);
        *self.0.content.borrow_mut() = data;
        Ok(())
    }

    /// Goes on without a session.
    pub(super) fn reset(&self) -> Result<()> {
        self.0.request.delete_cookie(self.0.cookie)?;
        *self.0.record.borrow_mut() = Record::default();
        self.0.content.borrow_mut().clear();
        Ok(())
    }

    /// Reads what another request has made of it.
    pub(super) fn reload(&self, store: &KvDatabase, id: &str) -> Result<()> {
        let mut record = self.0.record.borrow_mut();
        if record.id.as_deref() != Some(id) {
            return Ok(()); // this request itself has gone on meanwhile
        }
        *record = Record::find(store, Some(id))?;
        if record.id.is_none() {
            // The client keeps the cookie that it has: another answer may have brought it a newer one.
            record.ended = true;
            self.0.request.cookie.take();
        }
        *self.0.content.borrow_mut() = from_json(record.text.as_deref())?;
        Ok(())
    }
}

/// The record of a session in its store, as this request saw it last.
#[derive(Debug, Default)]
pub(super) struct Record {
    /// None without one in the store.
    pub(super) id: Option<String>,
    /// As it was read or written last.
    pub(super) text: Option<Bytes>,
    /// Another request ended it.
    pub(super) ended: bool,
}

impl Record {
    pub(super) fn find(store: &KvDatabase, id: Option<&str>) -> Result<Record> {
        let Some(id) = id else {
            return Ok(Record::default());
        };
        let text = store.get(key_of(id).as_bytes())?;
        Ok(Record {
            id: text.is_some().then(|| id.to_owned()),
            text,
            ended: false,
        })
    }
}

fn from_json(text: Option<&[u8]>) -> Result<Map<String, Value>> {
    match text {
        Some(text) => serde_json::from_slice(text).map_err(Error::other),
        None => Ok(Map::new()),
    }
}

pub(super) fn to_json(data: &Map<String, Value>) -> Result<Vec<u8>> {
    serde_json::to_vec(data).map_err(Error::other)
}
