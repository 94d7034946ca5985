//! The limits of running Ruby. Each has a default, a test at limit + 1 and an error that names it.

/// What one worker's VM may use.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Requests in Ruby at once on one worker, parked ones included. One more is answered 503.
    pub requests_max: usize,
    /// From the end of the request's header to the response, in milliseconds. Then the handler is cancelled: 504.
    pub request_ms_max: u64,
    /// How long `ensure` may go on waiting after a cancellation, in milliseconds.
    pub cancel_ms_max: u64,
    /// Bytes one VM may allocate.
    pub vm_bytes_max: usize,
    /// Idle fibres kept for reuse on one worker.
    pub idle_fibres_max: usize,
    /// Nesting of what becomes JSON; deeper (or cyclic) is an error.
    pub json_depth_max: usize,
    /// Branches of one `parallel`.
    pub parallel_max: usize,
    /// Values that wait in one channel.
    pub channel_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            requests_max: 16_384,
            request_ms_max: 30_000,
            cancel_ms_max: 5_000,
            vm_bytes_max: 256 << 20,
            idle_fibres_max: 1_024,
            json_depth_max: 100,
            parallel_max: 1_024,
            channel_max: 65_536,
        }
    }
}
