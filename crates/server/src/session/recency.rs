//! The cookies beside a session's that say what the next reads of a client have to have seen, where a database has replicas. What that is, is the database
//! crate's business. Rule: it begins no session, and a client that has written nothing gets none.

use std::rc::Rc;

use http::{HeaderMap, HeaderValue};
use tsumugi_db::limits::REPLICA_LAG_MAX;
use tsumugi_db::{Recency, RecencyTexts};
use tsumugi_http::secret::{SecretError, Signer};
use tsumugi_http::session::{RecencyPart, SessionStorage};

use super::recency_signer::RecencySigner;
use super::state::SessionStore;

impl SessionStore {
    /// Sessions in a store need no signature; what is said of them here does.
    #[must_use]
    pub fn signed_by(
        mut self,
        make: impl Fn() -> Result<Rc<Signer>, SecretError> + 'static,
    ) -> SessionStore {
        if matches!(self.declared.keeping, SessionStorage::Store) {
            self.recency_signer = RecencySigner::made_by(make);
        }
        self
    }

    /// What the reads of a request have to have seen.
    pub fn recency(&self, headers: &HeaderMap) -> Rc<Recency> {
        let read = |part| {
            let signer = self.recency_signer.signer()?;
            let declared = &self.declared;
            declared.read_recency(signer, part, headers, self.cookies_max)
        };
        Rc::new(Recency::of_texts(&RecencyTexts {
            written: read(RecencyPart::Written),
            seen: read(RecencyPart::Seen),
        }))
    }

    /// The `Set-Cookie` fields for the next requests of the client, if it is to have others than it sent.
    pub fn recency_cookies(&self, recency: &Recency) -> impl Iterator<Item = HeaderValue> {
        let RecencyTexts { written, seen } = recency.texts();
        let parts = [(RecencyPart::Written, written), (RecencyPart::Seen, seen)];
        parts.into_iter().filter_map(move |(part, text)| {
            let (text, signer) = (text?, self.recency_signer.signer()?);
            let seconds = u32::try_from(REPLICA_LAG_MAX.as_secs()).unwrap_or(u32::MAX);
            let header = self.declared.write_recency(signer, part, &text, seconds);
            let refused = |error| tracing::error!("what the next reads of a client have to have seen is not in its cookie: {error}");
            header.map_err(refused).ok()
        })
    }
}
