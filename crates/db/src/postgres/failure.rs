//! From the driver's errors to ours. Decides nothing about what happens next.
//! Rule: what a server says may quote data: its DETAIL is shown only on request.

use tsumugi_pg::{Error as Driver, StatementFate};
use tsumugi_pg_proto::ServerError;
use tsumugi_pg_proto::types::EncodeError;

use super::plan::source_offset;
use crate::error::{Code, Error};
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
                server,
                ..
            } => !is_idle_too_long(server.as_deref()),
            Driver::Protocol(_) | Driver::Unreplicated => true,
            _ => false,
        }
    }

    fn into_error(self, statement: StatementContext<'_>) -> Error {
        match self {
            Driver::Server(error) => server(statement, *error),
            error @ Driver::Unreplicated => Error::CommitUnknown {
                xid: None,
                reason: error.to_string(),
            },
            Driver::Lost {
                reason,
                ran,
                server,
            } => lost(reason, ran, server.as_deref()),
            Driver::TooLarge { reply_bytes_max } => statement.too_large(reply_bytes_max),
            Driver::Protocol(violation) => Error::protocol(violation),
            error @ (Driver::Connect { .. } | Driver::Hosts(_)) => Error::Unreachable {
                reason: error.to_string(),
            },
            Driver::RolledBack => statement_had_failed(),
            Driver::Parameter { number, source } => {
                let code = sqlstate(&source);
                statement.value(code, format!("parameter ${number}: {source}"))
            }
            other => statement.usage(other.to_string()),
        }
    }
}

/// The error of a COMMIT that the server takes for a ROLLBACK.
pub(super) fn statement_had_failed() -> Error {
    Error::rolled_back("a statement in it had failed")
}

fn lost(reason: String, ran: StatementFate, server: Option<&ServerError>) -> Error {
    if is_idle_too_long(server) {
        return Error::rolled_back("it was idle for longer than idle_timeout");
    }
    let outcome = match ran {
        StatementFate::No => StatementOutcome::NotSent,
        StatementFate::Perhaps => StatementOutcome::Unknown,
    };
    Error::Lost { reason, outcome }
}

/// Whether the server ended the session because its transaction was idle: that is no loss of a statement, which it has not read.
fn is_idle_too_long(server: Option<&ServerError>) -> bool {
    server.is_some_and(|error| error.code.as_str() == "25P03")
}

/// What in the server says that a name stands for no table in the FROM clause. It does so with the code of a table that is not there, and no
/// migration helps.
const NO_FROM_ENTRY: &str = "errorMissingRTE";

fn server(context: StatementContext<'_>, error: ServerError) -> Error {
    let limit = context.options.statement_timeout;
    let position = error
        .position
        .and_then(|position| source_offset(&context.sql, position));
    let constraint = error.constraint.clone();
    let column = match (&error.table, &error.column) {
        (Some(table), Some(column)) => Some(format!("{table}.{column}")),
        (None, column) => column.clone(),
        (Some(_), None) => None,
    };
    let code = error.code.as_str();
    // A value that is wrong is quoted in the message.
    let message = match code.starts_with("22") {
        true => without_data(&error.message),
        false => error.message.clone(),
    };
    let detail = match (&error.detail, message == error.message) {
        (Some(detail), true) => detail.clone(),
        (None, true) => String::new(),
        (Some(detail), false) => format!("{}; {detail}", error.message),
        (None, false) => error.message.clone(),
    };
    let statement = context.failed(detail);
    match code {
        "23505" => ConstraintKind::Unique.error(constraint, statement),
        "23503" | "23001" => ConstraintKind::ForeignKey.error(constraint, statement),
        "23502" => ConstraintKind::NotNull.error(column, statement),
        "23514" => ConstraintKind::Check.error(constraint, statement),
        "40001" => Error::SerializationFailure { statement },
        "40P01" => Error::Deadlock { statement },
        "57014" if message.contains("statement timeout") => Error::Timeout {
            limit,
            outcome: StatementOutcome::RolledBack,
            statement,
        },
        "57014" => Error::Cancelled {
            reason: message,
            outcome: StatementOutcome::RolledBack,
            statement,
        },
        "42P01" if error.routine.as_deref() != Some(NO_FROM_ENTRY) => Error::UndefinedTable {
            position,
            message,
            statement,
        },
        // Not allowed, which has nothing to do with how it is written.
        code if code.starts_with("42") && code != "42501" => Error::Syntax {
            position,
            message,
            statement,
        },
        code => Error::Database {
            code: Code::SqlState(code.into()),
            message,
            statement,
        },
    }
}

/// What the server would have answered, had it got the value as text.
fn sqlstate(error: &EncodeError) -> &'static str {
    match error {
        EncodeError::OutOfRange { .. } => "22003",
        EncodeError::Nul => "22021",
        EncodeError::TooLong => "22001",
        _ => "22P02",
    }
}

/// A message about a value, without the value: what is between the first quotation mark and the last goes. Messages in other
/// languages quote in other ways; of those nothing is shown.
fn without_data(message: &str) -> String {
    if let (Some(first), Some(last)) = (message.find('"'), message.rfind('"'))
        && first < last
    {
        return format!("{}\"…\"{}", &message[..first], &message[last + 1..]);
    }
    let plain = message.is_ascii() && !message.contains(['"', ':']);
    if plain {
        message.to_owned()
    } else {
        "a value is not as its type requires; see the detail".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;
    use tsumugi_pg_proto::sqlstate::SqlState;

    #[test]
    fn cancel_is_a_timeout_only_where_the_server_says_so() {
        let options = Options::default();
        for (message, is_timeout) in [
            ("canceling statement due to statement timeout", true),
            ("canceling statement due to user request", false),
            ("storniere Anfrage wegen Benutzeraufforderung", false),
        ] {
            let mut reported = ServerError::default();
            reported.code = SqlState::QUERY_CANCELED;
            reported.message = message.to_owned();
            let statement = StatementContext {
                sql: "select 1".into(),
                values: Vec::new(),
                options: &options,
            };
            let error = server(statement, reported);
            assert_eq!(
                matches!(error, Error::Timeout { .. }),
                is_timeout,
                "{error}"
            );
            assert_eq!(error.to_string().contains(message), !is_timeout, "{error}");
        }
    }

    #[test]
    fn name_without_an_entry_in_from_is_a_mistake_in_the_sql_and_no_table_to_make() {
        let options = Options::default();
        for (routine, expected) in [
            (Some("parserOpenTable"), "UndefinedTable"),
            (Some("errorMissingRTE"), "SyntaxError"),
            (None, "UndefinedTable"),
        ] {
            let mut reported = ServerError::default();
            reported.code = SqlState::UNDEFINED_TABLE;
            reported.routine = routine.map(str::to_owned);
            let statement = StatementContext {
                sql: "select nope.a from things".into(),
                values: Vec::new(),
                options: &options,
            };
            assert_eq!(server(statement, reported).kind(), expected, "{routine:?}");
        }
    }

    #[test]
    fn messages_about_values_do_not_show_them() {
        for (message, shown) in [
            (
                "invalid input syntax for type integer: \"secret\"",
                "invalid input syntax for type integer: \"…\"",
            ),
            (
                "value \"sec\"ret\" is out of range for type integer",
                "value \"…\" is out of range for type integer",
            ),
            ("division by zero", "division by zero"),
            (
                "value too long for type character varying(3)",
                "value too long for type character varying(3)",
            ),
            (
                "ungültige Eingabesyntax für Typ integer: »secret«",
                "a value is not as its type requires; see the detail",
            ),
            (
                "unterminated \" secret",
                "a value is not as its type requires; see the detail",
            ),
        ] {
            assert_eq!(without_data(message), shown);
        }
    }
}
