//! What the log shows of statements, and when it shows nothing.

use std::fmt::Write as _;
use std::sync::Mutex;

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use tsumugi_db::{TransactionOptions, values};

use crate::{open, run};

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Keeps every line of this crate. The engine's threads write them, so it must be the process's subscriber.
struct Recorder;

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        write!(self.0, "{}={value:?} ", field.name()).unwrap();
    }
}

impl Subscriber for Recorder {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "tsumugi_db"
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        let level = event.metadata().level();
        LINES.lock().unwrap().push(format!("{level} {}", line.0));
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}

fn lines(part: &str) -> Vec<String> {
    let lines = LINES.lock().unwrap();
    lines
        .iter()
        .filter(|line| line.contains(part))
        .cloned()
        .collect()
}

#[test]
fn statements_are_logged_only_where_it_is_asked_for() {
    tracing::subscriber::set_global_default(Recorder).unwrap();
    run(async {
        let quiet = open("").await;
        quiet
            .db
            .query("select ? as quiet", values!["quiet_bind"])
            .await
            .unwrap();
        quiet
            .db
            .query("select quiet_error, ?", values!["quiet_bind"])
            .await
            .unwrap_err();
        let loud = open("log=statements").await;
        loud.db
            .query("select ? as loud", values!["bound_紡ぎ"])
            .await
            .unwrap();
        loud.db.query("select loud_error", []).await.unwrap_err();
        let tx = loud.db.begin(TransactionOptions::default()).await.unwrap();
        tx.execute("insert into t(n) values (1), (2), (3)", [])
            .await
            .unwrap();
        tx.commit().await.unwrap();
    });
    assert_eq!(lines("quiet"), [""; 0]);
    let loud = lines("as loud");
    assert_eq!(loud.len(), 1);
    for part in ["bound_紡ぎ", "rows=1", "ms="] {
        assert!(loud[0].contains(part), "{}", loud[0]);
    }
    assert!(lines("loud_error")[0].contains("fault="));
    assert!(lines("insert into t(n) values (1)")[0].contains("rows=3"));
    assert_eq!(lines("DEBUG sql=\"BEGIN IMMEDIATE\"").len(), 1);
}
