//! What can go wrong, by what the caller can do about it. Not the engine's own errors, which are the causes.
//! Rule: no message shows what was published.

use std::time::Duration;

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a lock, a timer or a channel failed.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The lease was lost before what it was for had ended: it could not be renewed in time, or the process was stopped for longer. Another
    /// one may hold it by now. What was written with its token can be told apart; what was not, may have been done twice.
    #[error("the lock {name} was lost{}: another process may have it", .reason.as_deref().map(|reason| format!(" ({reason})")).unwrap_or_default())]
    Lost {
        /// The name of the lock.
        name: String,
        /// Why it could not be renewed, where there is more to say than that its time was over.
        reason: Option<String>,
    },
    /// Another one held the lock for as long as the caller would wait. Nothing was run.
    #[error("another one holds the lock {name}{}", waited_for(*.waited))]
    Unavailable {
        /// The name of the lock.
        name: String,
        /// How long it was waited for; nothing of a caller that does not wait.
        waited: Duration,
    },
    /// The engine did not answer in time. The lock may be held for as long as it was asked for.
    #[error("the lock {name} was asked for, and there was no answer within {} ms", .ttl.as_millis())]
    Unanswered {
        /// The name of the lock.
        name: String,
        /// For how long the lock was asked for.
        ttl: Duration,
    },
    /// The caller misuses the interface. Fix the code.
    #[error("{0}")]
    Usage(String),
    /// Something is larger or longer than it may be. Nothing was done.
    #[error("{what} has {given} bytes; {limit} is {max}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// Its size.
        given: usize,
        /// The name of the limit.
        limit: &'static str,
        /// The limit's value.
        max: usize,
    },
    /// There are too many at once. Nothing was done.
    #[error("{limit} is reached: there are {max}")]
    TooMany {
        /// The name of the limit.
        limit: &'static str,
        /// The limit's value.
        max: usize,
    },
    /// The engine has no such thing. Use another one.
    #[error("{engine} has no {what}")]
    Unsupported {
        /// The name of the engine.
        engine: &'static str,
        /// What was asked for.
        what: &'static str,
    },
    /// The database failed.
    #[error(transparent)]
    Database(#[from] tsumugi_db::Error),
    /// Another engine failed.
    #[error("the engine of the cluster failed: {0}")]
    Engine(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Error {
    /// Every name that [`Error::kind`] can give.
    pub const KINDS: &[&str] = &[
        "Lost",
        "Unavailable",
        "UsageError",
        "LimitExceeded",
        "Unsupported",
        "Error",
    ];

    /// The name of the Ruby class for this error, below `Tsumugi::Lock::`; nothing where it is the database's own.
    #[must_use]
    pub fn kind(&self) -> Option<&'static str> {
        match self {
            Error::Lost { .. } => Some("Lost"),
            Error::Unavailable { .. } => Some("Unavailable"),
            Error::Usage(_) => Some("UsageError"),
            Error::TooLarge { .. } | Error::TooMany { .. } => Some("LimitExceeded"),
            Error::Unsupported { .. } => Some("Unsupported"),
            Error::Unanswered { .. } | Error::Engine(_) => Some("Error"),
            Error::Database(_) => None,
        }
    }
}

fn waited_for(waited: Duration) -> String {
    match waited.is_zero() {
        true => String::new(),
        false => format!("; waited for {} ms", waited.as_millis()),
    }
}
