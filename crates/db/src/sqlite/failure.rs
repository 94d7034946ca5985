//! Turns what went wrong on a connection into an `Error`. Decides nothing about what happens next.
//! Rule: what SQLite says while a statement runs may quote bound values, so it is shown only where it cannot.

use rusqlite::ffi;

use crate::error::{Code, Error, FailedStatement};
use crate::options::Options;

use super::job::Statement;
use super::policy::Refusal;
use super::watch::{Stop, WatchReport};

/// Why a statement gave no result.
#[derive(Debug)]
pub(super) enum Fault {
    /// SQLite did not accept the SQL. Nothing ran and no value was bound.
    Prepare(rusqlite::Error),
    /// SQLite failed while it ran.
    Run(rusqlite::Error),
    /// The result is larger than `rows_max_bytes`.
    TooLarge,
    /// Text in this column is not UTF-8.
    InvalidText(String),
    /// The statement cannot be run like this, and why.
    Usage(String),
    /// The connection only reads and the statement does not.
    NeedsWriter,
}

impl Fault {
    /// Whether the statement should be tried on the writer instead.
    pub(super) fn needs_writer(&self, seen: &WatchReport) -> bool {
        matches!(self, Fault::NeedsWriter) || seen.refusal == Some(Refusal::NeedsWriter)
    }
}

/// The error to give to the caller.
pub(super) fn error(
    fault: Fault,
    seen: &WatchReport,
    statement: Statement,
    options: &Options,
) -> Error {
    if fault.needs_writer(seen) {
        let message = "this transaction is read-only: begin one that may write".into();
        return Error::Usage {
            message,
            statement: statement.failed(String::new()),
        };
    }
    match seen.stop {
        Some(Stop::TimedOut) if !matches!(fault, Fault::Usage(_)) => {
            let limit = options.statement_timeout;
            return Error::Timeout {
                limit,
                statement: statement.failed(String::new()),
            };
        }
        _ => {}
    }
    match fault {
        Fault::Prepare(cause) => prepare(cause, seen, statement),
        Fault::Run(cause) => run(cause, statement),
        Fault::TooLarge => {
            let max = options.rows_max_bytes;
            Error::TooLarge {
                limit: "rows_max_bytes",
                max,
                statement: statement.failed(String::new()),
            }
        }
        Fault::InvalidText(column) => Error::InvalidText {
            column,
            statement: statement.failed(String::new()),
        },
        Fault::Usage(message) => Error::Usage {
            message,
            statement: statement.failed(String::new()),
        },
        Fault::NeedsWriter => unreachable!("a read-only fault was answered above"),
    }
}

fn prepare(cause: rusqlite::Error, seen: &WatchReport, statement: Statement) -> Error {
    if let Some(Refusal::Usage(message)) = seen.refusal {
        return Error::Usage {
            message: message.into(),
            statement: statement.failed(String::new()),
        };
    }
    match cause {
        rusqlite::Error::MultipleStatement => {
            let message = "one statement at a time: use execute_script for several".into();
            Error::Usage {
                message,
                statement: statement.failed(String::new()),
            }
        }
        rusqlite::Error::SqlInputError {
            msg, sql, offset, ..
        } => {
            let position = usize::try_from(offset)
                .ok()
                .map(|offset| start_of(&sql, &statement.sql) + offset);
            Error::Syntax {
                position,
                message: msg.clone(),
                statement: statement.failed(msg),
            }
        }
        rusqlite::Error::SqliteFailure(error, message)
            if error.extended_code == ffi::SQLITE_ERROR =>
        {
            let message = message.unwrap_or_default();
            Error::Syntax {
                position: None,
                message: message.clone(),
                statement: statement.failed(message),
            }
        }
        cause => run(
            cause,
            Statement {
                values: Vec::new(),
                ..statement
            },
        ),
    }
}

/// Where `part` begins in `whole`: it is either the rest of a script or a whole statement without the space around it.
fn start_of(part: &str, whole: &str) -> usize {
    match whole.strip_suffix(part) {
        Some(before) => before.len(),
        None => whole.len() - whole.trim_start().len(),
    }
}

fn run(cause: rusqlite::Error, statement: Statement) -> Error {
    let (code, detail) = match cause {
        rusqlite::Error::SqliteFailure(error, message) => (
            error.extended_code,
            message.unwrap_or_else(|| error.to_string()),
        ),
        other => (ffi::SQLITE_MISUSE, other.to_string()),
    };
    let after = |prefix: &str| detail.strip_prefix(prefix).unwrap_or(&detail).to_owned();
    match code {
        ffi::SQLITE_CONSTRAINT_UNIQUE
        | ffi::SQLITE_CONSTRAINT_PRIMARYKEY
        | ffi::SQLITE_CONSTRAINT_ROWID => {
            let constraint = after("UNIQUE constraint failed: ");
            Error::UniqueViolation {
                constraint,
                statement: statement.failed(detail),
            }
        }
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => Error::ForeignKeyViolation {
            constraint: None,
            statement: statement.failed(detail),
        },
        ffi::SQLITE_CONSTRAINT_NOTNULL => {
            let column = after("NOT NULL constraint failed: ");
            Error::NotNullViolation {
                column,
                statement: statement.failed(detail),
            }
        }
        ffi::SQLITE_CONSTRAINT_CHECK => {
            let constraint = after("CHECK constraint failed: ");
            Error::CheckViolation {
                constraint,
                statement: statement.failed(detail),
            }
        }
        _ if matches!(code & 0xff, ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED) => {
            Error::SerializationFailure {
                statement: statement.failed(detail),
            }
        }
        _ => match about_value(code, &detail, &statement) {
            Some((sqlstate, message)) => Error::Value {
                code: sqlstate,
                message,
                statement: statement.failed(detail),
            },
            None => database(code, detail, statement),
        },
    }
}

/// The error of a text that a column's check of its length refused; others stay what they are.
pub(super) fn too_long(error: Error) -> Error {
    match error {
        Error::CheckViolation {
            constraint,
            statement,
        } => Error::Value {
            code: "22001",
            message: format!("a text is longer than its column takes (constraint {constraint})"),
            statement,
        },
        error => error,
    }
}

/// What functions say of values that were bound: the beginning of the text, and the SQLSTATE for that.
const ABOUT_VALUES: [(&str, &str); 7] = [
    ("integer overflow", "22003"),
    ("malformed JSON", "22032"),
    ("bad JSON path", "22023"),
    ("JSON cannot hold BLOB values", "22023"),
    ("fts5: ", "22023"),
    ("unterminated string", "22023"),
    ("LIKE or GLOB pattern too complex", "22023"),
];

/// The SQLSTATE where a value is wrong, and a text that does not show it.
fn about_value(code: i32, detail: &str, statement: &Statement) -> Option<(&'static str, String)> {
    match code {
        ffi::SQLITE_TOOBIG => Some(("22001", detail.to_owned())),
        // The texts of both have names of the schema only.
        ffi::SQLITE_MISMATCH | ffi::SQLITE_CONSTRAINT_DATATYPE => {
            Some(("22018", detail.to_owned()))
        }
        ffi::SQLITE_ERROR if !statement.values.is_empty() => {
            let mut known = ABOUT_VALUES.iter();
            let (text, code) = known.find(|(text, _)| detail.starts_with(text))?;
            Some((code, text.trim_end_matches([':', ' ']).to_owned()))
        }
        _ => None,
    }
}

/// SQLite's plain error carries text from functions and extensions, such as the full-text query that was bound; all
/// other codes have fixed texts, with at most names from the schema or what the author wrote into `RAISE`.
fn database(code: i32, detail: String, statement: Statement) -> Error {
    let may_quote_values = code == ffi::SQLITE_ERROR && !statement.values.is_empty();
    let message = match may_quote_values {
        true => "the statement failed while it ran".to_owned(),
        false => detail.clone(),
    };
    Error::Database {
        code: Code::Sqlite(code),
        message,
        statement: statement.failed(detail),
    }
}

/// The error for a statement of this crate's own, such as `COMMIT`.
pub(super) fn own(
    cause: rusqlite::Error,
    seen: &WatchReport,
    sql: &str,
    options: &Options,
) -> Error {
    if seen.stop == Some(Stop::TimedOut) {
        let statement = FailedStatement::new(sql.into(), Vec::new(), String::new());
        return Error::Timeout {
            limit: options.statement_timeout,
            statement,
        };
    }
    run(cause, Statement::new(sql, Vec::new()))
}
