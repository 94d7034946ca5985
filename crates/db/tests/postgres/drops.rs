//! Futures dropped at every point where they wait. Rule: whatever was dropped, the next statement on the only connection gets its
//! own answer, a transaction has happened wholly or not at all, and none stays open.

use tsumugi_db::{Database, Options, PipelineAtomicity, TransactionOptions, ValueRef, values};
use tsumugi_pg::limits::OUT_BYTES_MAX;
use tsumugi_testkit::poll::pend;
use tsumugi_testkit::postgres::Server;

use crate::chaos::becomes;

/// Polls at most so many times; true when the future ended before.
async fn for_polls(polls: usize, future: impl Future<Output = ()>) -> bool {
    match polls.checked_sub(1) {
        Some(times) => pend(future, times).await.is_some(),
        None => false,
    }
}

async fn number(db: &Database, sql: &str) -> i64 {
    let rows = db.query(sql, []).await.unwrap();
    match rows.first().unwrap().value(0) {
        Some(ValueRef::Integer(number)) => number,
        other => panic!("{other:?}"),
    }
}

/// Drops `work` after each number of polls. It inserts one, two or no rows into `t` and all or none of them.
fn check(rows: i64, work: impl AsyncFn(&Database)) {
    let database = Server::shared().database();
    database.psql("create table t (n int)");
    let url = database.url() + "?pool=1";
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())
        .unwrap();
    runtime.block_on(async {
        let db = Database::connect(&url, Options::default()).await.unwrap();
        for polls in 0.. {
            assert!(polls < 1_000, "it never ends");
            let ended = for_polls(polls, work(&db)).await;
            let expected = i64::try_from(polls).unwrap();
            let got = db.query("select ?::int8", values![expected]).await.unwrap();
            let got = got.first().unwrap().value(0);
            assert_eq!(got, Some(ValueRef::Integer(expected)), "after {polls}");
            let count = number(&db, "select count(*) from t").await;
            assert!(count == 0 || count == rows, "{count} after {polls}");
            db.execute("delete from t", []).await.unwrap();
            assert!(db.snapshot().connections <= 1);
            if ended {
                assert_eq!(count, rows);
                break;
            }
        }
        let name = database.name();
        let open = format!(
            "select count(*) from pg_stat_activity where datname = '{name}' and state like 'idle in transaction%'"
        );
        becomes(database.server(), &open, "0").await;
    });
}

#[test]
fn statement_dropped_at_any_point_leaves_a_clean_connection() {
    check(1, async |db| {
        db.execute("insert into t values (?)", values![1])
            .await
            .unwrap();
    });
}

#[test]
fn slow_statement_dropped_at_any_point_leaves_a_clean_connection() {
    check(0, async |db| {
        db.query("select pg_sleep(0.1)", []).await.unwrap();
    });
}

#[test]
fn transaction_dropped_at_any_point_leaves_a_clean_connection() {
    check(2, async |db| {
        let transaction = db.begin(TransactionOptions::default()).await.unwrap();
        let insert = "insert into t values (?)";
        transaction.execute(insert, values![1]).await.unwrap();
        let savepoint = transaction.savepoint().await.unwrap();
        transaction.execute(insert, values![2]).await.unwrap();
        savepoint.roll_back().await.unwrap();
        let savepoint = transaction.savepoint().await.unwrap();
        transaction.execute(insert, values![3]).await.unwrap();
        savepoint.release().await.unwrap();
        transaction.commit().await.unwrap();
    });
}

#[test]
fn rollback_dropped_at_any_point_leaves_a_clean_connection() {
    check(0, async |db| {
        let transaction = db.begin(TransactionOptions::default()).await.unwrap();
        let insert = "insert into t values (?)";
        transaction.execute(insert, values![1]).await.unwrap();
        transaction.roll_back().await.unwrap();
    });
}

#[test]
fn rollback_dropped_at_any_point_leaves_its_session_without_a_transaction() {
    let database = Server::shared().database();
    database.psql("create table t (n int)");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())
        .unwrap();
    runtime.block_on(async {
        let options = Options::default();
        let db = Database::connect(&database.url(), options).await.unwrap();
        let session = db.session().await.unwrap();
        for polls in 0.. {
            assert!(polls < 1_000, "it never ends");
            let transaction = session.begin(TransactionOptions::default()).await.unwrap();
            let insert = "insert into t values (?)";
            transaction.execute(insert, values![1]).await.unwrap();
            let roll_back = async { transaction.roll_back().await.unwrap() };
            let ended = for_polls(polls, roll_back).await;
            drop(transaction);
            // The transaction that has written has a number, that of this statement has none.
            let sql =
                "select (pg_current_xact_id_if_assigned() is null)::int, (select count(*) from t)";
            let rows = session.query(sql, []).await.unwrap();
            let row = rows.first().unwrap();
            let own = [row.value(0), row.value(1)];
            let expected = [1, 0].map(|number| Some(ValueRef::Integer(number)));
            assert_eq!(own, expected, "after {polls}");
            if ended {
                break;
            }
        }
    });
}

#[test]
fn rollback_dropped_before_it_is_sent_leaves_its_session_without_a_transaction() {
    let database = Server::shared().database();
    database.psql("create table t (n int)");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())
        .unwrap();
    runtime.block_on(async {
        let options = Options::default();
        let db = Database::connect(&database.url(), options).await.unwrap();
        let session = db.session().await.unwrap();
        let transaction = session.begin(TransactionOptions::default()).await.unwrap();
        let insert = "insert into t values (?)";
        transaction.execute(insert, values![1]).await.unwrap();
        let sql = "select length(?::text)";
        // Prepared, so that the next time the value goes at once.
        transaction.query(sql, values!["x"]).await.unwrap();
        // More than may wait to be sent: the rollback waits before it is written.
        let large = transaction.query(sql, values!["x".repeat(2 * OUT_BYTES_MAX)]);
        let left = for_polls(1, async { transaction.roll_back().await.unwrap() });
        let (length, ended) = tokio::join!(large, left);
        length.unwrap();
        assert!(!ended, "it was not left");
        let sql =
            "select (pg_current_xact_id_if_assigned() is null)::int, (select count(*) from t)";
        let rows = session.query(sql, []).await.unwrap();
        let row = rows.first().unwrap();
        let own = [row.value(0), row.value(1)];
        assert_eq!(own, [1, 0].map(|number| Some(ValueRef::Integer(number))));
    });
}

#[test]
fn stream_dropped_at_any_point_leaves_a_clean_connection() {
    check(0, async |db| {
        let sql = "select generate_series(1, 2000), repeat('x', 200)";
        let mut stream = db.stream(sql, []).await.unwrap();
        let mut rows = 0;
        while let Some(batch) = stream.next().await.unwrap() {
            rows += batch.len();
        }
        assert_eq!(rows, 2_000);
    });
}

#[test]
fn stream_in_a_transaction_dropped_at_any_point_leaves_a_clean_connection() {
    check(1, async |db| {
        let transaction = db.begin(TransactionOptions::default()).await.unwrap();
        let insert = "insert into t values (?)";
        transaction.execute(insert, values![1]).await.unwrap();
        let sql = "select generate_series(1, 500)";
        let mut stream = transaction.stream(sql, []).await.unwrap();
        while stream.next().await.unwrap().is_some() {}
        drop(stream);
        transaction.commit().await.unwrap();
    });
}

#[test]
fn pipeline_dropped_at_any_point_leaves_a_clean_connection() {
    check(2, async |db| {
        let insert = |n: i64| ("insert into t values (?)".into(), values![n]);
        let outcomes = db.pipeline(vec![insert(1), insert(2)], PipelineAtomicity::All);
        for outcome in outcomes.await.unwrap() {
            outcome.unwrap();
        }
    });
}

#[test]
fn script_dropped_at_any_point_leaves_a_clean_connection() {
    check(2, async |db| {
        db.execute_script("insert into t values (1); insert into t values (2)")
            .await
            .unwrap();
    });
}
