//! The cookie beside a session's that says what the next reads of a client have to have seen, where a database has replicas. What that is, is the database
//! crate's business. Rule: it begins no session, and a client that has written nothing gets none.

use std::cell::OnceCell;
use std::rc::Rc;

use http::{HeaderMap, HeaderValue};
use tsumugi_db::Recency;
use tsumugi_db::limits::REPLICA_LAG_MAX;
use tsumugi_http::secret::Signer;
use tsumugi_http::session::SessionStorage;

use super::state::SessionStore;

/// What signs the cookie: that of sessions in cookies, else one that is made when it is first needed.
pub(super) struct RecencySigner {
    make: Box<dyn Fn() -> Option<Rc<Signer>>>,
    made: OnceCell<Option<Rc<Signer>>>,
}

impl RecencySigner {
    pub(super) fn of(storage: &SessionStorage) -> RecencySigner {
        let signer = match storage {
            SessionStorage::Cookie(signer) => Some(Rc::clone(signer)),
            SessionStorage::Store => None,
        };
        RecencySigner {
            make: Box::new(move || signer.clone()),
            made: OnceCell::new(),
        }
    }

    fn signer(&self) -> Option<&Signer> {
        let make = || {
            let made = (self.make)();
            if made.is_none() {
                tracing::warn!(
                    "there is nothing to sign with, so that reads follow the writes of their own request only: set TSUMUGI_SECRET, and declare sessions"
                );
            }
            made
        };
        self.made.get_or_init(make).as_deref()
    }
}

impl SessionStore {
    /// Sessions in a store need no signature; what is said of them here does.
    #[must_use]
    pub fn signed_by(mut self, make: impl Fn() -> Option<Rc<Signer>> + 'static) -> SessionStore {
        if matches!(self.declared.keeping, SessionStorage::Store) {
            self.recency_signer.make = Box::new(make);
        }
        self
    }

    /// What the reads of a request have to have seen.
    pub fn recency(&self, headers: &HeaderMap) -> Rc<Recency> {
        let read = |signer| {
            self.declared
                .read_recency(signer, headers, self.cookies_max)
        };
        let text = self.recency_signer.signer().and_then(read);
        Rc::new(text.map_or_else(Recency::default, |text| Recency::of_text(&text)))
    }

    /// The `Set-Cookie` for the next requests of the client, if it is to have another one than it sent.
    pub fn recency_cookie(&self, recency: &Recency) -> Option<HeaderValue> {
        let (text, signer) = (recency.text()?, self.recency_signer.signer()?);
        let seconds = u32::try_from(REPLICA_LAG_MAX.as_secs()).unwrap_or(u32::MAX);
        let written = self.declared.write_recency(signer, &text, seconds);
        let refused = |error| tracing::error!("the cookie of what was written is not: {error}");
        written.map_err(refused).ok()
    }
}
