//! What the server refuses, by what the caller can do about it.

use tsumugi_db::{Database, Error, Options, TransactionOptions, Value, values};
use tsumugi_testkit::firebird::{Server, User};

use super::{json, run, with};

async fn tables(db: &Database) {
    db.execute_script(
        "create table a(id int primary key, name varchar(3) not null, age int constraint adult check (age > 17));
         create table b(id int, a_id int constraint b_to_a references a(id));
         create unique index b_ids on b(id);
         insert into a values (1, 'x', 20);",
    )
    .await
    .unwrap();
}

#[track_caller]
fn check(error: &Error, kind: &str, constraint: Option<&str>) {
    assert_eq!(
        (error.kind(), error.constraint()),
        (kind, constraint),
        "{error} {:?}",
        error.detail()
    );
}

#[test]
fn violated_constraints_are_named() {
    with("", async |db| {
        tables(&db).await;
        let failed = async |sql: &str| db.execute(sql, []).await.unwrap_err();
        let error = failed("insert into a values (1, 'y', 30)").await;
        assert_eq!(error.kind(), "UniqueViolation");
        assert!(!error.to_string().contains("= 1"), "{error}");
        let error = failed("insert into b values (1, 2)").await;
        check(&error, "ForeignKeyViolation", Some("b_to_a"));
        let error = failed("insert into a values (2, null, 30)").await;
        check(&error, "NotNullViolation", Some("a.name"));
        let error = failed("insert into a values (3, 'z', 3)").await;
        check(&error, "CheckViolation", Some("adult"));
        db.execute("insert into b values (1, 1)", []).await.unwrap();
        let error = failed("insert into b values (1, 1)").await;
        check(&error, "UniqueViolation", Some("b_ids"));
        // The connection goes on.
        db.query("select * from a", []).await.unwrap();
    });
}

#[test]
fn error_in_the_sql_text_has_its_place() {
    with("", async |db| {
        for (sql, kind, position) in [
            ("selec 1 from rdb$database", "SyntaxError", Some(0)),
            ("select nothing\nfrom rdb$database", "SyntaxError", Some(7)),
            ("select 1 from\n  nowhere", "UndefinedTable", Some(16)),
            (
                "select '紡ぎ', nothing from rdb$database",
                "SyntaxError",
                Some(17),
            ),
        ] {
            let error = db.query(sql, []).await.unwrap_err();
            check(&error, kind, None);
            assert_eq!(error.position(), position, "{sql}: {error}");
            assert_eq!(error.sql(), Some(sql));
        }
        let again = "create table t(n int)";
        db.execute(again, []).await.unwrap();
        check(
            &db.execute(again, []).await.unwrap_err(),
            "SyntaxError",
            None,
        );
    });
}

#[test]
fn values_that_do_not_fit_are_shown_only_on_request() {
    with("", async |db| {
        tables(&db).await;
        let sql = "insert into a values (?, 'y', 20)";
        let error = db.execute(sql, values!["secret"]).await.unwrap_err();
        check(&error, "DataError", None);
        assert_eq!(error.code().as_deref(), Some("22018"));
        assert!(!format!("{error} {error:?}").contains("secret"), "{error}");
        assert!(error.detail().unwrap().contains("secret"));
        let error = db
            .execute("insert into a values (5, 'four', 20)", [])
            .await
            .unwrap_err();
        check(&error, "DataError", None);
        let error = db
            .query("select 1/0 from rdb$database", [])
            .await
            .unwrap_err();
        check(&error, "DataError", None);
    });
}

#[test]
fn value_that_a_function_or_a_clause_refuses_is_an_error_of_data() {
    with("", async |db| {
        let of = |expression: &str| format!("select {expression} from rdb$database");
        let with_rows = |clause: &str| format!("select 1 as one from rdb$database {clause}");
        for (sql, value) in [
            (of("sqrt(cast(? as integer)) as r"), Value::Integer(-1)),
            (of("ln(cast(? as integer)) as r"), Value::Integer(0)),
            (of("log10(cast(? as integer)) as r"), Value::Integer(-3)),
            (of("acos(cast(? as integer)) as r"), Value::Integer(2)),
            (of("power(0, cast(? as integer)) as r"), Value::Integer(-1)),
            (
                of("power(-8, cast(? as double precision)) as r"),
                Value::Real(0.5),
            ),
            (
                of("exp(cast(? as double precision)) as r"),
                Value::Real(1e6),
            ),
            (
                of("substring('abc' from 1 for cast(? as integer)) as r"),
                Value::Integer(-1),
            ),
            (
                of("left('abc', cast(? as integer)) as r"),
                Value::Integer(-1),
            ),
            (
                of("lpad('abc', cast(? as integer)) as r"),
                Value::Integer(-1),
            ),
            (
                of("char_to_uuid(cast(? as varchar(40))) as r"),
                Value::from("secret"),
            ),
            (
                of("char_to_uuid(cast(? as varchar(40))) as r"),
                Value::from("secret-93d05-4a29-8f4b-ab7a8f2f8e7b0"),
            ),
            (of("1 / cast(? as integer) as r"), Value::Integer(0)),
            (
                of("cast(dateadd(cast(? as integer) year to date '2024-01-01') as date) as r"),
                Value::Integer(20_000),
            ),
            (
                with_rows("where 'a' similar to cast(? as varchar(9))"),
                Value::from("("),
            ),
            (with_rows("offset ? rows"), Value::Integer(-1)),
            (with_rows("fetch first ? rows only"), Value::Integer(-1)),
        ] {
            let error = db.query(sql.as_str(), vec![value]).await.unwrap_err();
            let text = error.to_string();
            assert!(error.is_about_value(), "{sql}: {error:?}");
            assert_eq!(error.kind(), "DataError", "{sql}: {error}");
            assert!(
                !text.contains("error 33") && !text.contains("secret"),
                "{sql}: {text}"
            );
        }
    });
}

#[test]
fn an_error_of_the_schema_has_its_own_words() {
    with("", async |db| {
        db.execute_script("create exception e_stock '在庫切れ'; create procedure p as begin exception e_stock; end;")
            .await
            .unwrap();
        let error = db.execute("execute procedure p", []).await.unwrap_err();
        assert_eq!(error.kind(), "Error");
        assert!(error.to_string().contains("在庫切れ"), "{error}");
    });
}

#[test]
fn statement_for_another_method_is_refused_before_it_is_sent() {
    with("", async |db| {
        for sql in [
            "commit",
            "rollback",
            "savepoint a",
            "set transaction",
            "set role x",
        ] {
            let error = db.execute(sql, []).await.unwrap_err();
            check(&error, "UsageError", None);
        }
        let error = db
            .query("select ? from rdb$database where 1 = ?", values![1])
            .await
            .unwrap_err();
        assert!(
            matches!(error.kind(), "UsageError" | "SyntaxError"),
            "{error}"
        );
        let error = db
            .execute("delete from rdb$database where 1 = 0 and ? = 1", [])
            .await
            .unwrap_err();
        assert!(
            matches!(error.kind(), "UsageError" | "SyntaxError"),
            "{error}"
        );
    });
}

#[test]
fn wrong_password_and_missing_file_are_reported_at_once() {
    run(async {
        let server = Server::shared();
        let database = server.database();
        let url = database.url().replace(User::ADMIN.password, "guess");
        let missing = server.url_of(User::ADMIN, "/nowhere/at/all.fdb");
        for url in [url, missing] {
            let error = Database::connect(&url, Options::default())
                .await
                .unwrap_err();
            check(&error, "ConnectionLost", None);
            assert!(!error.to_string().contains("guess"), "{error}");
        }
    });
}

#[test]
fn script_that_would_change_the_session_is_refused_and_runs_nothing() {
    with("?pool=1", async |db| {
        tables(&db).await;
        let context = "select rdb$set_context('USER_SESSION', 'who', 'me') from rdb$database";
        for change in [
            "set role none",
            "set role rdb$admin",
            "alter session reset",
            context,
        ] {
            let script = format!("create table made (n int); {change}; select 1 from rdb$database");
            let refused = [
                db.execute_script(script.as_str()).await.unwrap_err(),
                db.execute(change, []).await.unwrap_err(),
                db.stream(change, []).await.err().unwrap(),
            ];
            let tx = db.begin(TransactionOptions::default()).await.unwrap();
            let within = [
                tx.execute_script(change).await.unwrap_err(),
                tx.query(change, []).await.unwrap_err(),
            ];
            for error in refused.iter().chain(&within) {
                assert_eq!(error.kind(), "UsageError", "{change}: {error}");
                assert!(error.to_string().contains("session"), "{change}: {error}");
            }
            // What is the transaction's own goes with it.
            let own =
                "select rdb$set_context('USER_TRANSACTION', 'who', 'me') as n from rdb$database";
            tx.query(own, []).await.unwrap();
            tx.commit().await.unwrap();
        }
        let sql = "select (select count(*) from rdb$relations where rdb$relation_name = 'MADE') as n, \
                   rdb$get_context('USER_SESSION', 'who') as who, current_role as r from rdb$database";
        let shown = json(&db, sql).await;
        assert_eq!(shown.replace(' ', ""), r#"[{"n":0,"who":null,"r":"NONE"}]"#);
    });
}

#[test]
fn a_write_whose_row_is_too_large_is_undone() {
    with("?rows_max_bytes=1000", async |db| {
        let table = "create table t(n integer not null primary key, s varchar(3000))";
        db.execute(table, []).await.unwrap();
        let insert = "insert into t(n, s) values (?, ?) returning s";
        let text = |length| "x".repeat(length);
        for number in 0..3 {
            let refused = db.query(insert, values![number, text(2000)]).await;
            let refused = refused.unwrap_err();
            assert_eq!(refused.kind(), "LimitExceeded", "{refused}");
        }
        db.query(insert, values![7, text(500)]).await.unwrap();
        assert_eq!(json(&db, "select n from t").await, r#"[{"n":7}]"#);
    });
}

#[test]
fn statement_that_an_administrator_cancels_is_not_reported_as_its_timeout() {
    let database = Server::shared().database();
    let url = database.url() + "?pool=1";
    run(async {
        let db = Database::connect(&url, Options::default()).await.unwrap();
        let administrator = Database::connect(&url, Options::default()).await.unwrap();
        let slow = "execute block returns (n bigint) as begin n = 0; while (n < 4000000000) do n = n + 1; suspend; end";
        let cancel = async {
            let delete = "delete from mon$statements where mon$sql_text like '%4000000000%' \
                          and mon$attachment_id <> current_connection and mon$state = 1";
            loop {
                administrator.execute(delete, []).await.unwrap();
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
        };
        let error = tokio::select! {
            stopped = db.query(slow, []) => stopped.unwrap_err(),
            () = cancel => unreachable!(),
        };
        assert!(matches!(error, Error::Cancelled { .. }), "{error}");
        assert_eq!(error.kind(), "QueryCanceled");
        assert!(!error.to_string().contains("statement_timeout"), "{error}");
        json(&db, "select 1 as one from rdb$database").await;
    });
}
