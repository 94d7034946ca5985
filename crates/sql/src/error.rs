//! What can be wrong with a query or a table before a database has seen it. Not what a database says of a statement.
//! Rule: every error here means that no SQL was made, and says what to change; no error shows a bound value.

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why no SQL was made.
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The query does not make sense. Fix the code: trying again cannot help.
    #[error("{0}")]
    Usage(String),
    /// A value is not what is taken in its place: a list where one value is needed, or a number as a pattern. Such a value comes from a
    /// client as a rule. Give another value.
    #[error("{0}")]
    Value(String),
    /// This database has no such thing. Use another way, or another database.
    #[error("{database} has no {what}")]
    Unsupported {
        /// The name of the database product.
        database: &'static str,
        /// What was asked for.
        what: &'static str,
    },
    /// The statement is larger than one may be. Split it.
    #[error("{limit} is exceeded: at most {max}")]
    Limit {
        /// The name of the limit that was exceeded.
        limit: &'static str,
        /// The limit's value.
        max: usize,
    },
    /// A table of this name exists and is another one. Change it with a migration, or name the wanted one otherwise.
    #[error("the table {table} exists and is different: {difference}")]
    Different {
        /// The table's name.
        table: String,
        /// The first difference, as what is there and what is wanted.
        difference: String,
    },
}

/// For a statement that is larger than one may be.
pub(crate) fn exceeded<T>(limit: &'static str, max: usize) -> Result<T> {
    Err(Error::Limit { limit, max })
}

/// For a misuse of the interface.
pub(crate) fn usage<T>(message: impl Into<String>) -> Result<T> {
    Err(Error::Usage(message.into()))
}
