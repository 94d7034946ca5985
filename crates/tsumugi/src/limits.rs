//! The limits of applications in Rust. Those of connections and bodies are HTTP's.

use tsumugi_server::{LimitSet, Row, limited};

/// Bytes that the client of the same process lets wait in each direction of a WebSocket.
pub(crate) const SOCKET_BYTES: usize = 64 * 1024;

/// What one worker's application may use.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Requests of one worker that wait for something. While there are so many, another one is answered 503, and nothing of it runs.
    pub requests_max: usize,
    /// From the end of the request's header to the response, in milliseconds. Then the handler's future is dropped: 504.
    pub request_ms_max: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            requests_max: 16_384,
            request_ms_max: 30_000,
        }
    }
}

impl LimitSet for Limits {
    const DEV: &'static str = "Development: show errors in the page";

    const LIMITS: &'static [Row<Limits>] = limited!(requests_max request_ms_max);
}
