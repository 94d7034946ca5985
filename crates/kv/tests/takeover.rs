//! Databases on disk that another process has while this one takes over from it. The other process is played by a lock of this one: the
//! system does not tell them apart.

#![cfg(feature = "disk")]

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tsumugi_kv::{
    Durability, Error, KvDatabase, Spec, Takeover, Write, has_awaited, is_takeover_settled,
};

/// There is one takeover for a process.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    // That of the test before is over, and nothing waits for it.
    let before = Takeover::begin(Duration::ZERO);
    before.serving();
    before.over();
    thread::park_timeout(Duration::from_millis(1));
    until(|| !has_awaited());
    alone
}

const LONG: Duration = Duration::from_secs(60);

fn open(folder: &Path) -> Result<KvDatabase, Error> {
    KvDatabase::open(&Spec::disk(folder, Durability::Process))
}

/// A database with a record, which another process has.
fn held(folder: &Path) -> File {
    let kv = open(folder).unwrap();
    kv.submit_wait(Write::set("a", "1")).unwrap();
    assert!(kv.close());
    let mut options = OpenOptions::new();
    let lock = options.write(true).open(folder.join("lock")).unwrap();
    lock.try_lock().unwrap();
    lock
}

#[track_caller]
fn assert_locked<T>(result: Result<T, Error>, expected: &str) {
    match result {
        Err(error @ Error::Locked { .. }) => {
            assert!(error.to_string().contains(expected), "{error}");
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it is not locked"),
    }
}

fn until(condition: impl Fn() -> bool) {
    let since = Instant::now();
    while !condition() {
        assert!(since.elapsed() < LONG, "it never came");
        thread::park_timeout(Duration::from_millis(1));
    }
}

#[test]
fn database_is_opened_once_the_process_before_has_let_it_go() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let lock = held(folder.path());
    let takeover = Takeover::begin(LONG);
    let kv = open(folder.path()).unwrap();
    assert!(has_awaited() && !is_takeover_settled());
    for result in [
        kv.get(b"a").map(drop),
        kv.submit_wait(Write::set("b", "2")).map(drop),
        kv.count().map(drop),
        kv.synchronize().wait().map(drop),
    ] {
        assert_locked(result, "restarted instead");
    }
    assert!(!kv.is_healthy());
    assert_eq!(kv.known_count(), None);
    let same = open(folder.path()).unwrap();
    takeover.serving();
    takeover.released();
    let waiting = thread::spawn(move || same.wait_open().map(|()| same));
    thread::park_timeout(Duration::from_millis(50));
    assert!(!waiting.is_finished());
    drop(lock);
    let same = waiting.join().unwrap().unwrap();
    assert_eq!(kv.get(b"a").unwrap().unwrap(), "1");
    same.submit_wait(Write::set("b", "2")).unwrap();
    assert_eq!(kv.count().unwrap(), 2);
    until(|| !has_awaited());
    assert!(is_takeover_settled());
    takeover.over();
    drop(same);
    assert!(kv.close());
    assert_eq!(open(folder.path()).unwrap().count().unwrap(), 2);
}

#[test]
fn database_that_the_process_before_opens_now_and_then_is_left_to_it() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    drop(held(folder.path()));
    let takeover = Takeover::begin(LONG);
    let kv = open(folder.path()).unwrap();
    let is_left = || {
        thread::park_timeout(Duration::from_millis(30));
        let mut options = OpenOptions::new();
        let lock = options.write(true).open(folder.path().join("lock"));
        let lock = lock.unwrap();
        lock.try_lock().is_ok()
    };
    assert!(is_left(), "it is taken while this process loads");
    takeover.serving();
    assert!(is_left(), "it is taken while the other process may need it");
    takeover.released();
    kv.wait_open().unwrap();
    assert_eq!(kv.count().unwrap(), 1);
}

#[test]
fn database_that_is_not_there_yet_is_made_while_this_process_loads() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let _takeover = Takeover::begin(LONG);
    let kv = open(&folder.path().join("new")).unwrap();
    kv.submit_wait(Write::set("a", "1")).unwrap();
    assert!(!has_awaited());
}

#[test]
fn database_that_is_not_let_go_in_time_fails_and_succeeds_once_it_is() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let lock = held(folder.path());
    let takeover = Takeover::begin(Duration::from_millis(50));
    let kv = open(folder.path()).unwrap();
    takeover.serving();
    let late = "has not let it go in time (handover_store_ms)";
    assert_locked(kv.wait_open(), late);
    assert_locked(kv.get(b"a"), late);
    until(|| !has_awaited());
    assert!(is_takeover_settled());
    assert!(!kv.is_awaited() && !kv.is_unavailable());
    let same = open(folder.path()).unwrap();
    assert_locked(same.get(b"a"), late);
    takeover.released();
    drop(lock);
    until(|| kv.get(b"a").is_ok());
    assert_eq!(same.get(b"a").unwrap().unwrap(), "1");
}

#[test]
fn database_that_a_third_process_has_fails_until_that_one_lets_it_go() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let lock = held(folder.path());
    // Longer than from the one call to the other, also on a crowded machine.
    let takeover = Takeover::begin(Duration::from_secs(1));
    let kv = open(folder.path()).unwrap();
    takeover.serving();
    takeover.over();
    assert_locked(kv.wait_open(), "open in another process");
    assert_locked(kv.get(b"a"), "open in another process");
    until(|| !has_awaited());
    drop(lock);
    until(|| kv.get(b"a").is_ok());
}

#[test]
fn database_of_the_process_before_one_that_was_killed_is_awaited() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let lock = held(folder.path());
    let takeover = Takeover::begin(LONG);
    // The one that this process asked has gone, and had not got the database itself.
    takeover.over();
    let kv = open(folder.path()).unwrap();
    takeover.serving();
    assert!(kv.is_awaited());
    drop(lock);
    kv.wait_open().unwrap();
    assert_eq!(kv.count().unwrap(), 1);
}

#[test]
fn database_that_is_dropped_while_it_is_awaited_is_not_opened() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let lock = held(folder.path());
    let takeover = Takeover::begin(LONG);
    assert!(open(folder.path()).unwrap().close());
    until(|| !has_awaited());
    drop(lock);
    takeover.over();
    assert_eq!(open(folder.path()).unwrap().count().unwrap(), 1);
}

#[test]
fn database_of_a_process_that_has_gone_before_this_one_serves_is_opened() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let lock = held(folder.path());
    let takeover = Takeover::begin(LONG);
    let kv = open(folder.path()).unwrap();
    drop(lock);
    takeover.over();
    takeover.serving();
    kv.wait_open().unwrap();
    assert_eq!(kv.count().unwrap(), 1);
}

#[test]
fn database_of_another_process_is_locked_where_nothing_is_taken_over() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let _lock = held(folder.path());
    assert_locked(open(folder.path()), "open in another process");
    assert!(!has_awaited());
    let spec = Spec::disk(folder.path(), Durability::Process);
    let why = open(folder.path()).unwrap_err();
    let kv = KvDatabase::unavailable(&spec, why);
    assert_locked(kv.get(b"a"), "open in another process");
    assert_locked(kv.wait_open(), "open in another process");
    assert!(kv.close());
}
