//! Why a call to another server failed, and the class of the exception that a handler sees. Texts name the server, never the
//! whole URL, which may hold secrets.

/// What went wrong.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Retry later, or allow more time. The server may have acted on the request.
    #[error("no complete answer from {place} within timeout ({seconds} s)")]
    Timeout { place: String, seconds: f64 },
    /// Nothing was sent.
    #[error("cannot connect to {place}: {reason}")]
    Connect { place: String, reason: String },
    /// Nothing was sent.
    #[error("no connection to {place} within connect_ms_max ({ms} ms)")]
    ConnectTimeout { place: String, ms: u64 },
    /// Ask for less, or allow more.
    #[error(
        "the answer from {place} is larger than max_bytes ({max}); its default is http_response_bytes_max"
    )]
    TooLarge { place: String, max: usize },
    /// The servers send one another the caller.
    #[error("more than {max} redirects; raise redirects: if that is meant")]
    TooManyRedirects { max: usize },
    /// Following would send the request in the clear.
    #[error("{from} redirects from https to {to}, which is not followed")]
    InsecureRedirect { from: String, to: String },
    /// The server broke off or broke the rules. It may have acted on the request.
    #[error("the connection to {place} failed: {reason}")]
    Protocol { place: String, reason: String },
    /// Fix the URL.
    #[error("{0}")]
    Url(String),
}

impl Failure {
    pub fn of(place: String, error: hyper::Error) -> Failure {
        let mut reason = error.to_string();
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            reason.push_str(": ");
            reason.push_str(&cause.to_string());
            source = cause.source();
        }
        Failure::Protocol { place, reason }
    }

    /// The Ruby class.
    pub fn class(&self) -> &'static str {
        match self {
            Failure::Timeout { .. } | Failure::ConnectTimeout { .. } => "HTTP::Timeout",
            Failure::Connect { .. } => "HTTP::ConnectionFailed",
            Failure::TooLarge { .. } => "HTTP::TooLarge",
            Failure::TooManyRedirects { .. } => "HTTP::TooManyRedirects",
            Failure::InsecureRedirect { .. } => "HTTP::InsecureRedirect",
            Failure::Protocol { .. } => "HTTP::ProtocolError",
            Failure::Url(_) => "HTTP::InvalidURL",
        }
    }
}
