//! The one error of handlers, and the response that it is unless the application says otherwise. Knows no route.
//! Rule: an error that the client did not cause is logged and not shown to it.

use std::borrow::Cow;
use std::fmt;
use std::panic::Location;

use http::StatusCode;
use tsumugi_db::Refusal;
use tsumugi_http::HttpResponse;
use tsumugi_server::dispatch::RequestRefusal;
pub use tsumugi_server::story;

use crate::error_location;
use crate::invalid::Invalid;
use tsumugi_server::{ErrorReport, report_error};

/// What handlers, extractors and plugins return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why there is no answer of the ordinary kind. [`Router::map_err`](crate::Router::map_err) has the last word on each.
#[non_exhaustive]
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The handler, or an extractor before it, refuses. The response says why.
    #[error("{message}")]
    Refused {
        /// The status of the response.
        status: StatusCode,
        /// The text of the response.
        message: Cow<'static, str>,
    },
    /// Fields do not fit the shape of [`Valid`](crate::Valid). The response is JSON with the messages of each; a form is shown again with them.
    #[error("{0}")]
    Invalid(Box<Invalid>),
    /// The request could not be read.
    #[error(transparent)]
    Http(tsumugi_http::Error),
    /// A call to another server failed; whether the server may have acted on it, the variant says.
    #[error(transparent)]
    Call(tsumugi_client::Error),
    /// A mail was not sent, or a variable of the environment that says where mails go cannot be used. Needs the feature `mail`.
    #[cfg(feature = "mail")]
    #[error(transparent)]
    Mail(tsumugi_mail::Error),
    /// The database failed, or refused the statement.
    #[error(transparent)]
    Db(tsumugi_db::Error),
    /// The query makes no sense, or is none for this database.
    #[error(transparent)]
    Sql(tsumugi_sql::Error),
    /// The key-value store failed: a database of this process, or what is the same on all engines.
    #[error(transparent)]
    Kv(tsumugi_kv::Error),
    /// The key-value store is behind a network, and failed there, or its address cannot be used, or its engine was left out when the program was built.
    /// Whether a write may have taken place says [`fate`](tsumugi_stores::Error::fate).
    #[error(transparent)]
    Store(tsumugi_stores::Error),
    /// A lock or a channel of the cluster failed, or a lock was lost.
    #[error(transparent)]
    Cluster(tsumugi_cluster::Error),
    /// A job was not pushed, or another process has begun it anew.
    #[error(transparent)]
    Jobs(tsumugi_jobs::Error),
    /// A file of the application was not read: it is not there, is too large, or its path leads out of the folder.
    #[error(transparent)]
    File(tsumugi_http::AppFileError),
    /// A variable of the environment is missing. Set it.
    #[error("{name} is not set in the environment, or is not UTF-8")]
    Environment {
        /// The variable's name.
        name: String,
    },
    /// The handler took too long and was dropped.
    #[error("{}", RequestRefusal::Deadline { limit_ms: *limit_ms })]
    Deadline {
        /// `request_ms_max`, in milliseconds.
        limit_ms: u64,
    },
    /// Too many requests of this worker wait. Nothing of this one was run.
    #[error("{}", RequestRefusal::Busy { max: *max })]
    Busy {
        /// How many may wait.
        max: usize,
    },
    /// The code of the application misuses an interface. Fix it.
    #[error("{0}")]
    Usage(Cow<'static, str>),
    /// An error of the application's own, or of a library that has no kind here.
    #[error(transparent)]
    Other(Box<dyn std::error::Error>),
}

/// Errors of other crates, which keep the place of the `?` that makes them.
macro_rules! kinds {
    ($($(#[$when:meta])? $kind:ident: $source:ty),* $(,)?) => {$(
        $(#[$when])?
        impl From<$source> for Error {
            #[track_caller]
            fn from(error: $source) -> Error {
                error_location::note(stringify!($kind), Location::caller());
                Error::$kind(error)
            }
        }
    )*};
}

kinds! {
    Http: tsumugi_http::Error,
    Call: tsumugi_client::Error,
    #[cfg(feature = "mail")]
    Mail: tsumugi_mail::Error,
    Db: tsumugi_db::Error,
    Sql: tsumugi_sql::Error,
    Kv: tsumugi_kv::Error,
    Cluster: tsumugi_cluster::Error,
    Jobs: tsumugi_jobs::Error,
    File: tsumugi_http::AppFileError,
    Other: Box<dyn std::error::Error>,
}

impl From<tsumugi_stores::Error> for Error {
    #[track_caller]
    fn from(error: tsumugi_stores::Error) -> Error {
        let error = match error {
            tsumugi_stores::Error::Kv(error) => Error::Kv(error),
            tsumugi_stores::Error::Worker(error) => Error::other(error),
            error => Error::Store(error),
        };
        error_location::note(error.class(), Location::caller());
        error
    }
}

impl Error {
    /// An answer with this status and text.
    pub fn refused(status: StatusCode, message: impl Into<Cow<'static, str>>) -> Error {
        Error::Refused {
            status,
            message: message.into(),
        }
    }

    /// 400.
    pub fn bad_request(message: impl Into<Cow<'static, str>>) -> Error {
        Error::refused(StatusCode::BAD_REQUEST, message)
    }

    /// 401.
    pub fn unauthorized(message: impl Into<Cow<'static, str>>) -> Error {
        Error::refused(StatusCode::UNAUTHORIZED, message)
    }

    /// 403.
    pub fn forbidden(message: impl Into<Cow<'static, str>>) -> Error {
        Error::refused(StatusCode::FORBIDDEN, message)
    }

    /// 404.
    pub fn not_found(message: impl Into<Cow<'static, str>>) -> Error {
        Error::refused(StatusCode::NOT_FOUND, message)
    }

    /// 409.
    pub fn conflict(message: impl Into<Cow<'static, str>>) -> Error {
        Error::refused(StatusCode::CONFLICT, message)
    }

    /// 422.
    pub fn unprocessable(message: impl Into<Cow<'static, str>>) -> Error {
        Error::refused(StatusCode::UNPROCESSABLE_ENTITY, message)
    }

    /// An error of another crate.
    #[track_caller]
    pub fn other(error: impl std::error::Error + 'static) -> Error {
        error_location::note("Other", Location::caller());
        Error::Other(Box::new(error))
    }

    /// Whether the transaction that it ended may be run again as it is: see [`tsumugi_db::Error::is_retryable`].
    pub fn is_retryable(&self) -> bool {
        matches!(self, Error::Db(error) if error.is_retryable())
    }

    /// The status of the response that this is.
    pub fn status(&self) -> StatusCode {
        match self {
            Error::Refused { status, .. } => *status,
            Error::Invalid(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Error::Http(error) => error.status(),
            Error::Db(_) | Error::Sql(_) => self
                .database_refusal()
                .and_then(|refusal| StatusCode::from_u16(refusal.status()).ok())
                .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            Error::Deadline { limit_ms } => {
                let limit_ms = *limit_ms;
                RequestRefusal::Deadline { limit_ms }.status()
            }
            Error::Busy { max } => RequestRefusal::Busy { max: *max }.status(),
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }

    /// How a request is answered that ends with an error of the database, or of the builder before it.
    pub(crate) fn database_refusal(&self) -> Option<Refusal> {
        match self {
            Error::Db(error) => error.refusal(),
            Error::Sql(error) => tsumugi_db::Error::from(error.clone()).refusal(),
            _ => None,
        }
    }

    /// What errors of its kind are called on the dashboard.
    pub(crate) fn class(&self) -> &'static str {
        match self {
            Error::Refused { .. } => "Refused",
            Error::Invalid(_) => "Invalid",
            Error::Call(_) => "Call",
            #[cfg(feature = "mail")]
            Error::Mail(_) => "Mail",
            Error::Http(_) => "Http",
            Error::Db(_) => "Db",
            Error::Sql(_) => "Sql",
            Error::Kv(_) => "Kv",
            Error::Store(_) => "Store",
            Error::Cluster(_) => "Cluster",
            Error::Jobs(_) => "Jobs",
            Error::File(_) => "File",
            Error::Environment { .. } => "Environment",
            Error::Deadline { .. } => "Deadline",
            Error::Busy { .. } => "Busy",
            Error::Usage(_) => "Usage",
            Error::Other(_) => "Other",
        }
    }

    pub(crate) fn response(&self) -> HttpResponse {
        match self {
            Error::Http(error) => return HttpResponse::from_error(error),
            Error::Invalid(invalid) => return invalid.response(),
            _ => {}
        }
        if let Some(refusal) = self.database_refusal() {
            return HttpResponse::refusal(self.status(), refusal.text());
        }
        match self.status() {
            StatusCode::INTERNAL_SERVER_ERROR if !matches!(self, Error::Refused { .. }) => {
                HttpResponse::internal_error()
            }
            status => HttpResponse::refusal(status, &self.to_string()),
        }
    }
}

/// Leaves an error for the dashboard: its class, its story, and what was run.
pub(crate) fn report(class: &str, story: &str, subject: &dyn fmt::Display) {
    let place = error_location::take(class);
    report_error(|| ErrorReport {
        place,
        class: class.to_owned(),
        message: story.to_owned(),
        subject: subject.to_string(),
        ..ErrorReport::default()
    });
}

impl From<RequestRefusal> for Error {
    fn from(refusal: RequestRefusal) -> Error {
        match refusal {
            RequestRefusal::Busy { max } => Error::Busy { max },
            RequestRefusal::Deadline { limit_ms } => Error::Deadline { limit_ms },
        }
    }
}

impl From<std::io::Error> for Error {
    #[track_caller]
    fn from(error: std::io::Error) -> Error {
        Error::other(error)
    }
}
