//! Why a statement on a server has no result, before it is known for which statement. Decides nothing about what happens next.
//! Rule: what is logged of a fault shows no data.

use std::fmt;

use crate::error::Error;
use crate::statement_context::StatementContext;
use crate::statement_outcome::StatementOutcome;

/// Why a statement has no result.
pub(crate) enum Fault<E> {
    /// The driver says why.
    Driver(E),
    /// It took longer than `statement_timeout`, and was given up here: in a transaction, which ends with that.
    Late,
    /// It stood alone, took longer than `statement_timeout`, and was given up here: the server may have done it all the same.
    LateAlone,
    /// The caller's mistake came to light when the statement had run.
    Usage(&'static str),
}

pub(crate) trait DriverError: fmt::Debug {
    /// Whether the connection ended before anything went out that could be kept.
    fn is_unsent(&self) -> bool;

    /// Whether the server may have done what was sent, and has not said so.
    fn is_unanswered(&self) -> bool;

    /// For the log: without data.
    fn write_log(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }

    /// For the caller.
    fn into_error(self, statement: StatementContext<'_>) -> Error;
}

impl<E: DriverError> Fault<E> {
    /// Whether the connection ended before anything went out that could be kept.
    pub(crate) fn is_unsent(&self) -> bool {
        matches!(self, Fault::Driver(error) if error.is_unsent())
    }

    /// Whether the server may have done what was sent, and has not said so.
    pub(crate) fn is_unanswered(&self) -> bool {
        match self {
            Fault::Driver(error) => error.is_unanswered(),
            Fault::Late | Fault::LateAlone => true,
            Fault::Usage(_) => false,
        }
    }

    /// Of a statement outside of a transaction.
    pub(crate) fn alone(self) -> Fault<E> {
        match self {
            Fault::Late => Fault::LateAlone,
            other => other,
        }
    }

    pub(crate) fn into_error(self, statement: StatementContext<'_>) -> Error {
        match self {
            Fault::Driver(error) => error.into_error(statement),
            Fault::Late => statement.late(StatementOutcome::RolledBack),
            Fault::LateAlone => statement.late(StatementOutcome::Unknown),
            Fault::Usage(message) => statement.usage(message),
        }
    }
}

impl<E> From<E> for Fault<E> {
    fn from(error: E) -> Fault<E> {
        Fault::Driver(error)
    }
}

impl<E: DriverError> fmt::Debug for Fault<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Driver(error) => error.write_log(f),
            Fault::Late | Fault::LateAlone => f.write_str("statement_timeout has passed"),
            Fault::Usage(message) => f.write_str(message),
        }
    }
}
