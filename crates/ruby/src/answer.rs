//! What a wait is made of: the operation that a parked fibre waits for, and the answer it is resumed with.
//! An operation is dropped when its request is cancelled; whatever it holds must be clean after that.

use std::future::Future;
use std::pin::Pin;

use futures_util::FutureExt as _;
use tsumugi_mruby::{Raise, Result, Scope, Value};

/// Makes the value (or the exception) that the fibre sees. Runs in the VM, just before the fibre does.
pub(crate) type Answer = Box<dyn for<'s> FnOnce(&'s Scope<'s>) -> Result<'s, Value<'s>>>;

/// A wait in progress.
pub(crate) type Operation = Pin<Box<dyn Future<Output = Answer>>>;

/// An error that is an exception in Ruby.
pub(crate) trait Failure {
    /// The exception.
    fn raise<'s>(&self, scope: &'s Scope<'_>) -> Raise<'s>;
}

/// An operation from a future whose output makes the value.
pub(crate) fn operation<F, T>(future: F) -> Operation
where
    F: Future<Output = T> + 'static,
    T: for<'s> FnOnce(&'s Scope<'s>) -> Result<'s, Value<'s>> + 'static,
{
    Box::pin(async move { Box::new(future.await) as Answer })
}

/// An operation that gives what `make` makes of its outcome, or raises.
pub(crate) fn attempt<T: 'static, E: Failure + 'static>(
    outcome: impl Future<Output = std::result::Result<T, E>> + 'static,
    make: impl for<'s> FnOnce(&'s Scope<'s>, T) -> Result<'s, Value<'s>> + 'static,
) -> Operation {
    // An async block around it would have room for the future twice.
    Box::pin(outcome.map(|outcome| match outcome {
        Ok(value) => answer(move |scope| make(scope, value)),
        Err(error) => failure(error),
    }))
}

/// The same for what gives nothing: nil.
pub(crate) fn attempt_only<E: Failure + 'static>(
    outcome: impl Future<Output = std::result::Result<(), E>> + 'static,
) -> Operation {
    attempt(outcome, |_, ()| Ok(Value::nil()))
}

/// An answer, for closures that need their type told.
pub(crate) fn answer<T>(make: T) -> Answer
where
    T: for<'s> FnOnce(&'s Scope<'s>) -> Result<'s, Value<'s>> + 'static,
{
    Box::new(make)
}

/// The answer nil.
pub(crate) fn nil() -> Answer {
    answer(|_| Ok(Value::nil()))
}

/// The answer that raises.
pub(crate) fn raise(class: &'static str, message: impl Into<String>) -> Answer {
    let message = message.into();
    answer(move |scope| Err(scope.error(class, message)))
}

/// The answer to an operation that failed.
pub(crate) fn failure(error: impl Failure + 'static) -> Answer {
    answer(move |scope| Err(error.raise(scope)))
}
