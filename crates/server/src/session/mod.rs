//! The session of one request, for both languages: its content, its record in a store, and the cookie for the response. What an author
//! declares and calls is each language's; the cookie, its signature and the key of a record are the HTTP crate's.
//! Rule: a change is stored when it is made, and its cookie goes with the response.

mod content;
mod error;
mod recency;
mod recency_signer;
mod state;
mod stored;

use tsumugi_http::session::{self, TOKEN};

pub use content::SessionContent;
use error::Result;
pub use error::SessionError;
pub use state::{RequestSession, ResponseCookie, SessionSlot, SessionStore};

impl RequestSession {
    /// Changes the content, as often as other requests change it meanwhile.
    ///
    /// # Errors
    /// [`SessionError::Contended`] after [`SESSION_TRIES_MAX`](crate::SESSION_TRIES_MAX) tries; [`SessionError::Write`] when it becomes
    /// too large for a cookie; the store's.
    pub async fn change(&self, change: impl Fn(&mut SessionContent)) -> Result<()> {
        match self.store_for_change()? {
            Some(store) => self.change_stored(store, change).await,
            None => {
                let mut content = self.content.borrow().clone();
                change(&mut content);
                self.write_cookie(content)
            }
        }
    }

    /// Ends it.
    ///
    /// # Errors
    /// As [`RequestSession::change`].
    pub async fn clear(&self) -> Result<()> {
        match self.store_for_change()? {
            Some(store) => self.end_stored(store).await,
            None => self.write_cookie(SessionContent::default()),
        }
    }

    /// Goes on as a new session with the same content, without the token.
    ///
    /// # Errors
    /// As [`RequestSession::change`].
    pub async fn renew(&self) -> Result<()> {
        match self.store_for_change()? {
            Some(store) => self.renew_stored(store).await,
            None => {
                let mut content = self.content.borrow().clone();
                content.remove(TOKEN);
                self.write_cookie(content)
            }
        }
    }

    /// The token for a form: another text each time, all valid as long as the session.
    ///
    /// # Errors
    /// As [`RequestSession::change`]; [`SessionError::Token`] when what is stored is none.
    pub async fn csrf_token(&self) -> Result<String> {
        if self.token().is_none() {
            let token = format!("\"{}\"", session::new_token()?);
            self.change(|content| content.set(TOKEN, token.clone()))
                .await?;
        }
        let token = self.token().unwrap_or_default();
        session::masked_token(&token)?.ok_or(SessionError::Token)
    }
}
