//! How long throwaway servers of Redis are waited for. Generous: a busy machine must not fail a test.
//! Rule: each limit is named in the message of the panic that it causes.

/// From the start of a server to its readiness, and for several to find each other.
pub(crate) const START_S_MAX: u64 = 60;

/// Tries with another free port, because another process may take one between its choice and its use.
pub(crate) const PORT_TRIES_MAX: usize = 5;
