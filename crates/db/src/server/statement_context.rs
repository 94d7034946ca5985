//! A statement that failed, or that no connection was to be had for: what every driver to a server makes of that.
//! Rule: the statement goes into the error, for callers that look at it.

use crate::error::{Error, FailedStatement};
use crate::options::Options;
use crate::sql_text::SqlText;
use crate::value::Value;

use super::connections::AcquireError;

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

    /// A misuse of ours.
    pub(crate) fn usage(self, message: impl Into<String>) -> Error {
        Error::Usage {
            message: message.into(),
            statement: self.failed(String::new()),
        }
    }

    /// A value is not what its parameter needs.
    pub(crate) fn value(self, code: &'static str, message: String) -> Error {
        Error::Value {
            code,
            message,
            statement: self.failed(String::new()),
        }
    }

    /// It took longer than `statement_timeout`.
    pub(crate) fn late(self) -> Error {
        Error::Timeout {
            limit: self.options.statement_timeout,
            statement: self.failed(String::new()),
        }
    }

    /// The result is larger than one may be.
    pub(crate) fn too_large(self, max: usize) -> Error {
        Error::TooLarge {
            limit: "rows_max_bytes",
            max,
            statement: self.failed(String::new()),
        }
    }

    /// No connection was to be had.
    pub(crate) fn not_acquired(self, error: AcquireError) -> Error {
        match error {
            AcquireError::Timeout {
                waited,
                reason: None,
            } => Error::PoolTimeout {
                connection: "connection",
                limit: "acquire_timeout",
                waited_ms: waited.as_millis().try_into().unwrap_or(u64::MAX),
                statement: self.failed(String::new()),
            },
            AcquireError::Timeout {
                reason: Some(reason),
                ..
            }
            | AcquireError::Refused(reason) => Error::Unreachable {
                reason: reason.to_string(),
            },
            AcquireError::QueueFull => Error::QueueFull {
                limit: "queue_max",
                max: crate::limits::QUEUE_MAX,
                statement: self.failed(String::new()),
            },
            AcquireError::Closed => Error::Closed {
                what: "database",
                reason: "it was closed",
            },
        }
    }
}
