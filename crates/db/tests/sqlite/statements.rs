//! Queries, executes and scripts outside transactions.

use tsumugi_db::values;

use crate::{count, json, open, query_json, run};

#[test]
fn writes_work_through_query_whatever_they_begin_with() {
    run(async {
        let f = open("").await;
        let rows =
            f.db.query("insert into t(n) values (?) returning id, n", values!["a"])
                .await
                .unwrap();
        assert_eq!(json(&rows), r#"[{"id":1,"n":"a"}]"#);
        let sql = "with x(n) as (values (?)) insert into t(n) select n from x returning id";
        assert_eq!(
            json(&f.db.query(sql, values!["b"]).await.unwrap()),
            r#"[{"id":2}]"#
        );
        f.db.query("pragma user_version = 7", []).await.unwrap();
        assert_eq!(
            query_json(&f.db, "pragma user_version").await,
            r#"[{"user_version":7}]"#
        );
        assert_eq!(
            query_json(&f.db, "-- note\n delete from t returning id").await,
            r#"[{"id":1},{"id":2}]"#
        );
    });
}

#[test]
fn affected_counts_the_statement_s_own_rows() {
    run(async {
        let f = open("").await;
        let affected = async |sql: &str| f.db.execute(sql, []).await.unwrap().affected;
        assert_eq!(affected("insert into t(n) values (1), (2), (3)").await, 3);
        assert_eq!(
            affected("create table u(t_id references t(id) on delete cascade)").await,
            0
        );
        assert_eq!(affected("insert into u select id from t").await, 3);
        assert_eq!(affected("alter table u add column x").await, 0);
        assert_eq!(affected("update t set n = 0 where n > 1").await, 2);
        assert_eq!(affected("update t set n = 0 where n > 1").await, 0);
        assert_eq!(affected("select * from t").await, 0);
        assert_eq!(affected("delete from t where n = 0").await, 2);
        assert_eq!(
            query_json(&f.db, "select count(*) as left from u").await,
            r#"[{"left":1}]"#
        );
    });
}

#[test]
fn last_insert_id_is_there_only_when_the_statement_inserted_a_row_with_one() {
    run(async {
        let f = open("").await;
        f.db.execute_script(
            "create table log(id integer primary key, what);
             insert into log values (900, 'first');
             create trigger logged after insert on t begin insert into log(what) values ('i'); end;
             create trigger changed after update on t begin insert into log(what) values ('u'); end;
             create table w(k primary key, v) without rowid;",
        )
        .await
        .unwrap();
        let id = async |sql: &str| f.db.execute(sql, []).await.unwrap().last_insert_id;
        assert_eq!(
            id("insert into t(id, n) values (41, 0), (42, 1)").await,
            Some(42)
        );
        assert_eq!(id("update t set n = 2 where id = 41").await, None);
        assert_eq!(id("insert or ignore into t(id) values (41)").await, None);
        assert_eq!(
            id("insert into t(id) values (41) on conflict do nothing").await,
            None
        );
        // Its trigger inserts, and the statement itself does not.
        let upsert = "insert into t(id, n) values (41, 0) on conflict(id) do update set n = 3";
        assert_eq!(id(upsert).await, None);
        assert_eq!(
            id("with x as (select 4) update t set n = 5 where id = 41").await,
            None
        );
        assert_eq!(id("insert into w values ('k', 1)").await, None);
        assert_eq!(
            id("insert into w values ('k', 1) on conflict(k) do update set v = 2").await,
            None
        );
        assert_eq!(id("delete from log").await, None);
        assert_eq!(
            id("with x as (select 50) insert into t(id) select * from x").await,
            Some(50)
        );
    });
}

#[test]
fn columns_follow_a_changed_table() {
    run(async {
        let f = open("").await;
        f.db.execute("insert into t(n) values (1)", [])
            .await
            .unwrap();
        let sql = "select * from t";
        assert_eq!(query_json(&f.db, sql).await, r#"[{"id":1,"n":1}]"#);
        f.db.execute("alter table t add column m default 'x'", [])
            .await
            .unwrap();
        for _ in 0..8 {
            assert_eq!(query_json(&f.db, sql).await, r#"[{"id":1,"n":1,"m":"x"}]"#);
            let mut stream = f.db.stream(sql, []).await.unwrap();
            assert_eq!(
                stream.columns().names().collect::<Vec<_>>(),
                ["id", "n", "m"]
            );
            assert_eq!(
                json(&stream.next().await.unwrap().unwrap()),
                r#"[{"id":1,"n":1,"m":"x"}]"#
            );
        }
    });
}

#[test]
fn results_of_one_statement_share_their_columns() {
    run(async {
        let f = open("pool=1").await;
        let first = f.db.query("select n from t", []).await.unwrap();
        let second = f.db.query("select n from t", []).await.unwrap();
        assert!(std::sync::Arc::ptr_eq(first.columns(), second.columns()));
    });
}

#[test]
fn scripts_run_to_the_first_failure_and_may_hold_a_transaction() {
    run(async {
        let f = open("").await;
        f.db.execute_script("insert into t(n) values (1); insert into t(n) values (2); -- end")
            .await
            .unwrap();
        assert_eq!(count(&f.db).await, 2);
        let error =
            f.db.execute_script("insert into t(n) values (3); insert into nowhere values (1)")
                .await
                .unwrap_err();
        assert_eq!(error.kind(), "UndefinedTable");
        assert_eq!(count(&f.db).await, 3);
        f.db.execute_script("begin; delete from t; commit;")
            .await
            .unwrap();
        assert_eq!(count(&f.db).await, 0);
        f.db.execute_script("").await.unwrap();
    });
}

#[test]
fn a_script_that_leaves_a_transaction_open_is_rolled_back() {
    run(async {
        let f = open("").await;
        let error =
            f.db.execute_script("begin; insert into t(n) values (1)")
                .await
                .unwrap_err();
        assert!(error.to_string().contains("COMMIT"), "{error}");
        let error = f
            .db
            .execute_script("begin; insert into t(n) values (1); insert into nowhere values (1)")
            .await;
        assert_eq!(error.unwrap_err().kind(), "UndefinedTable");
        assert_eq!(count(&f.db).await, 0);
        f.db.execute("insert into t(n) values (1)", [])
            .await
            .unwrap();
        assert_eq!(count(&f.db).await, 1);
    });
}

#[test]
fn a_script_may_switch_foreign_keys_off_but_not_for_the_next_caller() {
    run(async {
        let f = open("").await;
        f.db.execute("create table u(t_id references t(id))", [])
            .await
            .unwrap();
        f.db.execute_script("pragma foreign_keys = off; insert into u values (77)")
            .await
            .unwrap();
        let error =
            f.db.execute("insert into u values (78)", [])
                .await
                .unwrap_err();
        assert_eq!(error.kind(), "ForeignKeyViolation");
    });
}

#[test]
fn vacuum_on_a_pooled_connection_succeeds() {
    run(async {
        let f = open("").await;
        f.db.execute("vacuum", []).await.unwrap();
        assert_eq!(count(&f.db).await, 0);
    });
}
