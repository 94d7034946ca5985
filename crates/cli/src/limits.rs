//! The limits of the commands. Those of serving are in the crates that serve.

/// How long an application may take to stop after a command has used it, in milliseconds.
pub const RETIRE_MS_MAX: u64 = 3_000;

/// How long lines that are queued for the standard streams may take to be written at the end, in milliseconds.
pub const LAST_LINES_MS_MAX: u64 = 1_000;

/// Worker threads of one server.
pub const WORKERS_MAX: usize = 1_024;

/// How long one test may run, in milliseconds; then it is cancelled and has failed.
pub const TEST_MS_MAX: u64 = 30_000;

/// How often `--dev` looks for changed files, in milliseconds.
pub const WATCH_INTERVAL_MS: u64 = 300;

/// Files that `--dev` watches at most; more are left out, with a warning.
pub const WATCHED_FILES_MAX: usize = 10_000;

/// How deep below the application's folder `--dev` looks.
pub const WATCHED_DEPTH_MAX: usize = 8;

/// The longest value of a database that is not told otherwise; messages have room for it.
pub const VALUE_BYTES_DEFAULT: usize = tsumugi_kv::limits::VALUE_BYTES_DEFAULT;
