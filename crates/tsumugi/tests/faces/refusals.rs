//! What both faces answer when a database cannot serve a request now, and when its schema refuses a value.

use tsumugi::prelude::schema::{Table, increments, integer, string};
use tsumugi::serde_json::json;

use crate::{on_each, on_each_with};

#[test]
fn request_for_which_no_connection_becomes_free_is_answered_503() {
    let schema = |_| "create table numbers (id integer not null primary key)".to_owned();
    on_each_with(
        "pool=1&acquire_timeout_ms=200",
        schema,
        async |engine, client| {
            for face in ["rust", "ruby"] {
                let path = format!("/{face}/occupy/1500");
                let occupy = async { client.post(&path).await.status.as_u16() };
                let ask = async {
                    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
                    let statement =
                        json!({ "sql": "insert into numbers (id) values (?)", "value": 1 });
                    let call = client.post(&format!("/{face}/ask"));
                    let reply = call.body("application/json", statement.to_string()).await;
                    let later = reply.header("retry-after").map(str::to_owned);
                    (reply.status.as_u16(), reply.text().to_owned(), later)
                };
                let (occupied, (status, text, later)) = tokio::join!(occupy, ask);
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
