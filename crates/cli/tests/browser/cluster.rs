//! The demo as a cluster, in a real browser: its page goes on while the primary of its database and a process of its own are killed.
//! Rule: what is done here to the cluster is done by the commands that `make demo-cluster` prints.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;
use tsumugi_testkit::demo::command::{KILLS, parse};
use tsumugi_testkit::demo::{DemoCluster, DemoProgram};

use crate::chromium::Browser;
use crate::{add, browser};

const PATIENCE: Duration = Duration::from_secs(120);

fn run(cluster: &DemoCluster, command: &str) -> String {
    let words: Vec<&str> = command.split(' ').collect();
    let command = parse(&words).unwrap();
    cluster.run(command).unwrap()
}

/// The titles of all tasks that are to be done, the newest first.
fn titles(browser: &mut Browser) -> serde_json::Value {
    browser.evaluate("[...document.querySelectorAll('.open .title')].map(e => e.textContent)")
}

#[test]
fn page_loses_nothing_when_the_primary_and_a_process_are_killed() {
    let Some(mut browser) = browser("en") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let program = DemoProgram {
        tsumugi: PathBuf::from(env!("CARGO_BIN_EXE_tsumugi")),
        app: Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/demo/app.rb"),
        folder: folder.path().to_owned(),
    };
    let cluster = DemoCluster::start(&program, None).unwrap();
    browser.dress(1200, 860, "light");
    browser.open(&format!("{}/", cluster.url()));
    browser.evaluate("window.mark = 1");
    add(&mut browser, "Before", "ai");

    let [kill_primary, kill_process, _] = KILLS;
    let killed = cluster.run(kill_primary).unwrap();
    assert!(killed.contains("brings it back"), "{killed}");
    add(&mut browser, "While another one takes over", "kohaku");
    cluster.run(kill_process).unwrap();
    add(&mut browser, "By another process", "matsu");
    // By whatever process the count is sent, it comes.
    browser.until("document.getElementById('count-open').textContent === '3'");
    browser.until("document.getElementById('waiting').hidden");

    let (back, _) = killed.split_once(" brings it back").unwrap();
    let (_, start) = back.split_once("; ").unwrap();
    run(&cluster, start);
    run(&cluster, "start web 1");
    add(&mut browser, "Afterwards", "fuji");
    let all = [
        "Afterwards",
        "By another process",
        "While another one takes over",
        "Before",
    ];
    assert_eq!(titles(&mut browser), json!(all));
    assert_eq!(
        browser.evaluate("window.mark"),
        1,
        "the page was loaded again"
    );
    browser.open(&format!("{}/", cluster.url()));
    assert_eq!(titles(&mut browser), json!(all));
    // The server that was killed last comes back when it has caught up.
    let since = Instant::now();
    loop {
        let status = run(&cluster, "status");
        if status.matches(": runs").count() == 9 {
            return;
        }
        assert!(since.elapsed() < PATIENCE, "{status}");
        std::thread::park_timeout(Duration::from_millis(200));
    }
}
