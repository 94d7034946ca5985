//! Why something failed and what the caller can do about it: one enum for the whole driver.
//! Rule: no text has a password or a value of the user's; the cause is in `source()`.

use std::convert::Infallible;

use thiserror::Error as Failure;
use tsumugi_firebird_proto::values::EncodeError;
use tsumugi_firebird_proto::{Misuse, ServerError, Violation};
use tsumugi_wire::{Loss, ReplyLoss};

use crate::cause::Cause;
use crate::phase::Phase;

pub use tsumugi_wire::StatementFate;

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong.
#[non_exhaustive]
#[derive(Debug, Failure)]
pub enum Error {
    /// Fix the URL. Retrying cannot help.
    #[error("{key}: {reason}")]
    Config {
        /// The key, or `url`.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no connection to this host. No statement was sent.
    #[error("cannot connect to {host} ({phase}): {cause}{}", cause.advice())]
    Connect {
        /// The host and the port.
        host: String,
        /// What was being done.
        phase: Phase,
        /// Why it failed.
        #[source]
        cause: Cause,
    },
    /// The server refused the statement. The connection is still usable.
    #[error("{0}")]
    Server(#[source] Box<ServerError>),
    /// The server broke the protocol. The connection is dead; open another.
    #[error("the server broke the protocol: {0}")]
    Protocol(#[source] Violation),
    /// The connection ended before the answer had come. Open another; `ran` says whether the statement may have run.
    #[error("the connection to the database was lost: {reason}; {ran}")]
    Lost {
        /// Why.
        reason: String,
        /// Whether the statement may have run.
        ran: StatementFate,
    },
    /// The caller misused the driver. Fix the code; nothing was sent.
    #[error("{0}")]
    Usage(#[from] Misuse),
    /// The answer is larger than one answer may be. Ask for less, raise the limit or stream it.
    #[error(
        "the answer exceeds reply_bytes_max ({reply_bytes_max} bytes); ask for less, raise it or use a stream"
    )]
    TooLarge {
        /// The limit.
        reply_bytes_max: usize,
    },
    /// The transaction of the blob has ended, and the blob with it. Read or write it before.
    #[error("the blob was closed by the end of its transaction; read or write it before")]
    BlobClosed,
    /// This connection has an event listener already. Use another connection.
    #[error("this connection has an event listener already; use another connection")]
    Listening,
    /// The values cannot be sent. Nothing was sent.
    #[error("{0}")]
    Values(#[from] EncodeError),
    /// The statement has no rows to stream, or locks them outside a transaction. Run it with `query`, or in one.
    #[error(
        "the statement has no rows to stream, or locks them outside a transaction; run it with query, or in one"
    )]
    NoCursor,
    /// This kind of statement is a method here: it would end a transaction behind the driver's back. Nothing was run.
    #[error("{0} cannot be run as a statement; use the driver's own transactions")]
    Control(&'static str),
}

impl Error {
    /// What the server said, if it said something.
    pub fn server(&self) -> Option<&ServerError> {
        match self {
            Error::Server(error) => Some(error),
            Error::Connect {
                cause: Cause::Handshake(tsumugi_firebird_proto::Error::Server(error)),
                ..
            } => Some(error),
            _ => None,
        }
    }

    /// The same of what comes before a statement goes out, such as its preparation: nothing of the statement itself was sent.
    pub(crate) fn before_execution(self) -> Error {
        self.with_fate(StatementFate::No)
    }

    /// The same of a later part of a statement, of which a part was sent before.
    pub(crate) fn after_partial_send(self) -> Error {
        self.with_fate(StatementFate::Perhaps)
    }

    fn with_fate(self, ran: StatementFate) -> Error {
        match self {
            Error::Lost { reason, .. } => Error::Lost { reason, ran },
            other => other,
        }
    }

    pub(crate) fn config(key: &str, reason: impl Into<String>) -> Error {
        Error::Config {
            key: key.to_owned(),
            reason: reason.into(),
        }
    }
}

impl From<ReplyLoss<Loss<Infallible, Violation>>> for Error {
    fn from(ReplyLoss { lost, fate }: ReplyLoss<Loss<Infallible, Violation>>) -> Error {
        Error::Lost {
            reason: lost.to_string(),
            ran: fate,
        }
    }
}
