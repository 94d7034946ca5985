//! What a database counts. Rule: the same calls give the same figures on all databases.

use tsumugi_db::{Database, TransactionOptions, values};

use crate::{begin, insert, on_each};

/// Statements, errors and transactions that `calls` add.
async fn added(db: &Database, calls: impl AsyncFn()) -> (u64, u64, u64) {
    let before = db.snapshot();
    calls().await;
    let after = db.snapshot();
    (
        after.statements - before.statements,
        after.errors - before.errors,
        after.transactions - before.transactions,
    )
}

#[test]
fn single_statements_scripts_and_batches_count_once_each() {
    on_each("?pool=1", async |db, place| {
        let found = added(db, async || {
            db.execute("insert into t(n) values (1)", []).await.unwrap();
            db.query("select n from t", []).await.unwrap();
            let twice = db.execute("insert into t(n) values (1)", []).await;
            twice.unwrap_err();
            let script = "insert into t(n) values (2); insert into t(n) values (3)";
            db.execute_script(script).await.unwrap();
            let mut stream = db.stream("select n from t", []).await.unwrap();
            while stream.next().await.unwrap().is_some() {}
            let nothing = "select n from t where n < 0";
            let mut stream = db.stream(nothing, []).await.unwrap();
            assert!(stream.next().await.unwrap().is_none());
            db.stream("select nothing from t", []).await.unwrap_err();
        });
        assert_eq!(found.await, (7, 2, 0), "{:?}", place.kind);
    });
}

#[test]
fn statements_of_a_transaction_count_and_its_commands_do_not() {
    on_each("?pool=1", async |db, place| {
        let found = added(db, async || {
            let tx = begin(db).await;
            insert(&tx, 1).await;
            let savepoint = tx.savepoint().await.unwrap();
            let script = "insert into t(n) values (2); insert into t(n) values (3)";
            tx.execute_script(script).await.unwrap();
            savepoint.release().await.unwrap();
            let mut stream = tx.stream("select n from t", []).await.unwrap();
            while stream.next().await.unwrap().is_some() {}
            tx.commit().await.unwrap();
        });
        assert_eq!(found.await, (3, 0, 1), "{:?}", place.kind);
    });
}

#[test]
fn caller_that_gets_no_connection_counts_as_an_error_and_no_statement() {
    on_each("?pool=1&acquire_timeout_ms=1500", async |db, place| {
        let tx = begin(db).await;
        insert(&tx, 1).await;
        let found = added(db, async || {
            let refused = db.begin(TransactionOptions::default()).await;
            assert_eq!(refused.unwrap_err().kind(), "PoolTimeout");
        });
        assert_eq!(found.await, (0, 1, 0), "{:?}", place.kind);
        tx.roll_back().await.unwrap();
    });
}

#[test]
fn statements_are_counted_by_their_form_and_explained_without_running() {
    tsumugi_db::keep_statements();
    on_each("?pool=2", async |db, place| {
        let name = db.watch().name().to_string();
        let marked = "select n as counted_by_form from t where n in (77123, ?)";
        for sql in [
            marked,
            "select n as counted_by_form from t where n in (77123, 5, ?) -- 77123",
        ] {
            db.query(sql, values![1]).await.unwrap();
        }
        let failing = db.query("select counted_by_form from t where n = 77123", []);
        failing.await.unwrap_err();
        let report = tsumugi_db::statement_report();
        let seen: Vec<_> = report
            .statements
            .iter()
            .filter(|row| *row.database == *name && row.sql.contains("counted_by_form"))
            .collect();
        let texts: Vec<_> = seen.iter().map(|row| &*row.sql).collect();
        assert_eq!(seen.len(), 2, "{:?}: {texts:?}", place.kind);
        let one = seen.iter().find(|row| row.calls == 2).unwrap();
        assert_eq!(
            &*one.sql,
            "select n as counted_by_form from t where n in (…)"
        );
        assert_eq!((one.errors, one.rows), (0, 0));
        assert!(one.max > std::time::Duration::ZERO && one.p99 <= one.max && one.total >= one.max);
        let other = seen.iter().find(|row| row.calls == 1).unwrap();
        assert_eq!(
            (&*other.sql, other.errors),
            ("select counted_by_form from t where n = ?", 1)
        );

        let original = tsumugi_db::statement_original(&name, one.fingerprint).unwrap();
        let plan = db.explain(&original).await.unwrap();
        assert!(
            plan.to_lowercase().contains('t') && !plan.contains("77123"),
            "{plan}"
        );
        db.explain("insert into t(n) values (77123)").await.unwrap();
        assert_eq!(db.query("select n from t", []).await.unwrap().len(), 0);
        for refused in [
            "drop table t",
            "",
            "-- select\n",
            "explain select 1",
            "commit",
        ] {
            let error = db.explain(refused).await.unwrap_err();
            assert!(error.to_string().contains("can be explained"), "{error}");
        }
        // The connection is as it was.
        db.execute("insert into t(n) values (1)", []).await.unwrap();
        assert_eq!(db.query("select n from t", []).await.unwrap().len(), 1);
    });
}

#[test]
fn statement_of_the_builder_is_explained_by_its_own_placeholders() {
    on_each("?pool=2", async |db, place| {
        let built = tsumugi_sql::table("t")
            .filter(tsumugi_sql::col("n").eq(5))
            .limit(2);
        let (sql, _) = tsumugi_db::sendable(built.to_rows(db.dialect()).unwrap());
        let plan = db.explain(&sql).await;
        assert!(plan.is_ok(), "{:?}: {plan:?}", place.kind);
    });
}
