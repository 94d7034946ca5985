//! Why a session is not read or not changed, and what that is to the client. Decides nothing.

use http::StatusCode;
use tsumugi_http::json;
use tsumugi_http::secret::SecretError;
use tsumugi_http::session::WriteError;

/// Why a session was not read or changed.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The cookie cannot be written. Keep less in the session, or keep it in a store.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] tsumugi_stores::Error),
    /// What is stored is no JSON: another program has written it.
    #[error(transparent)]
    Content(#[from] json::Error),
    /// No random number was to be had.
    #[error(transparent)]
    Secret(#[from] SecretError),
    /// Other requests changed it at each try. Nothing was stored; the client may try again.
    #[error("other requests change this session all the time: try again")]
    Contended,
    /// Write the session before the stream or WebSocket.
    #[error(
        "the response has begun, and no cookie can go with it: write the session before the stream or WebSocket"
    )]
    ResponseStarted,
    /// Clear the session.
    #[error("the session's token is damaged: clear the session")]
    Token,
}

impl SessionError {
    /// The status of the response that it is, unless it is a failure of the application.
    pub fn status(&self) -> Option<StatusCode> {
        matches!(self, SessionError::Contended).then_some(StatusCode::SERVICE_UNAVAILABLE)
    }
}

pub(super) type Result<T> = std::result::Result<T, SessionError>;
