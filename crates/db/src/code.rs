//! The codes that databases have for errors, as they give them. Decides nothing about what one means but whether a value was wrong.
//! Rule: a code is shown with whose it is.

use std::fmt;

/// A database's own code for an error.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Code {
    /// SQLite's extended code.
    Sqlite(i32),
    /// Five characters of the SQL standard and PostgreSQL.
    SqlState(Box<str>),
}

impl Code {
    /// Whether a value was wrong, rather than the statement: SQLSTATE class 22.
    pub(crate) fn is_about_data(&self) -> bool {
        matches!(self, Code::SqlState(code) if code.starts_with("22"))
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Code::Sqlite(code) => write!(f, "SQLite code {code}"),
            Code::SqlState(code) => write!(f, "SQLSTATE {code}"),
        }
    }
}
