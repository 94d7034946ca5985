//! Inserts of many rows: all of them or none, also in a transaction that goes on after the error.

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
fn insert_of_many_rows_that_fails_keeps_none_of_them() {
    on_each(
        |_| TABLE.to_owned(),
        async |engine, client| {
            let rows = many(engine);
            for face in ["rust", "ruby"] {
                let ask = async |path: &str| {
                    let reply = client.post(&format!("/{face}/{path}/{rows}")).await;
                    reply.text().to_owned()
                };
                // The row that was inserted after the error is there.
                assert_eq!(ask("insert_all").await, "true 1", "{engine:?}, {face}");
                assert_eq!(
                    ask("insert_all_alone").await,
                    "true 0",
                    "{engine:?}, {face}"
                );
            }
        },
    );
}
