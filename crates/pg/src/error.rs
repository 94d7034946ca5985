//! Why something failed and what the caller can do about it: one enum for the whole driver.
//! Rule: no text has a password or a value of the user's; the cause is in `source()`.

use std::time::Duration;

use thiserror::Error as Failure;
use tsumugi_pg_proto::backend::ServerError;
use tsumugi_pg_proto::types::{DecodeError, EncodeError};
use tsumugi_pg_proto::{Mismatch, Misuse, Violation};

use crate::connect::{Cause, Phase};
use crate::connection::Lost;

/// The result of everything here that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong.
#[non_exhaustive]
#[derive(Debug, Failure)]
pub enum Error {
    /// Fix the connection string, the environment or the file that it names. Retrying cannot help.
    #[error("{key}: {reason}")]
    Config {
        /// The key, or `url`.
        key: String,
        /// What is wrong with it.
        reason: String,
    },
    /// There is no connection to this host. No statement was sent.
    #[error("cannot connect to {host} ({phase}): {cause}{}", cause.advice())]
    Connect {
        /// The host, as it was configured.
        host: String,
        /// What was being done.
        phase: Phase,
        /// Why it failed.
        #[source]
        cause: Cause,
    },
    /// The host did not answer in time. No statement was sent.
    #[error("cannot connect to {host} ({phase}): no answer within connect_timeout ({} s)", limit.as_secs_f64())]
    Timeout {
        /// The host, as it was configured.
        host: String,
        /// What was being waited for.
        phase: Phase,
        /// The time that was given.
        limit: Duration,
    },
    /// None of the hosts will do; each says why.
    #[error("none of the hosts will do: {}", joined(.0))]
    Hosts(Vec<Error>),
    /// The server refused the statement. The connection is still usable.
    #[error("{0}")]
    Server(Box<ServerError>),
    /// The server does not know a statement that was prepared a moment ago: a pooler between us and it changes sessions. Say so
    /// by `pooler=transaction`.
    #[error("{0}; if a pooler gives each transaction another session, add pooler=transaction")]
    Forgotten(Box<ServerError>),
    /// The server broke the protocol. The connection is dead; open another.
    #[error("the server broke the protocol: {0}")]
    Protocol(#[source] Violation),
    /// The connection ended before the answer had come. Open another; `ran` says whether the statement may have run.
    #[error("the connection to the database was lost: {reason}; {}", ran.text())]
    Lost {
        /// Why.
        reason: String,
        /// Whether the statement may have run.
        ran: StatementFate,
        /// What the server said when it closed the connection, if it did.
        server: Option<Box<ServerError>>,
    },
    /// The caller misused the driver. Fix the code; nothing was sent.
    #[error("{0}")]
    Usage(#[from] Misuse),
    /// Another number of values was given than the statement has parameters. Nothing was sent.
    #[error("the statement has {expected} parameters and {given} values were given")]
    ParameterCount {
        /// In the statement.
        expected: usize,
        /// By the caller.
        given: usize,
    },
    /// A value cannot be sent as what its parameter is. Nothing was sent.
    #[error("parameter ${number}: {source}")]
    Parameter {
        /// The parameter's number, counted from 1.
        number: usize,
        /// What is wrong.
        source: EncodeError,
    },
    /// A column cannot be read as what was asked for, or is not there.
    #[error("column {column}: {reason}")]
    Column {
        /// Its name or number.
        column: String,
        /// What is wrong.
        reason: String,
        /// The cause, where a value was read.
        source: Option<DecodeError>,
    },
    /// The statement is not what its Rust types say. Fix one of them; it has not run.
    #[error("{0}")]
    Mismatch(#[from] Mismatch),
    /// Another number of rows came than the caller expects. The statement has run.
    #[error("{found} rows came where one was expected")]
    RowCount {
        /// How many.
        found: usize,
    },
    /// The answer is larger than one answer may be. Ask for less, raise the limit or stream it.
    #[error(
        "the answer exceeds reply_bytes_max ({reply_bytes_max} bytes); ask for less, raise it or use a stream"
    )]
    TooLarge {
        /// The limit.
        reply_bytes_max: usize,
    },
    /// Rows or COPY data are on their way on this connection, and the next messages belong to them. Finish or drop those first, or
    /// use another connection. Nothing was sent.
    #[error(
        "rows or COPY data are on their way on this connection; finish or drop them first, or use another one"
    )]
    Reserved,
    /// COPY and the function that ran the statement do not fit. The connection is still usable.
    #[error("{0}")]
    Copy(&'static str),
    /// The server rolled a transaction back that was to be committed, because a statement in it had failed.
    #[error("the transaction was rolled back: a statement in it had failed")]
    RolledBack,
}

/// Whether a statement ran whose answer never came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementFate {
    /// It was never sent.
    No,
    /// It may have run, or not.
    Perhaps,
}

impl StatementFate {
    fn text(self) -> &'static str {
        match self {
            StatementFate::No => "the statement was not sent",
            StatementFate::Perhaps => "the statement may or may not have run",
        }
    }
}

impl Error {
    /// What the server said, if it said something.
    pub fn server(&self) -> Option<&ServerError> {
        match self {
            Error::Server(error) | Error::Forgotten(error) => Some(error),
            Error::Lost { server, .. } => server.as_deref(),
            _ => None,
        }
    }

    pub(crate) fn lost(lost: &Lost, ran: StatementFate) -> Error {
        Error::Lost {
            reason: lost.to_string(),
            ran,
            server: lost.server().cloned().map(Box::new),
        }
    }

    pub(crate) fn column(name: &str, source: DecodeError) -> Error {
        Error::Column {
            column: name.to_owned(),
            reason: source.to_string(),
            source: Some(source),
        }
    }

    pub(crate) fn no_column(index: usize, columns: usize) -> Error {
        Error::Column {
            column: index.to_string(),
            reason: format!("there are only {columns} columns, counted from 0"),
            source: None,
        }
    }

    pub(crate) fn no_column_called(name: &str) -> Error {
        Error::Column {
            column: name.to_owned(),
            reason: "there is no column of this name".to_owned(),
            source: None,
        }
    }

    pub(crate) fn config(key: &str, reason: impl Into<String>) -> Error {
        Error::Config {
            key: key.to_owned(),
            reason: reason.into(),
        }
    }

    /// Whether another host may do better. As with libpq, a server that refuses the user is the end of it: the next one would
    /// refuse, too, and the error that matters would be lost among others.
    pub(crate) fn is_about_one_host(&self) -> bool {
        match self {
            Error::Connect { cause, .. } => cause.is_about_one_host(),
            Error::Timeout { .. } | Error::Hosts(_) => true,
            _ => false,
        }
    }
}

fn joined(errors: &[Error]) -> String {
    let texts: Vec<String> = errors.iter().map(Error::to_string).collect();
    texts.join("; ")
}
