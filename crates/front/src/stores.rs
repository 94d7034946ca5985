//! Figures of the key-value stores that applications opened, for the admin pages. Opens none and keeps none open.
//! Rule: a worker looks at its own by the clock and leaves them here; a store that several workers have is told once.

use std::sync::{Arc, Mutex, PoisonError};

use tsumugi_http::exposition::{Exposition, Kind};
use tsumugi_kv::{Histogram, LATENCY_BUCKETS_US, Snapshot};

/// What one worker sees of its stores.
#[derive(Debug, Default)]
pub(crate) struct Stores(Mutex<Vec<Seen>>);

#[derive(Clone, Debug)]
struct Seen {
    place: Arc<str>,
    figures: Snapshot,
}

impl Stores {
    /// Keeps the figures of a worker's stores. Waits for nobody: while somebody reads, what was seen before stays.
    pub(crate) fn look(&self, stores: impl Iterator<Item = (Arc<str>, Snapshot)>) {
        let Ok(mut shown) = self.0.try_lock() else {
            return;
        };
        shown.clear();
        for (place, figures) in stores {
            if !shown.iter().any(|seen| seen.place == place) {
                shown.push(Seen { place, figures });
            }
        }
    }
}

/// Writes what all workers saw.
pub(crate) fn write<'a>(workers: impl Iterator<Item = &'a Stores>, text: &mut Exposition) {
    let mut rows: Vec<Seen> = Vec::new();
    for stores in workers {
        let seen = stores.0.lock().unwrap_or_else(PoisonError::into_inner);
        for seen in seen.iter() {
            let newer = |row: &Seen| {
                row.figures.reads + row.figures.writes < seen.figures.reads + seen.figures.writes
            };
            match rows.iter_mut().find(|row| row.place == seen.place) {
                // The worker that looked last has counted most.
                Some(row) if newer(row) => *row = seen.clone(),
                Some(_) => {}
                None => rows.push(seen.clone()),
            }
        }
    }
    if rows.is_empty() {
        return;
    }
    write_reads(&rows, text);
    write_writes(&rows, text);
    write_space(&rows, text);
    let name = "tsumugi_kv_write_duration_seconds";
    let help = "From the call of a write to its answer.";
    write_latencies(&rows, text, name, help, |seen| &seen.write_latency);
    let name = "tsumugi_kv_read_duration_seconds";
    let help = "Reads by key from disk; those from memory are not timed.";
    write_latencies(&rows, text, name, help, |seen| &seen.read_latency);
}

type Of = fn(&Snapshot) -> Option<u64>;

fn family(rows: &[Seen], text: &mut Exposition, (name, kind, help): (&str, Kind, &str), of: Of) {
    let mut begun = false;
    for row in rows {
        let Some(value) = of(&row.figures) else {
            continue;
        };
        if !begun {
            text.family(name, kind, help);
            begun = true;
        }
        text.sample(name, &[("store", &row.place)], value);
    }
}

fn write_reads(rows: &[Seen], text: &mut Exposition) {
    let counter = |name, help| (name, Kind::Counter, help);
    let reads = counter("tsumugi_kv_reads_total", "Values asked for by key.");
    family(rows, text, reads, |seen| Some(seen.reads));
    let hits = counter("tsumugi_kv_hits_total", "Of these, values that were there.");
    family(rows, text, hits, |seen| Some(seen.hits));
    let bytes = counter("tsumugi_kv_read_bytes_total", "Bytes of those values.");
    family(rows, text, bytes, |seen| Some(seen.bytes_read));
    let scans = counter("tsumugi_kv_scans_total", "Pages of records, and searches.");
    family(rows, text, scans, |seen| Some(seen.scans));
    let scanned = counter("tsumugi_kv_scanned_total", "Records in those.");
    family(rows, text, scanned, |seen| Some(seen.scanned));
    let hits = counter(
        "tsumugi_kv_cache_hits_total",
        "Blocks of files that were in the cache.",
    );
    family(rows, text, hits, |seen| seen.cache.map(|cache| cache.0));
    let asked = counter(
        "tsumugi_kv_cache_reads_total",
        "Blocks that the cache was asked for.",
    );
    family(rows, text, asked, |seen| seen.cache.map(|cache| cache.1));
}

fn write_writes(rows: &[Seen], text: &mut Exposition) {
    let counter = |name, help| (name, Kind::Counter, help);
    let writes = counter("tsumugi_kv_writes_total", "Writes that were answered.");
    family(rows, text, writes, |seen| Some(seen.writes));
    let errors = counter("tsumugi_kv_write_errors_total", "Writes that failed.");
    family(rows, text, errors, |seen| Some(seen.write_errors));
    let bytes = counter(
        "tsumugi_kv_written_bytes_total",
        "Bytes of keys and values that changed.",
    );
    family(rows, text, bytes, |seen| Some(seen.bytes_written));
    let commits = counter(
        "tsumugi_kv_commits_total",
        "Commits to disk, each of a group of writes.",
    );
    family(rows, text, commits, |seen| Some(seen.commits));
    let committed = counter("tsumugi_kv_committed_total", "Writes in those groups.");
    family(rows, text, committed, |seen| Some(seen.committed));
    let syncs = counter(
        "tsumugi_kv_syncs_total",
        "Times the disk was asked to confirm what was written.",
    );
    family(rows, text, syncs, |seen| Some(seen.syncs));
    let queued = (
        "tsumugi_kv_queued",
        Kind::Gauge,
        "Writes that wait for the next commit.",
    );
    family(rows, text, queued, |seen| Some(seen.queued));
}

fn write_space(rows: &[Seen], text: &mut Exposition) {
    let gauge = |name, help| (name, Kind::Gauge, help);
    let records = gauge("tsumugi_kv_records", "Records in the store.");
    family(rows, text, records, |seen| Some(seen.records));
    let bytes = gauge("tsumugi_kv_bytes", "Bytes in memory, or on disk.");
    family(rows, text, bytes, |seen| Some(seen.bytes));
    let capacity = gauge(
        "tsumugi_kv_capacity_bytes",
        "Bytes that a store in memory may hold.",
    );
    family(rows, text, capacity, |seen| seen.capacity);
    let counter = |name, help| (name, Kind::Counter, help);
    let expired = counter(
        "tsumugi_kv_expired_total",
        "Records removed because their time was over.",
    );
    family(rows, text, expired, |seen| Some(seen.expired));
    let evicted = counter(
        "tsumugi_kv_evicted_total",
        "Records removed to make room for others.",
    );
    family(rows, text, evicted, |seen| Some(seen.evicted));
}

fn write_latencies(
    rows: &[Seen],
    text: &mut Exposition,
    name: &str,
    help: &str,
    of: fn(&Snapshot) -> &Histogram,
) {
    let measured = |row: &&Seen| of(&row.figures).count() > 0;
    for (i, row) in rows.iter().filter(measured).enumerate() {
        if i == 0 {
            text.family(name, Kind::Histogram, help);
        }
        let histogram = of(&row.figures);
        let mut sum = 0;
        for (at, count) in histogram.buckets.iter().enumerate() {
            sum += count;
            let end = LATENCY_BUCKETS_US.get(at).map(|us| *us as f64 / 1e6);
            let end = end.map_or_else(|| "+Inf".to_owned(), |seconds| seconds.to_string());
            let labels = [("store", &*row.place), ("le", end.as_str())];
            text.sample(&format!("{name}_bucket"), &labels, sum);
        }
        let labels = [("store", &*row.place)];
        text.sample(&format!("{name}_sum"), &labels, histogram.sum.as_secs_f64());
        text.sample(&format!("{name}_count"), &labels, sum);
    }
}
