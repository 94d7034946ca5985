//! Looks through the engine's journals before the engine does. Decodes no record; writes nothing but cuts off what no commit ended.
//! Rule: what the engine replays afterwards is an unbroken run of commits, or the database is not opened.
//!
//! The engine drops what follows an unreadable byte without a word, goes on with the next file, and does not cover its numbers
//! by a checksum. Commits are numbered within the covered part, so a gap shows here. A batch is, in little-endian numbers:
//! 1, items (u32), sequence (u64); for each item 2, type, compression, keyspace (u64), length of key (u16), of value twice (u32),
//! key, value; 3, XXH3 of the items (u64), `FJL` 3.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use xxhash_rust::xxh3::Xxh3;

use super::layout::{META_KEY, Meta};

const START: u8 = 1;
const ITEM: u8 = 2;
const END: u8 = 3;
const TRAILER: [u8; 4] = *b"FJL\x03";
/// An item's fields before its key, its tag among them.
const ITEM_HEAD_BYTES: usize = 21;
const CHUNK_BYTES: usize = 64 * 1024;
const BUFFER_BYTES: usize = 1024 * 1024;
/// A run of zeros as long as this is a part of the file that the system never wrote before a crash of the machine.
const HOLE_BYTES: usize = 512;
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
    let rest = scan.rest(start).map_err(at)?;
    if rest.written == 0 {
        return Ok(None);
    }
    for candidate in rest.after_trailers {
        scan.seek(candidate).map_err(at)?;
        let later = scan.batch().map_err(at)?;
        let is_later = later.is_some_and(|batch| last.is_none_or(|last| batch.commit > last));
        if !is_later {
            continue;
        }
        let is_torn = holes == Holes::Possible && scan.has_hole(start, candidate).map_err(at)?;
        if !is_torn {
            return Err(Refused::Damaged(format!(
                "{} is damaged at byte {start}, and commits follow",
                path.display()
            )));
        }
    }
    Ok(Some(start))
}

fn cut(path: &Path, length: u64) -> io::Result<()> {
    let file = OpenOptions::new().write(true).open(path)?;
    file.set_len(length)?;
    file.sync_all()
}

struct Batch {
    commit: u64,
    sequence: u64,
}

/// One journal, read from a position on.
struct Scan {
    file: BufReader<File>,
    position: u64,
    length: u64,
    chunk: Vec<u8>,
}

/// What is behind the last readable batch.
struct Rest {
    /// Bytes that are not zero.
    written: u64,
    /// Where another batch might begin.
    after_trailers: Vec<u64>,
}

impl Scan {
    fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok(Self {
            file: BufReader::with_capacity(BUFFER_BYTES, file),
            position: 0,
            length,
            chunk: vec![0; CHUNK_BYTES],
        })
    }

    fn seek(&mut self, position: u64) -> io::Result<()> {
        self.file.seek(SeekFrom::Start(position))?;
        self.position = position;
        Ok(())
    }

    /// The next batch; `None` when there is no whole one. Where that ends is then of no use.
    fn batch(&mut self) -> io::Result<Option<Batch>> {
        match self.read_batch() {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
            other => other,
        }
    }

    fn read_batch(&mut self) -> io::Result<Option<Batch>> {
        let [START, i, j, k, l, sequence @ ..] = self.bytes::<13>()? else {
            return Ok(None);
        };
        let mut hash = Xxh3::new();
        let mut meta = None;
        for _ in 0..u32::from_le_bytes([i, j, k, l]) {
            let head = self.bytes::<ITEM_HEAD_BYTES>()?;
            let [
                ITEM,
                0 | 1,
                0,
                _,
                _,
                _,
                _,
                _,
                _,
                _,
                _,
                a,
                b,
                c,
                d,
                e,
                f,
                copy @ ..,
            ] = head
            else {
                return Ok(None);
            };
            let value_bytes = [c, d, e, f];
            if copy != value_bytes {
                return Ok(None);
            }
            hash.update(&head);
            let key_bytes = u64::from(u16::from_le_bytes([a, b]));
            let value_bytes = u64::from(u32::from_le_bytes(value_bytes));
            if key_bytes + value_bytes > self.length - self.position {
                return Ok(None);
            }
            let is_meta = key_bytes == META_KEY.len() as u64;
            let key = self.pass(key_bytes, &mut hash)?;
            let is_meta = is_meta && key == META_KEY;
            let value = self.pass(value_bytes, &mut hash)?;
            if is_meta {
                meta = Meta::decode(value).ok();
            }
        }
        let [END, checksum @ .., a, b, c, d] = self.bytes::<13>()? else {
            return Ok(None);
        };
        let is_whole = checksum == hash.digest().to_le_bytes() && [a, b, c, d] == TRAILER;
        Ok(meta.filter(|_| is_whole).map(|meta| Batch {
            commit: meta.commit,
            sequence: u64::from_le_bytes(sequence),
        }))
    }

    fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.file.read_exact(&mut bytes)?;
        self.position += N as u64;
        Ok(bytes)
    }

    /// Hashes what is read; returns the last chunk of it, which is all of it when it is short.
    fn pass(&mut self, bytes: u64, hash: &mut Xxh3) -> io::Result<&[u8]> {
        let mut left = bytes;
        let mut last = 0;
        while left > 0 {
            last = CHUNK_BYTES.min(usize::try_from(left).unwrap_or(CHUNK_BYTES));
            self.file.read_exact(&mut self.chunk[..last])?;
            hash.update(&self.chunk[..last]);
            left -= last as u64;
        }
        self.position += bytes;
        Ok(&self.chunk[..last])
    }

    fn rest(&mut self, start: u64) -> io::Result<Rest> {
        let mut rest = Rest {
            written: 0,
            after_trailers: Vec::new(),
        };
        self.seek(start)?;
        let zeros = vec![0; CHUNK_BYTES];
        let mut window = [0; TRAILER.len()];
        let mut position = start;
        loop {
            let read = self.file.read(&mut self.chunk)?;
            if read == 0 {
                return Ok(rest);
            }
            // The room ahead is most of a young journal: compared at once, not byte by byte.
            if self.chunk[..read] == zeros[..read] {
                window = [0; TRAILER.len()];
                position += read as u64;
                continue;
            }
            for byte in &self.chunk[..read] {
                position += 1;
                rest.written += u64::from(*byte != 0);
                window.rotate_left(1);
                window[TRAILER.len() - 1] = *byte;
                if window == TRAILER {
                    rest.after_trailers.push(position);
                }
            }
        }
    }

    /// Whether a part of the file was never written.
    fn has_hole(&mut self, from: u64, to: u64) -> io::Result<bool> {
        let aligned = from.next_multiple_of(HOLE_BYTES as u64);
        self.seek(aligned)?;
        let mut block = [0; HOLE_BYTES];
        for _ in 0..(to.saturating_sub(aligned)) / HOLE_BYTES as u64 {
            self.file.read_exact(&mut block)?;
            if block == [0; HOLE_BYTES] {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
