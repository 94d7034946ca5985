//! The types that a database has besides the built-in ones, as one connection has learnt them. Asks no server.
//! Rule: a type is kept until something was altered.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use tsumugi_pg_proto::types::{Oid, Type};

/// What one connection has learnt.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    known: RefCell<HashMap<Oid, Arc<Type>>>,
}

impl Catalogue {
    pub(crate) fn known(&self, oid: Oid) -> Option<Arc<Type>> {
        self.known.borrow().get(&oid).cloned()
    }

    pub(crate) fn keep(&self, oid: Oid, ty: &Arc<Type>) {
        self.known.borrow_mut().insert(oid, Arc::clone(ty));
    }

    /// Something was altered: everything is looked up again.
    pub(crate) fn forget(&self) {
        self.known.borrow_mut().clear();
    }
}
