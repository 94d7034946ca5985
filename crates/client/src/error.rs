//! Why a call to another server failed, and whether it may have acted. Not what to do about it.
//! Texts name the server, never the whole URL, which may hold secrets.

/// What went wrong.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Retry later, or allow more time. The server may have acted on the request.
    #[error("no complete answer from {place} within timeout ({seconds} s)")]
    Timeout {
        /// Host and port.
        place: String,
        /// The limit in seconds.
        seconds: f64,
    },
    /// Nothing was sent.
    #[error("cannot connect to {place}: {reason}")]
    Connect {
        /// Host and port.
        place: String,
        /// What the system or the protocol says.
        reason: String,
    },
    /// Nothing was sent.
    #[error("no connection to {place} within connect_ms_max ({ms} ms)")]
    ConnectTimeout {
        /// Host and port.
        place: String,
        /// The limit in milliseconds.
        ms: u64,
    },
    /// Ask for less, or allow more.
    #[error(
        "the answer from {place} is larger than max_bytes ({max}); its default is response_bytes_max"
    )]
    TooLarge {
        /// Host and port.
        place: String,
        /// The limit.
        max: usize,
    },
    /// The servers send one another the caller.
    #[error("more than {max} redirects; raise redirects: if that is meant")]
    TooManyRedirects {
        /// The limit.
        max: usize,
    },
    /// Nothing was sent. Call it without `public_only`, if that is meant.
    #[error("{place} has no public address, and the call may go to public ones only (public_only)")]
    NotPublic {
        /// Host and port.
        place: String,
    },
    /// Nothing was sent. Stub the call in the test.
    #[error(
        "a test calls no other servers: nothing answers {method} {url}; stub it with stub_http, or let calls out with allow_http! (in Rust allow_http)"
    )]
    NotStubbed {
        /// The method.
        method: http::Method,
        /// Where it goes, without credentials and query.
        url: String,
    },
    /// What answers in place of a server has failed itself. Mend the test.
    #[error("the stub of {url} failed: {reason}")]
    Stub {
        /// Where the call goes, without credentials and query.
        url: String,
        /// What went wrong.
        reason: String,
    },
    /// Following would send the request in the clear.
    #[error("{from} redirects from https to {to}, which is not followed")]
    InsecureRedirect {
        /// Who redirects.
        from: String,
        /// Where to.
        to: String,
    },
    /// The server broke off or broke the rules. It may have acted on the request.
    #[error("the connection to {place} failed: {reason}")]
    Protocol {
        /// Host and port.
        place: String,
        /// What the system or the protocol says.
        reason: String,
    },
    /// Fix the URL.
    #[error("{0}")]
    Url(String),
}

impl Error {
    pub(crate) fn of(place: String, error: hyper::Error) -> Error {
        let mut reason = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            reason.push_str(": ");
            reason.push_str(&cause.to_string());
            source = cause.source();
        }
        Error::Protocol { place, reason }
    }
}
