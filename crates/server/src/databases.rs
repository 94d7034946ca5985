//! Figures of the databases that applications connected to, for the admin pages. Knows no SQL and no connection.
//! Rule: a worker looks at its own by the clock and leaves them here; the admin thread only reads what was left.

use std::sync::{Arc, Mutex};

use tsumugi_db::{DatabaseWatch, PoolScope, Snapshot};
use tsumugi_http::exposition::{Exposition, MetricKind};

/// What one worker sees of its databases.
#[derive(Debug, Default)]
pub(crate) struct Databases(Mutex<Vec<DatabaseSample>>);

#[derive(Clone, Debug)]
struct DatabaseSample {
    name: Arc<str>,
    extent: PoolScope,
    figures: Snapshot,
}

impl Databases {
    /// Looks at the databases of a worker's applications. Does not wait: while another worker reads, the last figures stay.
    pub(crate) fn look<'w>(&self, watched: impl Iterator<Item = &'w DatabaseWatch>) {
        let Ok(mut shown) = self.0.try_lock() else {
            return;
        };
        shown.clear();
        let mut distinct: Vec<&DatabaseWatch> = Vec::new();
        for watched in watched {
            if distinct.iter().any(|other| other.is(watched)) {
                continue;
            }
            distinct.push(watched);
            let Some(figures) = watched.snapshot() else {
                continue;
            };
            let same = |seen: &&mut DatabaseSample| {
                seen.name == *watched.name() && seen.extent == watched.extent()
            };
            match shown.iter_mut().find(same) {
                Some(seen) => seen.figures += figures,
                None => shown.push(DatabaseSample {
                    name: Arc::clone(watched.name()),
                    extent: watched.extent(),
                    figures,
                }),
            }
        }
    }

    fn seen(&self) -> Vec<DatabaseSample> {
        let seen = self.0.lock();
        seen.map_or_else(
            |poisoned| poisoned.into_inner().clone(),
            |seen| seen.clone(),
        )
    }
}

/// One sample: the worker, unless all share the connections, and what it saw.
struct Row {
    worker: Option<String>,
    seen: DatabaseSample,
}

/// Writes what all workers saw. Connections that they share are written once.
pub(crate) fn write<'a>(
    workers: impl Iterator<Item = (usize, &'a Databases)>,
    text: &mut Exposition,
) {
    let mut rows: Vec<Row> = Vec::new();
    for (worker, databases) in workers {
        for seen in databases.seen() {
            let shared = seen.extent == PoolScope::Process;
            let written = |row: &Row| row.worker.is_none() && row.seen.name == seen.name;
            if !(shared && rows.iter().any(written)) {
                let worker = (!shared).then(|| worker.to_string());
                rows.push(Row { worker, seen });
            }
        }
    }
    if rows.is_empty() {
        return;
    }
    write_gauges(&rows, text);
    write_counters(&rows, text);
}

fn family(
    rows: &[Row],
    text: &mut Exposition,
    (name, kind, help): (&str, MetricKind, &str),
    of: impl Fn(&DatabaseSample) -> f64,
) {
    text.family(name, kind, help);
    for row in rows {
        let mut labels = Vec::with_capacity(2);
        labels.extend(row.worker.as_deref().map(|worker| ("worker", worker)));
        labels.push(("database", &*row.seen.name));
        text.sample(name, &labels, of(&row.seen));
    }
}

fn write_gauges(rows: &[Row], text: &mut Exposition) {
    let gauge = |name, help| (name, MetricKind::Gauge, help);
    let open = gauge(
        "tsumugi_database_connections",
        "Connections to the database that are open.",
    );
    family(rows, text, open, |seen| seen.figures.connections as f64);
    let busy = gauge(
        "tsumugi_database_connections_busy",
        "Of these, connections at work or kept by a transaction or stream.",
    );
    family(rows, text, busy, |seen| {
        seen.figures.connections_busy as f64
    });
    let waiting = gauge(
        "tsumugi_database_waiting",
        "Callers that wait for a connection.",
    );
    family(rows, text, waiting, |seen| seen.figures.waiting as f64);
}

fn write_counters(rows: &[Row], text: &mut Exposition) {
    let counter = |name, help| (name, MetricKind::Counter, help);
    let statements = counter(
        "tsumugi_database_statements_total",
        "Statements that ran, well or not.",
    );
    family(rows, text, statements, |seen| {
        seen.figures.statements as f64
    });
    let errors = counter(
        "tsumugi_database_errors_total",
        "Statements that failed, and callers turned away.",
    );
    family(rows, text, errors, |seen| seen.figures.errors as f64);
    let transactions = counter("tsumugi_database_transactions_total", "Transactions begun.");
    family(rows, text, transactions, |seen| {
        seen.figures.transactions as f64
    });
    let wait = counter(
        "tsumugi_database_wait_seconds_total",
        "How long callers waited for a connection.",
    );
    family(rows, text, wait, |seen| seen.figures.wait.as_secs_f64());
}
