//! Why a connection was not opened, and what to do about it. Not where: the error around it names host and phase.
//! Rule: no text has a password, and none is a guess.

use std::io;

use thiserror::Error as Failure;
use tsumugi_pg_proto::{Misuse, Violation};

use crate::error::Error;

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
    /// See [`Error::is_about_one_host`].
    pub(crate) fn is_about_one_host(&self) -> bool {
        use tsumugi_pg_proto::{Error as Startup, Refusal};
        match self {
            Cause::Io(_) | Cause::Closed | Cause::Tls(_) | Cause::Unsuitable(_) => true,
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
