//! The database type over a real PostgreSQL server: what every caller may rely on, and what differs from SQLite.

mod chaos;
mod connections;
mod doubt;
mod drops;
mod failover;
mod kinds;
mod late_commits;
mod load;
mod procedures;
mod replicas;
mod shared;
mod test_databases;

use std::rc::Rc;
use std::time::Duration;

use tokio::time::timeout;
use tsumugi_db::{
    Database, Error, Options, PipelineAtomicity, TransactionOptions, Value, ValueRef, values,
};
use tsumugi_testkit::postgres::Server;

/// Runs a test with an empty database of its own, on a runtime like a worker's.
fn with<F: Future<Output = ()>>(options: &str, test: impl FnOnce(Database) -> F) {
    let database = Server::shared().database();
    let url = database.url() + options;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let db = Database::connect(&url, Options::default()).await.unwrap();
        test(db.clone()).await;
        db.close();
    });
}

async fn json(db: &Database, sql: &str) -> String {
    let mut out = Vec::new();
    db.query(sql, [])
        .await
        .unwrap()
        .write_json(&mut out)
        .unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn rows_come_as_values_and_as_json() {
    with("", async |db| {
        let rows = db
            .query(
                "select ?::int4 as n, ? as t, ?::bool as b, null as x",
                values![7, "紡ぎ", true],
            )
            .await
            .unwrap();
        let row = rows.first().unwrap();
        let values: Vec<_> = row.values().collect();
        assert_eq!(
            values,
            [
                ValueRef::Integer(7),
                ValueRef::Text("紡ぎ"),
                ValueRef::Boolean(true),
                ValueRef::Null
            ]
        );
        let text = json(
            &db,
            "select 12345678901234567890.50::numeric as n, array[1,null,3] as a, '{\"k\": [1]}'::jsonb as j, \
             '2024-01-02 03:04:05.000006+01'::timestamptz as t, '\\xdead'::bytea as b, 'NaN'::float8 as f",
        );
        assert_eq!(
            text.await,
            r#"[{"n":"12345678901234567890.50","a":[1,null,3],"j":{"k": [1]},"t":"2024-01-02T02:04:05.000006Z","b":"3q0=","f":null}]"#
        );
    });
}

#[test]
fn errors_have_their_kind_and_hide_data() {
    with("", async |db| {
        db.execute_script(
            "create table t(id int primary key, name text not null, age int constraint grown check (age > 17)); \
             create table u(t int constraint there references t); insert into t values (1, 'a', 20)",
        )
        .await
        .unwrap();
        for (sql, kind, constraint) in [
            (
                "insert into t values (1, 'secret', 20)",
                "UniqueViolation",
                Some("t_pkey"),
            ),
            (
                "insert into t values (2, null, 20)",
                "NotNullViolation",
                Some("t.name"),
            ),
            (
                "insert into t values (2, 'secret', 1)",
                "CheckViolation",
                Some("grown"),
            ),
            (
                "insert into u values (9)",
                "ForeignKeyViolation",
                Some("there"),
            ),
            ("select 1 / 0", "DataError", None),
            ("selec 1", "SyntaxError", None),
            ("select pg_sleep(9) from missing", "UndefinedTable", None),
        ] {
            let error = db.query(sql, []).await.unwrap_err();
            assert_eq!(
                (error.kind(), error.constraint()),
                (kind, constraint),
                "{sql}: {error}"
            );
            assert!(
                !format!("{error} {error:?}").contains("secret"),
                "{error:?}"
            );
            assert_eq!(error.sql(), Some(sql));
        }
    });
}

#[test]
fn each_kind_of_refusal_has_its_error_and_none_shows_data() {
    with("", async |db| {
        let raise = |code: &str| {
            format!(
                "do $$ begin raise exception using errcode = '{code}', message = 'of the server', detail = 'secret'; end $$"
            )
        };
        for (code, kind) in [
            ("23505", "UniqueViolation"),
            ("23503", "ForeignKeyViolation"),
            ("23001", "ForeignKeyViolation"),
            ("23502", "NotNullViolation"),
            ("23514", "CheckViolation"),
            ("40001", "SerializationFailure"),
            ("40P01", "DeadlockDetected"),
            ("57014", "QueryCanceled"),
            ("22012", "DataError"),
            ("22P02", "DataError"),
            ("42601", "SyntaxError"),
            ("42P01", "UndefinedTable"),
            ("42703", "SyntaxError"),
            ("42501", "Error"),
            ("25006", "Error"),
            ("53200", "Error"),
            ("55P03", "Error"),
            ("P0001", "Error"),
        ] {
            let error = db.query(raise(code), []).await.unwrap_err();
            assert_eq!(error.kind(), kind, "{code}: {error}");
            assert!(
                !format!("{error} {error:?}").contains("secret"),
                "{error:?}"
            );
            assert_eq!(error.detail(), Some("secret"), "{code}");
        }
        let error = db.query("select ?::text::int", values!["secret"]).await;
        let error = error.unwrap_err();
        assert!(
            !format!("{error} {error:?}").contains("secret"),
            "{error:?}"
        );
        assert!(error.detail().unwrap().contains("secret"));
    });
}

#[test]
fn statement_that_changes_a_shared_session_is_refused_before_it_is_sent() {
    with("", async |db| {
        for sql in [
            "begin",
            "set search_path = x",
            "listen a",
            "create temp table t(n int)",
            "copy t from stdin",
            "select set_config('search_path', 'x', false)",
            "select \"set_config\"('search_path', 'x', false)",
            "select pg_catalog . \"pg_advisory_lock\"(5)",
            "with a as (select U&\"\\0070g_advisory_lock\"(5)) select * from a",
            "create temporary view v as select 1",
            "update \"pg_settings\" set setting = 'x' where name = 'search_path'",
            "create table \"pg_temp\".t(n int)",
        ] {
            let error = db.query(sql, []).await.unwrap_err();
            assert_eq!(error.kind(), "UsageError", "{sql}: {error}");
        }
        assert_eq!(json(&db, "select 1 as n").await, r#"[{"n":1}]"#);
    });
}

#[test]
fn a_transaction_dropped_is_rolled_back_before_the_next_has_its_connection() {
    with("?pool=1", async |db| {
        db.execute("create table t(n int)", []).await.unwrap();
        let transaction = db.begin(TransactionOptions::default()).await.unwrap();
        transaction
            .execute("insert into t values (?)", values![1])
            .await
            .unwrap();
        drop(transaction);
        assert_eq!(
            json(&db, "select count(*) as n from t").await,
            r#"[{"n":0}]"#
        );
        let transaction = db.begin(TransactionOptions::default()).await.unwrap();
        transaction
            .execute("insert into t values (?)", values![1])
            .await
            .unwrap();
        let savepoint = transaction.savepoint().await.unwrap();
        transaction
            .execute("insert into t values (?)", values![2])
            .await
            .unwrap();
        savepoint.roll_back().await.unwrap();
        transaction.commit().await.unwrap();
        assert!(matches!(
            transaction.query("select 1", []).await,
            Err(Error::Closed { .. })
        ));
        assert_eq!(json(&db, "select n from t").await, r#"[{"n":1}]"#);
    });
}

#[test]
fn a_setting_made_in_a_transaction_does_not_reach_the_next_user() {
    with("?pool=1", async |db| {
        let transaction = db.begin(TransactionOptions::default()).await.unwrap();
        transaction
            .execute("set application_name = 'changed'", [])
            .await
            .unwrap();
        transaction.commit().await.unwrap();
        drop(transaction);
        assert_eq!(
            json(&db, "show application_name").await,
            r#"[{"application_name":"tsumugi"}]"#
        );
    });
}

#[test]
fn a_stream_gives_all_rows_and_may_be_left() {
    with("?pool=1", async |db| {
        let mut stream = db
            .stream("select generate_series(1, ?::int) as n", values![30_000])
            .await
            .unwrap();
        let mut count = 0;
        while let Some(rows) = stream.next().await.unwrap() {
            count += rows.len();
        }
        assert_eq!(count, 30_000);
        drop(stream);
        let mut stream = db
            .stream("select generate_series(1, 1000000) as n", [])
            .await
            .unwrap();
        stream.next().await.unwrap().unwrap();
        drop(stream);
        assert_eq!(json(&db, "select 1 as n").await, r#"[{"n":1}]"#);
    });
}

#[test]
fn a_slow_statement_does_not_hold_up_its_neighbours() {
    with("?pool=2", async |db| {
        let slow = tokio::task::spawn_local({
            let db = db.clone();
            async move { db.query("select pg_sleep(60)", []).await.map(drop) }
        });
        tokio::time::sleep(Duration::from_millis(50)).await;
        for _ in 0..20 {
            let quick = timeout(Duration::from_secs(30), db.query("select 1", [])).await;
            quick.expect("it waits behind the slow one").unwrap();
        }
        assert!(!slow.is_finished());
        slow.abort();
    });
}

#[test]
fn pipelines_give_their_results_in_order() {
    with("", async |db| {
        db.execute("create table t(n int primary key)", [])
            .await
            .unwrap();
        let insert = |n: i64| ("insert into t values (?) returning n".into(), values![n]);
        let outcomes = db
            .pipeline(
                vec![insert(1), insert(1), insert(2)],
                PipelineAtomicity::Each,
            )
            .await
            .unwrap();
        assert_eq!(
            outcomes.iter().map(Result::is_ok).collect::<Vec<_>>(),
            [true, false, true]
        );
        let outcomes = db
            .pipeline(
                vec![insert(3), insert(1), insert(4)],
                PipelineAtomicity::All,
            )
            .await
            .unwrap();
        assert!(outcomes.iter().all(Result::is_err));
        assert_eq!(outcomes[1].as_ref().unwrap_err().kind(), "UniqueViolation");
        assert_eq!(
            json(&db, "select n from t order by n").await,
            r#"[{"n":1},{"n":2}]"#
        );
    });
}

#[test]
fn lists_are_arrays_and_json() {
    with("", async |db| {
        let list = Value::List(values![1, 2, 3]);
        let rows = db
            .query(
                "select sum(n) as s from unnest(?::int[]) n",
                vec![list.clone()],
            )
            .await
            .unwrap();
        assert_eq!(rows.first().unwrap().value(0), Some(ValueRef::Integer(6)));
        let rows = db
            .query("select (?::jsonb)->1 as second", vec![list])
            .await
            .unwrap();
        let mut out = Vec::new();
        rows.write_json(&mut out).unwrap();
        assert_eq!(out, br#"[{"second":2}]"#);
    });
}

#[test]
fn a_server_that_goes_away_is_found_again() {
    let server = Server::start();
    let url = server.url(tsumugi_testkit::postgres::User::TRUST);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let db = Database::connect(&url, Options::default()).await.unwrap();
        let waiting = tokio::task::spawn_local({
            let db = db.clone();
            async move { db.query("select pg_sleep(60)", []).await.map(drop) }
        });
        let runs = "select count(*) from pg_stat_activity \
            where query like 'select pg_sleep%' and state = 'active'";
        while server.psql(runs) != "1" {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        server.restart();
        let lost = timeout(Duration::from_secs(50), waiting)
            .await
            .unwrap()
            .unwrap();
        assert_eq!(lost.unwrap_err().kind(), "ConnectionLost");
        let rows = timeout(Duration::from_secs(60), db.query("select 1 as n", [])).await;
        assert_eq!(rows.unwrap().unwrap().len(), 1);
    });
}

#[test]
fn wrong_password_is_reported_at_once_and_not_shown() {
    let url = Server::shared().url(tsumugi_testkit::postgres::User::SCRAM);
    let wrong = url.replacen("@", "wrong@", 1);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let error = Database::connect(&wrong, Options::default())
            .await
            .unwrap_err();
        let password = tsumugi_testkit::postgres::User::SCRAM.password.unwrap();
        assert!(!format!("{error} {error:?}").contains(password));
        assert_eq!(error.kind(), "ConnectionLost");
    });
}

#[test]
fn many_tasks_share_few_connections() {
    with("?pool=4", async |db| {
        let db = Rc::new(db);
        let tasks: Vec<_> = (0..500_i64)
            .map(|number| {
                let db = Rc::clone(&db);
                tokio::task::spawn_local(async move {
                    let rows = db
                        .query("select ?::int8 as n", values![number])
                        .await
                        .unwrap();
                    assert_eq!(
                        rows.first().unwrap().value(0),
                        Some(ValueRef::Integer(number))
                    );
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert!(db.snapshot().connections <= 4);
    });
}
