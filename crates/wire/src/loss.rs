//! Why a connection ended, and what that means for a request whose reply never came.
//! Rule: the first reason counts.

use std::rc::Rc;
use std::{fmt, io};

/// Why a connection ended. `S` is what the server may say about it, `V` how it may break the protocol.
#[derive(Debug)]
pub struct Loss<S, V>(Rc<LossReason<S, V>>);

/// The reason.
#[derive(Debug)]
pub enum LossReason<S, V> {
    /// The server closed it, perhaps saying why.
    Closed(Option<S>),
    /// The socket failed.
    Io(io::Error),
    /// The server broke the protocol.
    Protocol(V),
    /// We closed it, and why.
    Aborted(&'static str),
}

impl<S, V> Loss<S, V> {
    /// For this reason.
    pub fn new(reason: LossReason<S, V>) -> Self {
        Loss(Rc::new(reason))
    }

    /// We closed it, and why.
    pub fn aborted(reason: &'static str) -> Self {
        Loss::new(LossReason::Aborted(reason))
    }

    /// It could not be made clean in time.
    pub fn unclean() -> Self {
        Loss::aborted("it could not be made clean in time and was closed")
    }

    /// What the server said, if it did.
    pub fn server(&self) -> Option<&S> {
        match &*self.0 {
            LossReason::Closed(said) => said.as_ref(),
            LossReason::Io(_) | LossReason::Protocol(_) | LossReason::Aborted(_) => None,
        }
    }
}

impl<S, V> Clone for Loss<S, V> {
    fn clone(&self) -> Self {
        Loss(Rc::clone(&self.0))
    }
}

impl<S: fmt::Display, V: fmt::Display> fmt::Display for Loss<S, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &*self.0 {
            LossReason::Closed(Some(said)) => write!(f, "{said}"),
            LossReason::Closed(None) => f.write_str("the server closed it"),
            LossReason::Io(error) => write!(f, "{error}"),
            LossReason::Protocol(violation) => {
                write!(f, "the server broke the protocol: {violation}")
            }
            LossReason::Aborted(reason) => f.write_str(reason),
        }
    }
}

/// What a caller gets instead of a reply when the connection has ended. `L` is the protocol's [`Loss`].
#[derive(Clone, Debug)]
pub struct ReplyLoss<L> {
    /// Why the connection ended.
    pub lost: L,
    /// Whether the request was sent.
    pub fate: StatementFate,
}

/// Whether a statement ran whose reply never came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatementFate {
    /// It was never sent.
    No,
    /// It may have run, or not.
    Perhaps,
}

impl fmt::Display for StatementFate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            StatementFate::No => "the statement was not sent",
            StatementFate::Perhaps => "the statement may or may not have run",
        })
    }
}
