//! What the log shows of statements, wherever they run: nothing unless it is asked for; then the SQL, the values, the rows and the
//! time.

use std::io::Write;
use std::sync::{Arc, Mutex};

use crate::{BOTH, Engine, Served};

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
fn statements_are_logged_only_when_asked_for() {
    let kept = Kept::default();
    let writer = kept.clone();
    tracing_subscriber::fmt()
        .with_ansi(false)
        .with_max_level(tracing::Level::DEBUG)
        .with_writer(move || writer.clone())
        .init();
    for engine in BOTH {
        let app = format!(
            "get('/') {{ db.query('select cast(? as text) as {engine:?}_MARK', 'secret_bind').size.to_s }}"
        );
        Served::new(engine, "log: false", &app.replace("MARK", "quiet")).check("/", "1");
        Served::new(engine, "log: true", &app.replace("MARK", "asked")).check("/", "1");
        // The rig serves in development mode.
        Served::new(engine, "", &app.replace("MARK", "development")).check("/", "1");
    }
    for (log, mark) in [("false", "hushed"), ("true", "told")] {
        let served = Served::new(Engine::Postgres, &format!("log: {log}"), &everywhere(mark));
        served.check("/", "done");
    }
    let text = String::from_utf8(kept.0.lock().unwrap().clone()).unwrap();
    for engine in BOTH {
        let lines = |mark: &str| -> Vec<&str> {
            let name = format!("{engine:?}_{mark}");
            let ours = text.lines().filter(|line| line.contains("tsumugi_db"));
            ours.filter(|line| line.contains(&name)).collect()
        };
        assert_eq!(lines("quiet"), [""; 0]);
        for mark in ["asked", "development"] {
            let line = lines(mark).join("\n");
            for part in ["secret_bind", "rows=1", "ms="] {
                assert!(line.contains(part), "{engine:?} {mark}: {line}");
            }
        }
    }
    let lines = |part: &str| -> Vec<&str> {
        let ours = text.lines().filter(|line| line.contains("tsumugi_db"));
        ours.filter(|line| line.contains(part)).collect()
    };
    assert_eq!(lines("hushed"), [""; 0]);
    for (part, rows) in [
        ("insert into told_t", "rows=1"),
        ("as told_session", "rows=1"),
        ("as told_script", ""),
        ("as told_piped_a", "rows=1"),
        ("as told_piped_b", "rows=0"),
        ("as told_stream", ""),
        ("copy told_t from", "rows=2"),
        ("copy told_t to", "rows=3"),
        ("copy told_missing", "fault="),
        ("as told_transaction", "rows=1"),
    ] {
        let found = lines(part);
        assert_eq!(found.len(), 1, "{part}: {found:?}");
        assert!(found[0].contains(rows), "{found:?}");
        assert!(found[0].contains("ms="), "{found:?}");
    }
}

/// Every way for a statement to run. PostgreSQL's, of which SQLite has not all.
fn everywhere(mark: &str) -> String {
    "get('/') do
       db.connection do
         db.execute 'create table MARK_t(n int)'
         db.execute 'insert into MARK_t values (?)', 1
         db.query 'select 1 as MARK_session'
         db.execute_script 'select 1 as MARK_script; select 2'
       end
       db.copy_in('copy MARK_t from stdin') { |io| io.row(2); io.row(3) }
       db.copy_out('copy MARK_t to stdout') { |bytes| bytes }
       db.copy_out('copy MARK_missing to stdout') { |bytes| bytes } rescue 0
       db.pipeline { |p| p.query 'select 1 as MARK_piped_a'; p.query 'select 1 as MARK_piped_b where false' }
       db.stream('select 1 as MARK_stream').to_a
       db.transaction { db.query 'select 1 as MARK_transaction' }
       'done'
     end"
        .replace("MARK", mark)
}
