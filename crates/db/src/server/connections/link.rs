//! What a driver does for the pool of its connections: opens, judges, cleans, asks and ends one. Knows no pool and no caller.
//! Rule: whether a connection is usable or clean is said from what is known here, without asking its server.

use std::future::Future;
use std::rc::Rc;

use tokio::time::Instant;

/// What the pool asks of a driver.
pub(crate) trait Link: 'static {
    /// One connection. The pool keeps it; leases give access to it.
    type Connection: 'static;

    /// Connects, within a time that the link bounds.
    fn open(&self) -> impl Future<Output = Result<Self::Connection, ConnectFailure>>;

    /// Whether the connection may be given to another caller, as far as is known without asking the server.
    fn is_usable(&self, connection: &Self::Connection) -> bool;

    /// Whether one that a caller had alone is as it was before.
    fn is_clean(&self, connection: &Self::Connection) -> bool;

    /// Since when the server has sent nothing although it owes an answer.
    fn silent_since(&self, connection: &Self::Connection) -> Option<Instant>;

    /// Called about once a second for every connection.
    fn look_after(&self, _: &Self::Connection) {}

    /// Since when the oldest statement has been waiting for its answer, if any does.
    fn unanswered_since(&self, connection: &Self::Connection) -> Option<Instant>;

    /// Makes one that is not clean fit for the next user, or ends it.
    fn clean(&self, connection: &Self::Connection) -> impl Future<Output = ()>;

    /// Asks the server whether it is there.
    fn ping(&self, connection: &Self::Connection) -> impl Future<Output = Result<(), ()>>;

    /// Ends a connection whose server does not answer: callers that wait for something there get an error.
    fn end(&self, connection: &Self::Connection);
}

/// Why no connection could be opened.
#[derive(Clone, Debug)]
pub(crate) struct ConnectFailure {
    /// In words, without secrets.
    pub(crate) reason: Rc<str>,
    /// Whether trying again can help.
    pub(crate) retryable: Retryable,
}

impl ConnectFailure {
    /// The connection was gone as soon as it was there.
    pub(super) fn at_once() -> ConnectFailure {
        ConnectFailure {
            reason: "the server closed the connection at once".into(),
            retryable: Retryable::Transient,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retryable {
    /// The server may be restarting: callers go on waiting.
    Transient,
    /// The settings are wrong: callers get an error at once.
    Permanent,
}
