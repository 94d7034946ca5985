//! The limits of the commands. Those of serving are in the crates that serve.

/// How long an application may take to stop after a command has used it, in milliseconds.
pub const RETIRE_MS_MAX: u64 = 3_000;

/// How long one test may run, in milliseconds; then it is cancelled and has failed.
pub const TEST_MS_MAX: u64 = 30_000;

/// How often `--dev` looks for changed files, in milliseconds.
pub const WATCH_INTERVAL_MS: u64 = 300;

/// Files that `--dev` watches at most; more are left out, with a warning.
pub const WATCHED_FILES_MAX: usize = 10_000;

/// How deep below the application's folder `--dev` looks.
pub const WATCHED_DEPTH_MAX: usize = 8;

/// The longest value of a database without an option for it; messages have room for it.
pub const VALUE_BYTES_DEFAULT: usize = tsumugi_kv::limits::VALUE_BYTES_DEFAULT;

/// The longest value of any database, which a client of one takes.
pub const VALUE_BYTES_MAX: usize = tsumugi_kv::limits::VALUE_BYTES_MAX;

/// Bytes of a line of TSV, and of a key or a value in a flat file: the longest value, every byte of it escaped, and a key.
pub const LINE_BYTES_MAX: u64 = 4 * VALUE_BYTES_MAX as u64 + 1024 * 1024;

/// Records that `kv list` and `kv export` ask for at a time, at first and at most.
pub const PAGE_RECORDS_MIN: usize = 16;
/// See [`PAGE_RECORDS_MIN`].
pub const PAGE_RECORDS_MAX: usize = 256;

/// What a page of records should not grow beyond; the next one asks for fewer.
pub const PAGE_BYTES_AIM: usize = 1024 * 1024;

/// Records of `kv import` that are under way to the server at a time.
pub const IMPORT_OWED_MAX: usize = 256;

/// Records that `kv import` reads ahead of those that are sent, in batches.
pub const BATCH_RECORDS_MAX: usize = 512;
/// Bytes of such a batch; one record may be larger.
pub const BATCH_BYTES_MAX: usize = 1024 * 1024;
/// Batches and pieces that wait between the thread that reads or writes a file and the one that speaks to the server.
pub const PIECES_WAITING_MAX: usize = 4;

/// How long a copy of a database may take on the server, in milliseconds.
pub const BACKUP_MS_MAX: u64 = 24 * 60 * 60 * 1_000;

/// Keys that `kv search` prints by default.
pub const SEARCH_KEYS_DEFAULT: i32 = 1_000;

/// Between two looks of a progress bar, in milliseconds.
pub const PROGRESS_MS: u64 = 100;

/// Callers of a load of `bench kv`.
pub const LOAD_THREADS_MAX: u64 = 1_024;
/// Open files of each connection of a load: its socket, four of its event loop, and one while a name is looked up.
pub const LOAD_FILES_EACH: u64 = 6;
/// Open files of a load beside those of its connections.
pub const LOAD_FILES_SPARE: u64 = 64;
/// Bytes of a key of a load.
pub const LOAD_KEY_BYTES: usize = 8;
/// Different keys of a load: they have eight digits.
pub const LOAD_KEYS_MAX: u64 = 100_000_000;
/// Calls that each caller of a load has under way.
pub const LOAD_DEPTH_MAX: usize = 1_024;
/// Records of one call of a load.
pub const LOAD_BATCH_MAX: usize = 1_000;
/// Bytes of values that a load has under way.
pub const LOAD_BYTES_MAX: usize = 1024 * 1024 * 1024;
/// The longest operation of a load, in seconds.
pub const LOAD_SECONDS_MAX: f64 = 86_400.0;
/// Between two looks of a load at whether it is to end, in milliseconds.
pub const LOAD_STOP_MS: u64 = 50;
/// The longest latency that a load tells from others, in nanoseconds; longer ones count as this.
pub const LATENCY_NS_MAX: u64 = 120_000_000_000;
/// Significant digits of a latency.
pub const LATENCY_DIGITS: u8 = 3;
