//! Futures dropped at every point leave clean connections and no half of a transaction.

use std::future::Future;
use std::pin::pin;
use std::time::Duration;

use tsumugi_db::{Database, Result, TransactionOptions, limits, values};
use tsumugi_testkit::poll::pend;

use crate::{ENDLESS, Fixture, count, eventually, open, pause, run};

/// Like [`pend`], but the engine gets time to go on before the future is dropped.
async fn pend_and_linger<T>(future: impl Future<Output = T>, times: usize) -> Option<T> {
    let mut future = pin!(future);
    let done = pend(future.as_mut(), times).await;
    if done.is_none() {
        pause(3).await;
    }
    done
}

/// Writes two rows in one transaction, by every kind of call.
async fn scenario(db: &Database) -> Result<()> {
    let tx = db.begin(TransactionOptions::default()).await?;
    tx.execute("insert into t(n) values (?)", values![1])
        .await?;
    let savepoint = tx.savepoint().await?;
    tx.execute("insert into t(n) values (?)", values![2])
        .await?;
    savepoint.release().await?;
    let undone = tx.savepoint().await?;
    tx.query("delete from t returning id", []).await?;
    undone.roll_back().await?;
    let rows = "with recursive c(x) as (select 1 union all select x + 1 from c where x < 2500) select x from c";
    let mut stream = tx.stream(rows, []).await?;
    while stream.next().await?.is_some() {}
    drop(stream);
    tx.execute_script("insert into t(n) values (9); delete from t where n = 9")
        .await?;
    tx.commit().await
}

async fn check_clean(f: &Fixture, before: i64) -> i64 {
    let after = count(&f.db).await;
    assert!(
        after == before || after == before + 2,
        "{before} rows became {after}"
    );
    // The next transaction gets the writer, finds no other open and sees nothing of it.
    let tx = f.db.begin(TransactionOptions::default()).await.unwrap();
    let rows = tx.query("select count(*) from t", []).await.unwrap();
    let inside = rows
        .first()
        .unwrap()
        .value(0)
        .unwrap()
        .as_integer()
        .unwrap();
    tx.roll_back().await.unwrap();
    assert!(inside == after || inside == before + 2);
    inside
}

#[test]
fn a_transaction_dropped_at_any_point_is_whole_or_nothing() {
    run(async {
        let f = open("pool=2").await;
        let (mut rows, mut completed, mut dropped) = (0, 0, 0);
        for round in 0..20 {
            for times in 0.. {
                let done = match round % 2 {
                    0 => pend(scenario(&f.db), times).await,
                    _ => pend_and_linger(scenario(&f.db), times).await,
                };
                rows = check_clean(&f, rows).await;
                if let Some(result) = done {
                    result.unwrap();
                    completed += 1;
                    break;
                }
                dropped += 1;
            }
        }
        assert_eq!(completed, 20);
        assert!(dropped >= 60, "{dropped}");
        assert!(rows >= 40);
    });
}

#[test]
fn an_abandoned_read_is_stopped_and_frees_its_connection() {
    run(async {
        let f = open("pool=1").await;
        for _ in 0..3 {
            assert!(
                tokio::time::timeout(Duration::from_millis(30), f.db.query(ENDLESS, []))
                    .await
                    .is_err()
            );
            assert_eq!(count(&f.db).await, 0);
        }
        eventually("the reader is idle", || {
            f.db.snapshot().connections_busy == 0
        })
        .await;
    });
}

#[test]
fn an_abandoned_write_is_stopped_and_undone() {
    run(async {
        let f = open("").await;
        let sql = format!("insert into t(n) {}", ENDLESS.replace("count(*)", "x"));
        assert!(
            tokio::time::timeout(Duration::from_millis(50), f.db.execute(sql, []))
                .await
                .is_err()
        );
        f.db.execute("insert into t(n) values (1)", [])
            .await
            .unwrap();
        assert_eq!(count(&f.db).await, 1);
    });
}

#[test]
fn an_abandoned_write_in_a_transaction_ends_it() {
    run(async {
        let f = open("").await;
        let tx = f.db.begin(TransactionOptions::default()).await.unwrap();
        tx.execute("insert into t(n) values (1)", []).await.unwrap();
        let sql = format!("insert into t(n) {}", ENDLESS.replace("count(*)", "x"));
        assert!(
            tokio::time::timeout(Duration::from_millis(50), tx.execute(sql, []))
                .await
                .is_err()
        );
        let error = tx.commit().await.unwrap_err();
        assert_eq!(error.kind(), "TransactionRolledBack");
        assert_eq!(count(&f.db).await, 0);
    });
}

#[test]
fn an_abandoned_read_in_a_transaction_ends_it_too() {
    run(async {
        let f = open("").await;
        let tx = f.db.begin(TransactionOptions::default()).await.unwrap();
        tx.execute("insert into t(n) values (1)", []).await.unwrap();
        assert!(
            tokio::time::timeout(Duration::from_millis(50), tx.query(ENDLESS, []))
                .await
                .is_err()
        );
        let error = tx.commit().await.unwrap_err();
        assert_eq!(error.kind(), "TransactionRolledBack");
        assert_eq!(count(&f.db).await, 0);
    });
}

#[test]
fn statement_abandoned_in_the_queue_does_not_run() {
    run(async {
        let f = open("").await;
        let tx = f.db.begin(TransactionOptions::default()).await.unwrap();
        assert!(
            pend(f.db.execute("insert into t(n) values (1)", []), 0)
                .await
                .is_none()
        );
        assert!(
            pend(f.db.begin(TransactionOptions::default()), 0)
                .await
                .is_none()
        );
        tx.commit().await.unwrap();
        f.db.execute("insert into t(n) values (2)", [])
            .await
            .unwrap();
        assert_eq!(
            crate::query_json(&f.db, "select n from t").await,
            r#"[{"n":2}]"#
        );
    });
}

#[test]
fn a_stream_dropped_at_any_point_frees_its_reader() {
    run(async {
        let f = open("pool=1").await;
        let sql = format!(
            "with recursive c(x) as (select 1 union all select x + 1 from c where x < {}) select x from c",
            5 * limits::BATCH_MAX_ROWS
        );
        let read = async || {
            let mut stream = f.db.stream(sql.as_str(), []).await.unwrap();
            while stream.next().await.unwrap().is_some() {}
        };
        // Where the engine is ahead, a run waits fewer times than the next one may.
        let mut drops = 0;
        for times in 0..1_000 {
            let done = pend(read(), times).await;
            assert_eq!(count(&f.db).await, 0);
            match done {
                None => drops += 1,
                Some(()) if drops >= 4 => return,
                Some(()) => {}
            }
        }
        panic!("the stream was dropped {drops} times only");
    });
}

#[test]
fn dropping_everything_at_once_ends_the_threads() {
    run(async {
        let f = open("").await;
        let tx = f.db.begin(TransactionOptions::default()).await.unwrap();
        tx.execute("insert into t(n) values (1)", []).await.unwrap();
        let stream = f.db.stream("select 1", []).await.unwrap();
        let Fixture { db, url, directory } = f;
        drop((tx, stream, db));
        let db = Database::connect(&url, tsumugi_db::Options::default())
            .await
            .unwrap();
        db.execute("insert into t(n) values (2)", []).await.unwrap();
        assert_eq!(count(&db).await, 1);
        drop(directory);
    });
}
