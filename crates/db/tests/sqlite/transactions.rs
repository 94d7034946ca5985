//! Transactions: what they keep apart, how they end, savepoints.

use std::time::Duration;

use tsumugi_db::{
    Access, Database, Error, Options, Transaction, TransactionMode, TransactionOptions, limits,
    values,
};

use crate::{ENDLESS, count, eventually, json, open, pause, run};

async fn begin(db: &Database) -> Transaction {
    db.begin(TransactionOptions::default()).await.unwrap()
}

async fn insert(tx: &Transaction, n: i64) {
    tx.execute("insert into t(n) values (?)", values![n])
        .await
        .unwrap();
}

#[test]
fn committed_changes_stay_and_others_do_not() {
    run(async {
        let f = open("").await;
        let modes = [
            TransactionMode::Deferred,
            TransactionMode::Immediate,
            TransactionMode::Exclusive,
        ];
        for (done, mode) in modes.into_iter().enumerate() {
            let tx = f.db.begin(TransactionOptions::write(mode)).await.unwrap();
            insert(&tx, 1).await;
            tx.commit().await.unwrap();
            let tx = f.db.begin(TransactionOptions::write(mode)).await.unwrap();
            insert(&tx, 2).await;
            tx.roll_back().await.unwrap();
            let tx = f.db.begin(TransactionOptions::write(mode)).await.unwrap();
            insert(&tx, 3).await;
            drop(tx);
            assert_eq!(count(&f.db).await, done as i64 + 1);
        }
        assert_eq!(f.db.snapshot().transactions, 9);
    });
}

#[test]
fn readers_see_the_last_commit_while_a_transaction_writes() {
    run(async {
        let f = open("").await;
        let tx = begin(&f.db).await;
        insert(&tx, 1).await;
        let reads = (0..20).map(|_| {
            let db = f.db.clone();
            tokio::task::spawn_local(async move { count(&db).await })
        });
        for read in reads.collect::<Vec<_>>() {
            assert_eq!(read.await.unwrap(), 0);
        }
        assert_eq!(
            json(&tx.query("select n from t", []).await.unwrap()),
            r#"[{"n":1}]"#
        );
        tx.commit().await.unwrap();
        assert_eq!(count(&f.db).await, 1);
    });
}

#[test]
fn transactions_do_not_mix() {
    run(async {
        let f = open("").await;
        f.db.execute("insert into t values (1, 0)", [])
            .await
            .unwrap();
        let tasks = (0..20).map(|_| {
            let db = f.db.clone();
            tokio::task::spawn_local(async move {
                for _ in 0..5 {
                    let tx = begin(&db).await;
                    let rows = tx.query("select n from t", []).await.unwrap();
                    let n = rows
                        .first()
                        .unwrap()
                        .value(0)
                        .unwrap()
                        .as_integer()
                        .unwrap();
                    tokio::task::yield_now().await;
                    tx.execute("update t set n = ?", values![n + 1])
                        .await
                        .unwrap();
                    tx.commit().await.unwrap();
                }
            })
        });
        for task in tasks.collect::<Vec<_>>() {
            task.await.unwrap();
        }
        assert_eq!(
            crate::query_json(&f.db, "select n from t").await,
            r#"[{"n":100}]"#
        );
    });
}

#[test]
fn read_only_transactions_keep_one_snapshot_and_write_nothing() {
    run(async {
        let f = open("").await;
        let tx = f.db.begin(TransactionOptions::read_only()).await.unwrap();
        f.db.execute("insert into t(n) values (1)", [])
            .await
            .unwrap();
        let rows = tx.query("select count(*) as c from t", []).await.unwrap();
        assert_eq!(json(&rows), r#"[{"c":0}]"#);
        for sql in ["delete from t", "pragma user_version = 3"] {
            let error = tx.execute(sql, []).await.unwrap_err();
            assert!(error.to_string().contains("read-only"), "{error}");
        }
        assert!(tx.execute_script("delete from t").await.is_err());
        tx.commit().await.unwrap();
        assert_eq!(count(&f.db).await, 1);
    });
}

#[test]
fn read_only_holds_in_memory_too_and_ends_with_the_transaction() {
    run(async {
        let db = Database::connect("sqlite::memory:?name=read_only", Options::default())
            .await
            .unwrap();
        db.execute("create table t(id integer primary key, n)", [])
            .await
            .unwrap();
        let mut options = TransactionOptions::default();
        options.access = Access::ReadOnly;
        let tx = db.begin(options).await.unwrap();
        assert_eq!(
            tx.execute("insert into t(n) values (1)", [])
                .await
                .unwrap_err()
                .kind(),
            "UsageError"
        );
        drop(tx);
        db.execute("insert into t(n) values (1)", []).await.unwrap();
        assert_eq!(count(&db).await, 1);
    });
}

#[test]
fn a_failed_statement_leaves_the_transaction_usable() {
    run(async {
        let f = open("").await;
        let tx = begin(&f.db).await;
        insert(&tx, 1).await;
        tx.execute("insert into t(id) values (1)", [])
            .await
            .unwrap_err();
        insert(&tx, 2).await;
        tx.commit().await.unwrap();
        assert_eq!(count(&f.db).await, 2);
    });
}

#[test]
fn a_deferred_constraint_fails_the_commit_and_can_be_put_right() {
    run(async {
        let f = open("").await;
        f.db.execute(
            "create table u(t_id references t(id) deferrable initially deferred)",
            [],
        )
        .await
        .unwrap();
        let tx = begin(&f.db).await;
        tx.execute("insert into u values (5)", []).await.unwrap();
        assert_eq!(tx.commit().await.unwrap_err().kind(), "ForeignKeyViolation");
        tx.execute("insert into t(id) values (5)", [])
            .await
            .unwrap();
        tx.commit().await.unwrap();
        assert_eq!(count(&f.db).await, 1);
    });
}

#[test]
fn an_ended_transaction_says_how_it_ended() {
    run(async {
        let f = open("").await;
        let check = async |tx: &Transaction, part: &str| {
            let error = tx
                .execute("insert into t(n) values (1)", [])
                .await
                .unwrap_err();
            assert!(
                matches!(
                    error,
                    Error::Closed {
                        what: "transaction",
                        ..
                    }
                ),
                "{error:?}"
            );
            assert!(error.to_string().contains(part), "{error}");
            assert!(tx.commit().await.is_err());
        };
        let tx = begin(&f.db).await;
        tx.commit().await.unwrap();
        check(&tx, "committed").await;
        let tx = begin(&f.db).await;
        tx.roll_back().await.unwrap();
        check(&tx, "rolled back").await;
        assert_eq!(count(&f.db).await, 0);
    });
}

#[test]
fn an_idle_transaction_is_rolled_back_and_frees_its_connection() {
    run(async {
        let f = open("idle_timeout_ms=100").await;
        let tx = begin(&f.db).await;
        insert(&tx, 1).await;
        f.db.execute("insert into t(n) values (2)", [])
            .await
            .unwrap();
        let error = tx.commit().await.unwrap_err();
        assert!(error.to_string().contains("idle_timeout"), "{error}");
        assert_eq!(
            crate::query_json(&f.db, "select n from t").await,
            r#"[{"n":2}]"#
        );
    });
}

#[test]
fn a_write_that_is_stopped_ends_its_transaction() {
    run(async {
        let f = open("statement_timeout_ms=150").await;
        let tx = begin(&f.db).await;
        insert(&tx, 1).await;
        let error = tx
            .execute(format!("insert into t(n) {ENDLESS}"), [])
            .await
            .unwrap_err();
        assert!(matches!(error, Error::Timeout { .. }), "{error}");
        let error = tx.commit().await.unwrap_err();
        assert!(matches!(error, Error::RolledBack { .. }), "{error}");
        assert_eq!(count(&f.db).await, 0);
    });
}

#[test]
fn savepoints_nest_and_a_dropped_one_is_undone() {
    run(async {
        let f = open("").await;
        let tx = begin(&f.db).await;
        insert(&tx, 1).await;
        let outer = tx.savepoint().await.unwrap();
        insert(&tx, 2).await;
        let inner = tx.savepoint().await.unwrap();
        insert(&tx, 3).await;
        inner.roll_back().await.unwrap();
        let dropped = tx.savepoint().await.unwrap();
        insert(&tx, 4).await;
        drop(dropped);
        let kept = tx.savepoint().await.unwrap();
        insert(&tx, 5).await;
        kept.release().await.unwrap();
        outer.release().await.unwrap();
        tx.commit().await.unwrap();
        assert_eq!(
            crate::query_json(&f.db, "select n from t").await,
            r#"[{"n":1},{"n":2},{"n":5}]"#
        );
    });
}

#[test]
fn a_savepoint_does_not_keep_its_transaction_open() {
    run(async {
        let f = open("").await;
        let tx = begin(&f.db).await;
        let savepoint = tx.savepoint().await.unwrap();
        insert(&tx, 1).await;
        drop(tx);
        f.db.execute("insert into t(n) values (2)", [])
            .await
            .unwrap();
        assert!(matches!(
            savepoint.release().await,
            Err(Error::Closed { .. })
        ));
        assert_eq!(count(&f.db).await, 1);
    });
}

#[test]
fn one_statement_past_transaction_queue_max_is_refused() {
    run(async {
        let f = open("").await;
        let tx = begin(&f.db).await;
        let mut endless = Box::pin(tx.query(ENDLESS, []));
        assert!(
            tokio::time::timeout(Duration::from_millis(200), &mut endless)
                .await
                .is_err()
        );
        let mut waiting = Vec::new();
        for _ in 0..limits::TRANSACTION_QUEUE_MAX {
            let mut one = Box::pin(tx.query("select 1", []));
            assert!(
                tokio::time::timeout(Duration::ZERO, &mut one)
                    .await
                    .is_err()
            );
            waiting.push(one);
        }
        let error = tx.query("select 1", []).await.unwrap_err();
        assert!(
            error.to_string().contains("transaction_queue_max"),
            "{error}"
        );
        drop(endless);
        for one in waiting {
            assert_eq!(one.await.unwrap_err().kind(), "TransactionRolledBack");
        }
        assert_eq!(
            tx.commit().await.unwrap_err().kind(),
            "TransactionRolledBack"
        );
    });
}

#[test]
fn the_writer_goes_to_the_next_only_after_the_rollback() {
    run(async {
        let f = open("").await;
        for _ in 0..50 {
            let tx = begin(&f.db).await;
            insert(&tx, 1).await;
            let next =
                f.db.execute("insert into t(n) select count(*) from t where n = 1", []);
            drop(tx);
            next.await.unwrap();
        }
        assert_eq!(
            crate::query_json(&f.db, "select max(n) as m from t").await,
            r#"[{"m":0}]"#
        );
    });
}

#[test]
fn transactions_are_counted_as_busy_while_they_last() {
    run(async {
        let f = open("").await;
        let tx = begin(&f.db).await;
        let reading = f.db.begin(TransactionOptions::read_only()).await.unwrap();
        let snapshot = f.db.snapshot();
        assert_eq!((snapshot.writer_busy, snapshot.connections_busy), (1, 2));
        pause(1).await;
        drop((tx, reading));
        eventually("idle again", || {
            let snapshot = f.db.snapshot();
            (snapshot.writer_busy, snapshot.connections_busy) == (0, 0)
        })
        .await;
    });
}

#[test]
fn a_table_is_made_anew_without_losing_what_refers_to_it() {
    run(async {
        let f = open("").await;
        let db = &f.db;
        db.execute_script(
        "create table a(id integer primary key); create table b(a integer references a on delete cascade);
         insert into a values (1); insert into b values (1)",
    )
    .await
    .unwrap();
        let rebuild = || TransactionOptions::write(TransactionMode::Rebuild);
        let tx = db.begin(rebuild()).await.unwrap();
        tx.execute_script("create table n(id integer primary key, x text); insert into n(id) select id from a; drop table a; alter table n rename to a")
        .await
        .unwrap();
        tx.commit().await.unwrap();
        let left = db.query("select a from b", []).await.unwrap();
        assert_eq!(left.len(), 1);

        let tx = db.begin(rebuild()).await.unwrap();
        tx.execute("delete from a", []).await.unwrap();
        let refused = tx.commit().await.unwrap_err();
        assert_eq!(
            refused.constraint(),
            Some("a row of b refers to no row of a")
        );
        drop(tx);
        let late = db.execute("insert into b values (7)", []).await;
        assert!(matches!(late, Err(Error::ForeignKeyViolation { .. })));
    });
}

#[test]
fn rows_that_broke_a_reference_before_do_not_prevent_a_rebuild() {
    run(async {
        let f = open("").await;
        let db = &f.db;
        db.execute_script(
            "create table a(id integer primary key); create table b(a integer references a);
             pragma foreign_keys = off; insert into b values (5); pragma foreign_keys = on",
        )
        .await
        .unwrap();
        for (change, is_refused) in [
            ("create table n(x)", false),
            ("insert into b values (6)", true),
        ] {
            let rebuild = TransactionOptions::write(TransactionMode::Rebuild);
            let tx = db.begin(rebuild).await.unwrap();
            tx.execute_script(change).await.unwrap();
            let outcome = tx.commit().await;
            assert_eq!(outcome.is_err(), is_refused, "{change}: {outcome:?}");
        }
    });
}
