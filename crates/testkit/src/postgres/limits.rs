//! How long a throwaway server is waited for and how often something is tried again. Generous: a busy machine must not fail a test.
//! Rule: each limit is named in the message of the panic that it causes.

/// From the start of a server to its readiness; a restart after a kill recovers first.
pub const START_S_MAX: u64 = 60;

/// For a standby to catch up.
pub const CATCH_UP_S_MAX: u64 = 60;

/// Tries with another free port, because another process may take one between its choice and its use.
pub const PORT_TRIES_MAX: usize = 5;
