//! Procedures that commit and then fail in the words of a statement that must be prepared anew. Rule: each has run once, however it was
//! asked for.

use tsumugi_db::{Database, PipelineAtomicity, TransactionOptions};

use super::with;

async fn times(db: &Database) -> usize {
    let rows = db.query("select * from ran", []).await.unwrap();
    db.execute("delete from ran", []).await.unwrap();
    rows.len()
}

#[test]
fn procedure_that_commits_and_fails_runs_once() {
    with("?pool=2", async |db| {
        db.execute_script(
            "create table ran(n int); create procedure p() language plpgsql as \
             $$ begin insert into ran values (1); commit; raise exception using errcode = '26000'; end $$",
        )
        .await
        .unwrap();
        let block =
            "do $$ begin insert into ran values (1); commit; execute 'execute nothing'; end $$";
        for sql in ["call p()", block] {
            for _ in 0..2 {
                assert_eq!(db.query(sql, []).await.unwrap_err().kind(), "Error");
                assert_eq!(times(&db).await, 1, "query: {sql}");
                assert_eq!(db.execute(sql, []).await.unwrap_err().kind(), "Error");
                assert_eq!(times(&db).await, 1, "execute: {sql}");
            }
            assert!(db.execute_script(sql).await.is_err());
            assert_eq!(times(&db).await, 1, "script: {sql}");
            for atomicity in [PipelineAtomicity::Each, PipelineAtomicity::All] {
                let statements = vec![(sql.into(), vec![]), ("select 1".into(), vec![])];
                let outcomes = db.pipeline(statements, atomicity).await.unwrap();
                assert!(outcomes[0].is_err());
                assert_eq!(times(&db).await, 1, "{atomicity:?}: {sql}");
            }
            let session = db.session().await.unwrap();
            assert!(session.query(sql, []).await.is_err());
            drop(session);
            assert_eq!(times(&db).await, 1, "session: {sql}");
            let tx = db.begin(TransactionOptions::default()).await.unwrap();
            assert_eq!(
                tx.query(sql, []).await.unwrap_err().code().as_deref(),
                Some("2D000")
            );
            drop(tx);
            assert_eq!(times(&db).await, 0, "transaction: {sql}");
        }
    });
}

#[test]
fn procedure_that_commits_and_is_stopped_may_have_run_in_part_and_says_so() {
    with("?pool=2&statement_timeout_ms=300", async |db| {
        db.execute_script(
            "create table ran(n int); create procedure p() language plpgsql as \
             $$ begin insert into ran values (1); commit; perform pg_sleep(30); end $$",
        )
        .await
        .unwrap();
        let session = db.session().await.unwrap();
        let statements = vec![("call p()".into(), vec![])];
        let outcomes = db.pipeline(statements, PipelineAtomicity::Each).await;
        for stopped in [
            db.execute("call p()", []).await.unwrap_err(),
            session.execute("call p()", []).await.unwrap_err(),
            session.execute_script("call p()").await.unwrap_err(),
            outcomes.unwrap().remove(0).unwrap_err(),
        ] {
            assert_eq!(stopped.kind(), "QueryCanceled", "{stopped}");
            let text = stopped.to_string();
            assert!(text.contains("may or may not have run"), "{text}");
        }
        drop(session);
        assert_eq!(times(&db).await, 4);
    });
}

#[test]
fn script_that_would_end_the_transaction_it_is_in_is_refused_and_runs_nothing() {
    with("?pool=1", async |db| {
        db.execute("create table ran(n int)", []).await.unwrap();
        for end in [
            "commit",
            "commit; begin",
            "commit and chain",
            "rollback",
            "rollback and chain",
            "commit; begin; select 1 / 0",
            "savepoint s; release s",
        ] {
            let tx = db.begin(TransactionOptions::default()).await.unwrap();
            let script = format!("insert into ran values (1); {end}");
            let refused = tx.execute_script(script).await.unwrap_err();
            assert_eq!(refused.kind(), "UsageError", "{end}");
            tx.execute("insert into ran values (2)", []).await.unwrap();
            drop(tx);
            assert_eq!(times(&db).await, 0, "{end}");
        }
    });
}

/// `end` may be that of a function's body, so it is sent.
#[test]
fn script_that_says_end_ends_the_transaction_it_is_in() {
    with("?pool=1", async |db| {
        db.execute("create table ran(n int)", []).await.unwrap();
        for behind in ["", "; select 1 / 0", " and chain"] {
            let tx = db.begin(TransactionOptions::default()).await.unwrap();
            let script = format!("insert into ran values (1); end{behind}");
            assert!(tx.execute_script(script).await.is_err(), "{behind}");
            let later = tx.execute("insert into ran values (2)", []).await;
            let reason = later.unwrap_err().to_string();
            assert!(reason.contains("a script in it"), "{behind}: {reason}");
            assert!(tx.commit().await.is_err(), "{behind}");
            times(&db).await;
        }
        let tx = db.begin(TransactionOptions::default()).await.unwrap();
        let body = "create function f() returns int begin atomic select 1; select 2; end";
        tx.execute_script(body).await.unwrap();
        tx.commit().await.unwrap();
    });
}

#[test]
fn copy_with_another_statement_beside_it_is_refused_and_runs_nothing() {
    with("?pool=1", async |db| {
        db.execute("create table ran(n int)", []).await.unwrap();
        let tx = db.begin(TransactionOptions::default()).await.unwrap();
        tx.execute("insert into ran values (1)", []).await.unwrap();
        for sql in [
            "commit; copy ran from stdin",
            "copy ran from stdin; commit",
            "insert into ran values (3)",
        ] {
            let refused = tx.copy_in(sql).await.map(drop);
            assert_eq!(refused.unwrap_err().kind(), "UsageError", "{sql}");
        }
        let refused = tx.copy_out("rollback; copy ran to stdout").await.map(drop);
        assert_eq!(refused.unwrap_err().kind(), "UsageError");
        drop(tx);
        assert_eq!(times(&db).await, 0);
        let sql = "set search_path to pg_catalog; copy public.ran to stdout";
        assert!(db.copy_out(sql).await.map(drop).is_err());
        let session = db.session().await.unwrap();
        assert!(session.copy_out(sql).await.map(drop).is_err());
        drop(session);
        assert_eq!(times(&db).await, 0);
    });
}
