//! Inserts of many rows: all of them or none, and a transaction is the same after an error however many they were.

use crate::{Engine, on_each};

const TABLE: &str = "create table numbers (id bigint not null primary key);";

/// More rows than one statement takes: on SQLite and PostgreSQL by their binds, on Firebird every row is one.
fn many(engine: Engine) -> i64 {
    match engine {
        Engine::Sqlite => 40_000,
        Engine::Postgres => 70_000,
        Engine::Firebird => 300,
    }
}

#[test]
fn insert_of_any_number_of_rows_that_fails_keeps_none_of_them() {
    on_each(
        |_| TABLE.to_owned(),
        async |engine, client| {
            for (rows, face) in [2, many(engine)]
                .into_iter()
                .flat_map(|rows| [(rows, "rust"), (rows, "ruby")])
            {
                let ask = async |path: &str| {
                    let reply = client.post(&format!("/{face}/{path}/{rows}")).await;
                    match reply.status.as_u16() {
                        200 => reply.text().to_owned(),
                        status => status.to_string(),
                    }
                };
                // The row that was inserted after the error is there, but for PostgreSQL, which takes none after an error.
                let expected = match engine {
                    Engine::Postgres => "500",
                    Engine::Sqlite | Engine::Firebird => "true 1",
                };
                assert_eq!(
                    ask("insert_all").await,
                    expected,
                    "{engine:?}, {face}, {rows}"
                );
                let alone = ask("insert_all_alone").await;
                assert_eq!(alone, "true 0", "{engine:?}, {face}, {rows}");
            }
        },
    );
}
