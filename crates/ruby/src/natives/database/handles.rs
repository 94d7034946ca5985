//! What Ruby holds of a database: transactions, sessions, savepoints, COPYs, listeners. Knows none of them.
//! Rule: a handle is empty once its content has ended or while a fibre waits for it, and says so.

use std::cell::RefCell;
use std::rc::Rc;

use tsumugi_mruby::{Raise, Result, Scope, Value};

/// A transaction or a session in Ruby's hands; `None` once it has ended.
pub(crate) type SharedHandle<T> = ExclusiveHandle<Rc<T>>;

pub(super) fn shared_handle<T>(value: T) -> SharedHandle<T> {
    exclusive_handle(Rc::new(value))
}

/// A value that Ruby holds and that one fibre at a time waits for: a COPY, a listener, a savepoint.
pub(crate) type ExclusiveHandle<T> = Rc<RefCell<Option<T>>>;

pub(super) fn exclusive_handle<T>(value: T) -> ExclusiveHandle<T> {
    Rc::new(RefCell::new(Some(value)))
}

/// Takes the value of a handle, for one wait.
pub(super) fn take<'c, T: 'static>(
    scope: &'c Scope<'c>,
    value: Value<'c>,
) -> Result<'c, (ExclusiveHandle<T>, T)> {
    let over = || -> Raise<'c> {
        let message = "this is over, or another fibre waits for it";
        scope.error("DB::UsageError", message)
    };
    let holder = scope.data::<ExclusiveHandle<T>>(value).cloned();
    let holder = holder.ok_or_else(over)?;
    let content = holder.take().ok_or_else(over)?;
    Ok((holder, content))
}

/// Empties a handle, if it is one of these: for `ensure`, which should not wait.
pub(super) fn let_go<T: 'static>(scope: &Scope<'_>, value: Value<'_>) {
    if let Some(holder) = scope.data::<ExclusiveHandle<T>>(value) {
        drop(holder.take());
    }
}
