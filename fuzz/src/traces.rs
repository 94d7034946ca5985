//! What callers say of their trace: `traceparent` and `tracestate`.
//! Rule: what is taken is written as it was read, and what is carried is no longer than its limit.

use http::{HeaderMap, HeaderValue};
use tsumugi_trace::{TRACESTATE_BYTES_MAX, TraceParent, trace_state};

/// A value of `traceparent`, and the same bytes as one of `tracestate`.
pub fn trace_parent(bytes: &[u8]) {
    if let Some(parent) = TraceParent::parse(bytes) {
        let written = parent.to_string();
        assert_eq!(TraceParent::parse(written.as_bytes()), Some(parent));
        // Behind the version, which may be a later one, and in front of the flags, of which one is known.
        assert_eq!(&written.as_bytes()[2..53], &bytes[2..53]);
    }
    let Ok(value) = HeaderValue::from_bytes(bytes) else {
        return;
    };
    let mut headers = HeaderMap::new();
    headers.append("tracestate", value.clone());
    headers.append("tracestate", value);
    if let Some(state) = trace_state(&headers) {
        assert!(state.len() <= TRACESTATE_BYTES_MAX);
    }
}
