//! The steps of opening a connection, for messages. Not their order.
//! Rule: each reads as what failed to happen.

use std::fmt;

/// What was being done when it failed.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Looking up the host's name.
    Resolve,
    /// Opening the TCP connection.
    Socket,
    /// Agreeing on a version, and proving the password.
    Authentication,
    /// Agreeing on a cipher.
    Encryption,
    /// Opening, or creating, the database.
    Attachment,
    /// Opening the connection for events.
    Events,
}

impl fmt::Display for Phase {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Phase::Resolve => "name look-up",
            Phase::Socket => "connecting",
            Phase::Authentication => "authentication",
            Phase::Encryption => "encryption",
            Phase::Attachment => "attachment",
            Phase::Events => "events",
        })
    }
}
