//! Limits of the driver, each with a name that its error says. Units are the last word of the name.
//! Rule: what a peer or a caller may make us hold or wait for is bounded here.

use std::time::Duration;

pub use tsumugi_wire::limits::{
    ADDRESSES_MAX, CANCEL_TIMEOUT, OUT_BYTES_MAX, RESET_TIMEOUT, UNREAD_BYTES_MAX,
};
pub(crate) use tsumugi_wire::limits::{READ_BYTES_MAX, READ_BYTES_MIN};

/// From the look-up of a host's name to the attachment, unless `connect_timeout` says otherwise.
pub const CONNECT_TIMEOUT_MS_DEFAULT: u64 = 10_000;

/// Bytes of a connection string.
pub const CONNECTION_STRING_BYTES_MAX: usize = 64 * 1024;

/// Turns of one login.
pub const LOGIN_TURNS_MAX: usize = 16;

/// Statements kept prepared on one connection, unless `statement_cache` says otherwise.
pub const STATEMENT_CACHE_DEFAULT: usize = 256;

/// The largest `statement_cache`.
pub const STATEMENT_CACHE_MAX: usize = 65_536;

/// Bytes of one whole answer unless [`Config`](crate::Config) says otherwise; a larger one has to be streamed.
pub const REPLY_BYTES_DEFAULT: usize = 64 * 1024 * 1024;

/// Transactions that a connection keeps begun for the next statements that write outside of any.
pub const SPARE_TRANSACTIONS_MAX: usize = 8;

/// Statements that are allocated, with no text, before they are freed together.
pub(crate) const UNUSED_STATEMENTS_MAX: usize = 64;

/// Bytes of a blob that go in one request.
pub(crate) const BLOB_PIECE_BYTES: usize = 32 * 1024;

/// Pieces of a blob that may be on their way before their writer waits.
pub(crate) const BLOB_PIECES_AHEAD: usize = 16;

/// Seconds that a change of the schema outside a transaction waits for those who use the table.
pub const CHANGE_WAIT_S: u32 = 10;

/// How long each of several statements that are to stop may take, before the connection is closed.
pub const STUCK_TIMEOUT: Duration = Duration::from_secs(2);

/// Rows asked for at once. The server stops earlier, when it has sent about 128 KiB.
pub const FETCH_ROWS: u16 = 10_000;
