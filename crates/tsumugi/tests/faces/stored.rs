//! Faults of what is stored: the database says of them what it says of a client's value. Rule: the log tells of them, without the value.

use tsumugi::serde_json::json;
use tsumugi_testkit::LogBuffer;

use crate::{Engine, on_each};

#[test]
fn stored_text_that_is_no_number_is_logged_though_it_is_answered_422() {
    let log = LogBuffer::default();
    let writer = log.clone();
    tracing_subscriber::fmt()
        .with_ansi(false)
        .with_max_level(tracing_subscriber::filter::LevelFilter::WARN)
        .with_writer(move || writer.clone())
        .init();
    let schema = |_| {
        "create table stored (id integer not null primary key, word varchar(20)); insert into stored values (1, 'secret_word');".to_owned()
    };
    on_each(schema, async |engine, client| {
        // SQLite makes a number of any text.
        if engine == Engine::Sqlite {
            return;
        }
        for face in ["rust", "ruby"] {
            let sql = "select cast(word as integer) from stored where id = ?";
            let statement = json!({ "sql": sql, "value": 1 }).to_string();
            let call = client.post(&format!("/{face}/ask"));
            let reply = call.body("application/json", statement).await;
            assert_eq!(reply.status.as_u16(), 422, "{engine:?}, {face}");
            let log = log.take();
            let said = log
                .lines()
                .filter(|line| line.contains("/ask: answered 422: "));
            let said: Vec<&str> = said
                .filter(|line| line.contains(" WARN ") && line.contains("SQLSTATE 22"))
                .collect();
            assert_eq!(said.len(), 1, "{engine:?}, {face}: {log}");
            assert!(!log.contains("secret_word"), "{engine:?}, {face}: {log}");
        }
    });
}
