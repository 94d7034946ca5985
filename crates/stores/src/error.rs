//! Why a call of a store failed, whichever engine has it, by what the caller can do about it. A missing key and a comparison that fails are
//! answers, not errors. Rule: no message shows a key, a value or a secret; one of a write says whether it may have taken place.

use std::fmt;

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A database of this process says so, or a key or a write is beyond what any engine takes.
    #[error(transparent)]
    Kv(#[from] tsumugi_kv::Error),
    /// The client of a `tkrzw://` store says so. Needs the feature `grpc`.
    #[cfg(feature = "grpc")]
    #[error(transparent)]
    Service(#[from] tsumugi_rpc::Error),
    /// The address of a store cannot be used, or a setting of it. Correct it.
    #[error("{reason}")]
    Address {
        /// What is wrong and how to write it. Holds no setting's value and no password.
        reason: String,
    },
    /// This kind of store has no such setting. Correct it.
    #[error("{kind} has no setting {name}; it has {known}")]
    Setting {
        /// The kind of store, as in `a store behind a service`.
        kind: &'static str,
        /// The setting.
        name: String,
        /// Those that there are.
        known: String,
    },
    /// The engine was left out when this program was built. Build it with the feature, or use another engine.
    #[error("{engine} is not in this program: it was built without the feature `{feature}`")]
    NotBuiltIn {
        /// What the address is of, as in `etcd`.
        engine: &'static str,
        /// The feature of this crate that has it.
        feature: &'static str,
    },
    /// This engine does not promise that. Nothing was sent; use another engine, or another call.
    #[error("{engine} {reason}")]
    Unsupported {
        /// The engine's name, as in `a store in etcd`.
        engine: &'static str,
        /// What it cannot do and what to do instead.
        reason: &'static str,
    },
    /// The value is too long for the engine, or an append would make it so. Nothing was written.
    #[error("the value has {length} bytes, at most {max} ({limit})")]
    ValueTooLong {
        /// Bytes of the value.
        length: usize,
        /// The limit's value.
        max: usize,
        /// The name of the limit.
        limit: &'static str,
    },
    /// The value that was to be incremented is no number. Nothing was written.
    #[error("{0}")]
    NotANumber(String),
    /// No server of the engine could be reached, or it has no majority. Try later.
    #[error("{engine} is not reached: {reason}{fate}")]
    Unavailable {
        /// The engine's name.
        engine: &'static str,
        /// The last reason, with its server.
        reason: String,
        /// What became of the call.
        fate: CallFate,
    },
    /// No answer came in time.
    #[error("{engine} did not answer within {limit_ms} ms (timeout){fate}")]
    Deadline {
        /// The engine's name.
        engine: &'static str,
        /// The time of the call.
        limit_ms: u64,
        /// What became of the call.
        fate: CallFate,
    },
    /// User, password, token or permission. Nothing was written.
    #[error("{engine} refused the call: {message}")]
    Refused {
        /// The engine's name.
        engine: &'static str,
        /// The server's text.
        message: String,
    },
    /// The engine has no room for it. Nothing was written.
    #[error("{engine} is full: {message}")]
    Full {
        /// The engine's name.
        engine: &'static str,
        /// The server's text.
        message: String,
    },
    /// Other callers changed the same record at each try. Nothing was written; try again.
    #[error(
        "other callers changed the record at each of {tries} tries ({limit}); nothing was written"
    )]
    Contended {
        /// How often it was tried.
        tries: usize,
        /// The name of the limit.
        limit: &'static str,
    },
    /// The server answered with an error of its own, or with what the protocol does not know.
    #[error("{engine} answered: {message}{fate}")]
    Server {
        /// The engine's name.
        engine: &'static str,
        /// The server's text, or what was expected.
        message: String,
        /// What became of the call.
        fate: CallFate,
    },
    /// The pool for blocking work.
    #[error(transparent)]
    Worker(#[from] tsumugi_worker::Error),
}

/// Whether a call that failed may have taken place. Nothing that may have is repeated by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFate {
    /// It did not. Try again.
    NotApplied,
    /// It may have: look before trying again.
    Unknown,
}

impl fmt::Display for CallFate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CallFate::NotApplied => "; nothing was written",
            CallFate::Unknown => "; a write may or may not have taken place",
        })
    }
}

impl Error {
    /// Whether a write that failed so may have taken place.
    #[must_use]
    pub fn fate(&self) -> CallFate {
        use tsumugi_kv::Error as Local;
        match self {
            Error::Unavailable { fate, .. }
            | Error::Deadline { fate, .. }
            | Error::Server { fate, .. } => *fate,
            Error::Kv(Local::Io { .. } | Local::Closed) | Error::Worker(_) => CallFate::Unknown,
            #[cfg(feature = "grpc")]
            Error::Service(error) => service_fate(error),
            _ => CallFate::NotApplied,
        }
    }

    /// An address or a setting that cannot be used.
    pub(crate) fn address(reason: impl Into<String>) -> Error {
        Error::Address {
            reason: reason.into(),
        }
    }
}

/// The same of a service.
#[cfg(feature = "grpc")]
fn service_fate(error: &tsumugi_rpc::Error) -> CallFate {
    use tsumugi_rpc::{Error, TkrzwCode};
    match error {
        Error::Lost { .. } | Error::Deadline { .. } | Error::Protocol(_) => CallFate::Unknown,
        Error::Database {
            code:
                TkrzwCode::System
                | TkrzwCode::Unknown
                | TkrzwCode::Canceled
                | TkrzwCode::Network
                | TkrzwCode::Application,
            ..
        } => CallFate::Unknown,
        _ => CallFate::NotApplied,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_a_lost_write_says_that_it_may_have_taken_place() {
        let lost = Error::Deadline {
            engine: "etcd",
            limit_ms: 5,
            fate: CallFate::Unknown,
        };
        assert_eq!(
            lost.to_string(),
            "etcd did not answer within 5 ms (timeout); a write may or may not have taken place"
        );
        assert_eq!(lost.fate(), CallFate::Unknown);
    }
}
