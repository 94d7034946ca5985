//! Statements that are one call, as an insert of many rows is. Rule: how many there are is not to be noticed, neither when one of them fails.

use std::rc::Rc;

use tsumugi_db::{Database, Executor, Result, Session, TransactionOptions};
use tsumugi_sql::{Statement, Value};
use tsumugi_testkit::poll::pend;

use crate::{Kind, begin, insert, numbers, on_each};

/// Inserts rows, the last of which has this value, in so many statements.
async fn inserts(executor: Executor, count: i64, last: impl Into<Value>) -> Result<u64> {
    let dialect = executor.dialect();
    let insert = |n| Statement::raw("insert into t(n) values (?)", vec![n], dialect).unwrap();
    let before = (0..count - 1).map(|n| insert(Value::Integer(100 + n)));
    let statements = before.chain([insert(last.into())]).collect();
    executor.run_all(statements).await
}

/// What comes of a call that fails in a transaction with the row 1, whose caller goes on: of the call, of the next, of the commit, and the rows.
async fn after_an_error(db: &Database, count: i64, wrong: &Value) -> String {
    let tx = Rc::new(begin(db).await);
    insert(&tx, 1).await;
    let call = inserts(Executor::Transaction(Rc::clone(&tx)), count, wrong.clone());
    let call = call.await.unwrap_err().kind();
    let next = tx.execute("insert into t(n) values (2)", []).await;
    let next = next.map_or_else(|error| error.kind(), |_| "done");
    let commit = tx.commit().await;
    let commit = commit.map_or_else(|error| error.kind(), |()| "done");
    let rows = numbers(db).await;
    db.execute("delete from t", []).await.unwrap();
    format!("{call}, {next}, {commit}: {rows}")
}

#[test]
fn a_call_that_fails_leaves_its_transaction_the_same_however_many_statements_it_has() {
    on_each("?pool=1", async |db, place| {
        // The last is not sent to PostgreSQL at all.
        let blob = || Value::Blob(vec![1]);
        for wrong in [Value::Integer(1), Value::Text("none".into()), blob()] {
            let one = after_an_error(db, 1, &wrong).await;
            assert_eq!(one, after_an_error(db, 3, &wrong).await, "{:?}", place.kind);
            match (place.kind, wrong == blob()) {
                (Kind::Postgres, false) => {
                    let spoiled = ", Error, TransactionRolledBack: ";
                    assert!(one.ends_with(spoiled), "{one}");
                }
                (kind, _) => assert!(one.ends_with(", done, done: 1 2"), "{kind:?}: {one}"),
            }
        }
    });
}

#[test]
fn a_call_that_fails_after_a_savepoint_is_undone_with_it() {
    on_each("?pool=1", async |db, place| {
        let tx = Rc::new(begin(db).await);
        insert(&tx, 1).await;
        for count in [1, 3] {
            let savepoint = tx.savepoint().await.unwrap();
            let call = inserts(Executor::Transaction(Rc::clone(&tx)), count, 1);
            assert_eq!(call.await.unwrap_err().kind(), "UniqueViolation");
            savepoint.roll_back().await.unwrap();
        }
        insert(&tx, 2).await;
        tx.commit().await.unwrap();
        assert_eq!(numbers(db).await, "1 2", "{:?}", place.kind);
    });
}

/// On PostgreSQL, in a session in which SQL began a transaction that has the row 1.
fn in_a_session(test: impl AsyncFn(&Rc<Session>)) {
    on_each("?pool=1", async |db, place| {
        if place.kind == Kind::Postgres {
            let session = Rc::new(db.session().await.unwrap());
            let begun = session.execute_script("begin; insert into t(n) values (1)");
            begun.await.unwrap();
            test(&session).await;
            session.execute_script("rollback").await.unwrap();
            drop(session);
            assert_eq!(numbers(db).await, "");
        }
    });
}

#[test]
fn a_call_belongs_to_the_transaction_that_sql_began() {
    in_a_session(async |session| {
        for count in [1, 3] {
            let call = inserts(Executor::Session(Rc::clone(session)), count, 10 + count);
            assert_eq!(call.await.unwrap(), u64::try_from(count).unwrap());
        }
    });
}

#[test]
fn a_call_that_fails_spoils_the_transaction_that_sql_began() {
    for count in [1, 3] {
        in_a_session(async |session| {
            let call = inserts(Executor::Session(Rc::clone(session)), count, 1);
            assert_eq!(call.await.unwrap_err().kind(), "UniqueViolation");
            let next = session.query("select 1", []).await.unwrap_err();
            assert_eq!(next.code().as_deref(), Some("25P02"), "{count}: {next}");
        });
    }
}

#[test]
fn a_call_that_is_dropped_in_the_transaction_that_sql_began_has_happened_wholly_or_not() {
    in_a_session(async |session| {
        for times in 0..12 {
            let call = inserts(Executor::Session(Rc::clone(session)), 3, 10);
            let is_done = pend(call, times).await.is_some();
            let all = session.execute("delete from t where n > 1", []).await;
            match all.unwrap().affected {
                0 => assert!(!is_done, "dropped after {times}"),
                deleted => assert_eq!(deleted, 3, "dropped after {times}"),
            }
        }
    });
}

#[test]
fn a_call_leaves_a_savepoint_that_sql_set_where_it_is_whatever_its_name() {
    in_a_session(async |session| {
        session.execute_script("savepoint s1").await.unwrap();
        let call = inserts(Executor::Session(Rc::clone(session)), 3, 10);
        call.await.unwrap();
        let undone = session.execute_script("rollback to savepoint s1");
        undone.await.unwrap();
        let left = session.execute("delete from t", []).await.unwrap();
        assert_eq!(left.affected, 1);
    });
}

#[test]
fn begin_in_a_transaction_that_sql_began_is_refused() {
    in_a_session(async |session| {
        let begun = session.begin(TransactionOptions::default()).await;
        assert_eq!(begun.unwrap_err().kind(), "UsageError");
    });
}
