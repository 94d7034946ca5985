//! Requests that get another answer than their handler's, in the words that both faces use. Rule: a refusal names the limit.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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

/// The answer to a request whose application has retired because another process serves: it came on a connection whose client has not taken
/// notice of that.
#[cold]
pub(super) fn refuse_replaced() -> HttpResponse {
    HttpResponse::refusal(
        StatusCode::SERVICE_UNAVAILABLE,
        "another process serves now; connect again",
    )
}

/// The answer to a request that an operator has cancelled, on the dashboard.
#[cold]
pub(super) fn refuse_cancelled() -> HttpResponse {
    tracing::info!("a request was cancelled by an operator");
    HttpResponse::refusal(StatusCode::SERVICE_UNAVAILABLE, "cancelled by an operator")
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

/// Refusals since the last line about them. A server that is too busy has no time for a line each: there is one a second.
#[derive(Debug, Default)]
pub struct RefusalCount(Arc<Mutex<RefusalBacklog>>);

#[derive(Debug, Default)]
struct RefusalBacklog {
    count: u64,
    line: Option<Instant>,
}

impl RefusalCount {
    /// Counts one more. `report` gets the number when it is time for a line about so many: at once, or a second after the last line,
    /// also when no further refusal comes.
    pub fn add(&self, report: impl FnOnce(u64) + Send + 'static) {
        let mut backlog = lock(&self.0);
        backlog.count += 1;
        let now = Instant::now();
        let due = backlog.line.map_or(now, |line| line + LINE_EVERY);
        if due <= now {
            let count = backlog.take(now);
            drop(backlog);
            return report(count);
        }
        // The first of those that wait brings the line about all of them.
        let is_first = backlog.count == 1;
        // A runtime that ends drops what is spawned at once, which takes the lock.
        drop(backlog);
        if is_first && let Ok(runtime) = tokio::runtime::Handle::try_current() {
            let late = LateReport {
                backlog: Arc::clone(&self.0),
                report: Some(report),
            };
            runtime.spawn(async move {
                tokio::time::sleep_until(due.into()).await;
                drop(late);
            });
        }
    }
}

/// How often there is a line.
const LINE_EVERY: Duration = Duration::from_secs(1);

impl RefusalBacklog {
    fn take(&mut self, now: Instant) -> u64 {
        self.line = Some(now);
        std::mem::take(&mut self.count)
    }
}

/// Reports when it is dropped, which is when its time has come or its worker ends.
struct LateReport<F: FnOnce(u64)> {
    backlog: Arc<Mutex<RefusalBacklog>>,
    report: Option<F>,
}

impl<F: FnOnce(u64)> Drop for LateReport<F> {
    fn drop(&mut self) {
        let count = lock(&self.backlog).take(Instant::now());
        if let Some(report) = self.report.take()
            && count > 0
        {
            report(count);
        }
    }
}

fn lock(backlog: &Mutex<RefusalBacklog>) -> MutexGuard<'_, RefusalBacklog> {
    backlog.lock().unwrap_or_else(PoisonError::into_inner)
}
