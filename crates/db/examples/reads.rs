//! Measures reads by primary key and writes, by many futures on one thread. Not a test and not one of the published
//! benchmarks. Rule: it prints what it measured and judges nothing.
//!
//! Arguments: futures (64), seconds for each measurement (2).

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use tsumugi_db::{Database, Options, TransactionOptions, values};

const ROWS: i64 = 10_000;

fn main() {
    let mut arguments = std::env::args()
        .skip(1)
        .map(|argument| argument.parse::<u64>().expect("a number"));
    let futures = arguments.next().unwrap_or(64);
    let seconds = arguments.next().unwrap_or(2);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime");
    tokio::task::LocalSet::new().block_on(&runtime, measure(futures, Duration::from_secs(seconds)));
}

async fn measure(futures: u64, duration: Duration) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for pool in [1, 2, 4] {
        let url = format!(
            "sqlite:{}?pool={pool}",
            directory.path().join(format!("{pool}.db")).display()
        );
        let db = Database::connect(&url, Options::default())
            .await
            .expect("a database");
        fill(&db).await.expect("rows");
        let reads = rate(
            &db,
            futures,
            duration,
            "select id, n from world where id = ?",
        )
        .await;
        let alone = rate(&db, 1, duration, "select id, n from world where id = ?").await;
        let writes = rate(
            &db,
            futures,
            duration,
            "update world set n = n + 1 where id = ?",
        )
        .await;
        println!(
            "{pool} readers: {reads:.0} reads/s by {futures} futures, {alone:.0} by one, {writes:.0} writes/s"
        );
    }
}

async fn fill(db: &Database) -> tsumugi_db::Result<()> {
    db.execute(
        "create table world(id integer primary key, n integer not null)",
        [],
    )
    .await?;
    let tx = db.begin(TransactionOptions::default()).await?;
    for id in 1..=ROWS {
        tx.execute("insert into world values (?, ?)", values![id, id * 7])
            .await?;
    }
    tx.commit().await
}

async fn rate(db: &Database, futures: u64, duration: Duration, sql: &'static str) -> f64 {
    let (done, since) = (Rc::new(Cell::new(0_u64)), Instant::now());
    let tasks = (0..futures).map(|future| {
        let (db, done, sql) = (db.clone(), done.clone(), std::sync::Arc::<str>::from(sql));
        tokio::task::spawn_local(async move {
            let mut id = future as i64;
            while since.elapsed() < duration {
                id = (id * 31 + 7) % ROWS;
                db.query(sql.clone(), values![id + 1])
                    .await
                    .expect("a result");
                done.set(done.get() + 1);
            }
        })
    });
    for task in tasks.collect::<Vec<_>>() {
        task.await.expect("a task");
    }
    done.get() as f64 / since.elapsed().as_secs_f64()
}
