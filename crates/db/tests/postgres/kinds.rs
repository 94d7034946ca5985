//! Types that a database makes itself: rows, enums, domains; as they are, and after they were altered under open connections.

use tsumugi_db::{Database, PipelineAtomicity, TransactionOptions, ValueRef, values};

use crate::{json, with};

async fn check(db: &Database, sql: &str, expected: &str) {
    assert_eq!(json(db, sql).await, expected, "{sql}");
}

#[test]
fn rows_within_rows_are_objects() {
    with("", async |db| {
        db.execute_script(
            "create type place as (street text, number int); \
             create type mood as enum ('sad', 'ok'); \
             create domain positive as int check (value > 0); \
             create domain tiny as positive check (value < 10); \
             create type person as (name text, home place, mood mood, age tiny, others place[]); \
             create table people(id int, who person); \
             insert into people values (1, row('A', row('S', null), 'ok', 9, array[row('T', 1), null]::place[])), (2, null), (3, row(null, null, null, null, null))",
        )
        .await
        .unwrap();
        check(
            &db,
            "select id, who from people order by id",
            r#"[{"id":1,"who":{"name":"A","home":{"street":"S","number":null},"mood":"ok","age":9,"others":[{"street":"T","number":1},null]}},{"id":2,"who":null},{"id":3,"who":{"name":null,"home":null,"mood":null,"age":null,"others":null}}]"#,
        )
        .await;
        // A row of a table, whose type is the table's.
        check(
            &db,
            "select people from people where id = 2",
            r#"[{"people":{"id":2,"who":null}}]"#,
        )
        .await;
        // Without names.
        check(
            &db,
            "select row(1, 'a'::text, null, row(2, row(true))) as r, array[row(1, 2), row(3, null)] as rs, row() as none",
            r#"[{"r":{"f1":1,"f2":"a","f3":null,"f4":{"f1":2,"f2":{"f1":true}}},"rs":[{"f1":1,"f2":2},{"f1":3,"f2":null}],"none":{}}]"#,
        )
        .await;
        // As a parameter, as the server writes it.
        let rows = db
            .query(
                "select (?::place).number as n, (?::person).home as home",
                values!["(x,7)", "(B,\"(y,8)\",sad,1,)"],
            )
            .await
            .unwrap();
        let mut out = Vec::new();
        rows.write_json(&mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            r#"[{"n":7,"home":{"street":"y","number":8}}]"#
        );
    });
}

#[test]
fn a_row_without_a_name_says_what_to_do_about_types_of_ones_own() {
    with("", async |db| {
        db.execute_script("create type mood as enum ('sad', 'ok')")
            .await
            .unwrap();
        let rows = db
            .query("select row(1, 'ok'::mood) as r", [])
            .await
            .unwrap();
        let error = rows.write_json(&mut Vec::new()).unwrap_err();
        assert_eq!(error.kind(), "DataError");
        assert!(error.to_string().contains("to_jsonb"), "{error}");
        check(
            &db,
            "select to_jsonb(row(1, 'ok'::mood)) as r",
            r#"[{"r":{"f1": 1, "f2": "ok"}}]"#,
        )
        .await;
        check(
            &db,
            "select row(1, 'ok'::mood)::text as r",
            r#"[{"r":"(1,ok)"}]"#,
        )
        .await;
    });
}

#[test]
fn long_value_that_the_server_repeats_in_its_error_is_a_data_error() {
    with("?pool=1", async |db| {
        let long = "9".repeat(17 << 20);
        let session = "select pg_backend_pid() as pid";
        let before = json(&db, session).await;
        for _ in 0..2 {
            let error = db
                .query("select ?::int as n", values![long.clone()])
                .await
                .unwrap_err();
            assert_eq!(error.kind(), "DataError");
            assert!(error.to_string().len() < 2 << 20);
        }
        let after = json(&db, session).await;
        assert_eq!(before, after);
    });
}

#[test]
fn an_enum_that_got_another_label_is_read_and_written_with_it() {
    with("?pool=1", async |db| {
        db.execute_script("create type mood as enum ('sad', 'ok'); create table t(m mood)")
            .await
            .unwrap();
        let insert = "insert into t values (?)";
        db.execute(insert, values!["ok"]).await.unwrap();
        check(
            &db,
            "select m, array[m] as ms from t",
            r#"[{"m":"ok","ms":["ok"]}]"#,
        )
        .await;
        let error = db.execute(insert, values!["happy"]).await.unwrap_err();
        assert_eq!(error.kind(), "DataError", "{error}");
        db.execute("alter type mood add value 'happy'", [])
            .await
            .unwrap();
        db.execute(insert, values!["happy"]).await.unwrap();
        db.execute("alter type mood rename value 'ok' to 'fine'", [])
            .await
            .unwrap();
        db.execute(insert, values!["fine"]).await.unwrap();
        check(
            &db,
            "select m, array[m] as ms from t",
            r#"[{"m":"fine","ms":["fine"]},{"m":"happy","ms":["happy"]},{"m":"fine","ms":["fine"]}]"#,
        )
        .await;
        let rows = db
            .query("select ?::mood as m", values!["happy"])
            .await
            .unwrap();
        let value = rows.first().unwrap();
        let value = value.value(0).unwrap();
        assert!(
            matches!(value, ValueRef::Typed(_) | ValueRef::Text("happy")),
            "{value:?}"
        );
    });
}

#[test]
fn a_row_type_that_was_altered_is_read_as_it_is_now() {
    with("?pool=1", async |db| {
        db.execute_script("create table t(a int, b text); insert into t values (1, 'x'); create type place as (street text); create table homes(p place, ps place[]); insert into homes values (row('S'), array[row('T')]::place[])")
            .await
            .unwrap();
        let (whole, homes) = ("select t from t", "select p, ps from homes");
        check(&db, whole, r#"[{"t":{"a":1,"b":"x"}}]"#).await;
        check(
            &db,
            homes,
            r#"[{"p":{"street":"S"},"ps":[{"street":"T"}]}]"#,
        )
        .await;
        db.execute("alter table t add c int default 3", [])
            .await
            .unwrap();
        db.execute("alter table t drop b", []).await.unwrap();
        db.execute("alter type place add attribute number int cascade", [])
            .await
            .unwrap();
        check(&db, whole, r#"[{"t":{"a":1,"c":3}}]"#).await;
        check(
            &db,
            homes,
            r#"[{"p":{"street":"S","number":null},"ps":[{"street":"T","number":null}]}]"#,
        )
        .await;
        db.execute("alter table t rename c to d", []).await.unwrap();
        db.execute("alter table t add e int", []).await.unwrap();
        let own = db.begin(TransactionOptions::default()).await.unwrap();
        let mut out = Vec::new();
        let rows = own.query(whole, []).await.unwrap();
        rows.write_json(&mut out).unwrap();
        assert_eq!(
            String::from_utf8(out).unwrap(),
            r#"[{"t":{"a":1,"d":3,"e":null}}]"#
        );
        own.commit().await.unwrap();
        drop(own);
        for atomicity in [PipelineAtomicity::Each, PipelineAtomicity::All] {
            db.execute("alter type place add attribute more int cascade", [])
                .await
                .unwrap();
            let statements = vec![(homes.into(), vec![]), ("select 1".into(), vec![])];
            let outcomes = db.pipeline(statements, atomicity).await.unwrap();
            let mut out = Vec::new();
            outcomes[0].as_ref().unwrap().write_json(&mut out).unwrap();
            assert_eq!(
                String::from_utf8(out).unwrap(),
                r#"[{"p":{"street":"S","number":null,"more":null},"ps":[{"street":"T","number":null,"more":null}]}]"#
            );
            db.execute("alter type place drop attribute more cascade", [])
                .await
                .unwrap();
        }
    });
}
