//! Why a connection was not opened, and what to do about it. Not where: the error around it names host and phase.
//! Rule: no text has a password, and none is a guess.

use std::io;
use std::time::Duration;

use thiserror::Error as Failure;
use tsumugi_firebird_proto::{Misuse, Violation};

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
    /// The server refused, the two sides could not agree, or one broke the protocol.
    #[error("{0}")]
    Handshake(#[from] tsumugi_firebird_proto::Error),
    /// The server wants the password proved in a way that the configuration does not have.
    #[error("the server wants the password proved by {0}, which `auth` does not name")]
    Plugin(String),
    /// The connection would not be encrypted, and `wire_crypt=required` demands that.
    #[error(
        "the server offers no encryption that is known here, and wire_crypt=required demands one"
    )]
    Unencrypted,
    /// The login did not come to an end.
    #[error("the login took more than login_turns_max ({0}) turns")]
    Turns(usize),
}

impl Cause {
    /// What to do about it, where that is known.
    pub(crate) fn advice(&self) -> &'static str {
        match self {
            Cause::Io(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                "; is the server running there?"
            }
            _ => "",
        }
    }
}

impl From<Violation> for Cause {
    fn from(violation: Violation) -> Cause {
        Cause::Handshake(violation.into())
    }
}

impl From<Misuse> for Cause {
    fn from(misuse: Misuse) -> Cause {
        Cause::Handshake(misuse.into())
    }
}
