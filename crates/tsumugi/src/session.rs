//! Sessions of handlers: what an application declares, and the session of a request with values of Rust's types. How one is read, changed
//! and stored is `tsumugi_server::session`, the same that applications in Ruby have.
//! Rule: a change is stored when it is made; its cookie goes with the response, whatever the handler returns.

use std::rc::Rc;
use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use tsumugi_http::cookie::SameSite;
use tsumugi_http::session::{self, Forms, SessionStorage, Transport};
use tsumugi_server::Mode;
use tsumugi_server::session::{RequestSession, SessionError, SessionStore};

use crate::error::{Error, Result};
use crate::plugin::Worker;
use crate::store::Kv;

/// The sessions that [`Router::sessions`](crate::Router::sessions) declares. An application in Ruby that says the same of its own (the
/// name, and the place of the store) has the same sessions.
#[derive(Clone, Debug)]
pub struct Sessions {
    name: String,
    path: String,
    domain: Option<String>,
    same_site: SameSite,
    max_age: Duration,
    transport: Option<Transport>,
    forms: Forms,
    store: Option<String>,
}

impl Sessions {
    /// In a cookie, which the client can read and not change. Signed with `TSUMUGI_SECRET`, which production needs.
    #[must_use]
    pub fn in_cookie() -> Sessions {
        Sessions {
            name: "session".to_owned(),
            path: "/".to_owned(),
            domain: None,
            same_site: SameSite::Lax,
            max_age: Duration::from_secs(14 * 24 * 3600),
            transport: None,
            forms: Forms::Checked,
            store: None,
        }
    }

    /// In the key-value store at this place (`"memory:sessions"`, with the feature `disk` `"data/sessions"`, or what [`Kv::open`] takes else); the cookie
    /// has a random id.
    #[must_use]
    pub fn in_store(place: impl Into<String>) -> Sessions {
        Sessions {
            store: Some(place.into()),
            ..Sessions::in_cookie()
        }
    }

    /// The cookie has another name than `session`.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Sessions {
        self.name = name.into();
        self
    }

    /// The cookie is sent to paths below this one only.
    #[must_use]
    pub fn path(mut self, path: impl Into<String>) -> Sessions {
        self.path = path.into();
        self
    }

    /// The cookie is sent to all hosts of a domain.
    #[must_use]
    pub fn domain(mut self, domain: impl Into<String>) -> Sessions {
        self.domain = Some(domain.into());
        self
    }

    /// Which requests of other sites the cookie is sent with; `Lax` otherwise.
    #[must_use]
    pub fn same_site(mut self, same_site: SameSite) -> Sessions {
        self.same_site = same_site;
        self
    }

    /// How long a session lasts after it was last written; 14 days otherwise. In whole seconds.
    #[must_use]
    pub fn max_age(mut self, max_age: Duration) -> Sessions {
        self.max_age = max_age;
        self
    }

    /// Over which connections the cookie is sent; in production over TLS only otherwise.
    #[must_use]
    pub fn transport(mut self, transport: Transport) -> Sessions {
        self.transport = Some(transport);
        self
    }

    /// Whether a request with a session, of a kind that a form of another site can make, must show the session's token; it must otherwise.
    #[must_use]
    pub fn forms(mut self, forms: Forms) -> Sessions {
        self.forms = forms;
        self
    }

    /// Opens what keeps them.
    pub(crate) async fn open(self, worker: &Worker) -> Result<SessionStore> {
        let store = match self.store {
            Some(place) => Some(Kv::open(worker, &place).await?),
            None => None,
        };
        let keeping = match &store {
            Some(_) => SessionStorage::Store,
            None => {
                let signer = worker.mode().signer(worker.secret());
                SessionStorage::Cookie(Rc::new(signer.map_err(Error::other)?))
            }
        };
        let transport = match worker.mode() {
            Mode::Development => Transport::Any,
            Mode::Production => Transport::TlsOnly,
        };
        let declared = session::SessionSettings {
            name: self.name,
            path: self.path,
            domain: self.domain,
            same_site: self.same_site,
            max_age_seconds: self.max_age.as_secs(),
            transport: self.transport.unwrap_or(transport),
            forms: self.forms,
            keeping,
        };
        declared.check().map_err(Error::other)?;
        let cookies_max = worker.http_limits().parameters_max;
        let store = store.map(Kv::into_store);
        let worker = worker.clone();
        let signer = move || {
            let signer = worker.mode().signer(worker.secret());
            signer.map(Rc::new)
        };
        Ok(SessionStore::new(declared, store, cookies_max)?.signed_by(signer))
    }
}

/// The session of a request: values of JSON by name. Cheap to clone; all clones are the request's one.
///
/// In a cookie the client can read it: no secrets in it. Kept in a store, requests that overlap change their own names and leave each
/// other's alone; a change is an error, answered 503, after 64 tries during each of which another request changed the same session.
#[derive(Clone)]
pub struct Session(pub(crate) Rc<RequestSession>);

impl Session {
    /// The value of this name, if there is one; an error when it has another type.
    ///
    /// # Errors
    /// [`Error::Usage`] where the value is no `T`.
    pub fn get<T: DeserializeOwned>(&self, name: &str) -> Result<Option<T>> {
        let content = self.0.content();
        let value = content.get(name).map(serde_json::from_str);
        value.transpose().map_err(|error| {
            let wanted = std::any::type_name::<T>();
            Error::Usage(format!("{name} of the session is no {wanted}: {error}").into())
        })
    }

    /// Whether nothing is in it.
    pub fn is_empty(&self) -> bool {
        self.0.content().is_blank()
    }

    /// Stores a value under this name. An error when the cookie gets larger than browsers keep (4,096 bytes).
    ///
    /// # Errors
    /// [`Error::Usage`] once the response has begun. [`Error::Other`] of a `value` that is no JSON, and where the cookie gets too large. Of a session in a
    /// store, [`Error::Kv`], and [`Error::Refused`] with 503 where other requests changed the session each time that this was tried.
    pub async fn set(&self, name: &str, value: impl Serialize) -> Result<()> {
        let json = serde_json::to_string(&value).map_err(Error::other)?;
        let set = self.0.change(|content| content.set(name, json.clone()));
        Ok(set.await?)
    }

    /// Removes a value and says whether it was there.
    ///
    /// # Errors
    /// As [`Session::set`].
    pub async fn remove(&self, name: &str) -> Result<bool> {
        if self.0.content().get(name).is_none() {
            return Ok(false);
        }
        self.0.change(|content| content.remove(name)).await?;
        Ok(true)
    }

    /// Ends the session.
    ///
    /// # Errors
    /// [`Error::Usage`] once the response has begun; [`Error::Kv`] of a session in a store.
    pub async fn clear(&self) -> Result<()> {
        Ok(self.0.clear().await?)
    }

    /// Goes on as a new session with the same content: at a login, or whenever a user may do more than before. What a store kept under
    /// the old id is gone; an old cookie that holds its session by itself stays readable until it expires.
    ///
    /// # Errors
    /// As [`Session::set`].
    pub async fn renew(&self) -> Result<()> {
        Ok(self.0.renew().await?)
    }

    /// The token for the field `_csrf` of a form, or for the header `x-csrf-token`. Another text each time, all valid as long as the
    /// session.
    ///
    /// # Errors
    /// As [`Session::set`]; [`Error::Usage`] also where the token in the session is damaged.
    pub async fn csrf_token(&self) -> Result<String> {
        Ok(self.0.csrf_token().await?)
    }
}

impl From<SessionError> for Error {
    fn from(error: SessionError) -> Error {
        match error {
            SessionError::Store(error) => error.into(),
            SessionError::ResponseStarted | SessionError::Token => {
                Error::Usage(error.to_string().into())
            }
            error => match error.status() {
                Some(status) => Error::refused(status, error.to_string()),
                None => Error::other(error),
            },
        }
    }
}
