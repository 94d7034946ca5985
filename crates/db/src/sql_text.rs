//! SQL on its way from a caller to a driver, and whose placeholders it has. Reads nothing of the SQL.
//! Rule: what the builder wrote is sent as it is; only what a caller wrote has `?` for a value and `??` for a question mark.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// An SQL text. Cheap to clone. Made from a text it is one of a caller's own, with `?` for each value.
#[derive(Clone)]
pub struct SqlText {
    text: Arc<str>,
    placeholders: Placeholders,
}

/// What stands where a value is bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placeholders {
    /// `?`, whatever the database.
    Question,
    /// What the database itself has: `$1` on PostgreSQL, where `?` is an operator.
    Native,
}

impl SqlText {
    /// A text that the builder wrote for its database.
    pub(crate) fn native(text: String) -> SqlText {
        SqlText {
            text: text.into(),
            placeholders: Placeholders::Native,
        }
    }

    pub(crate) fn placeholders(&self) -> Placeholders {
        self.placeholders
    }

    pub(crate) fn text(&self) -> &Arc<str> {
        &self.text
    }

    /// Whether both are clones of one.
    pub(crate) fn is_clone_of(&self, other: &SqlText) -> bool {
        Arc::ptr_eq(&self.text, &other.text) && self.placeholders == other.placeholders
    }
}

impl Deref for SqlText {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for SqlText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.text.fmt(f)
    }
}

impl From<Arc<str>> for SqlText {
    fn from(text: Arc<str>) -> Self {
        SqlText {
            text,
            placeholders: Placeholders::Question,
        }
    }
}

impl From<&Arc<str>> for SqlText {
    fn from(text: &Arc<str>) -> Self {
        Arc::clone(text).into()
    }
}

impl From<&str> for SqlText {
    fn from(text: &str) -> Self {
        Arc::<str>::from(text).into()
    }
}

impl From<String> for SqlText {
    fn from(text: String) -> Self {
        Arc::<str>::from(text).into()
    }
}

impl From<SqlText> for Arc<str> {
    fn from(sql: SqlText) -> Self {
        sql.text
    }
}
