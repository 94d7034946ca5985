//! Counts calls: one set of figures for each worker, written by that worker alone, read by exporters. Knows no connection.
//! Counting is a plain load and store on the worker's own cache lines.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tonic::Code as Refusal;
use tsumugi_http::exposition::Exposition;
use tsumugi_kv::{DURATIONS, FIGURES, KvSnapshot as DatabaseFigures};

use super::budget::Budget;
use super::engine::ServedDatabase;
use crate::code::TkrzwCode;
use crate::method::{METHODS, Method};

/// Upper bounds of the durations.
const BOUNDS_US: [u64; 14] = [
    10, 25, 50, 100, 250, 500, 1_000, 2_500, 10_000, 50_000, 250_000, 1_000_000, 5_000_000,
    30_000_000,
];

/// Codes of a database's status, and of gRPC's own.
const STATUSES: usize = 14;
const REFUSALS: usize = 17;

/// The figures of one worker. Alone on its cache lines (two, because processors fetch lines in pairs).
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct RpcMetrics {
    begun: AtomicU64,
    ended: AtomicU64,
    messages: AtomicU64,
    duration_us: AtomicU64,
    methods: [AtomicU64; METHODS.len()],
    statuses: [AtomicU64; STATUSES],
    refusals: [AtomicU64; REFUSALS],
    durations: [AtomicU64; BOUNDS_US.len() + 1],
}

impl Default for RpcMetrics {
    fn default() -> RpcMetrics {
        RpcMetrics {
            begun: AtomicU64::default(),
            ended: AtomicU64::default(),
            messages: AtomicU64::default(),
            duration_us: AtomicU64::default(),
            methods: [const { AtomicU64::new(0) }; METHODS.len()],
            statuses: Default::default(),
            refusals: Default::default(),
            durations: Default::default(),
        }
    }
}

impl RpcMetrics {
    pub(crate) fn call_begun(&self) {
        add(&self.begun, 1);
    }

    /// A call has its answer, or the beginning of it; or its client has gone.
    pub(crate) fn call_ended(&self) {
        add(&self.ended, 1);
    }

    pub(crate) fn answered(&self, method: Method, duration: Duration) {
        let duration_us = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        add(&self.duration_us, duration_us);
        if let Some(count) = self.methods.get(method.index()) {
            add(count, 1);
        }
        let bucket = BOUNDS_US.iter().position(|bound| duration_us <= *bound);
        if let Some(count) = self.durations.get(bucket.unwrap_or(BOUNDS_US.len())) {
            add(count, 1);
        }
    }

    /// A database answered, in a call of its own or in a stream.
    pub(crate) fn status(&self, code: i32) {
        let index = usize::try_from(code).unwrap_or(STATUSES);
        let count = self.statuses.get(index).or(self.statuses.get(1));
        if let Some(count) = count {
            add(count, 1);
        }
    }

    /// A call was refused by gRPC's own code.
    pub(crate) fn refused(&self, code: Refusal) {
        let index = usize::try_from(code as i32).unwrap_or(REFUSALS);
        if let Some(count) = self.refusals.get(index) {
            add(count, 1);
        }
    }

    /// A message of a stream was handled.
    pub(crate) fn message(&self) {
        add(&self.messages, 1);
    }

    /// Calls that have begun and not ended.
    pub(crate) fn active(&self) -> u64 {
        // Read in this order, a call that ends between the two is counted as active, never as minus one.
        let ended = self.ended.load(Relaxed);
        self.begun.load(Relaxed).saturating_sub(ended)
    }
}

/// The figures of all workers. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServiceMetrics(Arc<Mutex<Vec<Column>>>);

#[derive(Clone, Debug)]
struct Column {
    worker: usize,
    figures: Arc<RpcMetrics>,
    inbound: Arc<Budget>,
    outbound: Arc<Budget>,
}

impl ServiceMetrics {
    /// Adds a worker.
    pub(crate) fn add(
        &self,
        worker: usize,
        inbound: &Arc<Budget>,
        outbound: &Arc<Budget>,
    ) -> Arc<RpcMetrics> {
        let column = Column {
            worker,
            figures: Arc::default(),
            inbound: Arc::clone(inbound),
            outbound: Arc::clone(outbound),
        };
        let figures = Arc::clone(&column.figures);
        let mut columns = self.columns();
        columns.push(column);
        columns.sort_by_key(|column| column.worker);
        figures
    }

    /// Workers that have begun.
    pub(crate) fn workers(&self) -> usize {
        self.columns().len()
    }

    /// Calls that have begun and not ended, on all workers.
    pub(crate) fn active(&self) -> u64 {
        self.columns()
            .iter()
            .map(|column| column.figures.active())
            .sum()
    }

    fn columns(&self) -> MutexGuard<'_, Vec<Column>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the figures: sums of what is counted, one gauge a worker.
    pub(crate) fn write(&self, text: &mut Exposition) {
        let columns = self.columns().clone();
        let sum = |of: &dyn Fn(&RpcMetrics) -> u64| -> u64 {
            columns.iter().map(|column| of(&column.figures)).sum()
        };
        let mut counters = |name, help, label, of: Counters, value: &dyn Fn(usize) -> String| {
            text.family(name, help);
            for index in 0..of(&RpcMetrics::default()).len() {
                let count = sum(&|figures| at(of(figures), index));
                if count > 0 {
                    text.sample(name, &[(label, &value(index))], count);
                }
            }
        };
        counters(
            "tsumugi_rpc_calls_total",
            "Calls that were answered, by method.",
            "method",
            |figures| &figures.methods,
            &|index| METHODS.get(index).copied().unwrap_or("other").to_owned(),
        );
        counters(
            "tsumugi_rpc_statuses_total",
            "Answers of databases, by status; messages of streams count each.",
            "status",
            |figures| &figures.statuses,
            &|index| TkrzwCode::of(i32::try_from(index).unwrap_or(1)).to_string(),
        );
        counters(
            "tsumugi_rpc_refused_total",
            "Calls that reached no database, by gRPC's code.",
            "code",
            |figures| &figures.refusals,
            &|index| format!("{:?}", Refusal::from(i32::try_from(index).unwrap_or(2))),
        );
        text.single(
            "tsumugi_rpc_messages_total",
            "Messages of streams that were handled.",
            sum(&|figures| figures.messages.load(Relaxed)),
        );
        write_durations(&sum, text);
        write_gauges(&columns, text);
    }
}

/// The counters of one kind among a worker's figures.
type Counters = fn(&RpcMetrics) -> &[AtomicU64];

/// Adds up a figure of all workers.
type Sum<'a> = &'a dyn Fn(&dyn Fn(&RpcMetrics) -> u64) -> u64;

fn write_durations(sum: Sum<'_>, text: &mut Exposition) {
    let name = "tsumugi_rpc_call_duration_seconds";
    text.histograms(
        name,
        "Time from a call's metadata to its answer; of streams, to the beginning of it.",
    );
    let bounds = BOUNDS_US.map(|bound| (bound as f64 / 1e6).to_string());
    let bounds = bounds.into_iter().chain(["+Inf".to_owned()]);
    let buckets = bounds
        .enumerate()
        .map(|(bucket, bound)| (bound, sum(&|figures| at(&figures.durations, bucket))));
    let seconds = sum(&|figures| figures.duration_us.load(Relaxed)) as f64 / 1e6;
    text.histogram(name, &[], buckets, seconds);
}

fn write_gauges(columns: &[Column], text: &mut Exposition) {
    let mut gauge = |name: &str, help: &str, of: &dyn Fn(&Column) -> u64| {
        let values = columns.iter().map(|column| (column.worker, of(column)));
        text.per_worker(name, help, values);
    };
    gauge(
        "tsumugi_rpc_calls_active",
        "Calls that have begun and not ended.",
        &|column| column.figures.active(),
    );
    gauge(
        "tsumugi_rpc_inbound_bytes",
        "Bytes of messages that are held, of inbound_bytes_max.",
        &|column| column.inbound.used() as u64,
    );
    gauge(
        "tsumugi_rpc_outbound_bytes",
        "Bytes of answers that wait for their clients, of outbound_bytes_max.",
        &|column| column.outbound.used() as u64,
    );
}

/// Writes what the databases count.
pub(crate) fn write_databases(databases: &[ServedDatabase], text: &mut Exposition) {
    let figures: Vec<(String, DatabaseFigures)> = databases
        .iter()
        .enumerate()
        // An engine has figures of its own.
        .filter_map(|(index, database)| Some((index.to_string(), database.local()?.metrics())))
        .collect();
    for figure in FIGURES {
        let rows = figures
            .iter()
            .map(|(index, of)| (&**index, (figure.of)(of)));
        text.rows((figure.name, figure.help), "database", rows);
    }
    for (name, help, of) in DURATIONS {
        text.histograms(name, help);
        for (index, figures) in &figures {
            let durations = of(figures);
            let sum_seconds = durations.sum.as_secs_f64();
            text.histogram(
                name,
                &[("database", index)],
                durations.by_seconds(),
                sum_seconds,
            );
        }
    }
}

fn at(counters: &[AtomicU64], index: usize) -> u64 {
    counters.get(index).map_or(0, |count| count.load(Relaxed))
}

/// Adds to a counter that only this thread writes: no locked instruction is needed.
fn add(counter: &AtomicU64, more: u64) {
    counter.store(counter.load(Relaxed).wrapping_add(more), Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_all_workers_are_summed() {
        let metrics = ServiceMetrics::default();
        let budget = Budget::new("inbound_bytes_max", 1 << 20);
        let claim = budget.claim(100_000).unwrap();
        for worker in [1, 0] {
            let figures = metrics.add(worker, &budget, &budget);
            figures.call_begun();
            figures.answered(
                Method::of_path("/tkrzw_rpc.DBMService/Get"),
                Duration::from_micros(20),
            );
            figures.status(7);
            figures.refused(Refusal::Unauthenticated);
        }
        let mut text = Exposition::default();
        metrics.write(&mut text);
        let text = text.into_text();
        for line in [
            "tsumugi_rpc_calls_total{method=\"Get\"} 2",
            "tsumugi_rpc_statuses_total{status=\"NOT_FOUND\"} 2",
            "tsumugi_rpc_refused_total{code=\"Unauthenticated\"} 2",
            "tsumugi_rpc_call_duration_seconds_bucket{le=\"0.000025\"} 2",
            "tsumugi_rpc_call_duration_seconds_count 2",
            "tsumugi_rpc_calls_active{worker=\"1\"} 1",
            "tsumugi_rpc_inbound_bytes{worker=\"0\"} 100000",
        ] {
            assert!(text.lines().any(|known| known == line), "{line} in\n{text}");
        }
        drop(claim);
    }
}
