//! From the driver's errors to ours. Repeats nothing; which errors are conflicts, after which callers repeat a transaction, is said here.
//! Rule: what a server says may quote data, and then it is shown only as the detail of an error.

use std::fmt;

use tsumugi_firebird::{Error as Driver, StatementFate};
use tsumugi_firebird_proto::status::{Argument, Clause};
use tsumugi_firebird_proto::values::EncodeError;
use tsumugi_firebird_proto::{GdsCode, ServerError};

use crate::error::{Code, Error, FailedStatement};
use crate::options::Names;
use crate::server::DriverError;
use crate::statement_context::{ConstraintKind, StatementContext};
use crate::statement_outcome::StatementOutcome;

impl DriverError for Driver {
    fn is_unsent(&self) -> bool {
        matches!(
            self,
            Driver::Lost {
                ran: StatementFate::No,
                ..
            }
        )
    }

    fn is_unanswered(&self) -> bool {
        match self {
            Driver::Lost {
                ran: StatementFate::Perhaps,
                ..
            }
            | Driver::Protocol(_) => true,
            Driver::Server(error) => is_loss(error),
            _ => false,
        }
    }

    fn write_log(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // What the server says may quote data.
            Driver::Server(error) => write!(f, "{} {}", error.sqlstate, error.code),
            error => fmt::Debug::fmt(error, f),
        }
    }

    fn into_error(self, statement: StatementContext<'_>) -> Error {
        match self {
            Driver::Server(error) => server(statement, &error),
            Driver::Lost { reason, ran } => {
                let outcome = match ran {
                    StatementFate::No => StatementOutcome::NotSent,
                    StatementFate::Perhaps => StatementOutcome::Unknown,
                };
                Error::Lost { reason, outcome }
            }
            Driver::Protocol(violation) => Error::protocol(violation),
            Driver::TooLarge { reply_bytes_max } => statement.too_large(reply_bytes_max),
            error @ Driver::Connect { .. } => Error::Unreachable {
                reason: error.to_string(),
            },
            Driver::Values(error) if !matches!(error, EncodeError::Count { .. }) => {
                let code = match error {
                    EncodeError::TooLong { .. } | EncodeError::TooMuch => "22001",
                    EncodeError::Character { .. } => "22021",
                    _ => "22003",
                };
                statement.value(code, error.to_string())
            }
            error => statement.usage(error.to_string()),
        }
    }
}

/// The type of a placeholder, or of an expression, is not known.
const UNKNOWN_TYPE: GdsCode = GdsCode(335_544_573);

/// There is no table of this name, as a statement uses, changes or drops it.
const NO_TABLE: [GdsCode; 3] = [
    GdsCode::TABLE_UNKNOWN,
    GdsCode(335_544_395),
    GdsCode(336_397_206),
];

/// What only a value can cause, though the server counts it as the fault of the SQL or of nothing: what PostgreSQL calls it.
const VALUES: [(u32, &str); 22] = [
    // A number of rows.
    (335_544_817, "2201W"),
    (335_544_818, "2201X"),
    // A text put together, and a pattern.
    (335_544_836, "22001"),
    (335_544_884, "2201B"),
    // A UUID.
    (335_544_948, "22P02"),
    (335_544_949, "22P02"),
    (335_544_950, "22P02"),
    (335_544_969, "22P02"),
    // An argument of a function.
    (335_544_960, "22003"),
    (335_544_961, "22003"),
    (335_544_962, "22003"),
    (335_544_963, "22003"),
    (335_544_964, "2201F"),
    (335_544_965, "2201F"),
    (335_544_966, "22003"),
    (335_544_967, "22003"),
    (335_544_976, "22003"),
    (335_544_977, "22003"),
    (335_544_978, "22003"),
    (335_544_979, "22003"),
    (335_544_981, "22003"),
    (335_545_024, "22003"),
];

/// What quotes the value that was wrong, or a part of it: a conversion, an offset or a length, a UUID, a time zone, a hexadecimal digit.
const QUOTES: [GdsCode; 9] = [
    GdsCode::CONVERSION,
    GdsCode(335_544_837),
    GdsCode(335_544_853),
    GdsCode(335_544_949),
    GdsCode(335_544_950),
    GdsCode(335_545_213),
    GdsCode(335_545_214),
    GdsCode(335_545_215),
    GdsCode(335_545_258),
];

/// Constraints, under all their codes.
const VIOLATIONS: [(GdsCode, ConstraintKind); 4] = [
    (GdsCode::UNIQUE, ConstraintKind::Unique),
    (GdsCode::NO_DUPLICATE, ConstraintKind::Unique),
    (GdsCode::FOREIGN_KEY, ConstraintKind::ForeignKey),
    (GdsCode::CHECK, ConstraintKind::Check),
];

/// Conflicts with other transactions, under all their codes.
const CONFLICTS: [GdsCode; 4] = [
    GdsCode::DEADLOCK,
    GdsCode::LOCK_CONFLICT,
    GdsCode::LOCK_TIMEOUT,
    GdsCode::UPDATE_CONFLICT,
];

fn server(context: StatementContext<'_>, error: &ServerError) -> Error {
    let names = context.options.names;
    let position = error
        .place()
        .and_then(|place| offset(&context.sql, place.0, place.1));
    let constraint = error
        .constraint()
        .map(|name| names.shown(name).into_owned());
    let state = error.sqlstate.as_str();
    let message = without_data(error);
    let statement = context.failed(error.message.clone());
    let violated = VIOLATIONS.iter().find(|(code, _)| error.has(*code));
    if let Some((_, violated)) = violated {
        return violated.error(constraint, statement);
    }
    if let Some(clause) = clause(error, GdsCode::NOT_VALID) {
        return not_valid(clause, names, statement);
    }
    if error.has(GdsCode::CANCELLED) {
        return Error::Cancelled {
            reason: message,
            outcome: StatementOutcome::RolledBack,
            statement,
        };
    }
    if CONFLICTS.iter().any(|code| error.has(*code)) || state == "40001" {
        return Error::SerializationFailure { statement };
    }
    if is_loss(error) {
        return Error::Lost {
            reason: error.to_string(),
            outcome: StatementOutcome::Unknown,
        };
    }
    let about_value = |(code, _): &&(u32, &str)| error.has(GdsCode(*code));
    if let Some(&(_, code)) = VALUES.iter().find(about_value) {
        return Error::Value {
            code,
            message,
            statement,
        };
    }
    if is_about_sql(error) && NO_TABLE.iter().any(|code| error.has(*code)) {
        return Error::UndefinedTable {
            position,
            message,
            statement,
        };
    }
    if is_about_sql(error) {
        return Error::Syntax {
            position,
            message,
            statement,
        };
    }
    Error::Database {
        code: Code::SqlState(state.into()),
        message,
        statement,
    }
}

/// Whether the server says that the connection ends.
fn is_loss(error: &ServerError) -> bool {
    error.has(GdsCode::ATTACHMENT_SHUTDOWN) || error.sqlstate.as_str().starts_with("08")
}

/// Whether the text is wrong, or names what is not there, or is there already; rather than what it says cannot be done now.
fn is_about_sql(error: &ServerError) -> bool {
    let state = error.sqlstate.as_str();
    let changes = error.has(GdsCode::NO_METADATA_UPDATE) && state.starts_with("42");
    let refused = error.has(GdsCode::DYNAMIC_SQL) && !state.starts_with("22");
    !error.has(GdsCode::OBJECT_IN_USE)
        && !error.has(GdsCode::NO_PRIVILEGE)
        && (state.starts_with("42S") || changes || refused)
}

fn clause(error: &ServerError, code: GdsCode) -> Option<&Clause> {
    error.clauses.iter().find(|clause| clause.code == code)
}

/// A column got NULL, or what the check of its domain refuses.
fn not_valid(clause: &Clause, names: Names, statement: FailedStatement) -> Error {
    let text = |at: usize| match clause.arguments.get(at) {
        Some(Argument::Text(text)) => text.as_str(),
        _ => "",
    };
    let column: Vec<_> = text(0)
        .split('.')
        .map(|part| names.shown(part.trim_matches('"')))
        .collect();
    let column = column.join(".");
    let violated = match text(1) {
        "*** null ***" => ConstraintKind::NotNull,
        _ => ConstraintKind::Check,
    };
    violated.error(Some(column), statement)
}

/// The message, unless it quotes the value that was wrong.
fn without_data(error: &ServerError) -> String {
    if error.code == UNKNOWN_TYPE {
        let message = &error.message;
        format!("{message}; say what a ? is that stands alone: cast(? as integer)")
    } else if QUOTES.iter().any(|code| error.has(*code)) {
        "a value is not as its type requires; see the detail".to_owned()
    } else {
        error.message.clone()
    }
}

/// Where in `sql` a line and a column are, each from 1. The server counts bytes of a line.
fn offset(sql: &str, line: u32, column: u32) -> Option<usize> {
    let line = usize::try_from(line).ok()?.checked_sub(1)?;
    let column = usize::try_from(column).ok()?.checked_sub(1)?;
    let start: usize = sql.split_inclusive('\n').take(line).map(str::len).sum();
    let offset = start + column;
    sql.is_char_boundary(offset).then_some(offset)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(sql: &str, place: (u32, u32), expected: Option<usize>) {
        assert_eq!(offset(sql, place.0, place.1), expected, "{sql} {place:?}");
    }

    #[test]
    fn line_and_column_of_an_error_become_a_byte_offset() {
        check("selec 1", (1, 1), Some(0));
        check("select 1\nfrm x", (2, 1), Some(9));
        check("select 1\nfrm x", (2, 6), Some(14));
        check("select 1", (1, 40), None);
        check("select 1", (0, 1), None);
    }
}
