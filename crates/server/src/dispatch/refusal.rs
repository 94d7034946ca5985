//! Requests that get another answer than their handler's, in the words that both faces use. Rule: a refusal names the limit.

use std::cell::Cell;
use std::fmt;
use std::time::{Duration, Instant};

use http::StatusCode;
use tsumugi_http::HttpResponse;

/// Why a handler does not have the last word on its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestRefusal {
    /// Too many requests of this worker wait. Nothing of this one was run.
    Busy {
        /// `requests_max`.
        max: usize,
    },
    /// The handler took too long and was ended.
    Deadline {
        /// `request_ms_max`.
        limit_ms: u64,
    },
}

impl RequestRefusal {
    /// The status of its response.
    pub fn status(self) -> StatusCode {
        match self {
            RequestRefusal::Busy { .. } => StatusCode::SERVICE_UNAVAILABLE,
            RequestRefusal::Deadline { .. } => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    /// The response, unless the application has another.
    pub fn response(self) -> HttpResponse {
        HttpResponse::refusal(self.status(), &self.to_string())
    }
}

impl fmt::Display for RequestRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestRefusal::Busy { .. } => f.write_str("requests_max is reached; try again later"),
            RequestRefusal::Deadline { limit_ms } => {
                write!(
                    f,
                    "the handler took longer than request_ms_max ({limit_ms} ms)"
                )
            }
        }
    }
}

/// Refusals since the last line about them. A server that is too busy has no time for a line each.
#[derive(Debug, Default)]
pub struct RefusalCount {
    count: Cell<u64>,
    line: Cell<Option<Instant>>,
}

impl RefusalCount {
    /// Counts one more; the number when it is time for a line about so many: once a second.
    pub fn add(&self) -> Option<u64> {
        let count = self.count.get() + 1;
        let now = Instant::now();
        let line = self.line.get();
        if line.is_some_and(|line| now - line < Duration::from_secs(1)) {
            self.count.set(count);
            return None;
        }
        self.count.set(0);
        self.line.set(Some(now));
        Some(count)
    }
}
