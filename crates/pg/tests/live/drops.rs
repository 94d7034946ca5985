//! Futures, streams, transactions and handles dropped at any point. Rule: whatever was dropped, the next answer is the right one.

use std::time::Duration;

use tsumugi_pg::{Connection, Error};
use tsumugi_testkit::postgres::{Options, PostgresTls, Server, User};

use crate::{code, int, is_clean, open, open_at, pid, poll_once, run};

/// Polls `make`'s future so many times, drops it, and sees whether the connection is as before; for 0, 1, 2, … polls.
async fn check<'c, F: Future>(db: &'c Connection, make: impl Fn(&'c Connection, i32) -> F) {
    for polls in 0..12 {
        let mut future = Box::pin(make(db, polls));
        let mut ended = false;
        for _ in 0..polls {
            ended = ended || poll_once(future.as_mut()).await;
            if ended {
                break;
            }
        }
        drop(future);
        is_clean(db).await;
        // The same once more when nothing is on its way.
        db.reset().await;
        is_clean(db).await;
    }
}

#[test]
fn statement_dropped_at_any_point_leaves_the_next_one_right() {
    run(async {
        let db = open("").await;
        check(&db, |db, n| async move {
            db.query("select $1::int4", &(n,)).await
        })
        .await;
        check(&db, |db, n| async move {
            db.query(&format!("select {n}"), &()).await
        })
        .await;
        check(&db, |db, _| async move {
            db.query("select generate_series(1, 100000)", &()).await
        })
        .await;
        check(
            &db,
            |db, _| async move { db.query("select 1 / 0", &()).await },
        )
        .await;
        check(
            &db,
            |db, _| async move { db.script("select 1; select 2").await },
        )
        .await;
    });
}

#[test]
fn stream_dropped_at_any_point_leaves_the_next_statement_right() {
    run(async {
        let db = open("").await;
        check(&db, |db, _| async move {
            let mut rows = db.stream("select generate_series(1, 100000)", &()).await?;
            while rows.next().await?.is_some() {}
            Ok::<(), Error>(())
        })
        .await;
        check(&db, |db, _| async move {
            let mut rows = db
                .stream("select 1 / (3 - n) from generate_series(1, 9) n", &())
                .await?;
            while rows.next().await?.is_some() {}
            Ok::<(), Error>(())
        })
        .await;
    });
}

#[test]
fn transaction_dropped_at_any_point_is_rolled_back_or_committed() {
    run(async {
        let db = open("").await;
        db.script("create temp table t(n int)").await.unwrap();
        check(&db, |db, _| async move {
            db.begin(Default::default()).await.map(drop)
        })
        .await;
        let insert = |db: &Connection, n| {
            let db = db.clone();
            async move {
                let transaction = db.begin(Default::default()).await?;
                db.query("insert into t values ($1)", &(n,)).await?;
                let savepoint = transaction.savepoint().await?;
                db.query("insert into t values ($1)", &(n,)).await?;
                savepoint.release().await?;
                transaction.commit().await
            }
        };
        for _ in 0..4 {
            check(&db, insert).await;
        }
        // Both rows of each, or none.
        let odd =
            "select count(*)::int4 from (select n from t group by n having count(*) % 2 = 1) x";
        assert_eq!(int(&db.query(odd, &()).await.unwrap()), 0);
    });
}

#[test]
fn savepoints_end_in_any_order() {
    run(async {
        let db = open("").await;
        db.script("create temp table t(n int)").await.unwrap();
        let transaction = db.begin(Default::default()).await.unwrap();
        let outer = transaction.savepoint().await.unwrap();
        let inner = transaction.savepoint().await.unwrap();
        db.execute("insert into t values (1)", &()).await.unwrap();
        outer.roll_back().await.unwrap();
        drop(inner);
        let third = transaction.savepoint().await.unwrap();
        db.execute("insert into t values (2)", &()).await.unwrap();
        assert_eq!(code(db.query("select 1 / 0", &()).await), "22012");
        drop(third);
        db.execute("insert into t values (3)", &()).await.unwrap();
        transaction.commit().await.unwrap();
        let rows = db.query("select sum(n)::int4 from t", &()).await.unwrap();
        assert_eq!(int(&rows), 3);
    });
}

#[test]
fn stream_dropped_midway_does_not_hurt_its_transaction() {
    run(async {
        let db = open("").await;
        let transaction = db.begin(Default::default()).await.unwrap();
        // The second batch lasts longer than an abandoned statement is left alone.
        let slow =
            "select n, case when n > 150 then pg_sleep(0.002) end from generate_series(1, 400) n";
        let mut rows = db.stream(slow, &()).await.unwrap();
        rows.next().await.unwrap().unwrap();
        let second = tokio::time::timeout(Duration::from_millis(20), async {
            while rows.next().await.unwrap().is_some() {}
        });
        assert!(second.await.is_err());
        drop(rows);
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(int(&db.query("select 3", &()).await.unwrap()), 3);
        transaction.commit().await.unwrap();
        is_clean(&db).await;
    });
}

/// Opens something on a connection, drops a savepoint meanwhile, and lets `end` see to what is open. What was inserted since the
/// savepoint must be gone in what is committed then.
async fn check_savepoint<T>(
    db: &Connection,
    open: impl AsyncFn(&Connection) -> T,
    end: impl AsyncFn(T),
) {
    db.script("truncate t").await.unwrap();
    let transaction = db.begin(Default::default()).await.unwrap();
    db.execute("insert into t values (1)", &()).await.unwrap();
    let outer = transaction.savepoint().await.unwrap();
    db.execute("insert into t values (2)", &()).await.unwrap();
    let inner = transaction.savepoint().await.unwrap();
    db.execute("insert into t values (3)", &()).await.unwrap();
    let opened = open(db).await;
    drop(inner);
    drop(outer);
    end(opened).await;
    db.execute("insert into t values (4)", &()).await.unwrap();
    transaction.commit().await.unwrap();
    let left = "select string_agg(n::text, ' ' order by n) from t";
    let rows = db.query(left, &()).await.unwrap();
    let row = rows.first().unwrap().unwrap();
    assert_eq!(row.value::<&str>(0).unwrap(), "1 4");
}

#[test]
fn savepoint_dropped_while_rows_or_data_are_on_their_way_is_undone() {
    run(async {
        let db = open("").await;
        db.script("create temp table t(n int)").await.unwrap();
        let many = "select generate_series(1, 100000)";
        let stream = async |db: &Connection| {
            let mut rows = db.stream(many, &()).await.unwrap();
            rows.next().await.unwrap().unwrap();
            rows
        };
        check_savepoint(&db, stream, async |rows| drop(rows)).await;
        let read = async |mut rows: tsumugi_pg::RowStream| {
            while rows.next().await.unwrap().is_some() {}
        };
        check_savepoint(&db, stream, read).await;
        let failing = async |db: &Connection| {
            let sql = "select 1 / (150 - n) from generate_series(1, 1000) n";
            db.stream(sql, &()).await.unwrap()
        };
        let fails = async |mut rows: tsumugi_pg::RowStream| {
            while let Ok(Some(_)) = rows.next().await {}
        };
        check_savepoint(&db, failing, fails).await;
        let copy_in = async |db: &Connection| {
            let mut copy = db.copy_in("copy t from stdin").await.unwrap();
            copy.send(b"5\n").await.unwrap();
            copy
        };
        check_savepoint(&db, copy_in, async |copy| drop(copy)).await;
        let finish = async |copy: tsumugi_pg::CopyIn| {
            copy.finish().await.unwrap();
        };
        check_savepoint(&db, copy_in, finish).await;
        let copy_out = async |db: &Connection| {
            let sql = format!("copy ({many}) to stdout");
            db.copy_out(&sql).await.unwrap()
        };
        check_savepoint(&db, copy_out, async |copy| drop(copy)).await;
        is_clean(&db).await;
    });
}

#[test]
fn transaction_dropped_while_rows_are_on_their_way_is_rolled_back() {
    run(async {
        let db = open("").await;
        db.script("create temp table t(n int)").await.unwrap();
        let transaction = db.begin(Default::default()).await.unwrap();
        db.execute("insert into t values (1)", &()).await.unwrap();
        let sql = "select generate_series(1, 100000)";
        let mut rows = db.stream(sql, &()).await.unwrap();
        drop(transaction);
        let mut count = 0;
        while let Some(batch) = rows.next().await.unwrap() {
            count += batch.len();
        }
        assert_eq!(count, 100_000);
        is_clean(&db).await;
        let rows = db.query("select count(*)::int4 from t", &()).await;
        assert_eq!(int(&rows.unwrap()), 0);
    });
}

#[test]
fn rows_too_large_for_a_stream_end_it_and_nothing_else() {
    run(async {
        let db = open("").await;
        let mut rows = db
            .stream(
                "select repeat('x', 70000000) from generate_series(1, 3)",
                &(),
            )
            .await
            .unwrap();
        assert!(matches!(rows.next().await, Err(Error::TooLarge { .. })));
        is_clean(&db).await;
        let whole = db.query("select repeat('x', 70000000)", &()).await;
        assert!(matches!(whole, Err(Error::TooLarge { .. })));
        is_clean(&db).await;
    });
}

/// Abandons statements that last about as long as it takes to decide to cancel them; the next ones must not be hit.
async fn no_late_cancel(db: &Connection) {
    for round in 0..100_i32 {
        let lasts = f64::from(8 + round % 12) / 1000.0;
        let patience = Duration::from_millis(1);
        let _ = tokio::time::timeout(patience, db.query("select pg_sleep($1)", &(lasts,))).await;
        if round % 2 == 0 {
            tokio::time::sleep(Duration::from_millis(u64::try_from(7 + round % 9).unwrap())).await;
        }
        let next = db
            .query("select $1::int4 from pg_sleep(0.005)", &(round,))
            .await;
        assert_eq!(int(&next.unwrap()), round);
    }
}

#[test]
fn cancelling_an_abandoned_statement_never_hits_another() {
    run(async {
        no_late_cancel(&open("").await).await;
        let server = Options::default().tls(PostgresTls::Localhost).start();
        let db = open_at(&(server.url(User::TRUST) + "?sslmode=require")).await;
        no_late_cancel(&db).await;
        let _ = tokio::time::timeout(
            Duration::from_millis(30),
            db.query("select pg_sleep(600)", &()),
        )
        .await;
        db.reset().await;
        is_clean(&db).await;
    });
}

#[test]
fn dropped_transaction_is_left_even_while_a_statement_of_it_runs() {
    run(async {
        let db = open("").await;
        for _ in 0..20 {
            let transaction = db.begin(Default::default()).await.unwrap();
            let sleep = db.query("select pg_sleep(600)", &());
            assert!(
                tokio::time::timeout(Duration::from_millis(2), sleep)
                    .await
                    .is_err()
            );
            drop(transaction);
            db.reset().await;
            is_clean(&db).await;
        }
    });
}

#[test]
fn handles_dropped_while_answers_are_awaited_leave_no_session() {
    run(async {
        let mut pids = Vec::new();
        for polls in 0..10 {
            let db = open("").await;
            pids.push(pid(&db).await.to_string());
            let task = tokio::task::spawn_local(async move {
                let mut sleeping = Box::pin(db.query("select pg_sleep(600)", &()));
                for _ in 0..polls {
                    poll_once(sleeping.as_mut()).await;
                }
            });
            task.await.unwrap();
        }
        let db = open("").await;
        pids.push(pid(&db).await.to_string());
        drop(db);
        let left = format!(
            "select count(*) from pg_stat_activity where pid in ({})",
            pids.join(",")
        );
        while Server::shared().psql(&left) != "0" {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
}
