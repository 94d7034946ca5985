//! A disk without space: writes fail and say so, reads go on, nothing is lost once there is space again.
//! The disk is a small file system in memory, mounted by root, or by anybody in a namespace of its own.
//! Rule: where neither can be had the test fails and says what it needs.

#![cfg(feature = "disk")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tsumugi_kv::{Durability, Error, KeyRange, KvDatabase, Spec, Write};

const DISK_BYTES: usize = 96 * 1024 * 1024;
const BALLAST_BYTES: usize = 24 * 1024 * 1024;
const VALUE_BYTES: usize = 100_000;
const INSIDE: &str = "FULL_INSIDE";

/// A file system of its own, gone with the test.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(at: &Path) -> Option<Self> {
        let size = format!("size={DISK_BYTES}");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(at)
            .status()
            .is_ok_and(|status| status.success());
        mounted.then(|| Self(at.to_owned()))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("--lazy").arg(&self.0).status());
    }
}

/// The same test again, where this user is root of a namespace.
fn in_a_namespace(name: &str) {
    assert!(
        std::env::var_os(INSIDE).is_none(),
        "needs root, or namespaces for users (`unshare --user --mount`), to mount a small disk"
    );
    let status = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount"])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", name])
        .env(INSIDE, "1")
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "{name} failed in a namespace"
    );
}

fn key(number: u32) -> Bytes {
    format!("{number:06}").into()
}

fn value(number: u32) -> Bytes {
    let mut value = vec![b'a' + (number % 26) as u8; VALUE_BYTES];
    // Not to be made smaller by anybody.
    for (at, byte) in value.iter_mut().enumerate() {
        *byte = byte.wrapping_add((at as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0]);
    }
    value.into()
}

fn check(kv: &KvDatabase, written: u32) {
    for number in 0..written {
        let found = kv.get(&key(number)).unwrap();
        assert!(
            found.is_some_and(|found| found == value(number)),
            "{number} of {written}"
        );
    }
    assert_eq!(kv.count().unwrap(), u64::from(written));
    let mut records = 0;
    let mut range = KeyRange::all();
    loop {
        let page = kv.page(&range, 100).unwrap();
        let Some((last, _)) = page.last() else { break };
        range = range.after(last.clone());
        records += page.len() as u32;
    }
    assert_eq!(records, written);
}

/// Writes until it fails; returns how many records there are then.
fn fill(kv: &KvDatabase, mut written: u32) -> u32 {
    loop {
        match kv.submit_wait(Write::set(key(written), value(written))) {
            Ok(_) => written += 1,
            Err(Error::DiskFull { path }) => {
                assert!(path.starts_with(kv.spec().path.parent().unwrap()));
                return written;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Ends the reader, whatever becomes of the test.
struct EndFlag<'a>(&'a AtomicBool);

impl Drop for EndFlag<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

fn fills_up_and_recovers(durability: Durability, disk: &Path) {
    let ballast = disk.join("ballast");
    fs::write(&ballast, vec![1; BALLAST_BYTES]).unwrap();
    let spec = Spec::disk(disk.join("kv"), durability);
    let kv = KvDatabase::open(&spec).unwrap();
    let mut written = fill(&kv, 0);
    println!("{durability}: full after {written} records");
    assert!(!kv.is_healthy());
    check(&kv, written);
    for _ in 0..3 {
        let error = kv
            .submit_wait(Write::set("more", vec![0; VALUE_BYTES]))
            .unwrap_err();
        assert!(matches!(error, Error::DiskFull { .. }), "{error}");
        assert_eq!(kv.get(b"more").unwrap(), None);
    }
    let is_over = AtomicBool::new(false);
    let reads = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let _over = EndFlag(&is_over);
        // All the time, also while the folder is opened again: no read fails.
        let reader = scope.spawn(|| {
            while !is_over.load(Relaxed) {
                let number = reads.fetch_add(1, Relaxed) as u32 % written;
                assert_eq!(kv.get(&key(number)).unwrap(), Some(value(number)));
                assert!(!kv.page(&KeyRange::all(), 3).unwrap().is_empty());
                assert!(kv.count().unwrap() >= u64::from(written));
            }
        });
        fs::remove_file(&ballast).unwrap();
        let since = Instant::now();
        while let Err(error) = kv.submit_wait(Write::set(key(written), value(written))) {
            assert!(since.elapsed() < Duration::from_secs(60), "{error}");
            assert!(!reader.is_finished());
            std::thread::park_timeout(Duration::from_millis(20));
        }
        println!("{durability}: written again after {:?}", since.elapsed());
        assert!(reads.load(Relaxed) > 0, "nothing was read meanwhile");
    });
    written += 1;
    println!("{durability}: {} reads meanwhile", reads.load(Relaxed));
    check(&kv, written);
    assert!(kv.is_healthy());
    assert!(kv.close());
    let kv = KvDatabase::open(&spec).unwrap();
    check(&kv, written);
    assert!(kv.close());
}

fn run(name: &str, durability: Durability) {
    let folder = tempfile::tempdir().unwrap();
    match SmallDisk::mount(folder.path()) {
        Some(disk) => fills_up_and_recovers(durability, &disk.0),
        None => in_a_namespace(name),
    }
}

#[test]
fn a_full_disk_stops_writes_and_nothing_else() {
    run(
        "a_full_disk_stops_writes_and_nothing_else",
        Durability::Process,
    );
}

#[test]
fn a_full_disk_that_confirms_loses_nothing() {
    run("a_full_disk_that_confirms_loses_nothing", Durability::Disk);
}
