//! What calls of a load took and how many there were. Knows no call.

use std::cell::RefCell;
use std::time::Instant;

use anyhow::Result;
use hdrhistogram::Histogram;
use indicatif::ProgressBar;

use super::limits::{LATENCY_DIGITS, LATENCY_NS_MAX};

/// Records between two moves of the progress bar.
const BAR_RECORDS: u64 = 64;

/// The records and latencies of one thread.
pub struct LoadTally {
    state: RefCell<TallyState>,
    bar: ProgressBar,
}

struct TallyState {
    records: u64,
    latency: Histogram<u64>,
}

impl LoadTally {
    /// An empty one, which moves `bar` as records are added.
    pub fn new(bar: ProgressBar) -> Result<LoadTally> {
        Ok(LoadTally {
            state: RefCell::new(TallyState {
                records: 0,
                latency: empty()?,
            }),
            bar,
        })
    }

    /// A call for so many records was answered, and rightly.
    pub fn add(&self, begun: Instant, records: u64) {
        let mut state = self.state.borrow_mut();
        let took = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(LATENCY_NS_MAX);
        state.latency.saturating_record(took);
        let before = state.records / BAR_RECORDS;
        state.records += records;
        let moved = state.records / BAR_RECORDS - before;
        if moved > 0 {
            self.bar.inc(moved * BAR_RECORDS);
        }
    }

    /// How many records there were, and how long calls took.
    pub fn end(&self) -> (u64, Histogram<u64>) {
        let state = self.state.borrow();
        (state.records, state.latency.clone())
    }
}

/// Latencies in nanoseconds.
pub fn empty() -> Result<Histogram<u64>> {
    Ok(Histogram::new_with_bounds(
        1,
        LATENCY_NS_MAX,
        LATENCY_DIGITS,
    )?)
}
