//! What a wait is made of: the operation that a parked fibre waits for, and the answer it is resumed with.
//! An operation is dropped when its request is cancelled; whatever it holds must be clean after that.

use std::future::Future;
use std::pin::Pin;

use tsumugi_mruby::{Result, Scope, Value};

/// Makes the value (or the exception) that the fibre sees. Runs in the VM, just before the fibre does.
pub(crate) type Answer = Box<dyn for<'s> FnOnce(&'s Scope<'s>) -> Result<'s, Value<'s>>>;

/// A wait in progress.
pub(crate) type Operation = Pin<Box<dyn Future<Output = Answer>>>;

/// An operation from a future whose output makes the value.
pub(crate) fn operation<F, T>(future: F) -> Operation
where
    F: Future<Output = T> + 'static,
    T: for<'s> FnOnce(&'s Scope<'s>) -> Result<'s, Value<'s>> + 'static,
{
    Box::pin(async move { Box::new(future.await) as Answer })
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
