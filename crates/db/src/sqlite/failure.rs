//! Turns what went wrong on a connection into an `Error`. Decides nothing about what happens next.
//! Rule: what SQLite says while a statement runs may quote bound values, so it is shown only where it cannot.

use rusqlite::ffi;

use crate::error::{Code, Error};
use crate::options::Options;
use crate::statement_context::{ConstraintKind, StatementContext};
use crate::statement_outcome::StatementOutcome;

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
    let statement = statement.within(options);
    if fault.needs_writer(seen) {
        return statement.usage("this transaction is read-only: begin one that may write");
    }
    if seen.stop == Some(Stop::TimedOut) && !matches!(fault, Fault::Usage(_)) {
        return statement.late(StatementOutcome::RolledBack);
    }
    match fault {
        Fault::Prepare(cause) => prepare(cause, seen, statement),
        Fault::Run(cause) => run(cause, statement),
        Fault::TooLarge => statement.too_large(options.rows_max_bytes),
        Fault::InvalidText(column) => Error::InvalidText {
            column,
            statement: statement.silent(),
        },
        Fault::Usage(message) => statement.usage(message),
        Fault::NeedsWriter => unreachable!("a read-only fault was answered above"),
    }
}

fn prepare(cause: rusqlite::Error, seen: &WatchReport, statement: StatementContext<'_>) -> Error {
    if let Some(Refusal::Usage(message)) = seen.refusal {
        return statement.usage(message);
    }
    match cause {
        rusqlite::Error::MultipleStatement => {
            statement.usage("one statement at a time: use execute_script for several")
        }
        rusqlite::Error::SqlInputError {
            msg, sql, offset, ..
        } => {
            let position = usize::try_from(offset)
                .ok()
                .map(|offset| start_of(&sql, &statement.sql) + offset);
            not_understood(position, msg, statement)
        }
        rusqlite::Error::SqliteFailure(error, message)
            if error.extended_code == ffi::SQLITE_ERROR =>
        {
            not_understood(None, message.unwrap_or_default(), statement)
        }
        cause => run(
            cause,
            StatementContext {
                values: Vec::new(),
                ..statement
            },
        ),
    }
}

/// What SQLite says of a table that is not there, before its name.
const NO_TABLE: &str = "no such table: ";

/// The error of SQL that SQLite did not accept.
fn not_understood(
    position: Option<usize>,
    message: String,
    statement: StatementContext<'_>,
) -> Error {
    let statement = statement.failed(message.clone());
    match message.starts_with(NO_TABLE) {
        true => Error::UndefinedTable {
            position,
            message,
            statement,
        },
        false => Error::Syntax {
            position,
            message,
            statement,
        },
    }
}

/// Where `part` begins in `whole`: it is either the rest of a script or a whole statement without the space around it.
fn start_of(part: &str, whole: &str) -> usize {
    match whole.strip_suffix(part) {
        Some(before) => before.len(),
        None => whole.len() - whole.trim_start().len(),
    }
}

fn run(cause: rusqlite::Error, statement: StatementContext<'_>) -> Error {
    let (code, detail) = match cause {
        rusqlite::Error::SqliteFailure(error, message) => (
            error.extended_code,
            message.unwrap_or_else(|| error.to_string()),
        ),
        other => (ffi::SQLITE_MISUSE, other.to_string()),
    };
    // The name behind the prefix, if the text has that.
    let violated = |violated: ConstraintKind, prefix: &str| {
        let name = detail.strip_prefix(prefix).unwrap_or(&detail).to_owned();
        (violated, name)
    };
    let violation = match code {
        ffi::SQLITE_CONSTRAINT_UNIQUE
        | ffi::SQLITE_CONSTRAINT_PRIMARYKEY
        | ffi::SQLITE_CONSTRAINT_ROWID => Some(violated(
            ConstraintKind::Unique,
            "UNIQUE constraint failed: ",
        )),
        ffi::SQLITE_CONSTRAINT_NOTNULL => Some(violated(
            ConstraintKind::NotNull,
            "NOT NULL constraint failed: ",
        )),
        ffi::SQLITE_CONSTRAINT_CHECK => {
            Some(violated(ConstraintKind::Check, "CHECK constraint failed: "))
        }
        // SQLite does not say which.
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => Some((ConstraintKind::ForeignKey, String::new())),
        _ => None,
    };
    if let Some((violated, name)) = violation {
        return violated.error(Some(name), statement.failed(detail));
    }
    // A statement that was prepared while the table was there. With bound values the text could come from a function that quotes one, so it is not
    // trusted.
    if code == ffi::SQLITE_ERROR && statement.values.is_empty() && detail.starts_with(NO_TABLE) {
        return not_understood(None, detail, statement);
    }
    if matches!(code & 0xff, ffi::SQLITE_BUSY | ffi::SQLITE_LOCKED) {
        return Error::SerializationFailure {
            statement: statement.failed(detail),
        };
    }
    match about_value(code, &detail, &statement) {
        Some((sqlstate, message)) => Error::Value {
            code: sqlstate,
            message,
            statement: statement.failed(detail),
        },
        None => database(code, detail, statement),
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
fn about_value(
    code: i32,
    detail: &str,
    statement: &StatementContext<'_>,
) -> Option<(&'static str, String)> {
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

/// Texts of SQLite's plain error that have nothing of a value in them.
const WITHOUT_VALUES: [&str; 3] = [
    "output file already exists",
    "cannot VACUUM from within a transaction",
    "cannot VACUUM - SQL statements in progress",
];

/// SQLite's plain error carries text from functions and extensions, such as the full-text query that was bound; a few of its texts and all
/// other codes have fixed texts, with at most names from the schema or what the author wrote into `RAISE`.
fn database(code: i32, detail: String, statement: StatementContext<'_>) -> Error {
    let may_quote_values = code == ffi::SQLITE_ERROR
        && !statement.values.is_empty()
        && !WITHOUT_VALUES.contains(&detail.as_str());
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

/// The error of a commit, or of a statement that is committed with its end. Where the disk failed it is not known what it has kept of that: SQLite
/// takes it back, but what decides may be on disk, and counts when the file is read anew after a crash.
pub(super) fn of_commit(error: Error) -> Error {
    match error {
        Error::Database {
            code: Code::Sqlite(code),
            message,
            ..
        } if code & 0xff == ffi::SQLITE_IOERR && !READS.contains(&code) => Error::CommitUnknown {
            xid: None,
            reason: message,
        },
        error => error,
    }
}

/// Errors of the disk before anything is written.
const READS: [i32; 4] = [
    ffi::SQLITE_IOERR_READ,
    ffi::SQLITE_IOERR_SHORT_READ,
    ffi::SQLITE_IOERR_RDLOCK,
    ffi::SQLITE_IOERR_FSTAT,
];

/// The error for a statement of this crate's own, such as `COMMIT`.
pub(super) fn own(
    cause: rusqlite::Error,
    seen: &WatchReport,
    sql: &str,
    options: &Options,
) -> Error {
    let statement = Statement::new(sql, Vec::new()).within(options);
    match seen.stop {
        Some(Stop::TimedOut) => statement.late(StatementOutcome::RolledBack),
        _ => run(cause, statement),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::FailedStatement;

    #[track_caller]
    fn check(code: i32, kind: &str) {
        let error = of_commit(Error::Database {
            code: Code::Sqlite(code),
            message: "disk I/O error".to_owned(),
            statement: FailedStatement::none(),
        });
        assert_eq!(error.kind(), kind, "{code}");
        assert!(!error.is_retryable(), "{code}");
    }

    #[test]
    fn commit_is_unknown_where_the_disk_failed_while_it_wrote() {
        for code in [
            ffi::SQLITE_IOERR,
            ffi::SQLITE_IOERR_WRITE,
            ffi::SQLITE_IOERR_FSYNC,
            ffi::SQLITE_IOERR_DIR_FSYNC,
            ffi::SQLITE_IOERR_DELETE,
        ] {
            check(code, "CommitUnknown");
        }
        // Nothing is kept where there was no room, or nothing was written yet.
        for code in [
            ffi::SQLITE_FULL,
            ffi::SQLITE_IOERR_READ,
            ffi::SQLITE_CORRUPT,
        ] {
            check(code, "Error");
        }
    }
}
