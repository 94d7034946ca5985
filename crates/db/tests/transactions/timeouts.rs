//! What the error of a call outside of a transaction says that was stopped for its time. Rule: it says that nothing is kept only where that is certain.

use tsumugi_db::{Error, StatementOutcome};

use super::{Kind, numbers, on_each};

const WORDS: &str = "may or may not have run";

#[track_caller]
fn check(error: &Error, expected: StatementOutcome, context: &str) {
    let Error::Timeout { outcome, .. } = error else {
        panic!("{context}: {} {error}", error.kind());
    };
    assert_eq!(*outcome, expected, "{context}");
    let says_so = error.to_string().contains(WORDS);
    assert_eq!(says_so, expected == StatementOutcome::Unknown, "{error}");
    assert!(!error.is_retryable(), "{error}");
}

#[test]
fn script_that_is_stopped_may_have_run_in_part_and_says_so() {
    on_each("?statement_timeout_ms=1500", async |db, place| {
        let kind = place.kind;
        let endless = kind.endless();
        let script = format!("insert into t(n) values (1); {endless}");
        let error = db.execute_script(script).await.unwrap_err();
        check(&error, StatementOutcome::Unknown, &format!("{kind:?}"));
        // On PostgreSQL it is one transaction unless it says otherwise.
        let kept = match kind {
            Kind::Postgres => "",
            Kind::Sqlite | Kind::Firebird => "1",
        };
        assert_eq!(numbers(db).await, kept, "{kind:?}");
        if kind == Kind::Postgres {
            let script = format!("begin; insert into t values (2); commit; {endless}");
            let error = db.execute_script(script).await.unwrap_err();
            check(&error, StatementOutcome::Unknown, "a script of parts");
            assert_eq!(numbers(db).await, "2");
        }
    });
}

#[test]
fn script_that_is_stopped_in_a_transaction_is_undone_or_says_that_it_is_not() {
    on_each("?statement_timeout_ms=1500", async |db, place| {
        let kind = place.kind;
        let script = format!("insert into t(n) values (1); {}", kind.endless());
        let tx = super::begin(db).await;
        let error = tx.execute_script(script).await.unwrap_err();
        // SQLite's transaction goes on, with what came before.
        let expected = match kind {
            Kind::Sqlite => StatementOutcome::Unknown,
            Kind::Postgres | Kind::Firebird => StatementOutcome::RolledBack,
        };
        check(&error, expected, &format!("{kind:?}"));
        let committed = tx.commit().await;
        assert_eq!(committed.is_ok(), kind == Kind::Sqlite, "{committed:?}");
        let kept = match kind {
            Kind::Sqlite => "1",
            Kind::Postgres | Kind::Firebird => "",
        };
        assert_eq!(numbers(db).await, kept, "{kind:?}");
    });
}

#[test]
fn stream_that_is_stopped_says_whether_its_statement_may_have_run() {
    on_each("?statement_timeout_ms=1500", async |db, place| {
        let kind = place.kind;
        let opened = db.stream(kind.endless(), []).await;
        let error = match opened {
            Ok(mut stream) => stream.next().await.unwrap_err(),
            Err(error) => error,
        };
        // SQLite's stream only reads, and is stopped by the time that its caller knows.
        let expected = match kind {
            Kind::Sqlite => StatementOutcome::RolledBack,
            Kind::Postgres | Kind::Firebird => StatementOutcome::Unknown,
        };
        check(&error, expected, &format!("{kind:?}"));
    });
}
