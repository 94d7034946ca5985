//! Numbers of transactions: when they become known, and what another connection is answered about them. As a role without rights.

use tsumugi_pg::{
    Access, Atomicity, CertainEnd, Connection, Error, Isolation, Statement, Transaction,
    TransactionOptions, XactId, XactVerdict,
};
use tsumugi_pg_proto::TransactionStatus;
use tsumugi_pg_proto::sqlstate::SqlState;

use crate::{int, open, run};

const INSERT: &str = "insert into t values ($1) returning n";

/// A table of the session's own.
async fn make_table(db: &Connection) {
    let sql = "create temp table t (n int primary key)";
    db.script(sql).await.unwrap();
}

/// A connection with a table of its own, and another one that is asked.
async fn pair() -> (Connection, Connection) {
    let db = open("").await;
    make_table(&db).await;
    (db, open("").await)
}

async fn begin(db: &Connection) -> Transaction<'_> {
    let transaction = db.begin(TransactionOptions::default()).await.unwrap();
    assert_eq!(db.xact_id(), None);
    transaction
}

async fn status(asked: &Connection, db: &Connection, id: XactId) -> XactVerdict {
    let server = db.server_identity().expect("any role may ask who it is");
    asked.xact_status(id, &server).await.unwrap()
}

/// The number as a statement of the transaction itself is answered.
async fn number(db: &Connection) -> u64 {
    let sql = "select pg_current_xact_id()::text::int8";
    let rows = db.query(sql, &()).await.unwrap();
    let number: i64 = rows.first().unwrap().unwrap().value(0).unwrap();
    u64::try_from(number).unwrap()
}

#[test]
fn number_comes_with_the_first_write_and_stays() {
    run(async {
        let (db, other) = pair().await;
        let transaction = begin(&db).await;
        let rows = db.query("select n from t where n = $1", &(1,)).await;
        assert_eq!(rows.unwrap().len(), 0);
        assert_eq!(db.xact_id(), None);
        let none = db.execute("update t set n = n where n = $1", &(1,)).await;
        assert_eq!(none.unwrap(), 0);
        assert_eq!(db.xact_id(), None);
        let rows = db.query(INSERT, &(1,)).await.unwrap();
        assert_eq!((rows.len(), rows.affected(), int(&rows)), (1, 1, 1));
        let id = db.xact_id().unwrap();
        assert_eq!(id.number, number(&db).await);
        assert_eq!(status(&other, &db, id).await, XactVerdict::InProgress);
        db.query(INSERT, &(2,)).await.unwrap();
        assert_eq!(db.xact_id(), Some(id));
        transaction.commit().await.unwrap();
        assert_eq!(db.xact_id(), Some(id));
        assert_eq!(status(&other, &db, id).await, XactVerdict::Committed);
        // Outside of one nothing is asked.
        let rows = db.query(INSERT, &(3,)).await.unwrap();
        assert_eq!(rows.len(), 1);
        assert_eq!(db.xact_id(), Some(id));
    });
}

#[test]
fn number_of_what_was_rolled_back_is_that_of_nothing() {
    run(async {
        let (db, other) = pair().await;
        let transaction = begin(&db).await;
        let savepoint = transaction.savepoint().await.unwrap();
        db.query(INSERT, &(1,)).await.unwrap();
        db.query(INSERT, &(1,)).await.unwrap_err();
        savepoint.roll_back().await.unwrap();
        let id = db.xact_id().unwrap();
        db.query(INSERT, &(1,)).await.unwrap();
        transaction.roll_back().await.unwrap();
        assert_eq!(status(&other, &db, id).await, XactVerdict::RolledBack);
        let later = XactId {
            number: id.number + 1_000_000,
            ..id
        };
        assert_eq!(status(&other, &db, later).await, XactVerdict::RolledBack);
    });
}

#[test]
fn number_comes_behind_pipelines_and_before_the_commit_of_others() {
    run(async {
        let (db, other) = pair().await;
        let insert = Statement {
            sql: INSERT,
            values: &(1,),
        };
        let read = Statement {
            sql: "select n from t",
            values: &(),
        };
        let transaction = begin(&db).await;
        let rows = db.pipeline(&[insert, read], Atomicity::All).await.unwrap();
        let rows = rows.into_iter().map(|one| one.unwrap().len());
        assert_eq!(rows.collect::<Vec<_>>(), [1, 1]);
        let id = db.xact_id().unwrap();
        transaction.commit().await.unwrap();
        assert_eq!(status(&other, &db, id).await, XactVerdict::Committed);
        let transaction = begin(&db).await;
        db.script("insert into t values (2)").await.unwrap();
        assert_eq!(db.xact_id(), None);
        transaction.commit().await.unwrap();
        let id = db.xact_id().unwrap();
        assert_eq!(status(&other, &db, id).await, XactVerdict::Committed);
    });
}

#[test]
fn statements_that_come_before_the_first_snapshot_still_may() {
    run(async {
        let (db, _) = pair().await;
        let transaction = begin(&db).await;
        for sql in [
            "set local statement_timeout = 60000",
            "lock table t",
            "set transaction isolation level serializable",
        ] {
            db.execute(sql, &()).await.unwrap();
        }
        db.query(INSERT, &(1,)).await.unwrap();
        assert!(db.xact_id().is_some());
        transaction.commit().await.unwrap();
    });
}

#[test]
fn transaction_that_may_only_read_is_known_as_such() {
    run(async {
        let (db, _) = pair().await;
        let options = TransactionOptions {
            access: Access::ReadOnly,
            ..TransactionOptions::default()
        };
        let transaction = db.begin(options).await.unwrap();
        db.query("select n from t", &()).await.unwrap();
        assert!(db.has_only_read());
        db.query("select pg_notify('c', 'x')", &()).await.unwrap();
        assert!(!db.has_only_read());
        transaction.commit().await.unwrap();
    });
}

#[test]
fn end_is_certain_of_what_only_read_and_of_what_has_failed() {
    run(async {
        let (db, _) = pair().await;
        let read_only = TransactionOptions {
            access: Access::ReadOnly,
            ..TransactionOptions::default()
        };
        let any = TransactionOptions::default();
        let (read, wrong) = ("select n from t", "select 1 / 0");
        for (options, sql, expected) in [
            (read_only, read, Some(CertainEnd::Committed)),
            (read_only, wrong, Some(CertainEnd::RolledBack)),
            (any, wrong, Some(CertainEnd::RolledBack)),
            (any, read, None),
        ] {
            let transaction = db.begin(options).await.unwrap();
            let failed = db.query(sql, &()).await.is_err();
            assert_eq!(failed, sql == wrong);
            assert_eq!(db.certain_end(), None, "its COMMIT was not sent");
            let committed = transaction.commit().await;
            assert_eq!(committed.is_err(), failed);
            assert_eq!(db.certain_end(), expected, "{options:?} {sql}");
        }
        // What goes back to a savepoint is on its way when COMMIT is sent.
        let transaction = db.begin(read_only).await.unwrap();
        let savepoint = transaction.savepoint().await.unwrap();
        db.query(wrong, &()).await.unwrap_err();
        drop(savepoint);
        transaction.commit().await.unwrap();
        assert_eq!(db.certain_end(), None);
    });
}

#[test]
fn numbers_are_learnt_where_nothing_stays_prepared() {
    run(async {
        let db = open("?statement_cache=0").await;
        make_table(&db).await;
        let transaction = begin(&db).await;
        let rows = db.query(INSERT, &(1,)).await.unwrap();
        assert_eq!((rows.len(), int(&rows)), (1, 1));
        assert_eq!(db.xact_id().unwrap().number, number(&db).await);
        transaction.commit().await.unwrap();
    });
}

#[test]
fn standbys_are_not_waited_for_where_there_are_none_by_any_role() {
    run(async {
        let db = open("").await;
        db.await_standbys().await.unwrap();
    });
}

/// A text that was not prepared before, so that of all that is prepared only the question is missing.
fn insert_of(n: i32) -> String {
    format!("insert into t values ({n})")
}

#[test]
fn transaction_behind_a_deallocation_writes_and_has_a_number() {
    run(async {
        let (db, _) = pair().await;
        let mut n = 0;
        for way in ["outside", "behind a write", "in one pipeline with it"] {
            // The question is prepared by then.
            let transaction = begin(&db).await;
            n += 1;
            let insert = insert_of(n);
            match way {
                "behind a write" => {
                    db.execute(&insert, &()).await.unwrap();
                    db.execute("Deallocate all", &()).await.unwrap();
                }
                "in one pipeline with it" => {
                    let all = [&*insert, "/* a */ deallocate all"];
                    let all = all.map(|sql| Statement { sql, values: &() });
                    let outcomes = db.pipeline(&all, Atomicity::All).await.unwrap();
                    outcomes.into_iter().for_each(|one| drop(one.unwrap()));
                    assert!(db.xact_id().is_some(), "{way}");
                }
                _ => {}
            }
            transaction.commit().await.unwrap();
            if way == "outside" {
                db.execute("deallocate all", &()).await.unwrap();
            }
            for _ in 0..2 {
                let transaction = begin(&db).await;
                n += 1;
                db.execute(&insert_of(n), &()).await.unwrap();
                assert!(db.xact_id().is_some(), "{way}");
                transaction.commit().await.unwrap();
            }
            // A session that knows it again for the next way.
            db.discard().await;
            make_table(&db).await;
        }
    });
}

#[test]
fn question_that_a_function_has_deallocated_fails_one_transaction_and_no_other() {
    run(async {
        let (db, _) = pair().await;
        let function = "create function pg_temp.forget() returns int language plpgsql \
             as 'begin execute ''deallocate all''; return 1; end'";
        db.script(function).await.unwrap();
        begin(&db).await.commit().await.unwrap();
        let transaction = begin(&db).await;
        // What the server says of the question is the caller's error.
        let error = db.query("select pg_temp.forget()", &()).await.unwrap_err();
        let code = error.server().expect("the server says it").code;
        assert_eq!(code, SqlState::INVALID_SQL_STATEMENT_NAME, "{error}");
        assert_eq!(db.status(), TransactionStatus::Failed);
        let committed = transaction.commit().await;
        assert!(matches!(committed, Err(Error::RolledBack)), "{committed:?}");
        let transaction = begin(&db).await;
        db.execute(&insert_of(1), &()).await.unwrap();
        assert!(db.xact_id().is_some());
        transaction.commit().await.unwrap();
    });
}

#[test]
fn number_is_forgotten_when_a_script_ends_the_transaction_and_begins_another() {
    run(async {
        let (db, _) = pair().await;
        for script in [
            "commit; begin; insert into t values (2)",
            "rollback and chain; insert into t values (3)",
            "commit and chain; insert into t values (4)",
        ] {
            let transaction = begin(&db).await;
            db.execute("delete from t", &()).await.unwrap();
            db.execute(&insert_of(1), &()).await.unwrap();
            assert!(db.xact_id().is_some(), "{script}");
            db.script(script).await.unwrap();
            assert_eq!(db.xact_id(), None, "{script}");
            assert!(!db.has_only_read(), "{script}");
            transaction.commit().await.unwrap();
        }
        // One that goes back to a savepoint is the same.
        let transaction = begin(&db).await;
        db.execute("delete from t", &()).await.unwrap();
        let id = db.xact_id().unwrap();
        db.script("savepoint s; rollback to s").await.unwrap();
        assert_eq!(db.xact_id(), Some(id));
        transaction.commit().await.unwrap();
    });
}

#[test]
fn serializable_transaction_that_may_only_read_may_fail_at_its_end() {
    run(async {
        let (db, _) = pair().await;
        for (access, isolation, is_certain) in [
            (Access::ReadOnly, Isolation::RepeatableRead, true),
            (Access::ReadOnly, Isolation::Serializable, false),
            (Access::ReadOnlyDeferrable, Isolation::Serializable, true),
        ] {
            let options = TransactionOptions { isolation, access };
            let transaction = db.begin(options).await.unwrap();
            db.query("select n from t", &()).await.unwrap();
            assert_eq!(db.has_only_read(), is_certain, "{access:?} {isolation:?}");
            transaction.commit().await.unwrap();
        }
    });
}
