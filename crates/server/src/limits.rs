//! The limits of starting and ending, and of timers. Those of serving are in the crates that serve.

/// How long lines that are queued for the standard streams may take to be written at the end, in milliseconds.
pub const LAST_LINES_MS_MAX: u64 = 1_000;

/// How often a change of a session in a store is tried while other requests change the same session.
pub const SESSION_TRIES_MAX: usize = 64;

/// Worker threads of one server.
pub const WORKERS_MAX: usize = 1_024;

/// Bytes of one event in the log: what a client sent may be part of it. A longer one loses its middle.
pub const LOG_EVENT_BYTES_MAX: usize = 16 << 10;

/// The shortest period of a timer, in seconds: what the clock of the event loop tells apart.
pub const TIMER_SECONDS_MIN: f64 = 0.001;

/// The longest period of a timer, in seconds: beyond it the clock would overflow.
pub const TIMER_SECONDS_MAX: f64 = 1e9;
