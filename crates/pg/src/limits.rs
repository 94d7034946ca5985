//! Limits of the driver, each with a name that its error says. Units are the last word of the name.
//! Rule: what a peer or a file may make us hold or wait for is bounded here.

use std::time::Duration;

pub use tsumugi_wire::limits::{
    ADDRESSES_MAX, CANCEL_TIMEOUT, OUT_BYTES_MAX, RESET_TIMEOUT, UNREAD_BYTES_MAX,
};

/// For the look-up of a host's name, and then for each of its addresses: TCP, TLS and authentication together. Unless
/// `connect_timeout` says otherwise.
pub const CONNECT_TIMEOUT_MS_DEFAULT: u64 = 10_000;

/// How long a host that did not answer is asked after the others of its configuration, and is not waited for as long as `connect_timeout` says.
pub const SILENT_HOST_MEMORY: Duration = Duration::from_secs(10);

/// How long such a host is waited for: one of the others may have become the wanted one meanwhile.
pub const SILENT_HOST_TIMEOUT: Duration = Duration::from_secs(1);

/// Hosts in one configuration.
pub const HOSTS_MAX: usize = 64;

/// Bytes of a connection string.
pub const CONNECTION_STRING_BYTES_MAX: usize = 64 * 1024;

/// Bytes of a password file or a service file.
pub const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Statements kept prepared on one connection, unless `statement_cache` says otherwise.
pub const STATEMENT_CACHE_DEFAULT: usize = 256;

/// The largest `statement_cache`.
pub const STATEMENT_CACHE_MAX: usize = 65_536;

/// Room made for one read while a connection is opened.
pub const READ_BYTES: usize = 8 * 1024;

/// Bytes of one whole answer unless the caller says otherwise; a larger one has to be streamed.
pub const REPLY_BYTES_DEFAULT: usize = 64 * 1024 * 1024;

/// Bytes that one message of COPY data has at most.
pub const COPY_PIECE_BYTES_MAX: usize = 64 * 1024;

/// Notifications that wait to be received; what comes beyond is counted and dropped.
pub const NOTIFICATIONS_MAX: usize = 4096;

/// Between the first try that failed and the next. It doubles with each.
pub const RECONNECT_BACKOFF_MIN: Duration = Duration::from_millis(20);

/// Between two tries at most.
pub const RECONNECT_BACKOFF_MAX: Duration = Duration::from_secs(1);

/// Bytes that one batch of a row stream aims at.
pub const BATCH_BYTES: usize = 256 * 1024;

/// Rows that one batch of a row stream has at most.
pub const BATCH_ROWS_MAX: u32 = 10_000;

/// Rows of the first batch at most, before it is known how large they are.
pub const BATCH_ROWS_FIRST: u32 = 100;

/// How often a statement is prepared in all when its tables change between its preparation and its execution each time. After that the
/// server's error is the caller's.
pub const STALE_TRIES_MAX: u32 = 8;
