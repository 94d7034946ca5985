//! Figures of the databases that applications connected to, for the admin pages. Knows no SQL and no connection.
//! Rule: a worker looks at its own by the clock and leaves them here; the admin thread only reads what was left.

use std::sync::{Arc, Mutex};

use tsumugi_db::{DatabaseWatch, PoolRole, PoolScope, Snapshot};
use tsumugi_http::exposition::Exposition;

/// What one worker sees of its databases.
#[derive(Debug, Default)]
pub(crate) struct Databases(Mutex<Vec<DatabaseSample>>);

#[derive(Clone, Debug)]
pub(crate) struct DatabaseSample {
    pub name: Arc<str>,
    /// `sqlite`, `postgres` or `firebird`.
    pub scheme: &'static str,
    /// None of a database without replicas.
    pub role: Option<PoolRole>,
    pub extent: PoolScope,
    /// Connections that it may have.
    pub connections_max: usize,
    pub figures: Snapshot,
}

impl Databases {
    /// Looks at the databases of a worker's applications. Does not wait: while another worker reads, the last figures stay.
    pub(crate) fn look<'w>(&self, watched: impl Iterator<Item = &'w DatabaseWatch>) {
        let Ok(mut shown) = self.0.try_lock() else {
            return;
        };
        shown.clear();
        let mut distinct: Vec<&DatabaseWatch> = Vec::new();
        let with_replicas =
            watched.flat_map(|watched| std::iter::once(watched).chain(watched.replicas()));
        for watched in with_replicas {
            if distinct.iter().any(|other| other.is(watched)) {
                continue;
            }
            distinct.push(watched);
            let Some(figures) = watched.snapshot() else {
                continue;
            };
            let same = |seen: &&mut DatabaseSample| {
                seen.name == *watched.name()
                    && seen.role == watched.role()
                    && seen.extent == watched.extent()
            };
            match shown.iter_mut().find(same) {
                Some(seen) => {
                    seen.figures += figures;
                    seen.connections_max += watched.connections_max();
                }
                None => shown.push(DatabaseSample {
                    name: Arc::clone(watched.name()),
                    scheme: watched.scheme(),
                    connections_max: watched.connections_max(),
                    role: watched.role(),
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
pub(crate) struct PoolRow {
    pub worker: Option<String>,
    pub seen: DatabaseSample,
}

/// What all workers saw. Connections that they share are there once.
pub(crate) fn rows<'a>(workers: impl Iterator<Item = (usize, &'a Databases)>) -> Vec<PoolRow> {
    let mut rows: Vec<PoolRow> = Vec::new();
    for (worker, databases) in workers {
        for seen in databases.seen() {
            let shared = seen.extent == PoolScope::Process;
            let written = |row: &PoolRow| row.worker.is_none() && row.seen.name == seen.name;
            if !(shared && rows.iter().any(written)) {
                let worker = (!shared).then(|| worker.to_string());
                rows.push(PoolRow { worker, seen });
            }
        }
    }
    rows
}

/// Writes what all workers saw.
pub(crate) fn write<'a>(
    workers: impl Iterator<Item = (usize, &'a Databases)>,
    text: &mut Exposition,
) {
    let rows = rows(workers);
    if rows.is_empty() {
        return;
    }
    for (name, help, of) in FIGURES {
        text.family(name, help);
        for row in &rows {
            let mut labels = Vec::with_capacity(3);
            labels.extend(row.worker.as_deref().map(|worker| ("worker", worker)));
            labels.push(("database", &*row.seen.name));
            labels.extend(row.seen.role.map(|role| ("role", role.as_str())));
            text.sample(name, &labels, of(&row.seen.figures));
        }
    }
}

/// A figure of a database: its name, its help, its value.
type Figure = (&'static str, &'static str, fn(&Snapshot) -> f64);

const FIGURES: [Figure; 8] = [
    (
        "tsumugi_database_connections",
        "Connections to the database that are open.",
        |figures| figures.connections as f64,
    ),
    (
        "tsumugi_database_connections_busy",
        "Of these, connections at work or kept by a transaction or stream.",
        |figures| figures.connections_busy as f64,
    ),
    (
        "tsumugi_database_waiting",
        "Callers that wait for a connection.",
        |figures| figures.waiting as f64,
    ),
    (
        "tsumugi_database_statements_total",
        "Statements that ran, well or not.",
        |figures| figures.statements as f64,
    ),
    (
        "tsumugi_database_errors_total",
        "Statements that failed, and callers turned away.",
        |figures| figures.errors as f64,
    ),
    (
        "tsumugi_database_transactions_total",
        "Transactions begun.",
        |figures| figures.transactions as f64,
    ),
    (
        "tsumugi_database_commits_unknown_total",
        "Transactions of which it is not known whether they were committed.",
        |figures| figures.commits_unknown as f64,
    ),
    (
        "tsumugi_database_wait_seconds_total",
        "How long callers waited for a connection.",
        |figures| figures.wait.as_secs_f64(),
    ),
];
