//! The one error of this crate and the status it means to the client. Knows no socket.
//! Every text says what the caller can do; a text about a limit names it.

use std::{io, path::PathBuf};

use http::{Method, StatusCode};

/// What can go wrong while a request is read or a response is built.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The request is larger than a limit allows. Nothing more of it is read and the connection closes.
    #[error("request is larger than {name} allows ({limit}); send less or raise {name}")]
    TooLarge {
        /// The name of the limit.
        name: &'static str,
        /// Its value, in bytes or in items.
        limit: u64,
    },
    /// What others have fills what a limit allows this worker to hold. Nothing more is read and the connection closes; later there may be
    /// room.
    #[error("{owner} fill {name} ({limit} bytes); try again later or raise {name}")]
    Crowded {
        /// What the limit is for.
        owner: &'static str,
        /// The name of the limit.
        name: &'static str,
        /// The limit's value in bytes.
        limit: u64,
    },
    /// The client stopped sending its body. The connection closes.
    #[error(
        "no more of the request body came within body_timeout_ms ({limit_ms} ms); send it faster or raise body_timeout_ms"
    )]
    Timeout {
        /// The value of `body_timeout_ms`.
        limit_ms: u64,
    },
    /// The client takes nothing of a streamed response. The response is broken off.
    #[error(
        "the client took nothing of the response within send_timeout_ms ({limit_ms} ms); raise send_timeout_ms if it may be that slow"
    )]
    Stalled {
        /// The value of `send_timeout_ms`.
        limit_ms: u64,
    },
    /// The client has closed the connection. There is no client to answer.
    #[error("the client closed the connection")]
    Closed,
    /// The client broke the rules of HTTP or of the format it named. Another attempt with the same bytes cannot succeed.
    #[error("malformed {0}")]
    Malformed(&'static str),
    /// The body is coded for the way here in a manner that this server does not know. Send it in chunks, or with its length.
    #[error("transfer coding is not understood: send the body in chunks alone, or with its length")]
    TransferCoding,
    /// The request has another content type than the reader understands.
    #[error("content type is not {0}")]
    ContentType(&'static str),
    /// The client asks for something that it gets as a WebSocket only. Open one.
    #[error("{0}")]
    NoUpgrade(&'static str),
    /// A page of another origin asks for a WebSocket. Name the origin if it may.
    #[error("this page may not open a WebSocket here")]
    ForeignOrigin,
    /// A WebSocket cannot be closed for such a reason. Fix the code.
    #[error("a WebSocket cannot be closed so: {0}")]
    CloseFrame(&'static str),
    /// The pattern of a route cannot be read. Fix the pattern.
    #[error("route {pattern} {reason}")]
    Pattern {
        /// The pattern as it was given.
        pattern: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Two routes answer exactly the same requests. Remove one.
    #[error("route {method} {second} answers the same requests as {first}")]
    DuplicateRoute {
        /// The method of both routes.
        method: Method,
        /// The pattern that was there first.
        first: String,
        /// The pattern that came later.
        second: String,
    },
    /// A cookie that would not reach the client as it was meant. Fix the code.
    #[error("cookie {name:?} {reason}")]
    Cookie {
        /// The name of the cookie.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// An uploaded file could not be written to or read from disk.
    #[error(
        "the uploaded file could not be kept on disk; see that the directory for uploads exists and has room"
    )]
    Spool(#[source] io::Error),
    /// Certificate or key cannot be used. Mend the file; what was read before stays in use.
    #[error("cannot use {}: {reason}", path.display())]
    Certificate {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The system trusts nobody. Install its authorities, or name a file of them.
    #[error(
        "there are no certificates to trust: install the package ca-certificates or set SSL_CERT_FILE"
    )]
    NoAuthorities,
    /// The client took too long to agree on TLS. The connection closes.
    #[error(
        "no TLS handshake within tls_handshake_ms ({limit_ms} ms); raise tls_handshake_ms if clients may be that slow"
    )]
    HandshakeTimeout {
        /// The value of `tls_handshake_ms`.
        limit_ms: u64,
    },
    /// The balancer took too long to say who its client is. The connection closes.
    #[error(
        "no PROXY header within proxy_header_ms ({limit_ms} ms); have the balancer send one, or leave proxy out of --listen"
    )]
    ProxyHeaderTimeout {
        /// The value of `proxy_header_ms`.
        limit_ms: u64,
    },
    /// The balancer did not say who its client is, or not in a way that is understood. The connection closes.
    #[error("the connection has no PROXY header that can be used: {0}")]
    ProxyHeader(&'static str),
    /// The client speaks no TLS, or none that the server accepts. The connection closes.
    #[error("the TLS handshake failed: {0}")]
    Handshake(#[source] io::Error),
    /// An authority has looked who controls a name (RFC 8737), and has seen it. The connection closes.
    #[error("the connection was a challenge of ACME, in which nothing is spoken")]
    Challenge,
    /// TLS cannot be set up on this system.
    #[error("TLS cannot be set up: {0}")]
    TlsSetup(String),
}

impl Error {
    /// The status that tells the client of this error.
    pub fn status(&self) -> StatusCode {
        match self {
            Error::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Error::Crowded { .. } => StatusCode::SERVICE_UNAVAILABLE,
            Error::Timeout { .. } => StatusCode::REQUEST_TIMEOUT,
            Error::Closed
            | Error::Stalled { .. }
            | Error::Malformed(_)
            | Error::ProxyHeaderTimeout { .. }
            | Error::ProxyHeader(_) => StatusCode::BAD_REQUEST,
            Error::TransferCoding => StatusCode::NOT_IMPLEMENTED,
            Error::ContentType(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Error::NoUpgrade(_) => StatusCode::UPGRADE_REQUIRED,
            Error::ForeignOrigin => StatusCode::FORBIDDEN,
            Error::Pattern { .. }
            | Error::CloseFrame(_)
            | Error::DuplicateRoute { .. }
            | Error::Cookie { .. }
            | Error::Certificate { .. }
            | Error::NoAuthorities
            | Error::HandshakeTimeout { .. }
            | Error::Handshake(_)
            | Error::Challenge
            | Error::TlsSetup(_)
            | Error::Spool(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

/// An error when there are more bytes or items than a limit allows.
pub(crate) fn check_limit(name: &'static str, count: usize, limit: u64) -> Result<()> {
    match count as u64 > limit {
        true => Err(Error::TooLarge { name, limit }),
        false => Ok(()),
    }
}

/// The result of what this crate reads and builds.
pub type Result<T, E = Error> = std::result::Result<T, E>;
