//! The steps of opening a connection, for messages. Not their order, which depends on the configuration.
//! Rule: each reads as what failed to happen.

use std::fmt;

/// What was being done when it failed.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Looking up the host's name.
    Resolve,
    /// Opening the TCP connection or the UNIX socket.
    Socket,
    /// Asking for TLS, and its handshake.
    Tls,
    /// From the start-up message until the server is ready.
    Authentication,
    /// Asking whether it is the kind of server that is wanted.
    Role,
    /// Handing over a request to cancel.
    Cancel,
}

impl fmt::Display for Phase {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Phase::Resolve => "name look-up",
            Phase::Socket => "connecting",
            Phase::Tls => "TLS",
            Phase::Authentication => "authentication",
            Phase::Role => "target_session_attrs",
            Phase::Cancel => "cancel request",
        })
    }
}
