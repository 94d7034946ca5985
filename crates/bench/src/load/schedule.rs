//! When the requests of a thread are due, and which of all it has to send. Reads no clock.

use std::time::{Duration, Instant};

/// When, and which requests of the schedule are this thread's.
#[derive(Clone, Copy)]
pub struct TimeSpan {
    /// The first request of the schedule is due.
    pub began: Instant,
    /// From here it counts.
    pub counts: Instant,
    /// Until here requests are begun.
    pub until: Instant,
    /// This thread's first request.
    pub first: usize,
    /// From one of its requests to the next.
    pub step: usize,
}

/// The requests of a thread at the open pace.
pub struct Schedule {
    began: Instant,
    interval: Duration,
    until: Instant,
    next: u32,
}

impl Schedule {
    /// Of all threads together `per_second`.
    pub fn new(span: TimeSpan, per_second: f64) -> Schedule {
        Schedule {
            began: span.began + Duration::from_secs_f64(span.first as f64 / per_second),
            interval: Duration::from_secs_f64(span.step as f64 / per_second),
            until: span.until,
            next: 0,
        }
    }

    /// When the next request is due, if there is another.
    pub fn next_due(&self) -> Option<Instant> {
        let due = self.began + self.interval * self.next;
        (due < self.until).then_some(due)
    }

    /// The next request was taken.
    pub fn advance(&mut self) {
        self.next += 1;
    }

    /// All that are due by now.
    pub fn take_due(&mut self, now: Instant) -> impl Iterator<Item = Instant> {
        std::iter::from_fn(move || {
            let due = self.next_due().filter(|due| *due < now)?;
            self.advance();
            Some(due)
        })
    }
}
