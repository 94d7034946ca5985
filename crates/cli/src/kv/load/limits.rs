//! The limits of a load of `bench kv`.

/// Callers of a load of `bench kv`.
pub(super) const LOAD_THREADS_MAX: u64 = 1_024;
/// Open files of each connection of a load: its socket, four of its event loop, and one while a name is looked up.
pub(super) const LOAD_FILES_EACH: u64 = 6;
/// Open files of a load beside those of its connections.
pub(super) const LOAD_FILES_SPARE: u64 = 64;
/// Bytes of a key of a load.
pub(super) const LOAD_KEY_BYTES: usize = 8;
/// Different keys of a load: they have eight digits.
pub(super) const LOAD_KEYS_MAX: u64 = 100_000_000;
/// Calls that each caller of a load has under way.
pub(super) const LOAD_DEPTH_MAX: usize = 1_024;
/// Records of one call of a load.
pub(super) const LOAD_BATCH_MAX: usize = 1_000;
/// Bytes of values that a load has under way.
pub(super) const LOAD_BYTES_MAX: usize = 1024 * 1024 * 1024;
/// The longest operation of a load, in seconds.
pub(super) const LOAD_SECONDS_MAX: f64 = 86_400.0;
/// Between two looks of a load at whether it is to end, in milliseconds.
pub(super) const LOAD_STOP_MS: u64 = 50;
/// The longest latency that a load tells from others, in nanoseconds; longer ones count as this.
pub(super) const LATENCY_NS_MAX: u64 = 120_000_000_000;
/// Significant digits of a latency.
pub(super) const LATENCY_DIGITS: u8 = 3;
