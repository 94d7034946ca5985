//! What the log shows of statements, wherever they run: nothing without the option; with it the SQL, the values, the rows and the
//! time.

use tsumugi_testkit::LogBuffer;

use crate::{BOTH, Engine, Served};

#[test]
fn statements_are_logged_only_with_the_option() {
    let log = LogBuffer::default();
    let writer = log.clone();
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
        Served::new(engine, "log: true", &app.replace("MARK", "logged")).check("/", "1");
        // The rig serves in development mode.
        Served::new(engine, "", &app.replace("MARK", "development")).check("/", "1");
    }
    for (log, mark) in [("false", "hushed"), ("true", "shown")] {
        let served = Served::new(Engine::Postgres, &format!("log: {log}"), &everywhere(mark));
        served.check("/", "done");
    }
    let text = log.take();
    for engine in BOTH {
        let lines = |mark: &str| -> Vec<&str> {
            let name = format!("{engine:?}_{mark}");
            let ours = text.lines().filter(|line| line.contains("tsumugi_db"));
            ours.filter(|line| line.contains(&name)).collect()
        };
        assert_eq!(lines("quiet"), [""; 0]);
        for mark in ["logged", "development"] {
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
        ("insert into shown_t", "rows=1"),
        ("as shown_session", "rows=1"),
        ("as shown_script", ""),
        ("as shown_piped_a", "rows=1"),
        ("as shown_piped_b", "rows=0"),
        ("as shown_stream", ""),
        ("copy shown_t from", "rows=2"),
        ("copy shown_t to", "rows=3"),
        ("copy shown_missing", "fault="),
        ("as shown_transaction", "rows=1"),
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
