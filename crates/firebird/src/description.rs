//! What a statement takes and returns, as the server described it. Prepares nothing.
//! Rule: what may have written once counts as one that may write from then on.

use std::cell::Cell;
use std::sync::Arc;

use tsumugi_firebird_proto::describe::{Column, StatementKind};
use tsumugi_firebird_proto::row::Format;

/// What a statement takes and returns.
#[derive(Debug)]
pub struct Description {
    pub(crate) kind: StatementKind,
    pub(crate) format: Arc<Format>,
    pub(crate) parameters: Box<[Column]>,
    pub(crate) may_write: Cell<bool>,
}

impl Description {
    /// What it does.
    pub fn kind(&self) -> StatementKind {
        self.kind
    }

    /// Whether it may change something: everything but a query of tables alone. A procedure that is selected from may write, and so may
    /// a function, of which nothing is known before it has tried to.
    pub fn may_write(&self) -> bool {
        self.may_write.get()
    }

    /// It has tried to.
    pub(crate) fn writes(&self) {
        self.may_write.set(true);
    }

    /// The columns of the statement's rows.
    pub fn columns(&self) -> &[Column] {
        self.format.columns()
    }

    /// The types of the statement's parameters, in order.
    pub fn parameters(&self) -> &[Column] {
        &self.parameters
    }
}
