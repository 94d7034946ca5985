//! Why a connection ended. Not the error that a caller gets of it, which also says whether a statement may have run.
//! Rule: the first reason counts.

use std::rc::Rc;
use std::{fmt, io};

use tsumugi_firebird_proto::Violation;

/// Why a connection ended.
#[derive(Clone, Debug)]
pub(crate) struct Lost(pub(crate) Rc<Reason>);

#[derive(Debug)]
pub(crate) enum Reason {
    /// The server closed it.
    Closed,
    /// The socket failed.
    Io(io::Error),
    /// The server broke the protocol.
    Protocol(Violation),
    /// We closed it, and why.
    Aborted(&'static str),
}

impl Lost {
    pub(crate) fn aborted(reason: &'static str) -> Self {
        Lost(Rc::new(Reason::Aborted(reason)))
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            Reason::Closed => f.write_str("the server closed it"),
            Reason::Io(error) => write!(f, "{error}"),
            Reason::Protocol(violation) => write!(f, "the server broke the protocol: {violation}"),
            Reason::Aborted(reason) => f.write_str(reason),
        }
    }
}

impl From<tsumugi_firebird_proto::Error> for Reason {
    fn from(error: tsumugi_firebird_proto::Error) -> Reason {
        match error {
            tsumugi_firebird_proto::Error::Protocol(violation) => Reason::Protocol(violation),
            other => Reason::Io(io::Error::other(other)),
        }
    }
}
