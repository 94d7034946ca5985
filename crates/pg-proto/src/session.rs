//! What start-up leaves behind: the server's settings and the key for cancelling. Knows no messages.
//! Rule: what the server says about itself is bounded; the secret of the key is never shown.

use std::fmt;

use crate::backend::{ServerError, TransactionStatus};
use crate::error::Violation;
use crate::limits::SETTINGS_MAX;

/// A session that is ready for its first statement.
#[non_exhaustive]
#[derive(Debug, Clone)]
pub struct Session {
    /// What the server said about itself.
    pub parameters: ServerParameters,
    /// What a request to cancel has to name. Some poolers send none.
    pub key: Option<CancelKey>,
    /// Always idle with a sound server.
    pub status: TransactionStatus,
    /// Notices that came on the way, such as one about collations; at most
    /// [`STARTUP_NOTICES_MAX`](crate::limits::STARTUP_NOTICES_MAX).
    pub notices: Vec<ServerError>,
}

impl Default for Session {
    /// A session that the server has said nothing about.
    fn default() -> Self {
        Self {
            parameters: ServerParameters::default(),
            key: None,
            status: TransactionStatus::Idle,
            notices: Vec::new(),
        }
    }
}

/// What a request to cancel has to name; see [`crate::frontend::cancel_request`].
#[derive(Clone, PartialEq, Eq)]
pub struct CancelKey {
    /// The process that serves the connection.
    pub process_id: u32,
    /// Proves that the request comes from us.
    pub secret: Box<[u8]>,
}

impl fmt::Debug for CancelKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelKey")
            .field("process_id", &self.process_id)
            .finish_non_exhaustive()
    }
}

/// The server's settings as it last reported them, such as `server_version` and `TimeZone`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerParameters(Vec<(Box<str>, Box<str>)>);

impl ServerParameters {
    /// The value of the setting with this name.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.iter()
            .find_map(|(known, value)| (known == name).then_some(value))
    }

    /// All settings with their values, in the order of their first report.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (&**name, &**value))
    }

    /// Keeps what the server reports.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> Result<(), Violation> {
        if let Some((_, known)) = self.0.iter_mut().find(|(known, _)| **known == *name) {
            *known = value.into();
            return Ok(());
        }
        if self.0.len() == SETTINGS_MAX {
            return Err(Violation::too_many("settings", SETTINGS_MAX));
        }
        self.0.push((name.into(), value.into()));
        Ok(())
    }
}
