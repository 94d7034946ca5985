//! What a thread of the load counts: which answers, from when, and what was wrong. Sends nothing.
//! At the closed pace what was answered in time counts, at the open one what was due in time.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use super::schedule::TimeSpan;
use super::{LoadRequest, Pace, Tally};
use crate::limits::{ERRORS_MAX, LATENCY_NS_MAX};

/// What one thread counted so far.
pub struct Counter {
    span: TimeSpan,
    is_open: bool,
    tally: Tally,
}

impl Counter {
    /// Nothing is counted yet.
    pub fn new(span: TimeSpan, pace: Pace) -> Result<Counter> {
        Ok(Counter {
            span,
            is_open: pace != Pace::Closed,
            tally: Tally::new()?,
        })
    }

    /// A request that was due then had its answer now.
    pub fn answer(&mut self, due: Instant, now: Instant) {
        let decides = if self.is_open { due } else { now };
        if decides >= self.span.counts && decides < self.span.until {
            self.tally.requests += 1;
            self.tally.latency.saturating_record(nanoseconds(now - due));
        }
    }

    /// A request leaves now. It could have left when it was due, or when its connection became free; the latter is the server's doing.
    pub fn begin(&mut self, due: Instant, free_since: Instant, now: Instant) {
        if due >= self.span.counts {
            let late = now.saturating_duration_since(due.max(free_since));
            self.tally.late.saturating_record(nanoseconds(late));
        }
    }

    /// A request failed. After too many of them the load is given up.
    pub fn error(&mut self, fault: String) -> Result<()> {
        self.tally.errors += 1;
        if self.tally.errors > ERRORS_MAX {
            bail!("{ERRORS_MAX} requests failed, the last with: {fault}");
        }
        self.tally.first.get_or_insert(fault);
        Ok(())
    }

    /// The end. Those of the open pace that were due and have no answer count with the time that they had so far: it was more.
    /// `waiting` is when they were due.
    pub fn end(mut self, waiting: impl IntoIterator<Item = Instant>, now: Instant) -> Tally {
        let waiting = waiting.into_iter().filter(|due| *due >= self.span.counts);
        for due in waiting.filter(|_| self.is_open) {
            self.tally.unanswered += 1;
            self.tally.latency.saturating_record(nanoseconds(now - due));
        }
        self.tally
    }
}

/// What is wrong with an answer, if anything is.
pub fn fault(status: u16, body: &[u8], request: &LoadRequest) -> Option<String> {
    if status != request.status {
        return Some(format!("status {status}"));
    }
    (!request.expected.holds(body)).then(|| {
        let shown = String::from_utf8_lossy(body);
        let shown: String = shown.chars().take(80).collect();
        format!("another body than expected: {shown}")
    })
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).map_or(LATENCY_NS_MAX, |time| time.clamp(1, LATENCY_NS_MAX))
}
