//! The limits of starting and ending. Those of serving are in the crates that serve.

/// How long lines that are queued for the standard streams may take to be written at the end, in milliseconds.
pub const LAST_LINES_MS_MAX: u64 = 1_000;

/// Worker threads of one server.
pub const WORKERS_MAX: usize = 1_024;
