//! Failures by kind, what they carry and what they never print.

use tsumugi_db::{Error, Options, TransactionOptions, Value, values};

use crate::{count, open, run};

/// Runs `sql` after `schema` and gives the error.
fn error(schema: &str, sql: &str, values: Vec<Value>) -> Error {
    run(async {
        let f = open("").await;
        f.db.execute_script(schema).await.unwrap();
        f.db.query(sql, values).await.unwrap_err()
    })
}

fn check_constraint(schema: &str, sql: &str, kind: &str, constraint: Option<&str>) {
    let error = error(schema, sql, Vec::new());
    assert_eq!(
        (error.kind(), error.constraint()),
        (kind, constraint),
        "{sql}: {error}"
    );
    assert_eq!(error.sql(), Some(sql));
}

#[test]
fn violated_constraints_are_typed_and_named() {
    let users = "create table users(id integer primary key, email text unique, name text not null default '',
                     age integer constraint age_is_real check (age < 200), t_id references t(id), unique(name, age));
                 insert into users(id, email, name, age) values (1, 'a', 'n', 1)";
    let check = |sql, kind, constraint| check_constraint(users, sql, kind, constraint);
    check(
        "insert into users(email) values ('a')",
        "UniqueViolation",
        Some("users.email"),
    );
    check(
        "insert into users(name, age) values ('n', 1)",
        "UniqueViolation",
        Some("users.name, users.age"),
    );
    check(
        "insert into users(id) values (1)",
        "UniqueViolation",
        Some("users.id"),
    );
    check(
        "insert into users(name) values (null)",
        "NotNullViolation",
        Some("users.name"),
    );
    check(
        "insert into users(age) values (201)",
        "CheckViolation",
        Some("age_is_real"),
    );
    check(
        "insert into users(t_id) values (5)",
        "ForeignKeyViolation",
        None,
    );
    let index =
        "create table a(x); create unique index lower_x on a(lower(x)); insert into a values ('Q')";
    check_constraint(
        index,
        "insert into a values ('q')",
        "UniqueViolation",
        Some("index 'lower_x'"),
    );
}

#[test]
fn syntax_errors_say_where() {
    let check = |sql: &str, part: &str| {
        let error = error("", sql, Vec::new());
        assert_eq!(error.kind(), "SyntaxError", "{error}");
        assert_eq!(
            error.position().map(|at| &sql[at..at + part.len()]),
            Some(part),
            "{error}"
        );
    };
    check("select * form t", "form");
    check("  \n select * form t  ", "form");
    check("select '紡ぎ' form t order", "t");
    check("select nothing from t", "nothing");
    assert_eq!(
        error("", "select * from nowhere", Vec::new()).kind(),
        "UndefinedTable"
    );
    let script = "select 1; selct 2";
    let error = run(async { open("").await.db.execute_script(script).await.unwrap_err() });
    assert_eq!(error.position().map(|at| &script[at..]), Some("selct 2"));
}

#[test]
fn misused_statement_is_a_usage_error_with_advice() {
    let check = |sql: &str, values: Vec<Value>, part: &str| {
        let error = error("", sql, values);
        assert!(matches!(error, Error::Usage { .. }), "{sql}: {error:?}");
        assert!(error.to_string().contains(part), "{sql}: {error}");
    };
    check("select ?, ?", values![1], "2 placeholders but 1 values");
    check("select 1", values![1, 2], "0 placeholders but 2 values");
    check("select 1; select 2", vec![], "execute_script");
    check(" -- nothing", vec![], "no statement");
    check("", vec![], "no statement");
    for sql in [
        "begin",
        "BEGIN IMMEDIATE",
        "commit",
        "end",
        "rollback",
        "savepoint a",
        "/* */ release a",
    ] {
        check(sql, vec![], "use a transaction");
    }
    check("attach 'x' as y", vec![], "connect to the other database");
    check("create temp table x(a)", vec![], "temporary");
    check("pragma query_only = 0", vec![], "database URL");
    check("pragma foreign_keys(0)", vec![], "database URL");
    check("pragma busy_timeout = 1", vec![], "database URL");
}

#[test]
fn refused_statements_change_no_connection() {
    run(async {
        let f = open("pool=1").await;
        for sql in [
            "pragma foreign_keys = off",
            "begin",
            "pragma query_only = off",
        ] {
            f.db.execute(sql, []).await.unwrap_err();
            f.db.query(sql, []).await.unwrap_err();
        }
        let tx = f.db.begin(TransactionOptions::default()).await.unwrap();
        let rows = tx.query("pragma foreign_keys", []).await.unwrap();
        assert_eq!(crate::json(&rows), r#"[{"foreign_keys":1}]"#);
        drop(tx);
        let rows = f.db.query("pragma query_only", []).await.unwrap();
        assert_eq!(crate::json(&rows), r#"[{"query_only":1}]"#);
    });
}

#[test]
fn scripts_take_no_values_and_transactions_no_begin() {
    run(async {
        let f = open("").await;
        let error =
            f.db.execute_script("insert into t(n) values (?)")
                .await
                .unwrap_err();
        assert!(error.to_string().contains("no values"), "{error}");
        let tx = f.db.begin(TransactionOptions::default()).await.unwrap();
        for sql in ["commit", "begin", "insert into t(n) values (1); rollback"] {
            assert_eq!(
                tx.execute_script(sql).await.unwrap_err().kind(),
                "UsageError"
            );
        }
        tx.commit().await.unwrap();
        assert_eq!(count(&f.db).await, 1);
    });
}

#[test]
fn display_and_debug_show_neither_binds_nor_sql() {
    let checks = [
        (
            "insert into u values (?, 'sqlsecret')",
            values!["bindsecret"],
        ),
        ("select * from f where f match ?", values!["bindsecret : x"]),
        ("select json(?), 'sqlsecret'", values!["bindsecret"]),
        ("select nothing, 'sqlsecret', ?", values!["bindsecret"]),
        ("select 'sqlsecret', ?, ?", values!["bindsecret"]),
    ];
    for (sql, values) in checks {
        let schema = "create table u(a unique, b); insert into u values ('bindsecret', 1); create virtual table f using fts5(x)";
        let error = error(schema, sql, values.clone());
        let printed = format!("{error} {error:?}");
        assert!(!printed.contains("secret"), "{printed}");
        assert_eq!((error.sql(), error.binds()), (Some(sql), &*values));
    }
}

#[test]
fn message_of_the_database_is_there_on_request() {
    let error = error(
        "create virtual table f using fts5(x)",
        "select * from f where f match ?",
        values!["someword : x"],
    );
    assert_eq!(error.kind(), "Error");
    assert!(
        error.detail().unwrap().contains("word"),
        "{:?}",
        error.detail()
    );
}

#[test]
fn error_raised_by_a_trigger_is_shown() {
    let schema = "create trigger no before delete on t begin select raise(abort, 'rows stay'); end; insert into t values (1, 1)";
    let error = error(schema, "delete from t where id = ?", values![1]);
    assert!(error.to_string().contains("rows stay"), "{error}");
}

#[test]
fn kind_of_a_statement_or_open_error_is_listed_in_kinds() {
    let sample = [
        error("", "select", vec![]),
        error("", "select ?", vec![]),
        run(tsumugi_db::Database::connect(
            "sqlite:/no/where.db",
            Options::default(),
        ))
        .unwrap_err(),
    ];
    assert!(
        sample
            .iter()
            .all(|error| Error::KINDS.contains(&error.kind()))
    );
}
