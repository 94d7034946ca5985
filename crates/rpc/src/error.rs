//! The one error of this crate: of a client's calls, and of what a server is started with. Says what the caller can do.
//! A missing key, a duplicate and a comparison that fails are answers, not errors.

use std::io;
use std::path::PathBuf;

use crate::code::{GrpcCode, TkrzwCode};

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What can go wrong.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The address of a server cannot be read. Correct it.
    #[error("`{text}` is no address of a key-value server: {advice}")]
    Target {
        /// What was given.
        text: String,
        /// How to write it.
        advice: &'static str,
    },
    /// The server could not be reached. Nothing was sent; try later.
    #[error("cannot connect to {target}: {source}")]
    Connect {
        /// The server.
        target: String,
        /// Why.
        source: io::Error,
    },
    /// The connection ended before the answer came. The call may or may not have taken place.
    #[error("the connection to {target} was lost: {reason}")]
    Lost {
        /// The server.
        target: String,
        /// Why.
        reason: String,
    },
    /// No answer came in time. The call may or may not have taken place. Raise `call_ms_max` if it may take longer.
    #[error("no answer within call_ms_max ({limit_ms} ms)")]
    Deadline {
        /// The value of `call_ms_max`.
        limit_ms: u64,
    },
    /// The server refused the call before it reached a database.
    #[error("the server refused the call ({code:?}): {message}")]
    Refused {
        /// gRPC's code.
        code: GrpcCode,
        /// The server's text.
        message: String,
    },
    /// The server lacks a call that the protocol does not have: it is none of Tsumugi's. Nothing was sent. Do without the call, or use
    /// another server.
    #[error(
        "{target} has no {call}, which is beyond the protocol: {reason}. Servers of Tsumugi have it"
    )]
    Unsupported {
        /// The server.
        target: String,
        /// The call, with its service.
        call: String,
        /// How that is known.
        reason: String,
    },
    /// The database could not do it.
    #[error("the database answered {code}: {message}")]
    Database {
        /// The database's code.
        code: TkrzwCode,
        /// The server's text.
        message: String,
    },
    /// The answer is larger than the client takes. Raise the limit.
    #[error("the answer has {bytes} bytes and {name} is {limit}; raise {name}")]
    TooLarge {
        /// Bytes of the answer.
        bytes: usize,
        /// The name of the limit.
        name: &'static str,
        /// The limit's value in bytes.
        limit: usize,
    },
    /// The server's answer is not what the protocol says. It may be another service.
    #[error("unexpected answer from the server: {0}")]
    Protocol(String),
    /// The stream has more requests under way than it was opened for, or was closed. Receive answers first; fix the code.
    #[error("{0}")]
    Usage(&'static str),
    /// The file of tokens cannot be used. Correct it.
    #[error("cannot use the token file {}: {reason}", path.display())]
    TokenFile {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// A certificate or key cannot be used. Correct the file.
    #[error("cannot use {}: {reason}", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The service cannot be described to clients. This is a bug.
    #[error("the descriptor of the service cannot be used: {0}")]
    Descriptor(String),
}

impl Error {
    /// The same of a certificate or key that the HTTP crate could not use.
    pub(crate) fn certificate(error: tsumugi_http::Error) -> Error {
        match error {
            tsumugi_http::Error::Certificate { path, reason } => {
                Error::Certificate { path, reason }
            }
            other => Error::Certificate {
                path: PathBuf::new(),
                reason: other.to_string(),
            },
        }
    }
}
