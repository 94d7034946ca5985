//! Values of a client that the database does not take: 422 from both faces on every database, whoever finds it out.
//! Rule: what one database takes and another does not is in the table, by database.

use tsumugi::serde_json::{Value as Json, json};

use crate::Engine::{self, Firebird, Postgres, Sqlite};
use crate::on_each;

/// A statement, a value for its `?`, and the databases that do not take it; the others answer 204.
type Cell = (&'static str, Json, &'static [Engine]);

fn statements() -> Vec<Cell> {
    const AGE: &str = "update people set age = ? where id = 1";
    const NAME: &str = "update people set name = ? where id = 1";
    const BORN: &str = "update people set born = ? where id = 1";
    const KEY: &str = "insert into people (id, name) values (?, 'a')";
    const SERVERS: &[Engine] = &[Postgres, Firebird];
    let of = |sql: &'static str, refuse: &'static [Engine], values: Vec<Json>| {
        values.into_iter().map(move |value| (sql, value, refuse))
    };
    // Out of the range of its parameter, or of another kind.
    let numbers = vec![
        json!(99_999_999_999_i64),
        json!("99999999999"),
        json!("99999999999999999999999"),
        json!("old"),
        json!(""),
        json!(1e300),
        json!({ "a": 1 }),
        json!([1]),
    ];
    let long = vec![json!("x".repeat(11)), json!("é".repeat(11))];
    // Not a date, or none there is.
    let dates = vec![json!("soon"), json!("2023-02-29")];
    let cells = of(AGE, SERVERS, numbers)
        .chain(of(AGE, &[Postgres], vec![json!(1.5)]))
        .chain(of(NAME, SERVERS, long))
        .chain(of(NAME, &[Postgres], vec![json!("a\0b")]))
        .chain(of(BORN, SERVERS, dates))
        .chain(of(BORN, &[Firebird], vec![json!("99999-01-01")]))
        // The key of SQLite's table is a whole number.
        .chain(of(KEY, &[Sqlite, Postgres, Firebird], vec![json!("first")]));
    cells.collect()
}

/// Statements that only one database has.
fn own(engine: Engine) -> Vec<(&'static str, Json)> {
    match engine {
        Sqlite => vec![
            ("select json(?)", json!("{")),
            ("select abs(?)", json!(i64::MIN)),
            ("select json_extract('{}', ?)", json!("no path")),
            ("select * from words where words match ?", json!("\"")),
            ("insert into exact (n) values (?)", json!("many")),
        ],
        Postgres => vec![
            ("select ?::int", json!(99_999_999_999_i64)),
            ("select ?::int", json!(1.5)),
            ("select ?::smallint", json!(40_000)),
            ("select ?::bigint", json!("9223372036854775808")),
            ("select ?::int", json!(true)),
            ("select ?::boolean", json!(7)),
            ("select ?::boolean", json!("perhaps")),
            ("select ?::uuid", json!("1234")),
            ("select ?::jsonb", json!("{")),
            ("select ?::jsonb", json!({ "a": "\u{0}" })),
            ("select ?::int[]", json!("{1,")),
            ("select ?::inet", json!("::g")),
            ("select ?::numeric(4,1)", json!("12345.6")),
            ("select ?::timestamptz", json!("2024-01-01 25:00")),
            ("select ?::interval", json!("a while")),
            ("select 1 / ?::int", json!(0)),
            ("select ?::mood", json!("odd")),
            ("select 'a' ~ ?", json!("(")),
        ],
        Firebird => vec![
            (
                "select cast(? as integer) from rdb$database",
                json!(99_999_999_999_i64),
            ),
            (
                "select cast(? as smallint) from rdb$database",
                json!(40_000),
            ),
            (
                "select cast(? as date) from rdb$database",
                json!("2024-13-01"),
            ),
            (
                "select cast(? as varchar(3)) from rdb$database",
                json!("abcd"),
            ),
            (
                "select cast(? as boolean) from rdb$database",
                json!("perhaps"),
            ),
            ("select 1 / cast(? as integer) from rdb$database", json!(0)),
        ],
    }
}

fn schema(engine: Engine) -> String {
    let people = "create table people (id integer not null primary key, name varchar(10), age integer, born date);
                  insert into people (id, name) values (1, 'an');";
    let own = match engine {
        Sqlite => {
            "create virtual table words using fts5(word); create table exact (n integer) strict;"
        }
        Postgres => "create type mood as enum ('glad');",
        Firebird => "",
    };
    format!("{people}{own}")
}

#[test]
fn value_that_the_database_does_not_take_is_answered_422() {
    on_each(schema, async |engine, client| {
        let mut wrong = Vec::new();
        let shared = statements().into_iter();
        let shared = shared.map(|(sql, value, refuse)| (sql, value, refuse.contains(&engine)));
        let own = own(engine)
            .into_iter()
            .map(|(sql, value)| (sql, value, true));
        for (sql, value, is_refused) in shared.chain(own) {
            let expected = match is_refused {
                true => (
                    422,
                    "a value is not one that the database takes\n".to_owned(),
                ),
                false => (204, String::new()),
            };
            for face in ["rust", "ruby"] {
                let statement = json!({ "sql": sql, "value": value }).to_string();
                let call = client.post(&format!("/{face}/ask"));
                let reply = call.body("application/json", statement).await;
                let answer = (reply.status.as_u16(), reply.text().to_owned());
                if answer != expected {
                    wrong.push(format!("{face} {sql} {value}: {answer:?}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{engine:?}\n{}", wrong.join("\n"));
    });
}

#[test]
fn row_with_a_value_that_the_database_does_not_take_is_answered_422() {
    on_each(
        |engine| {
            schema(engine).replace(
                "id integer not null primary key",
                "id integer not null primary key check (id > 0)",
            )
        },
        async |engine, client| {
            for (id, (row, refuse)) in [
                (
                    json!({ "name": "x".repeat(11), "age": 1, "born": null }),
                    true,
                ),
                (
                    json!({ "name": "bo", "age": 5e9 as i64, "born": null }),
                    true,
                ),
                (json!({ "name": "bo", "age": "old", "born": null }), true),
                (
                    json!({ "name": "bo", "age": 3, "born": "2024-02-30" }),
                    true,
                ),
                (
                    json!({ "name": "bo", "age": 3, "born": "2024-02-29" }),
                    false,
                ),
            ]
            .into_iter()
            .enumerate()
            {
                // SQLite takes any value for any column of such a table.
                let expected = if refuse && engine != Sqlite { 422 } else { 201 };
                for (face, first) in [("rust", 10), ("ruby", 20)] {
                    let mut row = row.clone();
                    row["id"] = json!(first + id);
                    let call = client.post(&format!("/{face}/people"));
                    let reply = call.body("application/json", row.to_string()).await;
                    assert_eq!(
                        reply.status.as_u16(),
                        expected,
                        "{engine:?}, {face}: {row}: {}",
                        reply.text()
                    );
                }
            }
        },
    );
}

/// A schema whose one person is of an age.
fn aged(engine: Engine) -> String {
    let people = schema(engine);
    people.replace(
        "(id, name) values (1, 'an')",
        "(id, name, age) values (1, 'an', 30)",
    )
}

#[test]
fn value_that_is_calculated_with_and_is_no_number_is_answered_422() {
    on_each(aged, async |engine, client| {
        let mut wrong = Vec::new();
        for (value, is_refused) in [
            (json!(1), false),
            (json!("2"), false),
            (json!(null), false),
            (json!("abc"), true),
            (json!(""), true),
            (json!([1]), true),
            (json!({ "a": 1 }), true),
            (json!("x".repeat(10_000)), true),
            (json!("99999999999999999999999"), true),
        ] {
            // To SQLite every text is a number, and one takes any value.
            let expected = match (engine, is_refused) {
                (Sqlite, true) => continue,
                (_, true) => 422,
                (_, false) => 204,
            };
            for face in ["rust", "ruby"] {
                let call = client.post(&format!("/{face}/add"));
                let reply = call.body("application/json", value.to_string()).await;
                if reply.status.as_u16() != expected {
                    wrong.push(format!("{face} {value:.30}: {}", reply.text()));
                }
            }
        }
        assert!(wrong.is_empty(), "{engine:?}\n{}", wrong.join("\n"));
    });
}

#[test]
fn value_that_is_none_for_its_operator_is_answered_422() {
    on_each(aged, async |engine, client| {
        for (condition, status) in [
            (json!(["age", ">", 29]), 200),
            (json!(["age", ">", []]), 422),
            (json!(["age", "<=", [1, 2]]), 422),
            (json!(["name", "like", 5]), 422),
            (json!(["name", "not like", ["a"]]), 422),
            (json!(["name", "ilike", null]), 422),
            (json!(["age", "=>", 29]), 500),
        ] {
            for face in ["rust", "ruby"] {
                let call = client.post(&format!("/{face}/compare"));
                let reply = call.body("application/json", condition.to_string()).await;
                let answer = reply.text();
                assert_eq!(
                    reply.status.as_u16(),
                    status,
                    "{engine:?}, {face}: {condition}: {answer}"
                );
                let refusal = "a value is not one that the database takes\n";
                assert!(status != 422 || answer == refusal, "{face}: {answer}");
            }
        }
    });
}

#[test]
fn expression_that_doubles_without_end_is_refused() {
    on_each(aged, async |engine, client| {
        for face in ["rust", "ruby"] {
            for (times, expected) in [
                (0, "1"),
                (3, "1"),
                (18, "NODES_MAX is exceeded: at most 262144"),
                (150, "NODES_MAX is exceeded: at most 262144"),
            ] {
                let reply = client.post(&format!("/{face}/double/{times}")).await;
                let answer = reply.text();
                assert!(
                    answer.starts_with(expected),
                    "{engine:?}, {face}: {times}: {answer}"
                );
            }
        }
    });
}

#[test]
fn statement_without_values_is_a_fault_of_the_application() {
    on_each(schema, async |engine, client| {
        let sql = match engine {
            Sqlite => "select abs(-9223372036854775808)",
            Postgres => "select 1 / 0",
            Firebird => "select 1 / 0 from rdb$database",
        };
        let error = client.state().db.query(sql, []).await.unwrap_err();
        let status = tsumugi::prelude::Error::from(error).status();
        assert_eq!(status.as_u16(), 500, "{engine:?}");
    });
}
