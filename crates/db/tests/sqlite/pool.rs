//! Waiting for connections, limits on time and size, other processes.

use std::time::{Duration, Instant};

use tsumugi_db::{Database, Error, Options, TransactionOptions, values};

use crate::{ENDLESS, count, eventually, open, pause, run};

#[test]
fn writers_wait_in_the_order_in_which_they_came() {
    run(async {
        let f = open("").await;
        let tx = f.db.begin(TransactionOptions::default()).await.unwrap();
        let mut tasks = Vec::new();
        for n in 0..50 {
            let db = f.db.clone();
            tasks.push(tokio::task::spawn_local(async move {
                db.execute("insert into t(n) values (?)", values![n])
                    .await
                    .unwrap();
            }));
            tokio::task::yield_now().await;
        }
        assert_eq!(f.db.snapshot().writer_waiting, 50);
        tx.commit().await.unwrap();
        for task in tasks {
            task.await.unwrap();
        }
        let out_of_order = "select count(*) as c from t where n <> id - 1";
        assert_eq!(crate::query_json(&f.db, out_of_order).await, r#"[{"c":0}]"#);
    });
}

#[test]
fn waiting_for_the_writer_ends_with_acquire_timeout() {
    run(async {
        let f = open("acquire_timeout_ms=500").await;
        let _tx = f.db.begin(TransactionOptions::default()).await.unwrap();
        let since = Instant::now();
        let error =
            f.db.execute("insert into t(n) values (?)", values![7])
                .await
                .unwrap_err();
        assert!(
            since.elapsed() >= Duration::from_millis(450)
                && since.elapsed() < Duration::from_secs(60)
        );
        assert!(
            matches!(
                error,
                Error::PoolTimeout {
                    connection: "writer",
                    limit: "acquire_timeout",
                    ..
                }
            ),
            "{error:?}"
        );
        assert_eq!(
            (error.kind(), error.sql()),
            ("PoolTimeout", Some("insert into t(n) values (?)"))
        );
        assert!(matches!(
            f.db.begin(TransactionOptions::default()).await,
            Err(Error::PoolTimeout { .. })
        ));
        assert_eq!(count(&f.db).await, 0);
        assert_eq!(f.db.snapshot().writer_waiting, 0);
    });
}

#[test]
fn every_connect_has_its_own_acquire_timeout() {
    run(async {
        let f = open("acquire_timeout_ms=60000").await;
        let url = f.url.replace("60000", "100");
        let hasty = Database::connect(&url, Options::default()).await.unwrap();
        let tx = f.db.begin(TransactionOptions::default()).await.unwrap();
        let mut patient = Box::pin(f.db.execute("insert into t(n) values (1)", []));
        assert!(
            tokio::time::timeout(Duration::from_millis(20), &mut patient)
                .await
                .is_err()
        );
        let error = hasty
            .execute("insert into t(n) values (2)", [])
            .await
            .unwrap_err();
        assert!(matches!(error, Error::PoolTimeout { .. }), "{error:?}");
        drop(tx);
        patient.await.unwrap();
        assert_eq!(count(&f.db).await, 1);
    });
}

#[test]
fn an_endless_statement_is_stopped_and_its_connection_goes_on() {
    run(async {
        let f = open("statement_timeout_ms=1000&pool=1").await;
        let since = Instant::now();
        let error = f.db.query(ENDLESS, []).await.unwrap_err();
        assert!(
            since.elapsed() >= Duration::from_millis(950)
                && since.elapsed() < Duration::from_secs(60)
        );
        assert!(matches!(error, Error::Timeout { .. }), "{error:?}");
        assert_eq!(
            (error.kind(), error.sql()),
            ("QueryCanceled", Some(ENDLESS))
        );
        let error =
            f.db.execute(format!("insert into t(n) {ENDLESS}"), [])
                .await
                .unwrap_err();
        assert_eq!(error.kind(), "QueryCanceled");
        assert_eq!(count(&f.db).await, 0);
        f.db.execute("insert into t(n) values (1)", [])
            .await
            .unwrap();
        assert_eq!(count(&f.db).await, 1);
    });
}

#[test]
fn rows_max_bytes_bounds_a_result() {
    run(async {
        // A cell is a tag, a length of four bytes and the blob.
        let f = open("rows_max_bytes=1005&pool=1").await;
        let rows = f.db.query("select zeroblob(1000)", []).await.unwrap();
        assert_eq!(rows.packed_bytes(), 1005);
        let error = f.db.query("select zeroblob(1001)", []).await.unwrap_err();
        assert!(
            matches!(
                error,
                Error::TooLarge {
                    limit: "rows_max_bytes",
                    max: 1005,
                    ..
                }
            ),
            "{error:?}"
        );
        assert!(error.to_string().contains("stream"), "{error}");
        assert_eq!(count(&f.db).await, 0);
    });
}

#[test]
fn another_process_s_lock_is_waited_for_and_then_an_error() {
    run(async {
        let f = open("busy_timeout_ms=1500").await;
        let other = rusqlite::Connection::open(f.directory.path().join("test.db")).unwrap();
        other.execute_batch("begin immediate").unwrap();
        let since = Instant::now();
        let error =
            f.db.execute("insert into t(n) values (1)", [])
                .await
                .unwrap_err();
        assert!(since.elapsed() >= Duration::from_millis(1_450));
        assert_eq!(error.kind(), "SerializationFailure");
        assert_eq!(count(&f.db).await, 0);
        let error = f.db.begin(TransactionOptions::default()).await.unwrap_err();
        assert_eq!(error.kind(), "SerializationFailure");
        let waiting = f.db.execute("insert into t(n) values (1)", []);
        let (waited, ()) = tokio::join!(waiting, async {
            pause(50).await;
            other.execute_batch("commit").unwrap();
        });
        waited.unwrap();
        assert_eq!(count(&f.db).await, 1);
    });
}

#[test]
fn many_readers_work_at_the_same_time() {
    run(async {
        let f = open("pool=3&statement_timeout_ms=3000").await;
        let endless = (0..3).map(|_| {
            let db = f.db.clone();
            tokio::task::spawn_local(async move { db.query(ENDLESS, []).await.unwrap_err() })
        });
        let endless: Vec<_> = endless.collect();
        eventually("three are busy", || f.db.snapshot().connections_busy == 3).await;
        for task in endless {
            assert_eq!(task.await.unwrap().kind(), "QueryCanceled");
        }
    });
}

#[test]
fn snapshot_counts_statements_errors_and_connections() {
    run(async {
        let f = open("").await;
        for _ in 0..10 {
            f.db.query("select 1", []).await.unwrap();
        }
        f.db.query("select nothing", []).await.unwrap_err();
        let snapshot = f.db.snapshot();
        assert_eq!((snapshot.statements, snapshot.errors), (12, 1));
        assert_eq!(
            (
                snapshot.acquired,
                snapshot.connections,
                snapshot.transactions
            ),
            (12, 5, 0)
        );
        assert_eq!((snapshot.waiting, snapshot.writer_waiting), (0, 0));
    });
}

#[test]
fn many_threads_share_one_database() {
    let f = run(open(""));
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let url = f.url.clone();
            std::thread::spawn(move || {
                run(async move {
                    let db = Database::connect(&url, Options::default()).await.unwrap();
                    for n in 0..50 {
                        db.execute("insert into t(n) values (?)", values![n])
                            .await
                            .unwrap();
                        count(&db).await;
                    }
                });
            })
        })
        .collect();
    threads
        .into_iter()
        .for_each(|thread| thread.join().unwrap());
    assert_eq!(run(count(&f.db)), 400);
}
