//! A statement that failed: what every driver makes of that. Knows no driver's errors.
//! Rule: the statement goes into the error, for callers that look at it.

use crate::error::{Error, FailedStatement};
use crate::options::Options;
use crate::sql_text::SqlText;
use crate::statement_outcome::StatementOutcome;
use crate::value::Value;

/// What failed, and with what options.
pub(crate) struct StatementContext<'a> {
    pub(crate) sql: SqlText,
    pub(crate) values: Vec<Value>,
    pub(crate) options: &'a Options,
}

impl StatementContext<'_> {
    pub(crate) fn failed(self, detail: String) -> FailedStatement {
        FailedStatement::new(self.sql.into(), self.values, detail)
    }

    pub(crate) fn silent(self) -> FailedStatement {
        self.failed(String::new())
    }

    /// A misuse of ours.
    pub(crate) fn usage(self, message: impl Into<String>) -> Error {
        Error::Usage {
            message: message.into(),
            statement: self.silent(),
        }
    }

    /// A value is not what its parameter needs.
    pub(crate) fn value(self, code: &'static str, message: String) -> Error {
        Error::Value {
            code,
            message,
            statement: self.silent(),
        }
    }

    /// It took longer than `statement_timeout`, and this is known of it.
    pub(crate) fn late(self, outcome: StatementOutcome) -> Error {
        Error::Timeout {
            limit: self.options.statement_timeout,
            outcome,
            statement: self.silent(),
        }
    }

    /// The result is larger than one may be.
    pub(crate) fn too_large(self, max: usize) -> Error {
        Error::TooLarge {
            limit: "rows_max_bytes",
            max,
            statement: self.silent(),
        }
    }
}

/// A kind of constraint that a statement violated.
#[derive(Clone, Copy)]
pub(crate) enum ConstraintKind {
    Unique,
    ForeignKey,
    NotNull,
    Check,
}

impl ConstraintKind {
    /// The error; `name` is that of the constraint, of its columns or of the column, where the database says it.
    pub(crate) fn error(self, name: Option<String>, statement: FailedStatement) -> Error {
        let constraint = name.unwrap_or_default();
        match self {
            ConstraintKind::Unique => Error::UniqueViolation {
                constraint,
                statement,
            },
            ConstraintKind::ForeignKey => Error::ForeignKeyViolation {
                constraint: Some(constraint).filter(|name| !name.is_empty()),
                statement,
            },
            ConstraintKind::NotNull => Error::NotNullViolation {
                column: constraint,
                statement,
            },
            ConstraintKind::Check => Error::CheckViolation {
                constraint,
                statement,
            },
        }
    }
}
