//! Counts requests: one set of figures per worker, written by that worker alone, read by exporters. Knows no server.
//! Counting is a plain load and store on the worker's own cache lines. A registry of named metrics would look up or lock, or share a
//! line between workers, for every request; here the names come in only when they are read.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use http::{Method, StatusCode};

use crate::{
    exposition::Exposition,
    summary::{FinishedRequest, RequestOutcome},
};

/// The figures of one worker. Alone on its cache lines (two, because processors fetch lines in pairs).
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct HttpMetrics {
    begun: AtomicU64,
    ended: AtomicU64,
    body_bytes: AtomicU64,
    duration_us: AtomicU64,
    requests: [[AtomicU64; CLASSES.len()]; METHODS.len()],
    durations: [AtomicU64; BOUNDS_US.len() + 1],
}

/// Methods by name; the last takes what is none of the others, so that clients cannot make names.
const METHODS: [&str; 8] = [
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "other",
];

/// How requests end: by status, broken off while the answer was sent, or without an answer.
const CLASSES: [&str; 6] = ["2xx", "3xx", "4xx", "5xx", "broken_off", "unanswered"];

/// Upper bounds of the durations, with their names in seconds.
const BOUNDS_US: [(u64, &str); 14] = [
    (100, "0.0001"),
    (250, "0.00025"),
    (500, "0.0005"),
    (1_000, "0.001"),
    (2_500, "0.0025"),
    (5_000, "0.005"),
    (10_000, "0.01"),
    (25_000, "0.025"),
    (50_000, "0.05"),
    (100_000, "0.1"),
    (250_000, "0.25"),
    (1_000_000, "1"),
    (5_000_000, "5"),
    (30_000_000, "30"),
];

impl HttpMetrics {
    /// A request has begun.
    pub fn request_begun(&self) {
        add(&self.begun, 1);
    }

    /// A request is over, `duration_us` after its header was complete.
    pub fn request_finished(&self, finished: &FinishedRequest, duration_us: u64) {
        add(&self.ended, 1);
        add(&self.body_bytes, finished.body_bytes);
        add(&self.duration_us, duration_us);
        let class = class(finished.status, finished.outcome);
        if let Some(count) = self.requests(method(&finished.method), class) {
            add(count, 1);
        }
        let bucket = BOUNDS_US
            .iter()
            .position(|(bound, _)| duration_us <= *bound);
        if let Some(count) = self.durations.get(bucket.unwrap_or(BOUNDS_US.len())) {
            add(count, 1);
        }
    }

    fn requests(&self, method: usize, class: usize) -> Option<&AtomicU64> {
        self.requests.get(method)?.get(class)
    }

    /// Requests that have begun and not ended.
    pub fn in_flight(&self) -> u64 {
        // Read in this order, a request that ends between the two is counted as in flight, never as minus one.
        let ended = self.ended.load(Relaxed);
        self.begun.load(Relaxed).saturating_sub(ended)
    }

    /// Writes the figures of all workers: sums of what is counted, one gauge a worker.
    pub fn write(workers: &[&HttpMetrics], text: &mut Exposition) {
        let name = "tsumugi_http_requests_total";
        text.family(name, "Requests that are over, by method and class of status; broken_off and unanswered ones are counted there only.");
        for (method, method_name) in METHODS.iter().enumerate() {
            for (class, class_name) in CLASSES.iter().enumerate() {
                let count = sum(workers, |figures| {
                    let count = figures.requests(method, class);
                    count.map_or(0, |count| count.load(Relaxed))
                });
                if count > 0 {
                    text.sample(
                        name,
                        &[("method", method_name), ("status", class_name)],
                        count,
                    );
                }
            }
        }
        HttpMetrics::write_durations(workers, text);
        text.single(
            "tsumugi_http_response_body_bytes_total",
            "Bytes of response bodies given to connections.",
            sum(workers, |figures| figures.body_bytes.load(Relaxed)),
        );
        text.per_worker(
            "tsumugi_http_requests_in_flight",
            "Requests that have begun and not ended.",
            workers
                .iter()
                .map(|figures| figures.in_flight())
                .enumerate(),
        );
    }

    fn write_durations(workers: &[&HttpMetrics], text: &mut Exposition) {
        let name = "tsumugi_http_request_duration_seconds";
        let help = "Time from a request's header to the end of its response.";
        text.histograms(name, help);
        let bounds = BOUNDS_US.iter().map(|(_, name)| *name).chain(["+Inf"]);
        let buckets = bounds.enumerate().map(|(bucket, bound)| {
            let count = |figures: &HttpMetrics| {
                let count = figures.durations.get(bucket);
                count.map_or(0, |count| count.load(Relaxed))
            };
            (bound, sum(workers, count))
        });
        let seconds = sum(workers, |figures| figures.duration_us.load(Relaxed)) as f64 / 1e6;
        text.histogram(name, &[], buckets, seconds);
    }
}

fn sum(workers: &[&HttpMetrics], of: impl Fn(&HttpMetrics) -> u64) -> u64 {
    workers.iter().map(|figures| of(figures)).sum()
}

/// Adds to a counter that only this thread writes: no locked instruction is needed.
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(more), Relaxed);
}

fn method(method: &Method) -> usize {
    let known = METHODS.iter().position(|name| *name == method.as_str());
    known.unwrap_or(METHODS.len() - 1)
}

fn class(status: StatusCode, outcome: RequestOutcome) -> usize {
    match (outcome, status.as_u16() / 100) {
        (RequestOutcome::Unanswered, _) => 5,
        (RequestOutcome::BrokenOff, _) => 4,
        (RequestOutcome::Complete, 5) => 3,
        (RequestOutcome::Complete, 4) => 2,
        (RequestOutcome::Complete, 3) => 1,
        (RequestOutcome::Complete, _) => 0,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::summary::RequestSummary;

    fn finished(method: &str, status: u16, outcome: RequestOutcome) -> FinishedRequest {
        FinishedRequest {
            method: method.parse().unwrap(),
            status: StatusCode::from_u16(status).unwrap(),
            summary: RequestSummary::default(),
            received_at: Instant::now(),
            body_bytes: 10,
            outcome,
        }
    }

    #[test]
    fn figures_of_all_workers_are_summed_and_durations_accumulate() {
        let workers = [HttpMetrics::default(), HttpMetrics::default()];
        for figures in &workers {
            figures.request_begun();
            figures.request_finished(&finished("GET", 200, RequestOutcome::Complete), 99);
        }
        workers[0].request_begun();
        workers[0].request_finished(&finished("BREW", 418, RequestOutcome::Complete), 60_000_000);
        workers[1].request_begun();
        workers[1].request_finished(&finished("GET", 200, RequestOutcome::Unanswered), 900);
        workers[1].request_begun();
        let mut text = Exposition::default();
        HttpMetrics::write(&[&workers[0], &workers[1]], &mut text);
        let text = text.into_text();
        for line in [
            "tsumugi_http_requests_total{method=\"GET\",status=\"2xx\"} 2",
            "tsumugi_http_requests_total{method=\"other\",status=\"4xx\"} 1",
            "tsumugi_http_requests_total{method=\"GET\",status=\"unanswered\"} 1",
            "tsumugi_http_request_duration_seconds_bucket{le=\"0.0001\"} 2",
            "tsumugi_http_request_duration_seconds_bucket{le=\"0.001\"} 3",
            "tsumugi_http_request_duration_seconds_bucket{le=\"30\"} 3",
            "tsumugi_http_request_duration_seconds_bucket{le=\"+Inf\"} 4",
            "tsumugi_http_request_duration_seconds_count 4",
            "tsumugi_http_response_body_bytes_total 40",
            "tsumugi_http_requests_in_flight{worker=\"0\"} 0",
            "tsumugi_http_requests_in_flight{worker=\"1\"} 1",
        ] {
            assert!(text.lines().any(|known| known == line), "{line} in\n{text}");
        }
    }
}
