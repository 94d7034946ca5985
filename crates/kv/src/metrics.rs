//! Plain counters of a database. Knows no exporter: figures are published from a `KvSnapshot`.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Upper ends of the latencies' buckets in microseconds; the last bucket has none.
pub const LATENCY_BUCKETS_US: [u64; 15] = [
    1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 5_000, 20_000, 100_000, 500_000, 2_000_000,
];

/// Figures of one database since it was opened, for all its users in this process together.
#[non_exhaustive]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KvSnapshot {
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

/// One figure of a database, under the name that every exporter gives it.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Ends in `_total` when it only grows.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub help: &'static str,
    /// `None` for a database that has no such figure.
    pub of: fn(&KvSnapshot) -> Option<u64>,
}

const fn figure(
    name: &'static str,
    help: &'static str,
    of: fn(&KvSnapshot) -> Option<u64>,
) -> Figure {
    Figure { name, help, of }
}

/// All figures of a database but the durations.
#[rustfmt::skip]
pub const FIGURES: &[Figure] = &[
    figure("tsumugi_kv_reads_total", "Values asked for by key.", |of| Some(of.reads)),
    figure("tsumugi_kv_hits_total", "Of these, values that were there.", |of| Some(of.hits)),
    figure("tsumugi_kv_read_bytes_total", "Bytes of those values.", |of| Some(of.bytes_read)),
    figure("tsumugi_kv_scans_total", "Pages of records, and searches.", |of| Some(of.scans)),
    figure("tsumugi_kv_scanned_total", "Records in those.", |of| Some(of.scanned)),
    figure("tsumugi_kv_cache_hits_total", "Blocks of files that were in the cache.", |of| of.cache.map(|cache| cache.0)),
    figure("tsumugi_kv_cache_reads_total", "Blocks that the cache was asked for.", |of| of.cache.map(|cache| cache.1)),
    figure("tsumugi_kv_writes_total", "Writes that were answered.", |of| Some(of.writes)),
    figure("tsumugi_kv_write_errors_total", "Writes that failed.", |of| Some(of.write_errors)),
    figure("tsumugi_kv_written_bytes_total", "Bytes of keys and values that changed.", |of| Some(of.bytes_written)),
    figure("tsumugi_kv_commits_total", "Commits to disk, each of a group of writes.", |of| Some(of.commits)),
    figure("tsumugi_kv_committed_total", "Writes in those groups.", |of| Some(of.committed)),
    figure("tsumugi_kv_syncs_total", "Times the disk was asked to confirm what was written.", |of| Some(of.syncs)),
    figure("tsumugi_kv_queued", "Writes that wait for the next commit.", |of| Some(of.queued)),
    figure("tsumugi_kv_records", "Records.", |of| Some(of.records)),
    figure("tsumugi_kv_bytes", "Bytes in memory, or on disk.", |of| Some(of.bytes)),
    figure("tsumugi_kv_capacity_bytes", "Bytes that a database in memory may hold.", |of| of.capacity),
    figure("tsumugi_kv_expired_total", "Records removed because their time was over.", |of| Some(of.expired)),
    figure("tsumugi_kv_evicted_total", "Records removed to make room for others.", |of| Some(of.evicted)),
];

/// A name, what it is, and where the durations of a database are.
pub type DurationFigure = (&'static str, &'static str, fn(&KvSnapshot) -> &Histogram);

/// The durations of a database.
#[rustfmt::skip]
pub const DURATIONS: &[DurationFigure] = &[
    ("tsumugi_kv_write_duration_seconds", "From the call of a write to its answer.", |of| &of.write_latency),
    ("tsumugi_kv_read_duration_seconds", "Reads by key from disk; those from memory are not timed.", |of| &of.read_latency),
];

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

    /// How many there are in each bucket, with the bucket's end in seconds, as text; `+Inf` for the last.
    pub fn by_seconds(&self) -> impl Iterator<Item = (String, u64)> {
        self.buckets.iter().enumerate().map(|(at, count)| {
            let end = LATENCY_BUCKETS_US.get(at).map(|us| *us as f64 / 1e6);
            let end = end.map_or_else(|| "+Inf".to_owned(), |seconds| seconds.to_string());
            (end, *count)
        })
    }
}

/// A histogram that many threads add to.
#[derive(Debug, Default)]
pub(crate) struct Latencies {
    buckets: [AtomicU64; LATENCY_BUCKETS_US.len() + 1],
    sum_ns: AtomicU64,
}

impl Latencies {
    #[cfg(any(test, feature = "disk"))]
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

macro_rules! counters {
    ($($name:ident)*) => {
        #[derive(Debug, Default)]
        pub(crate) struct KvCounters {
            $(pub(crate) $name: AtomicU64,)*
            pub(crate) read_latency: Latencies,
            pub(crate) write_latency: Latencies,
        }

        impl KvCounters {
            /// What is counted alone; the rest is for the engine to fill in.
            pub(crate) fn snapshot(&self) -> KvSnapshot {
                KvSnapshot {
                    $($name: self.$name.load(Relaxed),)*
                    read_latency: self.read_latency.histogram(),
                    write_latency: self.write_latency.histogram(),
                    ..KvSnapshot::default()
                }
            }
        }
    };
}

// Reads are counted here by the engine on disk, and by that in memory where it holds a lock anyway.
counters! {
    reads hits bytes_read scans scanned writes write_errors bytes_written expired evicted commits committed syncs
}

impl KvCounters {
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
