//! The session of one request: what it read, what it knows of its record in a store, and the cookie for the response. It waits for its store alone.
//! Rule: once the response has begun, no cookie can go with it, and a change of the session is refused.

use std::cell::{Cell, OnceCell, Ref, RefCell};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue};
use tsumugi_http::session::{self, SessionSettings, TOKEN, key_of};
use tsumugi_stores::{Capability, Store};

use super::content::SessionContent;
use super::error::{Result, SessionError};
use super::recency_signer::RecencySigner;

/// The sessions of a loaded application.
pub struct SessionStore {
    pub(super) declared: SessionSettings,
    pub(super) store: Option<Store>,
    pub(super) cookies_max: usize,
    pub(super) recency_signer: RecencySigner,
}

impl SessionStore {
    /// Sessions in cookies have no store. Of a request at most so many cookies are read.
    ///
    /// # Errors
    /// [`SessionError::Store`] where the store cannot do what sessions need: they expire, and change on conditions.
    pub fn new(
        declared: SessionSettings,
        store: Option<Store>,
        cookies_max: usize,
    ) -> Result<SessionStore> {
        if let Some(store) = &store {
            let needed = [
                Capability::TimeToLive,
                Capability::CompareExchange,
                Capability::CompareExchangeMulti,
            ];
            let table = store.capabilities();
            needed.into_iter().try_for_each(|one| table.check(one))?;
        }
        Ok(SessionStore {
            recency_signer: RecencySigner::of(&declared.keeping),
            declared,
            store,
            cookies_max,
        })
    }

    /// What the application declared.
    pub fn settings(&self) -> &SessionSettings {
        &self.declared
    }

    /// Must this request show the session's token?
    pub fn guards(&self, request: &tsumugi_http::Request) -> bool {
        self.declared
            .guards(&request.method, &request.headers, self.cookies_max)
    }
}

/// The session of one request: values of JSON by name, and the cookie of its response. In a store, requests that overlap change their own
/// names and leave each other's alone.
pub struct RequestSession {
    pub(super) sessions: Rc<SessionStore>,
    request_cookie: RequestCookie,
    pub(super) content: RefCell<SessionContent>,
    /// The record in the store; nothing of it is used for a session in a cookie.
    pub(super) record: RefCell<Record>,
    cookie: Rc<ResponseCookie>,
}

/// The cookie for the response of a request.
#[derive(Default)]
pub struct ResponseCookie {
    /// None leaves the client's cookie as it is.
    header: RefCell<Option<HeaderValue>>,
    has_left: Cell<bool>,
}

impl ResponseCookie {
    /// For the response, which begins now.
    pub fn take(&self) -> Option<HeaderValue> {
        self.has_left.set(true);
        self.header.take()
    }

    /// What would go with the response if it began now.
    pub fn header(&self) -> Option<HeaderValue> {
        self.header.borrow().clone()
    }

    fn check(&self) -> Result<()> {
        match self.has_left.get() {
            false => Ok(()),
            true => Err(SessionError::ResponseStarted),
        }
    }
}

/// The session of a request, read when it is first asked for.
pub struct SessionSlot {
    sessions: Rc<SessionStore>,
    session: OnceCell<Rc<RequestSession>>,
    cookie: Rc<ResponseCookie>,
}

impl SessionSlot {
    /// Reads nothing yet.
    pub fn new(sessions: &Rc<SessionStore>) -> SessionSlot {
        SessionSlot {
            sessions: Rc::clone(sessions),
            session: OnceCell::new(),
            cookie: Rc::default(),
        }
    }

    /// The sessions that it is one of.
    pub fn sessions(&self) -> &SessionStore {
        &self.sessions
    }

    /// The cookie for the response.
    pub fn cookie(&self) -> &ResponseCookie {
        &self.cookie
    }

    /// The session.
    ///
    /// # Errors
    /// The store cannot be read, or what is stored is no JSON.
    pub async fn read(&self, headers: &HeaderMap) -> Result<&Rc<RequestSession>> {
        if let Some(session) = self.session.get() {
            return Ok(session);
        }
        // Of two that read it at a time one is kept.
        let session = RequestSession::read(&self.sessions, &self.cookie, headers).await?;
        Ok(self.session.get_or_init(|| Rc::new(session)))
    }
}

/// Whether the request has a cookie of the session's name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RequestCookie {
    Absent,
    Present,
}

impl RequestSession {
    async fn read(
        sessions: &Rc<SessionStore>,
        cookie: &Rc<ResponseCookie>,
        headers: &HeaderMap,
    ) -> Result<RequestSession> {
        let SessionStore {
            declared,
            store,
            cookies_max,
            recency_signer: _,
        } = &**sessions;
        let (text, record) = match store {
            Some(store) => {
                let id = declared.read_id(headers, *cookies_max);
                let record = Record::find(store, id).await?;
                (record.text.clone(), record)
            }
            None => {
                let text = declared.read(headers, *cookies_max);
                (text.map(Bytes::from), Record::default())
            }
        };
        Ok(RequestSession {
            sessions: Rc::clone(sessions),
            request_cookie: match declared.is_sent(headers, *cookies_max) {
                true => RequestCookie::Present,
                false => RequestCookie::Absent,
            },
            content: RefCell::new(content_of(text.as_deref())?),
            record: RefCell::new(record),
            cookie: Rc::clone(cookie),
        })
    }

    /// What is in it.
    pub fn content(&self) -> Ref<'_, SessionContent> {
        self.content.borrow()
    }

    /// Whether there is one, in the cookie or in the store.
    pub fn is_stored(&self) -> bool {
        match &self.sessions.store {
            Some(_) => self.record.borrow().id.is_some(),
            None => !self.content.borrow().is_empty(),
        }
    }

    /// Is this the session's token?
    pub fn is_token(&self, sent: &str) -> bool {
        self.token()
            .is_some_and(|token| session::is_token(&token, sent))
    }

    /// As it is stored: letters of base64, which JSON has without escapes.
    pub(super) fn token(&self) -> Option<String> {
        let content = self.content.borrow();
        let json = content.get(TOKEN)?;
        let token = json.strip_prefix('"')?.strip_suffix('"')?;
        Some(token.to_owned())
    }

    /// Where the content is, unless it is in the cookie.
    pub(super) fn store_for_change(&self) -> Result<Option<&Store>> {
        self.cookie.check()?;
        Ok(self.sessions.store.as_ref())
    }

    fn set_cookie(&self, content: &[u8]) -> Result<()> {
        self.cookie.check()?;
        let header = self.sessions.declared.write(content)?;
        *self.cookie.header.borrow_mut() = Some(header);
        Ok(())
    }

    /// Makes the client delete its cookie, if it has one.
    pub(super) fn delete_cookie(&self) -> Result<()> {
        self.cookie.check()?;
        *self.cookie.header.borrow_mut() = match self.request_cookie {
            RequestCookie::Present => Some(self.sessions.declared.end()?),
            RequestCookie::Absent => None,
        };
        Ok(())
    }

    pub(super) fn write_cookie(&self, content: SessionContent) -> Result<()> {
        match content.is_empty() {
            true => self.delete_cookie()?,
            false => self.set_cookie(&content.to_json())?,
        }
        *self.content.borrow_mut() = content;
        Ok(())
    }

    /// The id and the text of the record, if there is one.
    pub(super) fn stored(&self) -> Option<(String, Bytes)> {
        let record = self.record.borrow();
        record.id.clone().zip(record.text.clone())
    }

    /// Goes on with this record.
    pub(super) fn adopt(&self, id: String, text: Bytes, content: SessionContent) -> Result<()> {
        self.set_cookie(id.as_bytes())?;
        let mut record = self.record.borrow_mut();
        record.id = Some(id);
        record.text = Some(text);
        *self.content.borrow_mut() = content;
        Ok(())
    }

    /// Goes on without a session.
    pub(super) fn reset(&self) -> Result<()> {
        self.delete_cookie()?;
        *self.record.borrow_mut() = Record::default();
        *self.content.borrow_mut() = SessionContent::default();
        Ok(())
    }

    /// Reads what another request has made of it.
    pub(super) async fn reload(&self, store: &Store, id: &str) -> Result<()> {
        let found = Record::find(store, Some(id)).await?;
        let mut record = self.record.borrow_mut();
        if record.id.as_deref() != Some(id) {
            return Ok(()); // this request itself has gone on meanwhile
        }
        *record = found;
        if record.id.is_none() {
            // The client keeps the cookie that it has: another answer may have brought it a newer one.
            record.ended = true;
            self.cookie.header.take();
        }
        *self.content.borrow_mut() = content_of(record.text.as_deref())?;
        Ok(())
    }

    pub(super) fn max_age(&self) -> Duration {
        Duration::from_secs(self.sessions.declared.max_age_seconds)
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
    pub(super) async fn find(store: &Store, id: Option<&str>) -> Result<Record> {
        let Some(id) = id else {
            return Ok(Record::default());
        };
        let text = store.get(key_of(id)).await?;
        Ok(Record {
            id: text.is_some().then(|| id.to_owned()),
            text,
            ended: false,
        })
    }
}

fn content_of(text: Option<&[u8]>) -> Result<SessionContent> {
    let content = text.map(SessionContent::parse).transpose()?;
    Ok(content.unwrap_or_default())
}
