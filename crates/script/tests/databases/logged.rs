//! What the log shows of statements: nothing unless it is asked for; then the SQL, the values, the rows and the time.

use std::io::Write;
use std::sync::{Arc, Mutex};

use crate::{BOTH, Served};

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
}
