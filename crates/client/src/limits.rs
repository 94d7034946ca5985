//! The limits of calls to other servers, each with its default and its unit. Knows numbers, not behaviour.
//! How many redirects are followed is not among them: each call says it.
//! A limit that fails a call is named in the error's text, so that the reader knows what to raise.

use std::time::Duration;

/// What one client may use.
#[derive(Clone, Debug)]
pub struct CallLimits {
    /// From the look-up of a name to a connection that takes requests, in milliseconds.
    pub connect_ms_max: u64,
    /// The time of a whole call when the caller says nothing, in milliseconds.
    pub call_ms_max: u64,
    /// Addresses of one name that are tried.
    pub addresses_max: usize,
    /// Connections in use at once to one host and port. Further calls wait.
    pub connections_per_host_max: usize,
    /// Connections in use at once. Further calls wait.
    pub connections_max: usize,
    /// Connections to one host and port that are kept open for later.
    pub idle_per_host_max: usize,
    /// Connections that are kept open for later.
    pub idle_max: usize,
    /// How long one is kept, in milliseconds.
    pub idle_ms_max: u64,
    /// Bytes of a response's status line and headers. At least 8,192.
    pub header_bytes_max: usize,
    /// Bytes of a response's body when the caller says nothing.
    pub response_bytes_max: usize,
}

impl Default for CallLimits {
    fn default() -> Self {
        CallLimits {
            connect_ms_max: 3_000,
            call_ms_max: 5_000,
            addresses_max: 8,
            connections_per_host_max: 64,
            connections_max: 512,
            idle_per_host_max: 16,
            idle_max: 128,
            idle_ms_max: 30_000,
            header_bytes_max: 64 * 1024,
            response_bytes_max: 16 * 1024 * 1024,
        }
    }
}

/// Calls that stubs keep for a test to look at; one more is an error, since something calls without an end.
pub(crate) const STUBBED_CALLS_MAX: usize = 10_000;

/// Bytes of a host name (RFC 1035 section 2.3.4).
pub(crate) const HOST_BYTES_MAX: usize = 255;

/// How long a connection may take to say that it is ready again: it needs a turn of the event loop.
pub(crate) const READY_WAIT: Duration = Duration::from_millis(20);
