//! Limits of a connection's task and of what stands beside it, the same for all protocols. Units are the last word of the name.
//! Rule: what a peer or a caller may make us hold or wait for is bounded here.

use std::time::Duration;

/// Addresses of one host that are tried.
pub const ADDRESSES_MAX: usize = 16;

/// First size of a connection's two buffers, and by how much they grow.
pub const BUFFER_BYTES: usize = 32 * 1024;

/// Room for one read at least.
pub const READ_BYTES_MIN: usize = 4 * 1024;

/// Room for one read at most, when a long message is on its way.
pub const READ_BYTES_MAX: usize = 1024 * 1024;

/// Bytes that may wait to be sent before callers wait with their next request. One request may exceed it.
pub const OUT_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Bytes that may wait for a caller that reads piece by piece before the socket is no longer read.
pub const UNREAD_BYTES_MAX: usize = 1024 * 1024;

/// Requests that wait to be sent together are at most one for so many replies that the server owes.
pub const WAITING_SHARE: usize = 8;

/// Bytes that wait to be sent together at most: about what a server reads at once.
pub const WAITING_BYTES_MAX: usize = 8 * 1024;

/// A server that has replied within this time is near. Requests to others do not wait for company: at worst it costs one way there
/// and back.
pub const SHORT_LATENCY: Duration = Duration::from_micros(500);

/// For so many replies a slot keeps its memory.
pub const SLOT_ITEMS_MAX: usize = 64;

/// How long the server gets to finish an abandoned statement by itself before it is asked to stop.
pub const CANCEL_AFTER: Duration = Duration::from_millis(10);

/// When an abandoned statement goes on all the same: the request to cancel may have come before the server had begun it.
pub const CANCEL_AGAIN_AFTER: Duration = Duration::from_millis(250);

/// How long the server may take to act on a request to cancel, before the connection is closed, which stops it for sure.
pub const CANCEL_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a connection may take to become clean before it is closed instead.
pub const RESET_TIMEOUT: Duration = Duration::from_secs(10);
