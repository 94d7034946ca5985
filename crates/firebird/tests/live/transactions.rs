//! Transactions: what they see, how they wait, how they end. Rule: whoever is refused a lock is told so by the same code.

use tsumugi_firebird::{Access, Connection, Isolation, TransactionOptions, Wait};
use tsumugi_firebird_proto::GdsCode;
use tsumugi_firebird_proto::values::Value;
use tsumugi_firebird_rig::{Database, Server};

use crate::{code, int, is_usable, open, run};

/// Two connections to a database with the table `t (n, v)` and the row `(1, 0)`.
async fn two(database: &Database<'_>) -> (Connection, Connection) {
    database.isql("create table t (n int not null primary key, v int); commit; insert into t values (1, 0); commit;");
    (open(database).await, open(database).await)
}

const COUNT: &str = "select count(*) from t";
const UPDATE: &str = "update t set v = v + 1 where n = 1";

#[test]
fn a_snapshot_sees_its_beginning_and_read_committed_the_present() {
    run(async {
        let database = Server::shared().database();
        let (db, other) = two(&database).await;
        let snapshot = db.begin(TransactionOptions::default()).await.unwrap();
        let committed = db
            .begin(TransactionOptions {
                isolation: Isolation::ReadCommitted,
                ..TransactionOptions::default()
            })
            .await
            .unwrap();
        assert_eq!(int(&snapshot.query(COUNT, &[]).await.unwrap()), 1);
        other
            .query("insert into t values (2, 0)", &[])
            .await
            .unwrap();
        assert_eq!(int(&snapshot.query(COUNT, &[]).await.unwrap()), 1);
        assert_eq!(int(&committed.query(COUNT, &[]).await.unwrap()), 2);
        snapshot.roll_back().await.unwrap();
        committed.commit().await.unwrap();
    });
}

#[test]
fn what_only_reads_does_not_write() {
    run(async {
        let database = Server::shared().database();
        let (db, _) = two(&database).await;
        let reading = TransactionOptions {
            access: Access::ReadOnly,
            ..TransactionOptions::default()
        };
        let transaction = db.begin(reading).await.unwrap();
        let refused = transaction.query(UPDATE, &[]).await;
        assert_eq!(code(refused), GdsCode::READ_ONLY_TRANSACTION);
        drop(transaction);
        is_usable(&db).await;
    });
}

#[test]
fn a_transaction_that_is_dropped_leaves_nothing() {
    run(async {
        let database = Server::shared().database();
        let (db, other) = two(&database).await;
        let transaction = db.begin(TransactionOptions::default()).await.unwrap();
        transaction.query(UPDATE, &[]).await.unwrap();
        drop(transaction);
        // On the same connection it is rolled back before what is asked later.
        let rows = db.query("select v from t", &[]).await.unwrap();
        assert_eq!(int(&rows), 0);
        other.query(UPDATE, &[]).await.unwrap();
    });
}

#[test]
fn retaining_keeps_or_undoes_and_goes_on() {
    run(async {
        let database = Server::shared().database();
        let (db, other) = two(&database).await;
        let transaction = db.begin(TransactionOptions::default()).await.unwrap();
        transaction.query(UPDATE, &[]).await.unwrap();
        transaction.commit_retaining().await.unwrap();
        transaction.query(UPDATE, &[]).await.unwrap();
        transaction.roll_back_retaining().await.unwrap();
        transaction.query(UPDATE, &[]).await.unwrap();
        transaction.commit().await.unwrap();
        let rows = other.query("select v from t", &[]).await.unwrap();
        assert_eq!(int(&rows), 2);
    });
}

#[test]
fn savepoints_are_kept_undone_or_dropped() {
    run(async {
        let database = Server::shared().database();
        let (db, _) = two(&database).await;
        let transaction = db.begin(TransactionOptions::default()).await.unwrap();
        let kept = transaction.savepoint().await.unwrap();
        transaction.query(UPDATE, &[]).await.unwrap();
        kept.release().await.unwrap();
        let undone = transaction.savepoint().await.unwrap();
        transaction.query(UPDATE, &[]).await.unwrap();
        undone.roll_back().await.unwrap();
        let dropped = transaction.savepoint().await.unwrap();
        transaction.query(UPDATE, &[]).await.unwrap();
        drop(dropped);
        transaction.commit().await.unwrap();
        let rows = db.query("select v from t", &[]).await.unwrap();
        assert_eq!(int(&rows), 1);
    });
}

#[test]
fn who_does_not_wait_is_refused_at_once_or_in_time() {
    run(async {
        let database = Server::shared().database();
        let (db, other) = two(&database).await;
        let first = db.begin(TransactionOptions::default()).await.unwrap();
        first.query(UPDATE, &[]).await.unwrap();
        for wait in [Wait::No, Wait::Seconds(1)] {
            let options = TransactionOptions {
                wait,
                ..TransactionOptions::default()
            };
            let second = other.begin(options).await.unwrap();
            let refused = second.query(UPDATE, &[]).await;
            let error = refused.unwrap_err();
            let server = error.server().unwrap();
            assert!(
                server.has(GdsCode::DEADLOCK) || server.has(GdsCode::LOCK_CONFLICT),
                "{error}"
            );
            second.roll_back().await.unwrap();
        }
        first.commit().await.unwrap();
    });
}

#[test]
fn of_two_that_wait_for_each_other_one_is_told() {
    run(async {
        let database = Server::shared().database();
        let (db, other) = two(&database).await;
        db.query("insert into t values (2, 0)", &[]).await.unwrap();
        let one = db.begin(TransactionOptions::default()).await.unwrap();
        let two = other.begin(TransactionOptions::default()).await.unwrap();
        let update = "update t set v = v + 1 where n = ?";
        one.query(update, &[Value::Integer(1)]).await.unwrap();
        two.query(update, &[Value::Integer(2)]).await.unwrap();
        let (first, second) = tokio::join!(
            async {
                let result = one.query(update, &[Value::Integer(2)]).await;
                one.roll_back().await.unwrap();
                result
            },
            async {
                let result = two.query(update, &[Value::Integer(1)]).await;
                two.roll_back().await.unwrap();
                result
            },
        );
        let failed: Vec<_> = [first, second]
            .into_iter()
            .filter_map(Result::err)
            .collect();
        assert!(!failed.is_empty());
        for error in failed {
            assert_eq!(error.server().unwrap().code, GdsCode::DEADLOCK);
        }
    });
}

#[test]
fn a_commit_that_is_refused_can_be_rolled_back() {
    run(async {
        let database = Server::shared().database();
        let (db, _) = two(&database).await;
        let transaction = db.begin(TransactionOptions::default()).await.unwrap();
        transaction
            .immediate("alter table t add constraint positive check (v > 0)")
            .await
            .unwrap();
        let _ = transaction.commit().await;
        is_usable(&db).await;
        db.query(UPDATE, &[]).await.unwrap();
    });
}
