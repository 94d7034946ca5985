//! Databases on disk that another process has while this one takes over from it. The other process is played by a lock of this one: the
//! system does not tell them apart.

use std::fs::{File, OpenOptions};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use tsumugi_kv::{Durability, Error, KvDatabase, Spec, Takeover, Write, has_awaited};

/// There is one takeover for a process.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

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
        assert!(since.elapsed() < Duration::from_secs(10), "it never came");
        thread::park_timeout(Duration::from_millis(1));
    }
}

#[test]
fn database_is_opened_once_the_process_before_has_let_it_go() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let lock = held(folder.path());
    let takeover = Takeover::begin();
    let kv = open(folder.path()).unwrap();
    assert!(has_awaited());
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
    let waiting = thread::spawn(move || same.wait_open().map(|()| same));
    thread::park_timeout(Duration::from_millis(50));
    assert!(!waiting.is_finished());
    drop(lock);
    let same = waiting.join().unwrap().unwrap();
    assert_eq!(kv.get(b"a").unwrap().unwrap(), "1");
    same.submit_wait(Write::set("b", "2")).unwrap();
    assert_eq!(kv.count().unwrap(), 2);
    until(|| !has_awaited());
    takeover.over();
    drop(same);
    assert!(kv.close());
    assert_eq!(open(folder.path()).unwrap().count().unwrap(), 2);
}

#[test]
fn database_that_a_third_process_has_is_given_up_and_can_be_opened_anew() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let lock = held(folder.path());
    let takeover = Takeover::begin();
    let kv = open(folder.path()).unwrap();
    takeover.serving();
    takeover.over();
    assert_locked(kv.wait_open(), "open in another process");
    assert_locked(kv.get(b"a"), "open in another process");
    until(|| !has_awaited());
    assert_locked(open(folder.path()), "open in another process");
    drop(lock);
    let other = open(folder.path()).unwrap();
    assert_eq!(other.get(b"a").unwrap().unwrap(), "1");
    assert_locked(kv.get(b"a"), "open in another process");
}

#[test]
fn database_that_is_dropped_while_it_is_awaited_is_not_opened() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let lock = held(folder.path());
    let takeover = Takeover::begin();
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
    let takeover = Takeover::begin();
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
