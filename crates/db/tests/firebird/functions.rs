//! Functions and blocks that write, in queries outside of any transaction. Rule: what they say they did is there, once.

use tsumugi_db::Database;

use super::{json, with};

/// `hides(n)` adds a row and answers -1 if that is refused; `counts(n)` takes a number and adds a row.
async fn functions(db: &Database) {
    let script = "
        create table t(n integer not null primary key);
        create sequence s;
        create function hides(n int) returns int as begin
          begin insert into t(n) values (:n); when any do return -1; end return n; end;
        create function counts(n int) returns int as declare x int; begin
          x = next value for s; insert into t(n) values (:n); return x; end;
        create global temporary table mine(n int) on commit delete rows;
        create function leaves(n int) returns int as begin insert into mine(n) values (:n); return n; end;";
    db.execute_script(script).await.unwrap();
}

#[test]
fn a_function_that_handles_errors_by_itself_writes_in_a_query() {
    with("?pool=1", async |db| {
        functions(&db).await;
        for (sql, expected) in [
            ("select hides(1) as r from rdb$database", r#"[{"r":1}]"#),
            ("select \"HIDES\"(2) as r from rdb$database", r#"[{"r":2}]"#),
            (
                "execute block returns (r int) as begin
                   begin insert into t(n) values (3); r = 3; when any do r = -1; end suspend; end",
                r#"[{"r":3}]"#,
            ),
            (
                "execute block returns (r int) as declare x int; begin for select 1 from rdb$database into x do begin
                   begin insert into t(n) values (4); r = 4; when any do r = -1; end suspend; end end",
                r#"[{"r":4}]"#,
            ),
        ] {
            assert_eq!(json(&db, sql).await, expected, "{sql}");
        }
        let script = "select hides(5) from rdb$database; execute block as declare x int; begin for select 1 from rdb$database into x do
            begin insert into t(n) values (6); when any do x = 0; end end";
        db.execute_script(script).await.unwrap();
        let found = json(&db, "select list(n) as n from (select n from t order by n)").await;
        assert_eq!(found, r#"[{"n":"1,2,3,4,5,6"}]"#);
    });
}

#[test]
fn a_function_that_counts_and_then_writes_runs_once() {
    with("?pool=1", async |db| {
        functions(&db).await;
        for number in 1..=3 {
            let sql = format!("select counts({number}) as r from rdb$database");
            assert_eq!(json(&db, &sql).await, format!(r#"[{{"r":{number}}}]"#));
        }
        let found = json(&db, "select count(*) as n from t").await;
        assert_eq!(found, r#"[{"n":3}]"#);
    });
}

#[test]
fn context_set_by_a_query_is_unseen_by_the_next_caller() {
    with("?pool=1", async |db| {
        functions(&db).await;
        let set =
            "select rdb$set_context('USER_TRANSACTION', 'tenant', 'A') as r from rdb$database";
        json(&db, set).await;
        let context = "select rdb$get_context('USER_TRANSACTION', 'tenant') as r from rdb$database";
        assert_eq!(json(&db, context).await, r#"[{"r":null}]"#);
        json(&db, "select leaves(1) as r from rdb$database").await;
        assert_eq!(json(&db, "select n from mine").await, "[]");
    });
}

#[test]
fn statement_executed_by_a_block_sets_no_context_of_the_session() {
    with("?pool=1", async |db| {
        let set = "execute block as declare n int; begin
            execute statement 'select rdb$set_context(''USER_SESSION'', ''who'', ''A'') from rdb$database' into n; end";
        let refused = db.query(set, []).await.unwrap_err();
        assert_eq!(refused.kind(), "UsageError", "{refused}");
        let refused = db.execute_script(set).await.unwrap_err();
        assert_eq!(refused.kind(), "UsageError", "{refused}");
        let context = "select rdb$get_context('USER_SESSION', 'who') as r from rdb$database";
        assert_eq!(json(&db, context).await, r#"[{"r":null}]"#);
    });
}
