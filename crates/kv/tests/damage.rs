//! What damaged files lead to: an error that says where, or the records of an earlier moment, and never a wrong value.
//! DAMAGE_STEPS sets how many places of each file are tried. Rule: damage is done to a copy, one place at a time.

#![cfg(feature = "disk")]

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use bytes::Bytes;
use tsumugi_kv::{Durability, Error, KeyRange, KvDatabase, Spec, Write};

const RECORDS: u32 = 60;

fn open(path: &Path) -> Result<KvDatabase, Error> {
    KvDatabase::open(&Spec::disk(path, Durability::Process))
}

fn key(number: u32) -> Bytes {
    format!("key{number:04}").into()
}

fn value(number: u32) -> Bytes {
    vec![b'a' + (number % 26) as u8; 40 + number as usize % 30].into()
}

/// Each record in a commit of its own, along with the number of the last one.
fn fill(kv: &KvDatabase, numbers: std::ops::Range<u32>) {
    for number in numbers {
        let writes = vec![
            Write::set(key(number), value(number)),
            Write::set("last", number.to_string()),
        ];
        kv.submit_wait(Write::Batch(writes)).unwrap();
    }
}

/// A database whose records are in its journal, or in tables with a few in the journal.
fn original(folder: &Path, is_in_tables: bool) -> PathBuf {
    let path = folder.join("original");
    let kv = open(&path).unwrap();
    if is_in_tables {
        fill(&kv, 0..RECORDS - 10);
        kv.rebuild().unwrap();
        fill(&kv, RECORDS - 10..RECORDS);
    } else {
        fill(&kv, 0..RECORDS);
    }
    assert!(kv.close());
    // The engine gives its journal room ahead, and takes it back when it is opened.
    let kv = open(&path).unwrap();
    assert_eq!(kv.count().unwrap(), u64::from(RECORDS) + 1);
    assert!(kv.close());
    path
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if fs::metadata(&path).unwrap().len() > 0 {
            found.push(path);
        }
    }
    found.sort();
}

/// What became of a damaged copy.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// It did not open, or a read failed, with an error that names the folder.
    Refused,
    /// It has the records up to and without this number.
    Upto(u32),
}

/// Opens a copy and reads all of it both ways.
fn outcome(path: &Path) -> Outcome {
    let named = |error: Error| {
        let text = error.to_string();
        assert!(text.contains(&*path.to_string_lossy()), "{text}");
    };
    let kv = match open(path) {
        Ok(kv) => kv,
        Err(error) => {
            named(error);
            return Outcome::Refused;
        }
    };
    let read = || {
        let last = kv.get(b"last")?.map_or(0, |last| {
            str::from_utf8(&last).unwrap().parse::<u32>().unwrap() + 1
        });
        let expected: BTreeMap<Bytes, Bytes> = (0..last).map(|n| (key(n), value(n))).collect();
        for number in 0..RECORDS {
            let found = kv.get(&key(number))?;
            assert_eq!(
                found.as_ref(),
                expected.get(&key(number)),
                "record {number} of {last}"
            );
        }
        let page = kv.page(&KeyRange::prefix("key"), 1_000)?;
        assert!(page.iter().map(|(k, v)| (k, v)).eq(&expected));
        let back = kv.page(&KeyRange::prefix("key").reversed(), 1_000)?;
        assert!(back.iter().rev().eq(&page));
        assert_eq!(kv.count()?, u64::from(last) + u64::from(last > 0));
        Ok(last)
    };
    let outcome = match read() {
        Ok(last) => Outcome::Upto(last),
        Err(error) => {
            named(error);
            Outcome::Refused
        }
    };
    assert!(kv.close());
    outcome
}

fn journal(path: &Path) -> PathBuf {
    let mut found = Vec::new();
    files(&path.join("engine"), &mut found);
    found.retain(|file| file.extension().is_some_and(|ending| ending == "jnl"));
    assert_eq!(found.len(), 1);
    found.remove(0)
}

fn steps() -> u64 {
    std::env::var("DAMAGE_STEPS").map_or(12, |steps| steps.parse().unwrap())
}

fn flip(file: &Path, at: u64) {
    overwrite(file, at, |byte| byte ^ (1 << (at % 8)));
}

fn overwrite(file: &Path, at: u64, with: impl FnOnce(u8) -> u8) {
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .open(file)
        .unwrap();
    let mut byte = [0];
    file.seek(SeekFrom::Start(at)).unwrap();
    file.read_exact(&mut byte).unwrap();
    file.seek(SeekFrom::Start(at)).unwrap();
    file.write_all(&[with(byte[0])]).unwrap();
}

#[test]
fn a_torn_journal_has_the_commits_before_the_tear() {
    let folder = tempfile::tempdir().unwrap();
    let path = original(folder.path(), false);
    let length = fs::metadata(journal(&path)).unwrap().len();
    // Every byte of the last two commits, and places all over the file.
    let tail =
        (length - 300..length).step_by((3_600 / steps().max(1)).clamp(1, 300) as usize / 20 + 1);
    let ends = tail.chain((0..length).step_by((length / steps()) as usize));
    let mut least = RECORDS;
    for (try_number, end) in ends.enumerate() {
        let torn = folder.path().join(format!("torn{try_number}"));
        copy(&path, &torn);
        let file = OpenOptions::new().write(true).open(journal(&torn)).unwrap();
        file.set_len(end).unwrap();
        match outcome(&torn) {
            Outcome::Upto(last) => {
                assert!(last < RECORDS || end == length, "torn at {end} of {length}");
                assert!(
                    end + 300 < length || last >= RECORDS - 3,
                    "{last} at {end} of {length}"
                );
                least = least.min(last);
            }
            // Without even the first commit nothing says that this was a database.
            Outcome::Refused => assert!(end < 200, "refused at {end} of {length}"),
        }
        fs::remove_dir_all(&torn).unwrap();
    }
    assert!(least < 10);
}

#[test]
fn a_flipped_bit_is_found_and_never_read_as_a_value() {
    let folder = tempfile::tempdir().unwrap();
    let path = original(folder.path(), true);
    let mut found = Vec::new();
    files(&path, &mut found);
    let mut refused = 0;
    let mut tries = 0;
    for file in &found {
        let name = file.strip_prefix(&path).unwrap();
        let length = fs::metadata(file).unwrap().len();
        let mut kept = 0;
        for at in (0..length).step_by((length / steps()).max(1) as usize) {
            let flipped = folder.path().join(format!("flipped{tries}"));
            copy(&path, &flipped);
            flip(&flipped.join(name), at);
            tries += 1;
            match outcome(&flipped) {
                Outcome::Refused => refused += 1,
                Outcome::Upto(last) => {
                    // What is in tables is not lost by anything that happens to the journal.
                    assert!(last >= RECORDS - 10, "{}: {at}", name.display());
                    kept += 1;
                }
            }
            fs::remove_dir_all(&flipped).unwrap();
        }
        println!(
            "{}: {length} bytes, {kept} flips did no harm",
            name.display()
        );
    }
    assert!(refused * 2 > tries, "{refused} of {tries} were refused");
}

#[test]
fn an_overwritten_byte_costs_no_commit_that_has_others_behind_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = original(folder.path(), false);
    let name = journal(&path);
    let bytes = fs::read(&name).unwrap();
    let name = name.strip_prefix(&path).unwrap();
    // The middle of the file: a whole commit, and a part of each beside it.
    let length = 260;
    let from = bytes.len() / 2;
    let mut refused = 0;
    for at in from..from + length {
        for step in 0..(steps() / 12).max(1) {
            let other = (bytes[at] as u64 + 1 + (at as u64 * 37 + step * 101) % 255) as u8;
            let damaged = folder.path().join("overwritten");
            copy(&path, &damaged);
            overwrite(&damaged.join(name), at as u64, |_| other);
            match outcome(&damaged) {
                Outcome::Refused => {
                    refused += 1;
                    let left = fs::read(damaged.join(name)).unwrap();
                    assert_eq!(left.len(), bytes.len(), "byte {at}: cut and refused");
                }
                // The sequence and the keyspace within its neighbours are the engine's own matter.
                Outcome::Upto(last) => assert_eq!(last, RECORDS, "byte {at} is now {other}"),
            }
            fs::remove_dir_all(&damaged).unwrap();
        }
    }
    assert!(refused * 10 > length * 7, "{refused} of {length}");
}

#[test]
fn a_missing_file_of_the_engine_is_no_new_database() {
    let folder = tempfile::tempdir().unwrap();
    let path = original(folder.path(), true);
    let mut found = Vec::new();
    files(&path, &mut found);
    for (number, file) in found.iter().enumerate() {
        let name = file.strip_prefix(&path).unwrap();
        let missing = folder.path().join(format!("missing{number}"));
        copy(&path, &missing);
        fs::remove_file(missing.join(name)).unwrap();
        match outcome(&missing) {
            Outcome::Refused => {}
            Outcome::Upto(last) => assert_eq!(last, RECORDS, "without {}", name.display()),
        }
        // Nothing of what is left was thrown away.
        let mut left = Vec::new();
        files(&missing, &mut left);
        assert!(left.len() + 2 >= found.len(), "without {}", name.display());
    }
}

#[test]
fn zeros_in_a_damaged_batch_are_no_crash_of_the_machine() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zeros");
    let kv = open(&path).unwrap();
    for number in 0..4 {
        kv.submit_wait(Write::set(key(number), vec![0; 4_000]))
            .unwrap();
    }
    assert!(kv.close());
    let kv = open(&path).unwrap();
    assert!(kv.close());
    let length = fs::metadata(journal(&path)).unwrap().len();
    // In the middle of the file, with whole commits behind it.
    flip(&journal(&path), length / 2);
    let damaged = fs::read(journal(&path)).unwrap();
    assert!(matches!(open(&path), Err(Error::Broken { .. })));
    assert!(fs::read(journal(&path)).unwrap() == damaged);
    // After a crash of the machine, nobody could tell.
    fs::write(path.join("boot"), "another run").unwrap();
    let kv = open(&path).unwrap();
    assert!(kv.count().unwrap() < 4);
    assert!(kv.close());
}
