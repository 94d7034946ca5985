//! What only databases on disk do: outlive their users, keep others out, refuse folders that are not theirs, copy themselves.

#![cfg(feature = "disk")]

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use bytes::Bytes;
use tsumugi_kv::limits::{QUEUE_BYTES_MAX, QUEUE_WRITES_MAX, VALUE_BYTES_DEFAULT};
use tsumugi_kv::{
    Clock, Durability, Error, KeyRange, KvDatabase, Pending, SetMode, Spec, Write, WriteResult,
};

fn spec(folder: &Path, durability: Durability) -> Spec {
    Spec::disk(folder.join("casket.tkt"), durability)
}

fn open(folder: &Path) -> KvDatabase {
    KvDatabase::open(&spec(folder, Durability::Process)).unwrap()
}

fn fill(kv: &KvDatabase, records: std::ops::Range<u32>) {
    let writes = records.map(|n| Write::set(n.to_be_bytes().to_vec(), vec![b'v'; 100]));
    kv.submit_wait(Write::Batch(writes.collect())).unwrap();
}

fn expiring(key: &'static str, seconds: u64) -> Write {
    Write::Set {
        key: key.into(),
        value: "v".into(),
        mode: SetMode::Overwrite,
        ttl: Some(Duration::from_secs(seconds)),
    }
}

#[test]
fn a_database_is_there_when_it_is_opened_again() {
    let folder = tempfile::tempdir().unwrap();
    for durability in [Durability::Process, Durability::Disk] {
        let spec = Spec::disk(folder.path().join(durability.to_string()), durability);
        for round in 0..5 {
            let kv = KvDatabase::open(&spec).unwrap();
            assert_eq!(kv.count().unwrap(), u64::from(round) * 1_000);
            fill(&kv, round * 1_000..(round + 1) * 1_000);
        }
        let kv = KvDatabase::open(&spec).unwrap();
        assert_eq!(kv.page(&KeyRange::all(), 10_000).unwrap().len(), 5_000);
        kv.rebuild().unwrap();
        assert_eq!(kv.page(&KeyRange::all(), 10_000).unwrap().len(), 5_000);
        kv.submit_wait(Write::Clear).unwrap();
        drop(kv);
        let kv = KvDatabase::open(&spec).unwrap();
        assert_eq!(
            (
                kv.count().unwrap(),
                kv.page(&KeyRange::all(), 9).unwrap().len()
            ),
            (0, 0)
        );
    }
}

#[test]
fn times_to_live_go_on_while_a_database_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let clock = Clock::manual(Duration::from_secs(1_000));
    let spec = spec(folder.path(), Durability::Process);
    let kv = KvDatabase::open_with(&spec, clock.clone()).unwrap();
    for (key, seconds) in [("a", 5), ("b", 50)] {
        kv.submit_wait(expiring(key, seconds)).unwrap();
    }
    drop(kv);
    clock.advance(Duration::from_secs(10));
    let kv = KvDatabase::open_with(&spec, clock.clone()).unwrap();
    assert_eq!(kv.count().unwrap(), 1);
    assert_eq!(kv.get(b"a").unwrap(), None);
    kv.sweep();
    clock.advance(Duration::from_secs(100));
    assert_eq!(kv.count().unwrap(), 0);
}

#[test]
fn one_path_is_one_database() {
    let folder = tempfile::tempdir().unwrap();
    let one = open(folder.path());
    fs::create_dir(folder.path().join("sub")).unwrap();
    let other = Spec::disk(folder.path().join("sub/../casket.tkt"), Durability::Process);
    let same = KvDatabase::open(&other).unwrap();
    one.submit_wait(Write::set("a", "1")).unwrap();
    assert_eq!(same.get(b"a").unwrap().unwrap(), "1");
    let error = KvDatabase::open(&spec(folder.path(), Durability::Disk)).unwrap_err();
    assert!(matches!(error, Error::Conflict { .. }), "{error}");
    let threads: Vec<_> = (0..8)
        .map(|_| {
            let path = folder.path().to_owned();
            std::thread::spawn(move || drop(open(&path)))
        })
        .collect();
    drop((one, same));
    for thread in threads {
        thread.join().unwrap();
    }
    assert_eq!(open(folder.path()).get(b"a").unwrap().unwrap(), "1");
}

#[test]
fn a_folder_with_something_else_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("casket.tkt");
    fs::create_dir(&path).unwrap();
    fs::write(path.join("letter.txt"), "Dear").unwrap();
    let error = KvDatabase::open(&spec(folder.path(), Durability::Process)).unwrap_err();
    assert!(error.to_string().contains("holds other files"), "{error}");
    assert_eq!(fs::read(path.join("letter.txt")).unwrap(), b"Dear");
    fs::remove_dir_all(&path).unwrap();
    fs::write(&path, "a hash database of another program").unwrap();
    let error = KvDatabase::open(&spec(folder.path(), Durability::Process)).unwrap_err();
    let text = error.to_string();
    for piece in ["it is a file", "tkrzw_dbm_util export", "tsumugi kv import"] {
        assert!(text.contains(piece), "{text}");
    }
}

#[test]
fn a_database_that_is_read_only_is_read_and_neither_made_nor_changed() {
    let folder = tempfile::tempdir().unwrap();
    let mut spec = spec(folder.path(), Durability::Process);
    spec.read_only = true;
    let error = KvDatabase::open(&spec).unwrap_err();
    assert!(error.to_string().contains("none is made"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    fill(&open(folder.path()), 0..10);
    let kv = KvDatabase::open(&spec).unwrap();
    for write in [
        Write::set("a", "1"),
        Write::remove("a"),
        Write::Clear,
        Write::PopFirst,
    ] {
        let error = kv.submit_wait(write).unwrap_err();
        assert!(matches!(error, Error::ReadOnly { .. }), "{error}");
    }
    assert!(matches!(kv.rebuild(), Err(Error::ReadOnly { .. })));
    assert_eq!(kv.count().unwrap(), 10);
    kv.backup(&folder.path().join("copy")).unwrap();
    // With other settings it is another database.
    let writable = Spec::disk(&spec.path, Durability::Process);
    assert!(matches!(
        KvDatabase::open(&writable),
        Err(Error::Conflict { .. })
    ));
}

#[test]
fn database_that_is_read_only_is_not_swept() {
    let folder = tempfile::tempdir().unwrap();
    let mut spec = spec(folder.path(), Durability::Process);
    let clock = Clock::manual(Duration::from_secs(1_000_000));
    let open = |spec: &Spec| KvDatabase::open_with(spec, clock.clone()).unwrap();
    let kv = open(&spec);
    fill(&kv, 0..10);
    // What a clear leaves is removed by and by, too.
    kv.submit_wait(Write::Clear).unwrap();
    fill(&kv, 0..3);
    kv.submit_wait(expiring("a", 1)).unwrap();
    kv.submit_wait(expiring("b", 1)).unwrap();
    assert!(kv.close());
    clock.advance(Duration::from_secs(2));
    spec.read_only = true;
    let kv = open(&spec);
    let commits = kv.metrics().commits;
    for _ in 0..3 {
        assert_eq!((kv.count().unwrap(), kv.get(b"a").unwrap()), (3, None));
        kv.sweep();
        // The thread of a database looks for work of its own every half second.
        std::thread::park_timeout(Duration::from_millis(400));
    }
    let metrics = kv.metrics();
    assert_eq!((metrics.commits - commits, metrics.expired), (0, 0));
    assert!(kv.close());
    spec.read_only = false;
    let kv = open(&spec);
    kv.sweep();
    assert_eq!((kv.metrics().expired, kv.count().unwrap()), (2, 3));
}

#[test]
fn a_creation_that_was_cut_short_is_done_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("casket.tkt");
    fs::create_dir_all(path.join("engine")).unwrap();
    fs::write(path.join("engine/0.jnl"), "half").unwrap();
    fs::write(path.join("tsumugi-kv"), "tsumugi-kv 1 creating\n").unwrap();
    fill(&open(folder.path()), 0..10);
    assert_eq!(open(folder.path()).count().unwrap(), 10);
}

#[test]
fn a_backup_has_the_records_of_one_moment() {
    let folder = tempfile::tempdir().unwrap();
    let kv = open(folder.path());
    fill(&kv, 0..20_000);
    kv.submit_wait(expiring("t", 60)).unwrap();
    let copy = folder.path().join("copy");
    std::thread::scope(|scope| {
        let backup = scope.spawn(|| kv.backup(&copy));
        let mut n = 20_000;
        while !backup.is_finished() {
            // Two records at a time: the copy has both or none.
            fill(&kv, n..n + 2);
            n += 2;
        }
        backup.join().unwrap().unwrap();
    });
    let restored = KvDatabase::open(&Spec::disk(&copy, Durability::Disk)).unwrap();
    let count = restored.count().unwrap();
    assert!(
        (20_001..=kv.count().unwrap()).contains(&count) && count % 2 == 1,
        "{count}"
    );
    assert_eq!(restored.get(b"t").unwrap().unwrap(), "v");
    fill(&restored, 0..1);
    let error = kv.backup(&copy).unwrap_err();
    assert!(error.to_string().contains("does not exist yet"), "{error}");
}

#[test]
fn of_backups_to_one_name_one_is_made_and_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let kv = KvDatabase::open(&Spec::memory()).unwrap();
    fill(&kv, 0..15_000);
    let copy = folder.path().join("copy");
    // Somebody else's; it is neither used nor removed.
    let other = folder.path().join("copy.partial-0");
    fs::create_dir(&other).unwrap();
    let made = std::thread::scope(|scope| {
        let backups = [0; 3].map(|_| scope.spawn(|| kv.backup(&copy)));
        backups.map(|backup| backup.join().unwrap())
    });
    assert_eq!(made.iter().filter(|made| made.is_ok()).count(), 1);
    for error in made.into_iter().filter_map(Result::err) {
        assert!(error.to_string().contains("does not exist yet"), "{error}");
    }
    let restored = KvDatabase::open(&Spec::disk(&copy, Durability::Process)).unwrap();
    assert_eq!(restored.count().unwrap(), 15_000);
    let names = fs::read_dir(folder.path()).unwrap().count();
    assert!(other.exists() && names == 2, "{names} folders");
}

#[test]
fn a_backup_replaces_an_earlier_one_that_is_not_open() {
    let folder = tempfile::tempdir().unwrap();
    let kv = open(folder.path());
    let copy = folder.path().join("copy");
    for count in [10, 20, 5] {
        kv.submit_wait(Write::Clear).unwrap();
        fill(&kv, 0..count);
        kv.replace_backup(&copy).unwrap();
        let restored = KvDatabase::open(&Spec::disk(&copy, Durability::Process)).unwrap();
        assert_eq!(restored.count().unwrap(), u64::from(count));
        let error = kv.replace_backup(&copy).unwrap_err();
        assert!(matches!(error, Error::Locked { .. }), "{error}");
        let advice =
            "the process that makes the backup: give the backup another name, or close that";
        assert!(error.to_string().contains(advice), "{error}");
        assert!(restored.close());
    }
    let restored = KvDatabase::open(&Spec::disk(&copy, Durability::Process)).unwrap();
    assert_eq!(restored.count().unwrap(), 5);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    let other = folder.path().join("letters");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("letter.txt"), "Dear").unwrap();
    let error = kv.replace_backup(&other).unwrap_err();
    assert!(error.to_string().contains("is not a database"), "{error}");
    assert!(!error.to_string().contains("broken"), "{error}");
    assert_eq!(fs::read(other.join("letter.txt")).unwrap(), b"Dear");
}

#[test]
fn a_backup_in_the_place_of_a_file_is_refused_and_the_file_stays() {
    let folder = tempfile::tempdir().unwrap();
    let kv = open(folder.path());
    let letter = folder.path().join("letter.txt");
    fs::write(&letter, "Dear").unwrap();
    let error = kv.replace_backup(&letter).unwrap_err();
    assert!(
        matches!(&error, Error::Io { source, .. } if source.kind() == ErrorKind::AlreadyExists)
    );
    let advice =
        "it is a file, and a backup is a folder: remove it, or give the backup another name";
    assert!(error.to_string().contains(advice), "{error}");
    assert_eq!(fs::read(&letter).unwrap(), b"Dear");
}

#[test]
fn backups_that_replace_each_other_at_the_same_time_are_all_made() {
    let folder = tempfile::tempdir().unwrap();
    let kv = open(folder.path());
    fill(&kv, 0..2_000);
    let copy = folder.path().join("copy");
    // To a name that is new, to an earlier copy, and to an empty folder.
    for round in 0..3 {
        if round == 2 {
            fs::remove_dir_all(&copy).unwrap();
            fs::create_dir(&copy).unwrap();
        }
        std::thread::scope(|scope| {
            let backups = [0; 8].map(|_| scope.spawn(|| kv.replace_backup(&copy)));
            for backup in backups {
                backup.join().unwrap().unwrap();
            }
        });
        let restored = KvDatabase::open(&Spec::disk(&copy, Durability::Process)).unwrap();
        assert_eq!(restored.count().unwrap(), 2_000);
        assert!(restored.close());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}

#[test]
fn a_database_in_memory_is_backed_up_to_disk() {
    let folder = tempfile::tempdir().unwrap();
    let kv = KvDatabase::open(&Spec::memory()).unwrap();
    fill(&kv, 0..15_000);
    kv.submit_wait(expiring("t", 60)).unwrap();
    let copy = folder.path().join("copy");
    kv.backup(&copy).unwrap();
    let restored = KvDatabase::open(&Spec::disk(&copy, Durability::Process)).unwrap();
    assert_eq!(restored.count().unwrap(), 15_001);
    let [all, copied] = [&kv, &restored].map(|kv| kv.page(&KeyRange::all(), 10_000).unwrap());
    assert_eq!(all, copied);
}

#[test]
fn writes_that_wait_have_bounds() {
    let folder = tempfile::tempdir().unwrap();
    let kv = open(folder.path());
    // A batch that takes long, so that the rest has to wait.
    let long: Vec<Write> = (0..100_000_u32)
        .map(|n| Write::set(n.to_be_bytes().to_vec(), "v"))
        .collect();
    let long = kv.submit(Write::Batch(long));
    let waiting: Vec<Pending> = (0..QUEUE_WRITES_MAX * 2)
        .map(|_| kv.submit(Write::remove("a")))
        .collect();
    let mut refused = 0;
    for pending in waiting {
        match pending.wait() {
            Ok(WriteResult::Missing) => {}
            Err(Error::QueueFull { limit, .. }) => {
                assert_eq!(limit, "QUEUE_WRITES_MAX");
                refused += 1;
            }
            other => panic!("{other:?}"),
        }
    }
    assert!(refused > 0, "more were taken than the queue holds");
    long.wait().unwrap();
    // Cheap to hand over, so that the thread does not keep up.
    let large = Bytes::from(vec![b'v'; 60 * 1024 * 1024]);
    let pending: Vec<Pending> = (0..QUEUE_BYTES_MAX / large.len() + 2)
        .map(|n| kv.submit(Write::set(n.to_be_bytes().to_vec(), large.clone())))
        .collect();
    let refused = pending
        .into_iter()
        .filter_map(|pending| pending.wait().err())
        .inspect(|error| assert!(error.to_string().contains("QUEUE_BYTES_MAX"), "{error}"));
    assert!(refused.count() > 0);
    assert!(kv.submit_wait(Write::set("a", "1")).is_ok());
}

#[test]
fn writes_that_wait_share_a_commit() {
    let folder = tempfile::tempdir().unwrap();
    let kv = KvDatabase::open(&spec(folder.path(), Durability::Disk)).unwrap();
    let pending: Vec<Pending> = (0..5_000_u32)
        .map(|n| kv.submit(Write::set(n.to_be_bytes().to_vec(), "v")))
        .collect();
    for pending in pending {
        pending.wait().unwrap();
    }
    kv.synchronize().wait().unwrap();
    let metrics = kv.metrics();
    assert_eq!(
        (metrics.committed, metrics.writes, metrics.records),
        (5_000, 5_000, 5_000)
    );
    assert!(metrics.commits < 2_500, "{}", metrics.commits);
    assert_eq!(metrics.syncs, metrics.commits + 1);
    assert_eq!(metrics.write_latency.count(), 5_000);
    assert!(metrics.bytes > 0 && metrics.queued == 0 && metrics.capacity.is_none());
    drop(kv.get(b"a").unwrap());
    assert_eq!(
        (kv.metrics().reads, kv.metrics().read_latency.count()),
        (1, 1)
    );
}

#[test]
fn write_submitted_before_the_last_close_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let kv = open(folder.path());
    let pending: Vec<Pending> = (0..1_000_u32)
        .map(|n| kv.submit(Write::set(n.to_be_bytes().to_vec(), "v")))
        .collect();
    drop(kv);
    drop(pending);
    assert_eq!(open(folder.path()).count().unwrap(), 1_000);
}

#[test]
fn popping_does_not_slow_down_with_what_was_popped() {
    let folder = tempfile::tempdir().unwrap();
    let kv = open(folder.path());
    fill(&kv, 0..50_000);
    let pops = vec![Write::PopFirst; 50_001];
    let WriteResult::Each(each) = kv.submit_wait(Write::Batch(pops)).unwrap() else {
        panic!("a batch answers for each");
    };
    let popped = |n: usize| matches!(&each[n], Ok(WriteResult::Popped { key, .. }) if *key == (n as u32).to_be_bytes()[..]);
    assert!((0..50_000).all(popped));
    assert!(matches!(each[50_000], Ok(WriteResult::Missing)));
    for n in (0..1_000_u32).rev() {
        kv.submit_wait(Write::set(n.to_be_bytes().to_vec(), "v"))
            .unwrap();
    }
    for n in 0..1_000_u32 {
        let popped = kv.submit_wait(Write::PopFirst).unwrap();
        assert!(matches!(popped, WriteResult::Popped { key, .. } if key == n.to_be_bytes()[..]));
    }
}

#[test]
fn the_longest_value_is_kept_and_a_byte_more_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let kv = open(folder.path());
    let longest = vec![b'v'; VALUE_BYTES_DEFAULT];
    kv.submit_wait(Write::set("a", longest.clone())).unwrap();
    assert!(kv.get(b"a").unwrap().unwrap() == longest);
    let error = kv.submit_wait(Write::set("b", vec![b'v'; VALUE_BYTES_DEFAULT + 1]));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("at most 67108864 (value_max)"), "{error}");
    assert!(kv.close());
    let kv = open(folder.path());
    assert!(kv.get(b"a").unwrap().unwrap() == longest);
    assert_eq!(kv.count().unwrap(), 1);
}
