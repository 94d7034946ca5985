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
fn a_script_that_commits_ends_the_transaction_it_is_in() {
    with("?pool=1", async |db| {
        db.execute("create table ran(n int)", []).await.unwrap();
        let tx = db.begin(TransactionOptions::default()).await.unwrap();
        let ended = tx
            .execute_script("insert into ran values (1); commit")
            .await;
        assert!(ended.unwrap_err().to_string().contains("COMMIT"));
        assert!(tx.execute("insert into ran values (2)", []).await.is_err());
        assert!(tx.commit().await.is_err());
        assert_eq!(times(&db).await, 1);
    });
}
