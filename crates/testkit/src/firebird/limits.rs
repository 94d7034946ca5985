//! How long a throwaway server is waited for. Generous: a busy machine must not fail a test.
//! Rule: each limit is named in the message of the panic that it causes.

/// From the start of a server to its readiness.
pub const START_S_MAX: u64 = 60;

/// Ends of a server that is kept running; one that ends more often has a fault that tests must show.
pub const RESTARTS_MAX: usize = 10;

/// Tries with another free port, because another process may take one between its choice and its use.
pub const PORT_TRIES_MAX: usize = 5;

/// For a connection, when a test has failed. A server that gives none is taken for one that stands still.
pub const ANSWER_S_MAX: u64 = 30;
