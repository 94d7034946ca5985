//! Errors of stores as exceptions of Ruby's `KV::…` classes. Decides nothing.

use tsumugi_kv::Error;
use tsumugi_mruby::{Raise, Scope};

use crate::answer::{Answer, answer};

/// The answer to an operation that failed.
pub(super) fn failure(error: Error) -> Answer {
    answer(move |scope| Err(raise(scope, &error)))
}

/// The exception of the class that says what can be done about it.
pub(super) fn raise<'c>(scope: &'c Scope<'_>, error: &Error) -> Raise<'c> {
    scope.error(class(error), error.to_string())
}

fn class(error: &Error) -> &'static str {
    match error {
        Error::InvalidKey { .. } => "KV::InvalidKey",
        Error::ValueTooLong { .. } => "KV::ValueTooLong",
        Error::NotANumber { .. } => "KV::NotANumber",
        Error::TooMany { .. } => "KV::LimitExceeded",
        Error::Pattern { .. } | Error::Spec { .. } => "KV::UsageError",
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
