//! The span of a statement: which one runs, how many rows it came to, whether it failed. Knows no driver.
//! Rule: a span shows the form of a statement and never a value, bound or written into it; of an error it shows the kind.

use tsumugi_sql::{Dialect, Family, fingerprint};
use tsumugi_trace::{SPAN_NAME_BYTES_MAX, Span, SpanKind, is_observed, span};

use crate::error::{Error, Result};
use crate::execution::ExecuteResult;

/// Begins the span of a statement, for as long as its caller waits for it.
pub(crate) fn statement_span(sql: &str, dialect: &Dialect) -> Span {
    if !is_observed() {
        return Span::default();
    }
    // No more of a long text is looked at than is kept.
    let start = &sql[..sql.floor_char_boundary(SPAN_NAME_BYTES_MAX)];
    let span = span(SpanKind::Sql, &fingerprint(start, dialect.lexicon).text);
    if span.is_recorded() {
        // The names of OpenTelemetry's conventions.
        let system = match dialect.family {
            Family::Sqlite => "sqlite",
            Family::Postgres => "postgresql",
            Family::Firebird => "firebirdsql",
        };
        span.set("db.system.name", system);
    }
    span
}

/// Notes what the statement came to, and how many rows that is.
pub(crate) fn note_outcome<T>(span: &Span, outcome: &Result<T>, rows: impl FnOnce(&T) -> usize) {
    if !span.is_recorded() {
        return;
    }
    match outcome {
        Ok(answer) => span.set("db.response.returned_rows", rows(answer)),
        Err(error) => note_error(span, error),
    }
}

/// How many rows a statement has changed.
pub(crate) fn changed(executed: &ExecuteResult) -> usize {
    usize::try_from(executed.affected).unwrap_or(usize::MAX)
}

/// Notes whether a command failed.
pub(crate) fn note_failure<T>(span: &Span, outcome: &Result<T>) {
    if let Err(error) = outcome {
        note_error(span, error);
    }
}

fn note_error(span: &Span, error: &Error) {
    span.fail(error.kind());
}
