//! What both faces answer when a database cannot serve a request now, and when its schema refuses a value.

use std::time::Duration;

use tsumugi::prelude::schema::{Table, increments, integer, string};
use tsumugi::serde_json::json;

use crate::{on_each, on_each_with};

/// How long a refusal may take to come, on a machine that does other things.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn request_for_which_no_connection_becomes_free_is_answered_503() {
    let schema = |_| "create table numbers (id integer not null primary key)".to_owned();
    on_each_with(
        "pool=1&acquire_timeout_ms=800",
        schema,
        async |engine, client| {
            for face in ["rust", "ruby"] {
                let path = format!("/{face}/occupy/3000");
                let occupy = async { client.post(&path).await.status.as_u16() };
                // Those that came before the connection was occupied are answered well.
                let ask = async {
                    for number in 1.. {
                        let statement = json!({ "sql": "insert into numbers (id) values (?)", "value": number });
                        let call = client.post(&format!("/{face}/ask"));
                        let reply = call.body("application/json", statement.to_string()).await;
                        if reply.status != 204 {
                            let later = reply.header("retry-after").map(str::to_owned);
                            return (reply.status.as_u16(), reply.text().to_owned(), later);
                        }
                    }
                    unreachable!("a number is left")
                };
                let refused = async {
                    tokio::time::timeout(PATIENCE, ask)
                        .await
                        .expect("one is refused")
                };
                let (occupied, (status, text, later)) = tokio::join!(occupy, refused);
                assert_eq!(occupied, 204, "{engine:?}, {face}");
                assert_eq!(
                    (status, text.as_str(), later.as_deref()),
                    (503, "the database is busy; try again later\n", Some("1")),
                    "{engine:?}, {face}"
                );
            }
        },
    );
}

#[test]
fn text_longer_than_its_column_is_answered_422() {
    on_each(
        |_| "create table numbers (id integer)".to_owned(),
        async |engine, client| {
            let db = &client.state().db;
            let people = Table::new("people")
                .column(increments("id"))
                .column(string("name", 10))
                .column(integer("age").nullable().unsigned());
            db.create(&people).await.unwrap();
            for face in ["rust", "ruby"] {
                for (column, value, status) in [
                    ("name", json!("x".repeat(10)), 204),
                    ("name", json!("x".repeat(11)), 422),
                    ("name", json!("é".repeat(10)), 204),
                    ("name", json!("é".repeat(11)), 422),
                    // A check of another kind stays one.
                    ("age", json!(-1), 500),
                ] {
                    let sql = match column {
                        "name" => "insert into people (name) values (?)",
                        _ => "insert into people (name, age) values ('bo', ?)",
                    };
                    let statement = json!({ "sql": sql, "value": value });
                    let call = client.post(&format!("/{face}/ask"));
                    let reply = call.body("application/json", statement.to_string()).await;
                    assert_eq!(
                        reply.status.as_u16(),
                        status,
                        "{engine:?}, {face}, {column} {value}: {}",
                        reply.text()
                    );
                }
            }
        },
    );
}
