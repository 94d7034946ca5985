//! Looks through the engine's journals before the engine does. Decodes no record; writes nothing but cuts off what no commit ended.
//! Rule: what the engine replays afterwards is an unbroken run of commits, or the database is not opened.
//!
//! The engine drops what follows an unreadable byte without a word, goes on with the next file, and does not cover its numbers
//! by a checksum. Commits are numbered within the covered part, so a gap shows here. A batch is, in little-endian numbers:
//! 1, items (u32), sequence (u64); for each item 2, type, compression, keyspace (u64), length of key (u16), of value twice (u32),
//! key, value; 3, XXH3 of the items (u64), `FJL` 3.
//!
//! A process that dies leaves the beginning of a batch, and nothing or zeros after it. So a batch that by its own lengths ends behind the last
//! byte that was written is torn, whatever its values hold, and is cut off. Any other that cannot be read is damaged; only then is what
//! follows searched for commits, which values may imitate: that refuses too much, never too little.

mod scan;

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};

use self::scan::{Following, Scan};
use crate::limits::JOURNAL_LOOK_FACTOR;

/// Sequence numbers count commits; a larger one is a flipped bit.
const SEQUENCE_MAX: u64 = 1 << 48;

/// What the journals hold.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Examined {
    /// The last commit in them.
    pub(super) last_commit: Option<u64>,
    /// Bytes cut off that no commit ended, or that come after the last one to be kept.
    pub(super) cut_bytes: u64,
}

/// Why journals cannot be replayed.
#[derive(Debug)]
pub(super) enum Refused {
    Io(PathBuf, io::Error),
    Damaged(String),
}

/// Whether zeros may be what the system never wrote. Zeros are values like others, so they are believed to be that only after a
/// crash of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holes {
    Possible,
    Impossible,
}

/// Reads all journals of the engine's folder in order, and cuts off what comes after the commit `keep`, if that is given.
pub(super) fn examine(folder: &Path, keep: Option<u64>, holes: Holes) -> Result<Examined, Refused> {
    let mut examined = Examined::default();
    let files = journals(folder)?;
    if files.is_empty() {
        return Err(Refused::Damaged("its journal is missing".to_owned()));
    }
    let mut sequence = None;
    for path in files {
        let at = |error| Refused::Io(path.clone(), error);
        let mut scan = Scan::open(&path).map_err(at)?;
        let length = scan.length;
        let end = loop {
            let start = scan.position;
            let Some(batch) = scan.batch().map_err(at)? else {
                break end_of(&mut scan, &path, start, examined.last_commit, holes)?;
            };
            let follows = examined
                .last_commit
                .is_none_or(|last| batch.commit == last + 1)
                && sequence.is_none_or(|last| batch.sequence > last)
                && batch.sequence < SEQUENCE_MAX;
            if keep.is_some_and(|keep| batch.commit > keep) {
                break Some(start);
            }
            if !follows {
                return Err(Refused::Damaged(format!(
                    "commit {} does not follow in {} at byte {start}",
                    batch.commit,
                    path.display()
                )));
            }
            examined.last_commit = Some(batch.commit);
            sequence = Some(batch.sequence);
        };
        if let Some(end) = end {
            examined.cut_bytes += length - end;
            cut(&path, end).map_err(at)?;
        }
    }
    Ok(examined)
}

/// The engine's journals, oldest first.
fn journals(folder: &Path) -> Result<Vec<PathBuf>, Refused> {
    let at = |error| Refused::Io(folder.to_owned(), error);
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(at)? {
        let path = entry.map_err(at)?.path();
        if path.extension().is_none_or(|ending| ending != "jnl") {
            continue;
        }
        let number = path
            .file_stem()
            .and_then(|stem| stem.to_str()?.parse::<u64>().ok());
        match number {
            Some(number) => found.push((number, path)),
            None => {
                return Err(Refused::Damaged(format!(
                    "{} is no name of a journal",
                    path.display()
                )));
            }
        }
    }
    found.sort();
    Ok(found.into_iter().map(|(_, path)| path).collect())
}

/// Decides what an unreadable part is: the room ahead (`None`), what a crash left (where to cut), or damage.
fn end_of(
    scan: &mut Scan,
    path: &Path,
    start: u64,
    last: Option<u64>,
    holes: Holes,
) -> Result<Option<u64>, Refused> {
    let at = |error| Refused::Io(path.to_owned(), error);
    let written = scan.written(start).map_err(at)?;
    if written == start {
        return Ok(None);
    }
    if scan.is_torn(start, written).map_err(at)? {
        return Ok(Some(start));
    }
    let is_later = |commit| last.is_none_or(|last| commit > last);
    let following = scan.following(start, written, is_later).map_err(at)?;
    let (place, reason) = match following {
        Following::Nothing => return Ok(Some(start)),
        Following::Commit(place) => (place, "commits follow".to_owned()),
        Following::Unclear(place) => (
            place,
            format!(
                "commits may follow: what is behind it was searched {JOURNAL_LOOK_FACTOR} times (JOURNAL_LOOK_FACTOR)"
            ),
        ),
    };
    if holes == Holes::Possible && scan.has_hole(start, place).map_err(at)? {
        return Ok(Some(start));
    }
    Err(Refused::Damaged(format!(
        "{} is damaged at byte {start}, and {reason}",
        path.display()
    )))
}

fn cut(path: &Path, length: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    file.set_len(length)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use tsumugi_rig::Dice;
    use xxhash_rust::xxh3::Xxh3;

    use super::scan::{END, ITEM, START, TRAILER};
    use super::*;
    use crate::disk::layout::{META_KEY, Meta};

    fn batch(commit: u64, filler: &[u8]) -> Vec<u8> {
        let meta = Meta {
            epoch: 0,
            count: 0,
            commit,
        };
        let mut items = Vec::new();
        for (key, value) in [(&b"kxxxxkey"[..], filler), (&META_KEY[..], &meta.encode())] {
            items.extend([ITEM, 0, 0]);
            items.extend(1_u64.to_le_bytes());
            items.extend((key.len() as u16).to_le_bytes());
            items.extend((value.len() as u32).to_le_bytes());
            items.extend((value.len() as u32).to_le_bytes());
            items.extend(key);
            items.extend(value);
        }
        let mut batch = vec![START, 2, 0, 0, 0];
        batch.extend((commit + 10).to_le_bytes());
        let mut hash = Xxh3::new();
        hash.update(&items);
        batch.extend(items);
        batch.push(END);
        batch.extend(hash.digest().to_le_bytes());
        batch.extend(TRAILER);
        batch
    }

    fn run(commits: std::ops::Range<u64>) -> Vec<u8> {
        commits.flat_map(|commit| batch(commit, b"value")).collect()
    }

    /// Files, and the last commit with the bytes cut off, or why they are refused.
    fn check(files: &[&[u8]], keep: Option<u64>, expected: Result<(Option<u64>, u64), &str>) {
        let folder = tempfile::tempdir().unwrap();
        for (number, bytes) in files.iter().enumerate() {
            std::fs::write(folder.path().join(format!("{number}.jnl")), bytes).unwrap();
        }
        match (examine(folder.path(), keep, Holes::Possible), expected) {
            (Ok(examined), Ok(expected)) => {
                assert_eq!((examined.last_commit, examined.cut_bytes), expected);
                let again = examine(folder.path(), None, Holes::Possible).unwrap();
                assert_eq!((again.last_commit, again.cut_bytes), (expected.0, 0));
            }
            (Err(Refused::Damaged(reason)), Err(expected)) => {
                assert!(reason.contains(expected), "{reason}");
            }
            (examined, _) => panic!("{examined:?}, not {expected:?}"),
        }
    }

    #[test]
    fn an_unbroken_run_is_taken() {
        check(&[&run(1..1)], None, Ok((None, 0)));
        check(&[&run(1..5)], None, Ok((Some(4), 0)));
        check(&[&run(7..9), &run(9..12)], None, Ok((Some(11), 0)));
        let ahead = [&run(1..3)[..], &[0; 5000]].concat();
        check(&[&ahead], None, Ok((Some(2), 0)));
        check(&[&batch(3, &[0; 200_000])], None, Ok((Some(3), 0)));
    }

    #[test]
    fn what_no_commit_ended_is_cut_off() {
        let whole = run(1..4);
        let two = run(1..3).len();
        for end in two + 1..whole.len() {
            check(&[&whole[..end]], None, Ok((Some(2), (end - two) as u64)));
            let ahead = [&whole[..end], &[0; 600]].concat();
            let cut = (ahead.len() - two) as u64;
            check(&[&ahead], None, Ok((Some(2), cut)));
        }
    }

    #[test]
    fn what_comes_after_the_last_commit_to_keep_is_cut_off() {
        let one = run(3..4).len() as u64;
        check(&[&run(1..4)], Some(2), Ok((Some(2), one)));
        check(&[&run(1..3), &run(3..4)], Some(2), Ok((Some(2), one)));
        check(&[&run(1..3)], Some(2), Ok((Some(2), 0)));
    }

    #[test]
    fn a_flipped_bit_with_commits_behind_it_is_damage() {
        let whole = run(1..5);
        let one = run(1..2).len();
        for at in one..2 * one {
            for bit in [0, 3, 7] {
                let mut bytes = whole.clone();
                bytes[at] ^= 1 << bit;
                let folder = tempfile::tempdir().unwrap();
                std::fs::write(folder.path().join("0.jnl"), &bytes).unwrap();
                match examine(folder.path(), None, Holes::Possible) {
                    Err(Refused::Damaged(_)) => {}
                    // The keyspace and the sequence within its neighbours are the engine's own matter.
                    Ok(examined) => assert_eq!(examined.last_commit, Some(4), "byte {at}"),
                    Err(Refused::Io(_, error)) => panic!("{error}"),
                }
            }
        }
    }

    #[test]
    fn a_part_that_was_never_written_ends_the_journal() {
        let mut bytes = [run(1..3), batch(3, &[7; 5000]), run(4..6)].concat();
        let two = run(1..3).len();
        bytes[two + 600..two + 2600].fill(0);
        let cut = (bytes.len() - two) as u64;
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("0.jnl"), &bytes).unwrap();
        let unbelieved = examine(folder.path(), None, Holes::Impossible);
        assert!(matches!(unbelieved, Err(Refused::Damaged(_))));
        check(&[&bytes], None, Ok((Some(2), cut)));
    }

    #[test]
    fn a_gap_between_files_is_damage() {
        check(
            &[&run(1..3), &run(4..6)],
            None,
            Err("commit 4 does not follow"),
        );
        let torn = run(1..3);
        let torn = &torn[..torn.len() - 1];
        check(&[torn, &run(3..6)], None, Err("commit 3 does not follow"));
        check(&[], None, Err("missing"));
    }

    /// A value that looks like a journal, or like parts of one.
    fn value(dice: &Dice, commit: u64) -> Vec<u8> {
        let mut value = Vec::new();
        for _ in 0..1 + dice.below(4) {
            let later = commit + dice.below(3);
            let whole = [&TRAILER[..], &run(later..later + 3), &batch(later + 3, b"")].concat();
            match dice.below(5) {
                0 => value.extend(TRAILER.repeat(1 + dice.place(20))),
                1 => value.extend(whole),
                2 => value.extend(&whole[..dice.place(whole.len())]),
                3 => value.extend(&whole[dice.place(whole.len())..]),
                _ => value.extend(vec![0; dice.place(700)]),
            }
        }
        value
    }

    /// A journal, and where each of its commits ends.
    fn journal(dice: &Dice, commits: u64) -> (Vec<u8>, Vec<usize>) {
        let (mut bytes, mut ends) = (Vec::new(), vec![0]);
        for commit in 1..=commits {
            bytes.extend(batch(commit, &value(dice, commit)));
            ends.push(bytes.len());
        }
        (bytes, ends)
    }

    fn examined(bytes: &[u8], holes: Holes) -> Result<Examined, Refused> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("0.jnl"), bytes).unwrap();
        examine(folder.path(), None, holes)
    }

    #[test]
    fn a_torn_batch_is_cut_off_whatever_its_values_hold() {
        let dice = Dice::new(1);
        for _ in 0..10 {
            let (bytes, ends) = journal(&dice, 4);
            for _ in 0..40 {
                let end = dice.place(bytes.len());
                let mut torn = bytes[..end].to_vec();
                torn.resize(end + dice.place(2) * 5_000, 0);
                let whole = ends.iter().rposition(|whole| *whole <= end).unwrap();
                let holes = [Holes::Possible, Holes::Impossible][dice.place(2)];
                let found = examined(&torn, holes).unwrap();
                let last = (whole > 0).then_some(whole as u64);
                assert_eq!(found.last_commit, last, "torn at {end}, after {ends:?}");
            }
        }
    }

    #[test]
    fn a_flipped_bit_never_costs_a_commit_that_follows() {
        let dice = Dice::new(2);
        for _ in 0..30 {
            let (bytes, ends) = journal(&dice, 4);
            for _ in 0..60 {
                let at = dice.place(bytes.len());
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << dice.below(8);
                match examined(&damaged, Holes::Impossible) {
                    Err(Refused::Damaged(_)) => {}
                    Ok(found) if at < ends[3] => {
                        assert_eq!(found.last_commit, Some(4), "byte {at}")
                    }
                    Ok(found) => assert!(found.last_commit >= Some(3), "byte {at}"),
                    Err(Refused::Io(_, error)) => panic!("{error}"),
                }
            }
        }
    }

    /// A batch's beginning that claims all of what is behind it.
    fn claim(left: usize) -> Vec<u8> {
        let value = (left - 60) as u32;
        let mut bytes = [
            &TRAILER[..],
            &[START, 1, 0, 0, 0],
            &[0; 8],
            &[ITEM, 0, 0],
            &[0; 8],
        ]
        .concat();
        bytes.extend([1, 0]);
        bytes.extend(value.to_le_bytes());
        bytes.extend(value.to_le_bytes());
        bytes
    }

    /// How often each byte is looked at when a journal ends with a value that was not written to its end, or that is damaged.
    fn work(value: &[u8], tear: usize, flip: Option<usize>) -> u64 {
        let mut bytes = [run(1..3), batch(3, value)].concat();
        bytes.truncate(bytes.len() - tear);
        if let Some(at) = flip {
            bytes[run(1..3).len() + at] ^= 1;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("0.jnl");
        std::fs::write(&path, &bytes).unwrap();
        let mut scan = Scan::open(&path).unwrap();
        while scan.batch().unwrap().is_some() {}
        let start = run(1..3).len() as u64;
        drop(end_of(&mut scan, &path, start, Some(2), Holes::Possible));
        scan.work() / bytes.len() as u64
    }

    #[test]
    fn the_work_is_linear_in_what_is_torn_or_damaged() {
        const MIB: usize = 1 << 20;
        let mut claims = Vec::new();
        while claims.len() < MIB {
            claims.extend(claim(MIB + 100 - claims.len()));
        }
        let heads = [&claim(100)[17..30], &[0; 8]].concat().repeat(MIB / 21);
        let values = [TRAILER.repeat(MIB / 4), claims, heads];
        for value in &values {
            for tear in [1, 20, 100, MIB / 2] {
                let work = work(value, tear, None);
                assert!(work <= 12, "torn by {tear}: {work}");
            }
            // The first item's tag, so that nothing says where the batch ends; the checksum's, so that something does.
            for flip in [13, 40] {
                let least = JOURNAL_LOOK_FACTOR + 8;
                let work = work(value, 0, Some(flip));
                assert!(work <= least, "damaged at {flip}: {work}");
            }
        }
    }

    #[test]
    fn more_imitations_of_commits_than_are_looked_at_refuse() {
        const BYTES: usize = 1 << 20;
        let mut claims = Vec::new();
        while claims.len() < BYTES {
            claims.extend(claim(BYTES + 100 - claims.len()));
        }
        // Each claim ends where an end is, so that only its checksum tells that it is none.
        claims.extend([END, 0, 0, 0, 0, 0, 0, 0, 0]);
        claims.extend(TRAILER);
        let mut bytes = batch(1, &claims);
        bytes[13] ^= 1;
        let Err(Refused::Damaged(reason)) = examined(&bytes, Holes::Impossible) else {
            panic!("it was opened");
        };
        assert!(reason.contains("JOURNAL_LOOK_FACTOR"), "{reason}");
    }
}
