//! Every bound of this crate, by name. Those of a database of this process are `tsumugi-kv`'s, those of a `tkrzw://` client `tsumugi-rpc`'s.
//! Rule: a queue or a message that has no bound here or there does not exist.

/// Longest address of a store, settings included.
pub const ADDRESS_BYTES_MAX: usize = 8 * 1024;
/// Servers that one address may name.
pub const ENDPOINTS_MAX: usize = 16;
/// How long a call of an engine behind a network may take unless `timeout` says otherwise.
pub const CALL_MS_DEFAULT: u64 = 5_000;
/// Longest `timeout`.
pub const CALL_MS_MAX: u64 = 3_600_000;
/// How often a write that others precede is tried.
pub const WRITE_TRIES_MAX: usize = 128;
/// Calls of one stream to a `tkrzw://` store that are under way at a time: the writes of a batch, the steps of a page.
pub const CALLS_MAX: usize = 64;
/// Bytes of the records of one call that reads or writes several.
pub const KV_MULTI_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Watches of one client.
pub const REMOTE_WATCHES_MAX: usize = 256;

pub use tsumugi_kv::limits::{WATCH_BYTES_MAX, WATCH_CHANGES_MAX};
