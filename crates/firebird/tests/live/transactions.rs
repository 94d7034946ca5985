//! Transactions: what they see, how they wait, how they end. Rule: every lock conflict has the same code.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

use tsumugi_firebird::{Access, Connection, Error, Isolation, RowStream, TransactionOptions, Wait};
use tsumugi_firebird_proto::GdsCode;
use tsumugi_firebird_proto::values::Value;
use tsumugi_testkit::firebird::{FirebirdDatabase, Server};

use crate::{code, int, is_usable, open, run};

/// Two connections to a database with the table `t (n, v)` and the row `(1, 0)`.
async fn two(database: &FirebirdDatabase<'_>) -> (Connection, Connection) {
    database.isql("create table t (n int not null primary key, v int); commit; insert into t values (1, 0); commit;");
    (open(database).await, open(database).await)
}

const COUNT: &str = "select count(*) from t";
const UPDATE: &str = "update t set v = v + 1 where n = 1";

#[test]
fn snapshot_sees_its_beginning_and_read_committed_the_present() {
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
fn read_only_transaction_refuses_to_write() {
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
fn transaction_that_is_dropped_leaves_nothing() {
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
fn lock_conflict_without_waiting_fails_at_once_or_in_time() {
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
fn deadlock_fails_one_of_its_two_transactions() {
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
fn commit_that_is_refused_can_be_rolled_back() {
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

/// How many rows a stream has.
async fn counted(rows: &mut RowStream) -> usize {
    let mut count = 0;
    while let Some(batch) = rows.next().await.unwrap() {
        count += batch.len();
    }
    assert!(rows.has_ended());
    count
}

#[test]
fn rows_that_begin_with_their_transaction_are_those_of_its_beginning() {
    run(async {
        let database = Server::shared().database();
        let (db, other) = two(&database).await;
        let snapshot = || TransactionOptions {
            access: Access::ReadOnly,
            ..TransactionOptions::default()
        };
        let relations = "select count(*) from rdb$relations";
        let relations = int(&db.query(relations, &[]).await.unwrap());
        // Handles are used again: the transaction of each is another one, whatever else is open.
        let held = db.begin(TransactionOptions::default()).await.unwrap();
        for expected in 1..6 {
            let sql = "select a.n, b.rdb$relation_name from t a cross join rdb$relations b cross join rdb$relations c";
            let (transaction, mut rows) = db.begin_stream(snapshot(), sql, &[]).await.unwrap();
            let first = rows.next().await.unwrap().unwrap().len();
            let insert = "insert into t values (?, 0)";
            let number = Value::Integer(expected + 1);
            other.query(insert, &[number]).await.unwrap();
            let count = i64::try_from(first + counted(&mut rows).await).unwrap();
            assert_eq!(count, expected * relations * relations);
            // The transaction is there for more, and still sees its beginning.
            assert_eq!(int(&transaction.query(COUNT, &[]).await.unwrap()), expected);
            drop(rows);
            transaction.commit().await.unwrap();
        }
        assert_eq!(int(&held.query(COUNT, &[]).await.unwrap()), 1);
        // Left at any point, nothing is left behind.
        for _ in 0..20 {
            drop(db.begin_stream(snapshot(), COUNT, &[]).await.unwrap());
            let begun = db.begin_stream(snapshot(), COUNT, &[]);
            let _ = tokio::time::timeout(std::time::Duration::ZERO, begun).await;
        }
        is_usable(&db).await;
        held.roll_back().await.unwrap();
        let left =
            "select count(*) from mon$transactions where mon$attachment_id = current_connection";
        // The one that reads for all, and perhaps the one that asks.
        assert!(int(&db.query(left, &[]).await.unwrap()) <= 2);
    });
}

#[test]
fn rows_that_begin_with_their_transaction_take_values_of_any_size() {
    run(async {
        let database = Server::shared().database();
        let (db, _) = two(&database).await;
        let long = "x".repeat(100_000);
        let sql = "select n from t where char_length(cast(? as blob sub_type text)) = ?";
        for (text, length) in [("short", 5), (long.as_str(), 100_000)] {
            let values = [Value::Text(text.into()), Value::Integer(length)];
            let options = TransactionOptions::default();
            let (transaction, mut rows) = db.begin_stream(options, sql, &values).await.unwrap();
            assert_eq!(counted(&mut rows).await, 1);
            drop((rows, transaction));
        }
        let options = TransactionOptions::default();
        let refused = db.begin_stream(options, UPDATE, &[]).await;
        assert!(matches!(refused, Err(Error::NoCursor)));
        let failed = db.begin_stream(options, "select 1 / 0 from t", &[]).await;
        let (transaction, mut rows) = failed.unwrap();
        assert!(
            matches!(rows.next().await, Err(Error::Server(error)) if error.has(GdsCode::ARITHMETIC))
        );
        drop((rows, transaction));
        is_usable(&db).await;
    });
}

/// Polls a future once.
async fn has_ended<F: Future + Unpin>(future: &mut F) -> bool {
    poll_fn(|cx| Poll::Ready(Pin::new(&mut *future).poll(cx).is_ready())).await
}

#[test]
fn commit_that_was_not_waited_for_leaves_those_begun_meanwhile_alone() {
    run(async {
        let database = Server::shared().database();
        let (db, other) = two(&database).await;
        for round in 0..20 {
            let first = db.begin(TransactionOptions::default()).await.unwrap();
            first.query(UPDATE, &[]).await.unwrap();
            let mut commit = Box::pin(first.commit());
            // Both are sent; the server gives the second transaction the number of the first.
            assert!(!has_ended(&mut commit).await);
            let mut begin = Box::pin(db.begin(TransactionOptions::default()));
            assert!(!has_ended(&mut begin).await);
            drop(commit);
            let second = begin.await.unwrap();
            second.query(UPDATE, &[]).await.unwrap();
            second.commit().await.unwrap();
            let rows = other.query("select v from t", &[]).await.unwrap();
            assert_eq!(int(&rows), 2 * (round + 1));
        }
    });
}

#[test]
fn commit_that_is_refused_after_its_caller_left_is_rolled_back() {
    run(async {
        let database = Server::shared().database();
        let (db, other) = two(&database).await;
        database.isql(
            "create exception refused 'refused'; commit; set term ^;
             create trigger guard on transaction commit as begin
               if (exists (select 1 from t where v > 0)) then exception refused; end^ set term ;^ commit;",
        );
        let transaction = db.begin(TransactionOptions::default()).await.unwrap();
        transaction.query(UPDATE, &[]).await.unwrap();
        let mut commit = Box::pin(transaction.commit());
        assert!(!has_ended(&mut commit).await);
        drop(commit);
        db.reset().await;
        // Nobody has the row any more.
        let options = TransactionOptions {
            wait: Wait::No,
            ..TransactionOptions::default()
        };
        let next = other.begin(options).await.unwrap();
        next.query("update t set v = 0", &[]).await.unwrap();
        next.commit().await.unwrap();
        let rows = db.query("select v from t", &[]).await.unwrap();
        assert_eq!(int(&rows), 0);
    });
}
