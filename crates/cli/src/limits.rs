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

/// Bytes of the files of an application that is built into an executable, and files.
pub const BUNDLE_BYTES_MAX: u64 = 512 * 1024 * 1024;
/// See [`BUNDLE_BYTES_MAX`].
pub const BUNDLE_FILES_MAX: usize = 20_000;
/// How deep its folders are.
pub const BUNDLE_DEPTH_MAX: usize = 16;

/// How long `health` waits for an answer.
pub const HEALTH_WAIT_MAX: std::time::Duration = std::time::Duration::from_secs(5);
/// Bytes of an answer that it reads.
pub const HEALTH_BYTES_MAX: u64 = 16 * 1024;
