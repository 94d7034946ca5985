//! How long a cluster may take to start, and how often it is tried.

/// For a cluster to answer. Generous: a busy machine must not fail a test.
pub const START_S_MAX: u64 = 60;

/// Ports that were free may be taken by others before they are used.
pub const START_TRIES_MAX: usize = 5;
