//! What a database counts. Rule: the same calls give the same figures on all databases.

use tsumugi_db::{Database, TransactionOptions};

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
