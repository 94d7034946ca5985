//! Faults of what is stored: the database says of them what it says of a client's value. Rule: the log tells of them, without the value.

use std::io::Write;
use std::sync::{Arc, Mutex};

use tsumugi::serde_json::json;

use crate::{Engine, on_each};

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn stored_text_that_is_no_number_is_logged_though_it_is_answered_422() {
    let kept = Kept::default();
    let writer = kept.clone();
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
            let asked = json!({ "sql": sql, "value": 1 }).to_string();
            let call = client.post(&format!("/{face}/ask"));
            let reply = call.body("application/json", asked).await;
            assert_eq!(reply.status.as_u16(), 422, "{engine:?}, {face}");
            let log = String::from_utf8(std::mem::take(&mut *kept.0.lock().unwrap())).unwrap();
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
