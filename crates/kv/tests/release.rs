//! What becomes of the databases of a process that lets go of them for another one: a child does so and lives on, and this process opens them.
//! Rule: the parent trusts only what it read from the pipe.

#![cfg(feature = "disk")]

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use tsumugi_kv::{
    Durability, Error, KvDatabase, Spec, Write, WriteResult, has_folders, release_databases,
};

/// Writes that wait for the thread of the database when it is to let go.
const QUEUED: u64 = 5_000;

fn add(key: &str) -> Write {
    Write::Increment {
        key: key.to_owned().into(),
        by: 1,
        initial: 0,
    }
}

#[track_caller]
fn assert_let_go<T: std::fmt::Debug>(result: Result<T, Error>) {
    match result {
        Err(error @ Error::Locked { .. }) => {
            let text = error.to_string();
            assert!(
                text.contains("took over") && text.contains("handover_store_ms"),
                "{text}"
            );
        }
        other => panic!("{other:?}"),
    }
}

/// Not a test by itself: what the child does.
#[test]
fn child_process_lets_go_while_it_writes() {
    let Ok(folder) = std::env::var("RELEASE_CHILD") else {
        return;
    };
    assert!(!has_folders());
    let folder = std::path::PathBuf::from(folder);
    let spec = Spec::disk(folder.join("kv"), Durability::Process);
    let kv = KvDatabase::open(&spec).unwrap();
    let other = KvDatabase::open(&Spec::disk(folder.join("other"), Durability::Disk)).unwrap();
    other.submit_wait(Write::set("a", "1")).unwrap();
    let memory = KvDatabase::open(&Spec::of_place("memory:m").unwrap()).unwrap();
    assert!(has_folders());
    let acknowledged = AtomicU64::new(0);
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                loop {
                    match kv.submit_wait(add("each")) {
                        Ok(_) => acknowledged.fetch_add(1, Relaxed),
                        other => return assert_let_go(other),
                    };
                }
            });
        }
        thread::park_timeout(Duration::from_millis(200));
        while acknowledged.load(Relaxed) == 0 {
            thread::park_timeout(Duration::from_millis(10));
        }
        let queued: Vec<_> = (0..QUEUED).map(|_| kv.submit(add("queued"))).collect();
        assert_eq!(release_databases(), 2);
        for answer in queued {
            assert!(matches!(answer.wait(), Ok(WriteResult::Number(_))));
        }
    });
    assert_let_go(kv.get(b"each"));
    assert_let_go(kv.count());
    assert_eq!(kv.known_count(), None);
    assert_let_go(kv.submit_wait(add("each")));
    assert_let_go(kv.submit_wait(Write::Clear));
    assert_let_go(kv.synchronize().wait());
    assert_let_go(other.get(b"a"));
    // Neither joined nor opened anew.
    assert_let_go(KvDatabase::open(&spec).unwrap().get(b"each"));
    assert!(kv.close());
    assert_let_go(KvDatabase::open(&spec));
    assert_let_go(KvDatabase::open(&Spec::disk(
        folder.join("new"),
        Durability::Process,
    )));
    memory.submit_wait(Write::set("a", "1")).unwrap();
    // One write, so that no line is torn.
    let line = format!("released {}\n", acknowledged.load(Relaxed));
    std::io::stderr().write_all(line.as_bytes()).unwrap();
    // Until the parent has looked.
    let _ = std::io::stdin().read_line(&mut String::new());
}

#[test]
fn databases_that_are_let_go_hold_all_that_was_acknowledged_and_are_free_while_the_process_lives() {
    let folder = tempfile::tempdir().unwrap();
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "child_process_lets_go_while_it_writes",
            "--nocapture",
        ])
        .env("RELEASE_CHILD", folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let mut said = String::new();
    let mut acknowledged = None;
    for line in lines.map_while(Result::ok) {
        said.push_str(&line);
        said.push('\n');
        if let Some(number) = line.strip_prefix("released ") {
            acknowledged = number.parse::<u64>().ok();
            break;
        }
    }
    let acknowledged = acknowledged.expect(&said);
    assert!(acknowledged > 0);
    let number = |kv: &KvDatabase, key: &str| {
        let value = kv.get(key.as_bytes()).unwrap().unwrap();
        u64::from_be_bytes(value[..].try_into().unwrap())
    };
    let kv = KvDatabase::open(&Spec::disk(folder.path().join("kv"), Durability::Process)).unwrap();
    assert_eq!(number(&kv, "each"), acknowledged);
    assert_eq!(number(&kv, "queued"), QUEUED);
    let other = Spec::disk(folder.path().join("other"), Durability::Disk);
    assert_eq!(KvDatabase::open(&other).unwrap().count().unwrap(), 1);
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success(), "{said}");
}
