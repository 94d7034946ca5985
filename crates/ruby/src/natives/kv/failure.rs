//! Errors of stores as exceptions of Ruby's `KV::…` classes. Decides nothing.

use tsumugi_kv::Error;
use tsumugi_mruby::{Raise, Scope};
use tsumugi_rpc::TkrzwCode;
use tsumugi_stores::Error as StoreError;

use crate::answer::Failure;

pub(super) type Outcome<T> = tsumugi_stores::Result<T>;

impl Failure for StoreError {
    fn raise<'s>(&self, scope: &'s Scope<'_>) -> Raise<'s> {
        let class = match self {
            StoreError::Kv(error) => class(error),
            StoreError::Service(error) => service_class(error),
            StoreError::Setting { kind, name, known } => {
                let known = known.replace(", ", ":, ");
                let message = format!("KV.open knows no {name}: of {kind}; it knows {known}:");
                return scope.error("ArgumentError", message);
            }
            StoreError::Address { .. } => "KV::UsageError",
            StoreError::Unsupported { .. } | StoreError::NotBuiltIn { .. } => "KV::Unsupported",
            StoreError::ValueTooLong { .. } => "KV::ValueTooLong",
            StoreError::NotANumber(_) => "KV::NotANumber",
            StoreError::Unavailable { .. } => "KV::ConnectionLost",
            StoreError::Deadline { .. } => "KV::Timeout",
            StoreError::Refused { .. } => "KV::Refused",
            StoreError::Full { .. } => "KV::Full",
            StoreError::Contended { .. } => "KV::Contended",
            _ => "KV::Error",
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
        Error::NotBuiltIn { .. } => "KV::Unsupported",
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
        Error::Unsupported { .. } => "KV::Unsupported",
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
