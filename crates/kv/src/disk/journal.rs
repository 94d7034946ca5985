//! Looks through the engine's journals before the engine does. Decodes no record; writes nothing but cuts off what no commit ended.
//! Rule: what the engine replays afterwards is an unbroken run of commits, or the database is not opened.
//!
//! The engine drops what follows an unreadable byte without a word, goes on with the next file, and does not cover its numbers
//! by a checksum. Commits are numbered within the covered part, so a gap shows here. A batch is, in little-endian numbers:
//! 1, items (u32), sequence (u64); for each item 2, type, compression, keyspace (u64), length of key (u16), of value twice (u32),
//! key, value; 3, XXH3 of the items (u64), `FJL` 3.
//!
//! What a process leaves that dies, or that has no more space, is the beginning of one batch with nothing or zeros after it. So what cannot
//! be read is cut off when no commit is behind it, and is damage when there is one. Commits are distinguished from values that imitate them by the
//! seal of the database. In one of an earlier version, which has none, whatever looks like a commit is taken for one: that refuses too
//! much, never too little.

mod scan;

use std::fs::OpenOptions;
use std::io;
use std::path::{Path, PathBuf};

use self::scan::{CommitSeal, DamageTail, Scan};
use super::layout::Seal;
use crate::limits::JOURNAL_LOOK_FACTOR;

/// Sequence numbers count commits; a larger one is a flipped bit.
const SEQUENCE_MAX: u64 = 1 << 48;

/// What the journals hold.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct JournalReport {
    /// The last commit in them.
    pub(super) last_commit: Option<u64>,
    /// Bytes cut off that no commit ended, or that come after the last one to be kept.
    pub(super) cut_bytes: u64,
}

/// Why journals cannot be replayed.
#[derive(Debug)]
pub(super) enum ReplayError {
    Io(PathBuf, io::Error),
    Damaged(String),
}

/// Whether a file may have regions of zeros that the system never wrote. Zeros are values like others, so they are believed to be that only after a
/// crash of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SparseRegions {
    Possible,
    Impossible,
}

/// What is known before the journals are read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Context {
    /// The last acknowledged commit, when the folder is opened again after a failure: what comes after it is cut off.
    pub(super) keep: Option<u64>,
    pub(super) sparse_regions: SparseRegions,
    /// None of a database of an earlier version.
    pub(super) seal: Option<Seal>,
}

/// Reads all journals of the engine's folder in order, and cuts off what is not to be replayed once all of them have been read.
pub(super) fn examine(folder: &Path, context: Context) -> Result<JournalReport, ReplayError> {
    let mut examined = JournalReport::default();
    let files = journals(folder)?;
    if files.is_empty() {
        return Err(ReplayError::Damaged("its journal is missing".to_owned()));
    }
    let mut sequence = None;
    let mut cuts = Vec::new();
    for path in &files {
        let at = |error| ReplayError::Io(path.clone(), error);
        let mut scan = Scan::open(path).map_err(at)?;
        let end = loop {
            let start = scan.position;
            let Some(batch) = scan.batch().map_err(at)? else {
                break end_of(&mut scan, path, start, examined.last_commit, context)?;
            };
            if context.keep.is_some_and(|keep| batch.commit > keep) {
                break Some(start);
            }
            let follows = cuts.is_empty()
                && examined
                    .last_commit
                    .is_none_or(|last| batch.commit == last + 1)
                && sequence.is_none_or(|last| batch.sequence > last)
                && batch.sequence < SEQUENCE_MAX;
            if !follows {
                return Err(ReplayError::Damaged(format!(
                    "commit {} does not follow in {} at byte {start}",
                    batch.commit,
                    path.display()
                )));
            }
            examined.last_commit = Some(batch.commit);
            sequence = Some(batch.sequence);
        };
        if let Some(end) = end {
            examined.cut_bytes += scan.length - end;
            cuts.push((path, end));
        }
    }
    for (path, end) in cuts {
        cut(path, end).map_err(|error| ReplayError::Io(path.clone(), error))?;
    }
    Ok(examined)
}

/// The engine's journals, oldest first.
fn journals(folder: &Path) -> Result<Vec<PathBuf>, ReplayError> {
    let at = |error| ReplayError::Io(folder.to_owned(), error);
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
                return Err(ReplayError::Damaged(format!(
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
    context: Context,
) -> Result<Option<u64>, ReplayError> {
    let at = |error| ReplayError::Io(path.to_owned(), error);
    let written = scan.written(start).map_err(at)?;
    if written == start {
        return Ok(None);
    }
    // Behind the last acknowledged commit, nothing can be lost.
    if last.is_some() && last == context.keep {
        return Ok(Some(start));
    }
    let (place, reason) = match following(scan, start, written, last, context).map_err(at)? {
        DamageTail::Nothing => return Ok(Some(start)),
        DamageTail::Commit(place) => (place, "commits follow".to_owned()),
        DamageTail::Unclear(place) => (
            place,
            format!(
                "commits may follow: what is behind it was searched {JOURNAL_LOOK_FACTOR} times (JOURNAL_LOOK_FACTOR)"
            ),
        ),
    };
    // What is opened again has not seen a crash of the machine.
    let may_be_sparse = context.sparse_regions == SparseRegions::Possible && context.keep.is_none();
    if may_be_sparse && scan.has_hole(start, place).map_err(at)? {
        return Ok(Some(start));
    }
    Err(ReplayError::Damaged(format!(
        "{} is damaged at byte {start}, and {reason}",
        path.display()
    )))
}

/// What is behind `start`, where a batch begins that cannot be read.
fn following(
    scan: &mut Scan,
    start: u64,
    written: u64,
    last: Option<u64>,
    Context { keep, seal, .. }: Context,
) -> io::Result<DamageTail> {
    let counts =
        |commit| last.is_none_or(|last| commit > last) && keep.is_none_or(|keep| commit <= keep);
    // There are more acknowledged commits, which is behind `start` or nowhere.
    if last.is_some() && keep.is_some() {
        return Ok(DamageTail::Commit(start));
    }
    let Some(seal) = seal else {
        return scan.following(start, written, counts);
    };
    let is_own = |scan: &mut Scan, CommitSeal { place, commit }| {
        Ok::<_, io::Error>(
            keep.is_none()
                && (last.is_some_and(|last| commit == last + 1)
                    || scan.has_item(start, written, place)?),
        )
    };
    Ok(match scan.sealed(start, written, seal, counts)?[..] {
        [] => DamageTail::Nothing,
        // The batch's own meta record may be whole when the rest is not.
        [one] if is_own(scan, one)? => DamageTail::Nothing,
        [.., later] => DamageTail::Commit(later.place),
    })
}

fn cut(path: &Path, length: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    file.set_len(length)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use tsumugi_testkit::Dice;
    use xxhash_rust::xxh3::Xxh3;

    use super::scan::{END, ITEM, START, TRAILER};
    use super::*;
    use crate::disk::layout::{META_KEY, Meta};

    const SEAL: Seal = Seal(*b"\x9c a seal of \0\xff16");

    fn batch(commit: u64, filler: &[u8]) -> Vec<u8> {
        batch_with(commit, filler, Some(SEAL))
    }

    fn batch_with(commit: u64, filler: &[u8], seal: Option<Seal>) -> Vec<u8> {
        let meta = Meta {
            epoch: 0,
            count: 0,
            commit,
            seal,
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

    fn context(keep: Option<u64>, sparse_regions: SparseRegions) -> Context {
        Context {
            keep,
            sparse_regions,
            seal: Some(SEAL),
        }
    }

    /// Files, and the last commit with the bytes cut off, or why they are refused.
    fn check(files: &[&[u8]], keep: Option<u64>, expected: Result<(Option<u64>, u64), &str>) {
        let folder = tempfile::tempdir().unwrap();
        for (number, bytes) in files.iter().enumerate() {
            std::fs::write(folder.path().join(format!("{number}.jnl")), bytes).unwrap();
        }
        match (
            examine(folder.path(), context(keep, SparseRegions::Possible)),
            expected,
        ) {
            (Ok(examined), Ok(expected)) => {
                assert_eq!((examined.last_commit, examined.cut_bytes), expected);
                let again = examine(folder.path(), context(None, SparseRegions::Possible)).unwrap();
                assert_eq!((again.last_commit, again.cut_bytes), (expected.0, 0));
            }
            (Err(ReplayError::Damaged(reason)), Err(expected)) => {
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
    fn batch_without_its_end_is_cut_off() {
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
    fn bytes_behind_the_last_commit_to_keep_are_cut_off() {
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
                match examine(folder.path(), context(None, SparseRegions::Possible)) {
                    Err(ReplayError::Damaged(_)) => {}
                    // The keyspace and the sequence within its neighbours are the engine's own matter.
                    Ok(examined) => assert_eq!(examined.last_commit, Some(4), "byte {at}"),
                    Err(ReplayError::Io(_, error)) => panic!("{error}"),
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
        let unbelieved = examine(folder.path(), context(None, SparseRegions::Impossible));
        assert!(matches!(unbelieved, Err(ReplayError::Damaged(_))));
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
        for _ in 0..1 + dice.place(4) {
            let later = commit + dice.place(3) as u64;
            // A client knows another seal, or none.
            let seal = [None, Some(Seal([7; 16]))][dice.place(2)];
            let imitation = |commit| batch_with(commit, b"value", seal);
            let run: Vec<u8> = (later..later + 4).flat_map(imitation).collect();
            let whole = [&TRAILER[..], &run].concat();
            match dice.place(5) {
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

    fn examined(bytes: &[u8], context: Context) -> Result<JournalReport, ReplayError> {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("0.jnl"), bytes).unwrap();
        examine(folder.path(), context)
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
                let sparse_regions =
                    [SparseRegions::Possible, SparseRegions::Impossible][dice.place(2)];
                let found = examined(&torn, context(None, sparse_regions)).unwrap();
                let last = (whole > 0).then_some(whole as u64);
                assert_eq!(found.last_commit, last, "torn at {end}, after {ends:?}");
            }
        }
    }

    #[test]
    fn a_damaged_byte_never_costs_a_commit_that_follows() {
        let dice = Dice::new(2);
        for _ in 0..30 {
            let (bytes, ends) = journal(&dice, 4);
            for _ in 0..60 {
                let at = dice.place(bytes.len());
                let mut damaged = bytes.clone();
                damaged[at] ^= match dice.place(2) {
                    0 => 1 << dice.place(8),
                    _ => 1 + dice.place(255) as u8,
                };
                match examined(&damaged, context(None, SparseRegions::Impossible)) {
                    Err(ReplayError::Damaged(_)) => {}
                    Ok(found) if at < ends[3] => {
                        assert_eq!(found.last_commit, Some(4), "byte {at}")
                    }
                    Ok(found) => assert!(found.last_commit >= Some(3), "byte {at}"),
                    Err(ReplayError::Io(_, error)) => panic!("{error}"),
                }
            }
        }
    }

    /// Every byte of one commit, and the first value that is refused or that is not.
    fn overwrite(run: &[u8], commit: std::ops::Range<usize>, context: Context, last: u64) {
        for at in commit {
            for other in [0x00, 0x01, 0x03, 0x41, 0x7f, 0x80, 0xff, run[at] ^ 0x10] {
                let mut damaged = run.to_vec();
                damaged[at] = other;
                match examined(&damaged, context) {
                    Err(ReplayError::Damaged(_)) => {}
                    Ok(found) => assert_eq!(found.last_commit, Some(last), "byte {at} is {other}"),
                    Err(ReplayError::Io(_, error)) => panic!("{error}"),
                }
            }
        }
    }

    #[test]
    fn an_overwritten_byte_with_one_commit_behind_it_is_damage() {
        let context = context(None, SparseRegions::Impossible);
        let end = run(1..2).len();
        // The first commit of a journal, of which nothing says what number it has to have, and one after others.
        overwrite(&run(1..3), 0..end, context, 2);
        overwrite(&run(1..4), end..2 * end, context, 3);
        let long = [batch(1, &[7; 300]), run(2..4)].concat();
        overwrite(&long, 0..long.len() - 2 * end, context, 3);
    }

    #[test]
    fn journal_without_seals_is_searched_for_all_that_looks_like_a_commit() {
        let unsealed = Context {
            seal: None,
            ..context(None, SparseRegions::Impossible)
        };
        let old = |commits: std::ops::Range<u64>| -> Vec<u8> {
            let batches = commits.map(|commit| batch_with(commit, b"value", None));
            batches.flatten().collect()
        };
        let end = old(1..2).len();
        overwrite(&old(1..4), 0..end, unsealed, 3);
        overwrite(&old(1..4), end..2 * end, unsealed, 3);
        let whole = old(1..4);
        for tear in 2 * end + 1..whole.len() {
            let found = examined(&whole[..tear], unsealed).unwrap();
            assert_eq!(found.last_commit, Some(2), "torn at {tear}");
        }
        // Those after it have the seal, by which they are found.
        let both = [old(1..4), run(4..5)].concat();
        overwrite(
            &both,
            0..3 * end,
            context(None, SparseRegions::Impossible),
            4,
        );
    }

    #[test]
    fn torn_end_behind_the_commit_to_keep_is_cut_off_without_a_look_at_it() {
        // As of a full disk, with what is the worst that could be there.
        let torn = [run(1..3), run(3..4)[1..].to_vec(), run(4..7)].concat();
        let end = run(1..3).len() as u64;
        let cut = torn.len() as u64 - end;
        check(&[&torn], Some(2), Ok((Some(2), cut)));
        // But never an acknowledged commit.
        check(&[&torn], Some(3), Err("commits follow"));
        check(&[&torn], Some(6), Err("commits follow"));
        check(&[&torn[end as usize..]], Some(5), Err("commits follow"));
        check(&[&torn[end as usize..]], Some(2), Ok((None, cut)));
    }

    #[test]
    fn refused_journal_is_not_changed() {
        let folder = tempfile::tempdir().unwrap();
        let torn = run(1..3);
        let torn = &torn[..torn.len() - 1];
        std::fs::write(folder.path().join("0.jnl"), torn).unwrap();
        std::fs::write(folder.path().join("1.jnl"), run(3..5)).unwrap();
        for first in [0, run(1..2).len()] {
            std::fs::write(folder.path().join("0.jnl"), &torn[first..]).unwrap();
            let refused = examine(folder.path(), context(None, SparseRegions::Possible));
            assert!(matches!(refused, Err(ReplayError::Damaged(_))));
            let left = std::fs::read(folder.path().join("0.jnl")).unwrap();
            assert_eq!(left, &torn[first..]);
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
    fn work(value: &[u8], tear: usize, flip: Option<usize>, seal: Option<Seal>) -> u64 {
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
        let context = Context {
            seal,
            ..context(None, SparseRegions::Possible)
        };
        drop(end_of(&mut scan, &path, start, Some(2), context));
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
        for (seal, least) in [(Some(SEAL), 12), (None, JOURNAL_LOOK_FACTOR + 8)] {
            for value in &values {
                for tear in [1, 20, 100, MIB / 2] {
                    let work = work(value, tear, None, seal);
                    assert!(work <= least, "torn by {tear}: {work}");
                }
                // The first item's tag, so that nothing says where the batch ends; the checksum's, so that something does.
                for flip in [13, 40] {
                    let work = work(value, 0, Some(flip), seal);
                    assert!(work <= least, "damaged at {flip}: {work}");
                }
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
        let unsealed = Context {
            seal: None,
            ..context(None, SparseRegions::Impossible)
        };
        let Err(ReplayError::Damaged(reason)) = examined(&bytes, unsealed) else {
            panic!("it was opened");
        };
        assert!(reason.contains("JOURNAL_LOOK_FACTOR"), "{reason}");
    }
}
