//! The SQLite driver through its public face, on real files in a temporary directory and in memory.
//! Not about timing: a test that measures time only asks that something waited, and generously that it ended.

mod cancel;
mod connect;
mod errors;
mod log;
mod pool;
mod statements;
mod streams;
mod transactions;
mod types;

use std::time::{Duration, Instant};

use tempfile::TempDir;
use tsumugi_db::{Database, Options, Rows};

/// Never ends by itself.
const ENDLESS: &str =
    "with recursive c(x) as (select 1 union all select x + 1 from c) select count(*) from c";

/// A database in a file of its own, with the table `t(id integer primary key, n)`.
struct Fixture {
    db: Database,
    url: String,
    directory: TempDir,
}

/// Runs a test on one thread, as a worker would.
fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, test)
}

async fn open(query: &str) -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    let url = format!(
        "sqlite:{}?{query}",
        directory.path().join("test.db").display()
    );
    let db = Database::connect(&url, Options::default()).await.unwrap();
    db.execute("create table t(id integer primary key, n)", [])
        .await
        .unwrap();
    Fixture { db, url, directory }
}

/// The result as JSON.
fn json(rows: &Rows) -> String {
    let mut out = Vec::new();
    rows.write_json(&mut out).unwrap();
    String::from_utf8(out).unwrap()
}

async fn query_json(db: &Database, sql: &str) -> String {
    json(&db.query(sql, []).await.unwrap())
}

async fn count(db: &Database) -> i64 {
    let rows = db.query("select count(*) from t", []).await.unwrap();
    rows.first()
        .unwrap()
        .value(0)
        .unwrap()
        .as_integer()
        .unwrap()
}

/// Waits until `condition` holds, which other threads must bring about.
async fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let since = Instant::now();
    while !condition() {
        assert!(since.elapsed() < Duration::from_secs(60), "never: {what}");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

async fn pause(ms: u64) {
    tokio::time::sleep(Duration::from_millis(ms)).await;
}
