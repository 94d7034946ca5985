//! The cookie beside a session's that says what the next reads of a client have to have seen, where a database has replicas. What that is, is the database
//! crate's business. Rule: it begins no session, and a client that has written nothing gets none.

use std::rc::Rc;

use http::{HeaderMap, HeaderValue};
use tsumugi_db::Recency;
use tsumugi_db::limits::REPLICA_LAG_MAX;
use tsumugi_http::secret::Signer;
use tsumugi_http::session::SessionStorage;

use super::recency_signer::RecencySigner;
use super::state::SessionStore;

impl SessionStore {
    /// Sessions in a store need no signature; what is said of them here does.
    #[must_use]
    pub fn signed_by(mut self, make: impl Fn() -> Option<Rc<Signer>> + 'static) -> SessionStore {
        if matches!(self.declared.keeping, SessionStorage::Store) {
            self.recency_signer = RecencySigner::made_by(make);
        }
        self
    }

    /// What the reads of a request have to have seen.
    pub fn recency(&self, headers: &HeaderMap) -> Rc<Recency> {
        let read = |signer: &Signer| {
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
        let refused = |error| {
            tracing::error!(
                "what the next reads of a client have to have seen is not in its cookie: {error}"
            )
        };
        written.map_err(refused).ok()
    }
}
