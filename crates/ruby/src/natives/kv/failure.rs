//! Errors of stores as exceptions of Ruby's `KV::…` classes. Decides nothing.

use tsumugi_kv::Error;
use tsumugi_mruby::{Raise, Scope};
use tsumugi_rpc::TkrzwCode;

use crate::answer::Failure;

/// Why an operation on a store failed, wherever the store is.
#[derive(Debug, thiserror::Error)]
pub(super) enum Fault {
    /// A database of this process says so.
    #[error(transparent)]
    Store(#[from] Error),
    /// The service of another server, or the way there.
    #[error(transparent)]
    Service(#[from] tsumugi_rpc::Error),
    /// The service says that a value to be incremented is no number.
    #[error("{0}")]
    NotANumber(String),
    /// This kind of store cannot do it; nothing was sent.
    #[error("{0}")]
    Unsupported(&'static str),
    /// The pool for blocking work.
    #[error(transparent)]
    Worker(#[from] tsumugi_worker::Error),
}

pub(super) type Outcome<T> = std::result::Result<T, Fault>;

impl Failure for Fault {
    fn raise<'s>(&self, scope: &'s Scope<'_>) -> Raise<'s> {
        let class = match self {
            Fault::Store(error) => class(error),
            Fault::Service(error) => service_class(error),
            Fault::NotANumber(_) => "KV::NotANumber",
            Fault::Unsupported(_) => "KV::Unsupported",
            Fault::Worker(_) => "KV::Error",
        };
        scope.error(class, self.to_string())
    }
}

impl Failure for Error {
    fn raise<'s>(&self, scope: &'s Scope<'_>) -> Raise<'s> {
        scope.error(class(self), self.to_string())
    }
}

/// The class that says what can be done about it.
fn class(error: &Error) -> &'static str {
    match error {
        Error::InvalidKey { .. } => "KV::InvalidKey",
        Error::ValueTooLong { .. } => "KV::ValueTooLong",
        Error::NotANumber { .. } => "KV::NotANumber",
        Error::TooMany { .. } => "KV::LimitExceeded",
        Error::Pattern { .. }
        | Error::Spec { .. }
        | Error::FetchNested
        | Error::ReadOnly { .. } => "KV::UsageError",
        Error::Full { .. } => "KV::Full",
        Error::QueueFull { .. } => "KV::QueueFull",
        Error::DiskFull { .. } => "KV::DiskFull",
        Error::Broken { .. } => "KV::Broken",
        Error::Locked { .. } => "KV::Locked",
        Error::Conflict { .. } => "KV::Conflict",
        Error::Closed => "KV::Closed",
        _ => "KV::Error",
    }
}

fn service_class(error: &tsumugi_rpc::Error) -> &'static str {
    use tsumugi_rpc::Error;
    match error {
        Error::Connect { .. } | Error::Lost { .. } => "KV::ConnectionLost",
        Error::Deadline { .. } => "KV::Timeout",
        Error::Refused { .. } => "KV::Refused",
        Error::TooLarge { .. } => "KV::LimitExceeded",
        Error::Target { .. } | Error::Usage(_) | Error::Certificate { .. } => "KV::UsageError",
        Error::Database { code, .. } => match code {
            TkrzwCode::InvalidArgument => "KV::UsageError",
            TkrzwCode::NotImplemented => "KV::Unsupported",
            TkrzwCode::Permission => "KV::Refused",
            TkrzwCode::BrokenData => "KV::Broken",
            _ => "KV::Error",
        },
        _ => "KV::Error",
    }
}
