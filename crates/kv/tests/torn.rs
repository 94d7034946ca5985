//! A journal that ends anywhere, and one with a damaged byte, while the values in it look like journals themselves.
//! DAMAGE_STEPS sets how many places are tried. Rule: what was acknowledged before the tear is there, and nothing else is.

#![cfg(feature = "disk")]

mod imitation;

use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use imitation::MARKER;
use tsumugi_kv::{Durability, Error, KeyRange, KvDatabase, Spec, Write};
use tsumugi_testkit::Dice;

/// Of the first commit that a test makes: the database itself has made one.
const FIRST_COMMIT: u64 = 2;

/// A piece of some bytes.
fn piece<'a>(dice: &Dice, of: &'a [u8]) -> &'a [u8] {
    let rest = &of[dice.place(of.len() + 1)..];
    &rest[..dice.place(rest.len() + 1)]
}

fn steps() -> u64 {
    std::env::var("DAMAGE_STEPS").map_or(12, |steps| steps.parse().unwrap())
}

fn open(path: &Path) -> Result<KvDatabase, Error> {
    KvDatabase::open(&Spec::disk(path, Durability::Disk))
}

fn journal(path: &Path) -> PathBuf {
    let entries = fs::read_dir(path.join("engine")).unwrap();
    let mut found = entries.map(|entry| entry.unwrap().path());
    let is_journal = |file: &PathBuf| file.extension().is_some_and(|ending| ending == "jnl");
    found.find(is_journal).unwrap()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => drop(fs::copy(entry.path(), target).unwrap()),
        }
    }
}

/// A journal of another database with the same keys and more commits: each of them is later than what is torn here.
fn foreign(folder: &Path) -> Vec<u8> {
    let path = folder.join("foreign");
    let kv = open(&path).unwrap();
    for number in 0..60_u32 {
        kv.submit_wait(Write::set("k", number.to_string())).unwrap();
    }
    assert!(kv.close());
    written(&path)
}

/// A journal without the room ahead of it.
fn written(path: &Path) -> Vec<u8> {
    let mut bytes = fs::read(journal(path)).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap();
    bytes.truncate(end + 1);
    bytes
}

fn value(dice: &Dice, foreign: &[u8], own: &[u8]) -> Vec<u8> {
    let mut value = Vec::new();
    for _ in 0..1 + dice.below(4) {
        match dice.below(6) {
            0 => value.extend(MARKER.repeat(1 + dice.place(40))),
            // The end of a batch, and whole ones after it.
            1 => {
                value.extend_from_slice(MARKER);
                value.extend_from_slice(&foreign[foreign.len() / 2..]);
            }
            2 => value.extend_from_slice(piece(dice, foreign)),
            3 => value.extend_from_slice(piece(dice, own)),
            4 => {
                // From a batch's beginning on: what follows a marker.
                let marks = memchr_all(foreign);
                let from = marks[dice.place(marks.len())];
                value.extend_from_slice(MARKER);
                let rest = &foreign[from..];
                value.extend_from_slice(&rest[..dice.place(rest.len() + 1)]);
            }
            _ => value.extend(vec![0; dice.place(600)]),
        }
    }
    value
}

/// Where markers end.
fn memchr_all(bytes: &[u8]) -> Vec<usize> {
    let windows = bytes.windows(MARKER.len()).enumerate();
    let marks = windows.filter(|(_, window)| *window == MARKER);
    marks.map(|(at, _)| at + MARKER.len()).collect()
}

/// Two bytes say how long a key is: most keys here need both.
fn long(dice: &Dice, key: String) -> String {
    let lengths = [0, 300, 2_000, 20_000];
    let length = lengths[dice.place(lengths.len())];
    format!("{key:-<length$}")
}

/// A record of which the journal can be read in another way, up to a commit that looks like a later one.
fn imitation(dice: &Dice, number: u32) -> Write {
    let length = 600 + dice.place(8_000);
    let key = format!("k{number}{:->length$}", "");
    // Another length of key by one bit, or by any.
    let stored = key.len() + 5;
    let short = match dice.below(2) {
        0 => stored - (1 << (stored.ilog2())),
        _ => dice.place(stored),
    };
    let bytes = stored - short + 100 + dice.place(2_000);
    let commit = FIRST_COMMIT + u64::from(number);
    // A client knows what commits of other databases look like, of this version and of earlier ones.
    let seal = [&b""[..], &[7; 16]][dice.place(2)];
    imitation::write(key.as_bytes(), short, commit, bytes, seal)
}

/// What a database held after each commit, and where its journal ended then.
struct History {
    path: PathBuf,
    commits: Vec<(u64, Vec<(Bytes, Bytes)>)>,
}

fn history(folder: &Path, dice: &Dice) -> History {
    let foreign = foreign(folder);
    let path = folder.join(format!("history{}", dice.below(u64::MAX)));
    let kv = open(&path).unwrap();
    let mut commits = Vec::new();
    let mut note = |kv: &KvDatabase| {
        let bytes = written(&path);
        let page = kv.page(&KeyRange::all(), 1_000).unwrap();
        commits.push((bytes.len() as u64, page));
        bytes
    };
    let mut own = note(&kv);
    for number in 0..8_u32 {
        let mut writes = Vec::new();
        if dice.below(3) == 0 {
            writes.push(imitation(dice, number));
        } else {
            for record in 0..1 + dice.below(3) {
                let key = long(dice, format!("k{number}-{record}"));
                writes.push(Write::set(key, value(dice, &foreign, &own)));
            }
        }
        kv.submit_wait(Write::Batch(writes)).unwrap();
        own = note(&kv);
    }
    assert!(kv.close());
    // The engine takes its room ahead back when it is opened.
    assert!(open(&path).unwrap().close());
    History { path, commits }
}

fn records(path: &Path) -> Result<Vec<(Bytes, Bytes)>, Error> {
    let kv = open(path)?;
    let page = kv.page(&KeyRange::all(), 1_000);
    assert!(kv.close());
    page
}

#[test]
fn a_torn_journal_has_all_commits_before_the_tear_whatever_its_values_hold() {
    let folder = tempfile::tempdir().unwrap();
    let dice = Dice::new(1);
    for round in 0..steps().div_ceil(6) {
        let History { path, commits } = history(folder.path(), &dice);
        let (first, last) = (commits[0].0, commits.last().unwrap().0);
        for step in 0..steps() * 4 {
            let end = first + dice.below(last - first);
            let torn = folder.path().join("torn");
            copy(&path, &torn);
            let file = OpenOptions::new().write(true).open(journal(&torn)).unwrap();
            file.set_len(end).unwrap();
            if step % 2 == 0 {
                // The room ahead is still there.
                file.set_len(last + 100_000).unwrap();
            }
            let before = commits
                .iter()
                .rfind(|(written, _)| *written <= end)
                .unwrap();
            let found = records(&torn);
            let found =
                found.unwrap_or_else(|error| panic!("round {round}, torn at {end}: {error}"));
            assert_eq!(found, before.1, "round {round}, torn at {end}");
            fs::remove_dir_all(&torn).unwrap();
        }
    }
}

#[test]
fn a_damaged_byte_loses_at_most_the_last_commit_whatever_values_hold() {
    let folder = tempfile::tempdir().unwrap();
    let dice = Dice::new(2);
    let mut refused = 0;
    for round in 0..steps().div_ceil(6) {
        let History { path, commits } = history(folder.path(), &dice);
        let (first, last) = (commits[0].0, commits.last().unwrap().0);
        for _ in 0..steps() * 4 {
            let at = first + dice.below(last - first);
            let damaged = folder.path().join("damaged");
            copy(&path, &damaged);
            let file = OpenOptions::new()
                .read(true)
                .write(true)
                .open(journal(&damaged))
                .unwrap();
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            byte[0] ^= match dice.below(2) {
                0 => 1 << dice.below(8),
                _ => 1 + dice.below(255) as u8,
            };
            file.write_all_at(&byte, at).unwrap();
            let all_but_last = commits.len() - 2;
            match records(&damaged) {
                Err(Error::Broken { .. }) => refused += 1,
                Err(error) => panic!("round {round}, damaged at {at}: {error}"),
                Ok(found) => assert!(
                    commits[all_but_last..]
                        .iter()
                        .any(|(_, page)| *page == found),
                    "round {round}, damaged at {at}: {} records",
                    found.len()
                ),
            }
            fs::remove_dir_all(&damaged).unwrap();
        }
    }
    assert!(refused > 0);
}
