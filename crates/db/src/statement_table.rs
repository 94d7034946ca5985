//! How often statements ran and how long they took, by their form and database, for the admin pages. Keeps no value and writes no log.
//! Rule: a thread counts in rows of its own with plain stores; nobody else is waited for, and while it is switched off nothing is counted.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use foldhash::fast::RandomState;
use tsumugi_sql::fingerprint;
use tsumugi_sql::scan::Lexicon;

use crate::limits::{
    STATEMENT_ORIGINAL_BYTES_MAX, STATEMENT_TEXT_BYTES_MAX, STATEMENT_TEXTS_MAX,
    STATEMENTS_KEPT_MAX,
};

static IS_KEPT: AtomicBool = AtomicBool::new(false);

/// Grows with each reset: rows of before count no more.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// When it was begun or reset, in milliseconds since 1970.
static SINCE_MS: AtomicU64 = AtomicU64::new(0);

/// The tables of all threads. Locked by a thread when it makes one, and by who reads.
static TABLES: Mutex<Vec<Weak<SharedTable>>> = Mutex::new(Vec::new());

thread_local! {
    static OWN: RefCell<Vec<OwnTable>> = const { RefCell::new(Vec::new()) };
}

/// Buckets of durations: four for each doubling, from [`BUCKET_FIRST_NS`] on.
const BUCKETS: usize = 96;
/// The end of the first bucket, in nanoseconds, as a power of two.
const BUCKET_FIRST_BITS: u32 = 13;

/// What one thread keeps of one database.
struct OwnTable {
    /// Rows by texts as they were sent.
    texts: HashMap<Arc<str>, Arc<StatementRow>, RandomState>,
    /// The same by the number of their form.
    rows: HashMap<u64, Arc<StatementRow>, RandomState>,
    generation: u64,
    shared: Arc<SharedTable>,
}

#[derive(Debug)]
struct SharedTable {
    database: Arc<str>,
    generation: AtomicU64,
    left: AtomicU64,
    rows: Mutex<Vec<Arc<StatementRow>>>,
}

/// The statements of one form, of one thread.
#[derive(Debug)]
struct StatementRow {
    number: u64,
    text: Arc<str>,
    /// One of them as it was sent, where it is not too long.
    original: Option<Arc<str>>,
    calls: AtomicU64,
    errors: AtomicU64,
    rows: AtomicU64,
    total_ns: AtomicU64,
    max_ns: AtomicU64,
    buckets: [AtomicU32; BUCKETS],
    place: Mutex<Option<Arc<str>>>,
}

/// A statement that has ended.
pub(crate) struct EndedStatement<'a> {
    pub(crate) database: &'a Arc<str>,
    pub(crate) lexicon: Lexicon,
    pub(crate) sql: &'a str,
    pub(crate) rows: Option<usize>,
    pub(crate) took: Duration,
    pub(crate) is_failed: bool,
    /// Where it was asked for.
    pub(crate) place: Option<Arc<str>>,
}

/// The statements of one form on one database, of all threads.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub struct StatementFigures {
    /// The name of the database, as [`DatabaseWatch::name`](crate::DatabaseWatch::name).
    pub database: Arc<str>,
    /// Tells it from other forms.
    pub fingerprint: u64,
    /// The form: SQL without values and comments.
    pub sql: Arc<str>,
    /// How often one ended.
    pub calls: u64,
    /// How often it failed.
    pub errors: u64,
    /// Rows that they gave or changed.
    pub rows: u64,
    /// How long all of them took together.
    pub total: Duration,
    /// How long the slowest took.
    pub max: Duration,
    /// How long 99 of 100 took at most, up to a quarter more than that.
    pub p99: Duration,
    /// `file:line` of the author's code that asked for one of them, where that is known, or else the route that it was for.
    pub place: Option<Arc<str>>,
}

/// All statements.
#[non_exhaustive]
#[derive(Clone, Debug, Default)]
pub struct StatementReport {
    /// Since when, in milliseconds since 1970.
    pub since_ms: u64,
    /// How many forms left, because others were used more.
    pub left: u64,
    /// In no order.
    pub statements: Vec<StatementFigures>,
}

/// Begins to count statements in this process.
pub fn keep_statements() {
    if !IS_KEPT.swap(true, Relaxed) {
        SINCE_MS.store(unix_ms(), Relaxed);
    }
}

/// Forgets what was counted.
pub fn reset_statements() {
    GENERATION.fetch_add(1, Relaxed);
    SINCE_MS.store(unix_ms(), Relaxed);
}

/// What was counted.
#[must_use]
pub fn statement_report() -> StatementReport {
    let mut report = StatementReport {
        since_ms: SINCE_MS.load(Relaxed),
        ..StatementReport::default()
    };
    let mut merged: HashMap<(Arc<str>, u64), (StatementFigures, [u64; BUCKETS])> = HashMap::new();
    for table in current_tables() {
        report.left += table.left.load(Relaxed);
        for row in table.rows().iter() {
            let key = (Arc::clone(&table.database), row.number);
            let (figures, buckets) = merged
                .entry(key)
                .or_insert_with(|| (row.unused(&table.database), [0; BUCKETS]));
            row.add_to(figures, buckets);
        }
    }
    report.statements = merged
        .into_values()
        .map(|(mut figures, buckets)| {
            figures.p99 = percentile(&buckets, 99).min(figures.max);
            figures
        })
        .collect();
    report
}

/// One statement of this form as it was sent, with its literals: not to be shown.
#[must_use]
pub fn statement_original(database: &str, fingerprint: u64) -> Option<Arc<str>> {
    current_tables().iter().find_map(|table| {
        let rows = table.rows();
        let mut rows = rows.iter().filter(|_| *table.database == *database);
        rows.find(|row| row.number == fingerprint)?.original.clone()
    })
}

/// Whether statements are counted.
pub(crate) fn are_kept() -> bool {
    IS_KEPT.load(Relaxed)
}

/// Counts a statement that has ended on this thread.
pub(crate) fn count(ended: &EndedStatement<'_>) {
    OWN.with_borrow_mut(|tables| {
        let own = tables.iter().position(|table| {
            let name = &table.shared.database;
            Arc::ptr_eq(name, ended.database) || **name == **ended.database
        });
        let at = own.unwrap_or_else(|| {
            tables.push(OwnTable::new(ended.database));
            tables.len() - 1
        });
        tables[at].count(ended);
    });
}

fn current_tables() -> Vec<Arc<SharedTable>> {
    let generation = GENERATION.load(Relaxed);
    let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
    tables.retain(|table| table.strong_count() > 0);
    let alive = tables.iter().filter_map(Weak::upgrade);
    alive
        .filter(|table| table.generation.load(Relaxed) == generation)
        .collect()
}

fn unix_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(now.unwrap_or_default().as_millis()).unwrap_or(u64::MAX)
}

impl SharedTable {
    fn rows(&self) -> MutexGuard<'_, Vec<Arc<StatementRow>>> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl OwnTable {
    fn new(database: &Arc<str>) -> OwnTable {
        let generation = GENERATION.load(Relaxed);
        let shared = Arc::new(SharedTable {
            database: Arc::clone(database),
            generation: AtomicU64::new(generation),
            left: AtomicU64::new(0),
            rows: Mutex::default(),
        });
        let mut tables = TABLES.lock().unwrap_or_else(PoisonError::into_inner);
        tables.push(Arc::downgrade(&shared));
        OwnTable {
            texts: HashMap::default(),
            rows: HashMap::default(),
            generation,
            shared,
        }
    }

    fn count(&mut self, ended: &EndedStatement<'_>) {
        let generation = GENERATION.load(Relaxed);
        if generation != self.generation {
            self.forget(generation);
        }
        if let Some(row) = self.texts.get(ended.sql) {
            return row.count(ended);
        }
        let row = self.row(ended);
        row.count(ended);
        if ended.sql.len() <= STATEMENT_TEXT_BYTES_MAX {
            if self.texts.len() >= STATEMENT_TEXTS_MAX {
                // Texts with values in them would fill any cache; those used again come back at once.
                self.texts.clear();
            }
            self.texts.insert(ended.sql.into(), row);
        }
    }

    fn forget(&mut self, generation: u64) {
        self.texts.clear();
        self.rows.clear();
        self.shared.rows().clear();
        self.shared.left.store(0, Relaxed);
        self.shared.generation.store(generation, Relaxed);
        self.generation = generation;
    }

    /// The row of a text that is not known.
    fn row(&mut self, ended: &EndedStatement<'_>) -> Arc<StatementRow> {
        let form = fingerprint(ended.sql, ended.lexicon);
        if let Some(row) = self.rows.get(&form.number) {
            return Arc::clone(row);
        }
        if self.rows.len() >= STATEMENTS_KEPT_MAX {
            self.leave_least_used();
        }
        let is_short = ended.sql.len() <= STATEMENT_ORIGINAL_BYTES_MAX;
        let row = Arc::new(StatementRow {
            number: form.number,
            text: form.text.into(),
            original: is_short.then(|| ended.sql.into()),
            calls: AtomicU64::new(0),
            errors: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            total_ns: AtomicU64::new(0),
            max_ns: AtomicU64::new(0),
            buckets: [const { AtomicU32::new(0) }; BUCKETS],
            place: Mutex::default(),
        });
        self.rows.insert(row.number, Arc::clone(&row));
        self.shared.rows().push(Arc::clone(&row));
        row
    }

    fn leave_least_used(&mut self) {
        let least = self.rows.values().min_by_key(|row| row.calls.load(Relaxed));
        let Some(least) = least.cloned() else { return };
        self.rows.remove(&least.number);
        self.texts.retain(|_, row| !Arc::ptr_eq(row, &least));
        self.shared.rows().retain(|row| !Arc::ptr_eq(row, &least));
        self.shared.left.fetch_add(1, Relaxed);
    }
}

impl StatementRow {
    /// Called by one thread alone, so that no addition is lost.
    fn count(&self, ended: &EndedStatement<'_>) {
        let add = |to: &AtomicU64, more: u64| {
            to.store(to.load(Relaxed).saturating_add(more), Relaxed);
        };
        let took_ns = u64::try_from(ended.took.as_nanos()).unwrap_or(u64::MAX);
        add(&self.calls, 1);
        add(&self.errors, u64::from(ended.is_failed));
        add(&self.rows, ended.rows.unwrap_or_default() as u64);
        add(&self.total_ns, took_ns);
        self.max_ns
            .store(self.max_ns.load(Relaxed).max(took_ns), Relaxed);
        let bucket = &self.buckets[bucket(took_ns)];
        bucket.store(bucket.load(Relaxed).saturating_add(1), Relaxed);
        if let Some(place) = &ended.place
            // Who reads it now sees the one before.
            && let Ok(mut last) = self.place.try_lock()
            && last.as_ref().is_none_or(|last| !Arc::ptr_eq(last, place))
        {
            *last = Some(Arc::clone(place));
        }
    }

    fn unused(&self, database: &Arc<str>) -> StatementFigures {
        StatementFigures {
            database: Arc::clone(database),
            fingerprint: self.number,
            sql: Arc::clone(&self.text),
            calls: 0,
            errors: 0,
            rows: 0,
            total: Duration::ZERO,
            max: Duration::ZERO,
            p99: Duration::ZERO,
            place: None,
        }
    }

    fn add_to(&self, figures: &mut StatementFigures, buckets: &mut [u64; BUCKETS]) {
        figures.calls += self.calls.load(Relaxed);
        figures.errors += self.errors.load(Relaxed);
        figures.rows += self.rows.load(Relaxed);
        let total = Duration::from_nanos(self.total_ns.load(Relaxed));
        figures.total = figures.total.saturating_add(total);
        let max = Duration::from_nanos(self.max_ns.load(Relaxed));
        figures.max = figures.max.max(max);
        for (sum, bucket) in buckets.iter_mut().zip(&self.buckets) {
            *sum += u64::from(bucket.load(Relaxed));
        }
        let place = self.place.lock().unwrap_or_else(PoisonError::into_inner);
        if place.is_some() {
            figures.place.clone_from(&place);
        }
    }
}

/// The bucket of a duration: the last takes all that is longer.
fn bucket(took_ns: u64) -> usize {
    let bits = u64::BITS - took_ns.leading_zeros();
    if bits <= BUCKET_FIRST_BITS {
        return 0;
    }
    // The two bits behind the first one.
    let quarter = (took_ns >> (bits - 3)) & 3;
    let at = u64::from(bits - BUCKET_FIRST_BITS - 1) * 4 + quarter + 1;
    usize::try_from(at).map_or(BUCKETS - 1, |at| at.min(BUCKETS - 1))
}

/// Where a bucket ends.
fn bucket_end(at: usize) -> Duration {
    let Some(at) = at.checked_sub(1).and_then(|at| u32::try_from(at).ok()) else {
        return Duration::from_nanos(1 << BUCKET_FIRST_BITS);
    };
    let (doublings, quarter) = (at / 4, u64::from(at % 4));
    let begin = 1_u64 << (BUCKET_FIRST_BITS + doublings);
    Duration::from_nanos(begin + begin / 4 * (quarter + 1))
}

/// How long so many of 100 took at most.
fn percentile(buckets: &[u64; BUCKETS], of_100: u64) -> Duration {
    let wanted = (buckets.iter().sum::<u64>() * of_100).div_ceil(100);
    let mut seen = 0;
    let reached = buckets.iter().position(|count| {
        seen += count;
        seen >= wanted
    });
    bucket_end(reached.unwrap_or(BUCKETS - 1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use tsumugi_sql::SQLITE;

    fn ended<'a>(database: &'a Arc<str>, sql: &'a str, us: u64) -> EndedStatement<'a> {
        EndedStatement {
            database,
            lexicon: SQLITE.lexicon,
            sql,
            rows: Some(2),
            took: Duration::from_micros(us),
            is_failed: sql.contains("fails"),
            place: Some("/route".into()),
        }
    }

    #[test]
    fn duration_is_within_a_quarter_below_the_end_of_its_bucket() {
        let mut ns = 1_u64;
        while ns < 1 << 36 {
            let end = u64::try_from(bucket_end(bucket(ns)).as_nanos()).unwrap();
            let is_first = ns < 1 << BUCKET_FIRST_BITS;
            assert!(
                ns <= end && (is_first || end <= ns + ns / 4 + 1),
                "{ns} {end}"
            );
            ns = ns * 5 / 4 + 1;
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn percentile_is_that_of_the_slowest_but_one_in_a_hundred() {
        let mut buckets = [0; BUCKETS];
        buckets[3] = 99;
        buckets[40] = 1;
        assert_eq!(percentile(&buckets, 99), bucket_end(3));
        buckets[40] = 2;
        assert_eq!(percentile(&buckets, 99), bucket_end(40));
    }

    /// The tables are of the whole process, so one test has all that resets them.
    #[test]
    fn statements_are_merged_over_threads_bounded_and_forgotten() {
        let database: Arc<str> = "statement_table.db".into();
        let report = || {
            let mut report = statement_report();
            report.statements.retain(|row| row.database == database);
            report
        };
        keep_statements();
        let (go, gone) = std::sync::mpsc::channel::<()>();
        let (ready, is_ready) = std::sync::mpsc::channel();
        let other = Arc::clone(&database);
        let thread = std::thread::spawn(move || {
            count(&ended(&other, "select a from t where b = 'secret'", 100));
            ready.send(()).unwrap();
            let _ = gone.recv();
        });
        is_ready.recv().unwrap();
        count(&ended(&database, "select a from t where b = 7", 300));
        count(&ended(&database, "select fails", 50));
        let seen = report().statements;
        let one = seen.iter().find(|row| row.calls == 2).unwrap();
        assert_eq!(&*one.sql, "select a from t where b = ?");
        assert_eq!((one.errors, one.rows), (0, 4));
        assert_eq!(one.total, Duration::from_micros(400));
        assert_eq!(
            (one.max, one.p99),
            (Duration::from_micros(300), Duration::from_micros(300))
        );
        assert_eq!(one.place.as_deref(), Some("/route"));
        assert!(statement_original(&database, one.fingerprint).is_some());
        assert!(seen.iter().any(|row| row.errors == 1));
        drop(go);
        thread.join().unwrap();

        reset_statements();
        assert!(report().statements.is_empty());
        assert!(statement_original(&database, one.fingerprint).is_none());
        let texts: Vec<_> = (0..=STATEMENTS_KEPT_MAX)
            .map(|at| format!("select {}", "a, ".repeat(at)))
            .collect();
        for text in &texts[..STATEMENTS_KEPT_MAX] {
            count(&ended(&database, text, 1));
            count(&ended(&database, text, 1));
        }
        let full = report();
        assert_eq!((full.statements.len(), full.left), (STATEMENTS_KEPT_MAX, 0));
        count(&ended(&database, &texts[STATEMENTS_KEPT_MAX], 1));
        count(&ended(&database, "select of the last that came", 1));
        let one_more = report();
        assert_eq!(
            (one_more.statements.len(), one_more.left),
            (STATEMENTS_KEPT_MAX, 2)
        );
        let is_there = |sql: &str| one_more.statements.iter().any(|row| &*row.sql == sql);
        assert!(is_there("select of the last that came"));
    }
}
