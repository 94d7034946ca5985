//! Where a statement runs: on a connection of the database's choice, on the fibre's own, or in its transaction.
//! Rule: what Ruby holds on to after its end is empty, and says so.

use std::cell::RefCell;
use std::rc::Rc;

use tsumugi_db::Executor;
use tsumugi_mruby::{Result, Scope, Value};

use super::face::face;
use crate::host::Host;

/// A transaction or a session in Ruby's hands; `None` once it has ended.
pub(crate) type Running<T> = Rc<RefCell<Option<Rc<T>>>>;

pub(super) fn own<T>(value: T) -> Running<T> {
    Rc::new(RefCell::new(Some(Rc::new(value))))
}

/// Where a statement of the running fibre on this database runs.
pub(super) fn target<'c>(
    host: &Host,
    scope: &'c Scope<'c>,
    holder: Value<'c>,
) -> Result<'c, Executor> {
    face(scope, holder)?.target(scope, host.job.number())
}
