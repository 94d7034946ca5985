//! The statement that an error is about. Rule: nothing prints it by accident.

use std::fmt;
use std::sync::Arc;

use crate::value::Value;

/// The statement that an error is about. Opaque, so that nothing prints it by accident: see [`Error::sql`](crate::Error::sql).
pub struct FailedStatement(Option<Box<Inner>>);

struct Inner {
    sql: Arc<str>,
    binds: Vec<Value>,
    detail: String,
}

impl FailedStatement {
    pub(crate) fn new(sql: Arc<str>, binds: Vec<Value>, detail: String) -> FailedStatement {
        FailedStatement(Some(Box::new(Inner { sql, binds, detail })))
    }

    pub(crate) fn none() -> FailedStatement {
        FailedStatement(None)
    }

    /// Whether there was no statement yet: the builder refused to make one.
    pub(crate) fn is_none(&self) -> bool {
        self.0.is_none()
    }

    pub(crate) fn has_binds(&self) -> bool {
        !self.binds().is_empty()
    }

    pub(crate) fn sql(&self) -> Option<&str> {
        self.0.as_ref().map(|inner| &*inner.sql)
    }

    pub(crate) fn binds(&self) -> &[Value] {
        self.0.as_ref().map_or(&[], |inner| &inner.binds)
    }

    /// The database's own message in full, where there is one.
    pub(crate) fn detail(&self) -> Option<&str> {
        let detail = self.0.as_ref().map(|inner| &*inner.detail);
        detail.filter(|detail| !detail.is_empty())
    }
}

impl fmt::Debug for FailedStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FailedStatement(..)")
    }
}
