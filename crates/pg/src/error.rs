//! Why something failed and what the caller can do about it: one enum for the whole driver, and one for a connection that was not opened.
//! Rule: no text has a password or a value of the user's, and none is a guess; the cause is in `source()`.

use std::io;
use std::time::Duration;

use thiserror::Error as Failure;
use tsumugi_pg_proto::backend::ServerError;
use tsumugi_pg_proto::types::{DecodeError, EncodeError};
use tsumugi_pg_proto::{Mismatch, Misuse, Violation};
use tsumugi_wire::{Loss, ReplyLoss};

use crate::phase::Phase;

pub use tsumugi_wire::StatementFate;

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
    /// No host accepted the connection; one error for each.
    #[error("no host accepted the connection: {}", joined(.0))]
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
    #[error("the connection to the database was lost: {reason}; {ran}")]
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
        /// The column's name, or its number from 0.
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
    /// The server has committed, and was made to stop waiting for its synchronous standbys, as by a request to cancel. If the server is lost before
    /// one of them has it, so is what was committed. The connection is still usable.
    #[error(
        "the server has committed, and stopped waiting for its synchronous standbys to confirm it; if it is lost now, so may be what was committed"
    )]
    Unreplicated,
    /// The server rolled a transaction back that was to be committed, because a statement in it had failed.
    #[error("the transaction was rolled back: a statement in it had failed")]
    RolledBack,
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

    /// The same of what comes before a statement goes out, such as its preparation: nothing of the statement itself was sent.
    pub(crate) fn before_execution(self) -> Error {
        self.with_fate(StatementFate::No)
    }

    /// The same of what is asked when a statement has run.
    pub(crate) fn after_execution(self) -> Error {
        self.with_fate(StatementFate::Perhaps)
    }

    fn with_fate(self, ran: StatementFate) -> Error {
        match self {
            Error::Lost { reason, server, .. } => Error::Lost {
                reason,
                ran,
                server,
            },
            other => other,
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
            Error::Hosts(_) => true,
            _ => false,
        }
    }

    /// Whether a host did not answer in time.
    pub(crate) fn is_connect_timeout(&self) -> bool {
        matches!(
            self,
            Error::Connect {
                cause: Cause::Timeout(_),
                ..
            }
        )
    }
}

impl From<ReplyLoss<Loss<Box<ServerError>, Violation>>> for Error {
    fn from(ReplyLoss { lost, fate }: ReplyLoss<Loss<Box<ServerError>, Violation>>) -> Error {
        Error::Lost {
            reason: lost.to_string(),
            ran: fate,
            server: lost.server().cloned(),
        }
    }
}

fn joined(errors: &[Error]) -> String {
    let texts: Vec<String> = errors.iter().map(Error::to_string).collect();
    texts.join("; ")
}

/// Why a connection was not opened.
#[non_exhaustive]
#[derive(Debug, Failure)]
pub enum Cause {
    /// The socket, or the look-up of the name, failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// The server closed the connection without a word.
    #[error("the server closed the connection")]
    Closed,
    /// The host did not answer within `connect_timeout`, which is this long.
    #[error("no answer within connect_timeout ({} s)", .0.as_secs_f64())]
    Timeout(Duration),
    /// The TLS handshake failed.
    #[error("{0}")]
    Tls(#[source] io::Error),
    /// The server refused, the two sides could not agree, or one broke the protocol.
    #[error("{0}")]
    Startup(#[from] tsumugi_pg_proto::Error),
    /// The server asks for a password and there is none; with where one may come from.
    #[error("the server asks for a password and none was given; {0}")]
    PasswordMissing(String),
    /// It is not the kind of server that `target_session_attrs` wants.
    #[error("target_session_attrs does not fit: {0}")]
    Unsuitable(&'static str),
    /// A file that the configuration names cannot be used.
    #[error("{0}")]
    Configuration(#[source] Box<Error>),
}

impl Cause {
    /// Whether another host may do better.
    pub(crate) fn is_about_one_host(&self) -> bool {
        use tsumugi_pg_proto::{Error as Startup, Refusal};
        match self {
            Cause::Io(_)
            | Cause::Closed
            | Cause::Timeout(_)
            | Cause::Tls(_)
            | Cause::Unsuitable(_) => true,
            Cause::PasswordMissing(_) | Cause::Configuration(_) => false,
            // Starting up, shutting down, out of connections or memory.
            Cause::Startup(Startup::Server(error)) => {
                matches!(error.code.class(), "53" | "57" | "58")
            }
            Cause::Startup(Startup::Protocol(_)) => true,
            Cause::Startup(Startup::Refused(refusal)) => {
                matches!(refusal, Refusal::EncryptionError)
            }
            Cause::Startup(_) => false,
        }
    }

    /// What to do about it, where that is known.
    pub(crate) fn advice(&self) -> &'static str {
        use rustls::{CertificateError, Error as Tls};
        match self {
            Cause::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                "; is the server running there?"
            }
            Cause::Io(error) if error.kind() == io::ErrorKind::NotFound => {
                "; is the server running, and is the host right?"
            }
            Cause::Tls(error) | Cause::Io(error) => {
                let inner = error
                    .get_ref()
                    .and_then(|inner| inner.downcast_ref::<Tls>());
                match inner {
                    Some(Tls::InvalidCertificate(CertificateError::UnknownIssuer)) => {
                        "; name the file with its signer's certificate as sslrootcert"
                    }
                    Some(Tls::InvalidCertificate(
                        CertificateError::NotValidForName
                        | CertificateError::NotValidForNameContext { .. },
                    )) => {
                        "; connect by a name of the certificate, or check less with sslmode=verify-ca"
                    }
                    _ => "",
                }
            }
            _ => "",
        }
    }
}

impl From<Violation> for Cause {
    fn from(violation: Violation) -> Cause {
        Cause::Startup(violation.into())
    }
}

impl From<Misuse> for Cause {
    fn from(misuse: Misuse) -> Cause {
        Cause::Startup(misuse.into())
    }
}

impl From<Error> for Cause {
    fn from(error: Error) -> Cause {
        Cause::Configuration(Box::new(error))
    }
}
