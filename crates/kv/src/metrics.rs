//! Plain counters of a database. Knows no exporter: who publishes figures reads a `Snapshot`.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Upper ends of the latencies' buckets in microseconds; the last bucket has none.
pub const LATENCY_BUCKETS_US: [u64; 15] = [
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 5_000, 20_000, 100_000, 500_000, 2_000_000,
];

/// Figures of one database since it was opened, for all its users in this process together.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Values asked for by key.
    pub reads: u64,
    /// Those of them that were there.
    pub hits: u64,
    /// Bytes of the values returned by them.
    pub bytes_read: u64,
    /// Pages and seeks.
    pub scans: u64,
    /// Records that those returned.
    pub scanned: u64,
    /// Writes that were answered, each of a batch by itself.
    pub writes: u64,
    /// Those of them that failed with an error.
    pub write_errors: u64,
    /// Bytes of keys and values that changed.
    pub bytes_written: u64,
    /// Records that were removed because their time was over.
    pub expired: u64,
    /// Records that were removed to make room.
    pub evicted: u64,
    /// Records now.
    pub records: u64,
    /// Bytes in memory or on disk now.
    pub bytes: u64,
    /// Bytes that a database in memory may hold.
    pub capacity: Option<u64>,
    /// Commits of a database on disk; each holds the writes that waited for it.
    pub commits: u64,
    /// Writes in those, so that `committed / commits` is the size of a group.
    pub committed: u64,
    /// Times the disk was asked to confirm.
    pub syncs: u64,
    /// Times blocks of a database on disk were found in the cache, and how often they were asked for, when the engine counts it.
    pub cache: Option<(u64, u64)>,
    /// Writes that wait for the next commit.
    pub queued: u64,
    /// How long writes took from the call to the answer.
    pub write_latency: Histogram,
    /// How long reads by key took; of a database in memory not measured.
    pub read_latency: Histogram,
}

/// Durations, counted in buckets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram {
    /// How many were at most as long as the bucket's end in [`LATENCY_BUCKETS_US`] and longer than the one before; the last
    /// are longer than all.
    pub buckets: [u64; LATENCY_BUCKETS_US.len() + 1],
    /// All of them together.
    pub sum: Duration,
}

impl Histogram {
    /// How many durations there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

/// A histogram that many threads add to.
#[derive(Debug, Default)]
pub(crate) struct Latencies {
    buckets: [AtomicU64; LATENCY_BUCKETS_US.len() + 1],
    sum_ns: AtomicU64,
}

impl Latencies {
    pub(crate) fn add(&self, duration: Duration) {
        let us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let bucket = LATENCY_BUCKETS_US.partition_point(|end| *end < us);
        self.buckets[bucket].fetch_add(1, Relaxed);
        self.sum_ns.fetch_add(
            u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX),
            Relaxed,
        );
    }

    pub(crate) fn histogram(&self) -> Histogram {
        Histogram {
            buckets: std::array::from_fn(|at| self.buckets[at].load(Relaxed)),
            sum: Duration::from_nanos(self.sum_ns.load(Relaxed)),
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(crate) scans: AtomicU64,
    pub(crate) scanned: AtomicU64,
    pub(crate) writes: AtomicU64,
    pub(crate) write_errors: AtomicU64,
    pub(crate) bytes_written: AtomicU64,
    pub(crate) expired: AtomicU64,
    pub(crate) evicted: AtomicU64,
}

impl Counters {
    /// The counters alone; the rest is for the engine to fill in.
    pub(crate) fn snapshot(&self) -> Snapshot {
        Snapshot {
            scans: self.scans.load(Relaxed),
            scanned: self.scanned.load(Relaxed),
            writes: self.writes.load(Relaxed),
            write_errors: self.write_errors.load(Relaxed),
            bytes_written: self.bytes_written.load(Relaxed),
            expired: self.expired.load(Relaxed),
            evicted: self.evicted.load(Relaxed),
            ..Snapshot::default()
        }
    }

    pub(crate) fn scanned(&self, records: usize) {
        self.scans.fetch_add(1, Relaxed);
        self.scanned.fetch_add(records as u64, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_counted_in_the_bucket_that_ends_at_it() {
        let latencies = Latencies::default();
        for us in [0, 1, 2, 3, 2_000_000, 2_000_001] {
            latencies.add(Duration::from_micros(us));
        }
        let histogram = latencies.histogram();
        assert_eq!(histogram.count(), 6);
        assert_eq!(histogram.buckets[..3], [2, 1, 1]);
        assert_eq!(histogram.buckets[14..], [1, 1]);
        assert_eq!(histogram.sum, Duration::from_micros(4_000_007));
    }
}
