//! Reads one journal: whole batches, and commits behind what is none. Decides nothing and changes nothing.
//! Rule: the work is linear in the bytes of the file, whatever they are; what would take more is answered as unclear.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use memchr::memmem::Finder;
use xxhash_rust::xxh3::Xxh3;

use crate::disk::layout::{META_KEY, META_SEALED_BYTES, Meta, SEAL_BYTES, Seal};
use crate::limits::JOURNAL_LOOK_FACTOR;

pub(super) const START: u8 = 1;
pub(super) const ITEM: u8 = 2;
pub(super) const END: u8 = 3;
pub(super) const TRAILER: [u8; 4] = *b"FJL\x03";
/// A batch's tag, items and sequence; also its end: the tag, the checksum and the trailer.
const BRACKET_BYTES: usize = 13;
/// An item's fields before its key, its tag among them.
const ITEM_HEAD_BYTES: usize = 21;
/// The item of a meta record with a seal, which it ends with.
const META_ITEM_BYTES: usize = ITEM_HEAD_BYTES + META_KEY.len() + META_SEALED_BYTES;
const SEAL_AT: u64 = (META_ITEM_BYTES - SEAL_BYTES) as u64;
/// A batch's head and that of its first item, by which most of what is no batch is distinguished from one.
const HEADS_BYTES: usize = BRACKET_BYTES + ITEM_HEAD_BYTES;
const CHUNK_BYTES: usize = 64 * 1024;
/// A run of zeros as long as this is a part of the file that the system never wrote before a crash of the machine.
const HOLE_BYTES: usize = 512;
/// What a search of a short rest may always look at.
const LOOK_BYTES_MIN: u64 = 1024 * 1024;

/// A batch that is what was written.
pub(super) struct Batch {
    pub(super) commit: u64,
    pub(super) sequence: u64,
}

/// The meta record of a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CommitSeal {
    /// Where its item begins.
    pub(super) place: u64,
    pub(super) commit: u64,
}

/// What is behind a damaged place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DamageTail {
    /// Nothing that must not be lost.
    Nothing,
    /// A commit, here.
    Commit(u64),
    /// From here on, nothing is known.
    Unclear(u64),
}

/// An item's head, once it is known to be one.
struct Head {
    bytes: [u8; ITEM_HEAD_BYTES],
    key_bytes: u64,
    value_bytes: u64,
}

/// One journal, read from a position on.
pub(super) struct Scan {
    file: BufReader<CountingReader>,
    pub(super) position: u64,
    pub(super) length: u64,
    chunk: Vec<u8>,
    /// Bytes that were taken out of the buffer.
    taken: u64,
}

/// Counts what is read of a file.
struct CountingReader {
    file: File,
    read: u64,
}

impl Read for CountingReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.read += read as u64;
        Ok(read)
    }
}

impl io::Seek for CountingReader {
    fn seek(&mut self, place: io::SeekFrom) -> io::Result<u64> {
        self.file.seek(place)
    }
}

impl Scan {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok(Self {
            file: BufReader::with_capacity(CHUNK_BYTES, CountingReader { file, read: 0 }),
            position: 0,
            length,
            chunk: vec![0; CHUNK_BYTES],
            taken: 0,
        })
    }

    /// Bytes that were read and looked at, again each time.
    pub(super) fn work(&self) -> u64 {
        self.taken + self.file.get_ref().read
    }

    /// The next batch; `None` when there is no whole one. Where that ends is then of no use.
    pub(super) fn batch(&mut self) -> io::Result<Option<Batch>> {
        let Some(items) = self.head()? else {
            return Ok(None);
        };
        let (count, sequence) = items;
        let mut hash = Xxh3::new();
        let mut meta = None;
        for _ in 0..count {
            let Some(head) = self.item()? else {
                return Ok(None);
            };
            hash.update(&head.bytes);
            if head.key_bytes + head.value_bytes > self.length - self.position {
                return Ok(None);
            }
            let is_meta = head.key_bytes == META_KEY.len() as u64;
            let key = self.pass(head.key_bytes, &mut hash)?;
            let is_meta = is_meta && key == META_KEY;
            let value = self.pass(head.value_bytes, &mut hash)?;
            if is_meta {
                meta = Meta::decode(value).ok();
            }
        }
        let Some([END, checksum @ .., a, b, c, d]) = self.bytes::<BRACKET_BYTES>()? else {
            return Ok(None);
        };
        let is_whole = checksum == hash.digest().to_le_bytes() && [a, b, c, d] == TRAILER;
        Ok(meta.filter(|_| is_whole).map(|meta| Batch {
            commit: meta.commit,
            sequence,
        }))
    }

    /// How many items a batch says it has, and its sequence.
    fn head(&mut self) -> io::Result<Option<(u32, u64)>> {
        let Some([START, i, j, k, l, sequence @ ..]) = self.bytes::<BRACKET_BYTES>()? else {
            return Ok(None);
        };
        let items = u32::from_le_bytes([i, j, k, l]);
        Ok(Some((items, u64::from_le_bytes(sequence))))
    }

    fn item(&mut self) -> io::Result<Option<Head>> {
        Ok(self.bytes::<ITEM_HEAD_BYTES>()?.and_then(Head::of))
    }

    /// The first two meta records with the seal that `counts` names, from `start` on.
    pub(super) fn sealed(
        &mut self,
        start: u64,
        written: u64,
        seal: Seal,
        counts: impl Fn(u64) -> bool,
    ) -> io::Result<Vec<CommitSeal>> {
        let finder = Finder::new(&seal.0);
        let mut window = vec![0; CHUNK_BYTES + SEAL_BYTES - 1];
        let mut found = Vec::new();
        let mut base = start;
        while base < written {
            let left = usize::try_from(written - base).unwrap_or(usize::MAX);
            let filled = window.len().min(left);
            let bytes = &mut window[..filled];
            self.file.get_ref().file.read_exact_at(bytes, base)?;
            self.taken += filled as u64;
            for at in finder.find_iter(&*bytes) {
                let place = (base + at as u64).checked_sub(SEAL_AT);
                let Some(place) = place.filter(|place| *place >= start) else {
                    continue;
                };
                if let Some(commit) = self.meta_at(place)?.filter(|commit| counts(*commit)) {
                    found.push(CommitSeal { place, commit });
                    if found.len() == 2 {
                        return Ok(found);
                    }
                }
            }
            base += CHUNK_BYTES as u64;
        }
        Ok(found)
    }

    /// The commit that the meta record is of whose item begins at `place`.
    fn meta_at(&mut self, place: u64) -> io::Result<Option<u64>> {
        let mut item = [0; META_ITEM_BYTES];
        self.file.get_ref().file.read_exact_at(&mut item, place)?;
        self.taken += META_ITEM_BYTES as u64;
        let Some((head, record)) = item.split_first_chunk::<ITEM_HEAD_BYTES>() else {
            return Ok(None);
        };
        let is_meta = Head::of(*head).is_some_and(|head| head.key_bytes == META_KEY.len() as u64);
        let stored = record.strip_prefix(&META_KEY).filter(|_| is_meta);
        let meta = stored.and_then(|stored| Meta::decode(stored).ok());
        Ok(meta.map(|meta| meta.commit))
    }

    /// Whether an item of the batch at `start` begins at `place`, by its heads and lengths alone.
    pub(super) fn has_item(&mut self, start: u64, written: u64, place: u64) -> io::Result<bool> {
        let mut is_there = false;
        self.frame(start, written, |item| is_there |= item == place)?;
        Ok(is_there)
    }

    /// Follows the heads of a batch, and passes over its keys and values; returns where it ends, if it looks whole.
    fn frame(
        &mut self,
        start: u64,
        written: u64,
        mut item: impl FnMut(u64),
    ) -> io::Result<Option<u64>> {
        self.seek(start)?;
        let Some((count, _)) = self.head()? else {
            return Ok(None);
        };
        for _ in 0..count {
            let at = self.position;
            let Some(head) = self.item()? else {
                return Ok(None);
            };
            let bytes = head.key_bytes + head.value_bytes;
            if bytes > written.saturating_sub(self.position) {
                return Ok(None);
            }
            item(at);
            self.seek(self.position + bytes)?;
        }
        let is_ended = matches!(self.bytes::<BRACKET_BYTES>()?, Some([END, ..]));
        Ok((is_ended && self.position <= written).then_some(self.position))
    }

    /// Where the bytes from `start` on end that are not zero; `start` when there are none.
    pub(super) fn written(&mut self, start: u64) -> io::Result<u64> {
        self.seek(start)?;
        let zeros = vec![0; CHUNK_BYTES];
        let mut written = start;
        while self.position < self.length {
            let at = self.position;
            let read = self.fill_chunk()?;
            // The room ahead is most of a young journal: compared at once, not byte by byte.
            let chunk = &self.chunk[..read];
            if chunk != &zeros[..read]
                && let Some(last) = chunk.iter().rposition(|byte| *byte != 0)
            {
                written = at + last as u64 + 1;
            }
        }
        Ok(written)
    }

    /// Looks for a commit of those that `is_later` names, from a damaged place on, when commits have no seal. Values may imitate them.
    pub(super) fn following(
        &mut self,
        start: u64,
        written: u64,
        is_later: impl Fn(u64) -> bool,
    ) -> io::Result<DamageTail> {
        let work_max = self.work() + LOOK_BYTES_MIN + (written - start) * JOURNAL_LOOK_FACTOR;
        // Where the batch seems to end, also when its own last bytes are what is damaged.
        if let Some(end) = self.frame(start, written, |_| {})? {
            self.seek(end)?;
            if self.batch()?.is_some_and(|batch| is_later(batch.commit)) {
                return Ok(DamageTail::Commit(end));
            }
        }
        let finder = Finder::new(&TRAILER);
        // What a batch is recognized by may lie across the end of a window: the next one begins before it.
        let overlap = TRAILER.len() + HEADS_BYTES;
        let mut window = vec![0; CHUNK_BYTES + overlap];
        let mut base = start;
        while base < written {
            let left = usize::try_from(written - base).unwrap_or(usize::MAX);
            let filled = window.len().min(left);
            let bytes = &mut window[..filled];
            self.file.get_ref().file.read_exact_at(bytes, base)?;
            self.taken += filled as u64;
            let bytes = &*bytes;
            for at in finder.find_iter(bytes).take_while(|at| *at < CHUNK_BYTES) {
                let behind = at + TRAILER.len();
                let place = base + behind as u64;
                let heads = bytes.get(behind..behind + HEADS_BYTES);
                if !heads.is_some_and(|heads| may_be_batch(heads, written - place)) {
                    continue;
                }
                if self.work() > work_max {
                    return Ok(DamageTail::Unclear(place));
                }
                if self.frame(place, written, |_| {})?.is_some() {
                    self.seek(place)?;
                    if self.batch()?.is_some_and(|batch| is_later(batch.commit)) {
                        return Ok(DamageTail::Commit(place));
                    }
                }
            }
            base += CHUNK_BYTES as u64;
        }
        Ok(DamageTail::Nothing)
    }

    /// Whether a part of the file was never written.
    pub(super) fn has_hole(&mut self, from: u64, to: u64) -> io::Result<bool> {
        let aligned = from.next_multiple_of(HOLE_BYTES as u64);
        self.seek(aligned)?;
        for _ in 0..(to.saturating_sub(aligned)) / HOLE_BYTES as u64 {
            if self.bytes::<HOLE_BYTES>()? == Some([0; HOLE_BYTES]) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Goes to a place; nothing is read twice that is near.
    fn seek(&mut self, position: u64) -> io::Result<()> {
        let offset = position.cast_signed() - self.position.cast_signed();
        self.file.seek_relative(offset)?;
        self.position = position;
        Ok(())
    }

    /// The next bytes; `None` when the file has no more so many.
    fn bytes<const N: usize>(&mut self) -> io::Result<Option<[u8; N]>> {
        if self.length.saturating_sub(self.position) < N as u64 {
            return Ok(None);
        }
        let mut bytes = [0; N];
        self.file.read_exact(&mut bytes)?;
        self.position += N as u64;
        self.taken += N as u64;
        Ok(Some(bytes))
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
        self.taken += bytes;
        Ok(&self.chunk[..last])
    }

    fn fill_chunk(&mut self) -> io::Result<usize> {
        let left = usize::try_from(self.length - self.position).unwrap_or(CHUNK_BYTES);
        let filled = CHUNK_BYTES.min(left);
        self.file.read_exact(&mut self.chunk[..filled])?;
        self.position += filled as u64;
        self.taken += filled as u64;
        Ok(filled)
    }
}

impl Head {
    fn of(bytes: [u8; ITEM_HEAD_BYTES]) -> Option<Self> {
        let [ITEM, 0 | 1, 0, keyspace_and_lengths @ ..] = bytes else {
            return None;
        };
        let [_, _, _, _, _, _, _, _, a, b, c, d, e, f, copy @ ..] = keyspace_and_lengths;
        let value_bytes = [c, d, e, f];
        (copy == value_bytes).then(|| Self {
            bytes,
            key_bytes: u64::from(u16::from_le_bytes([a, b])),
            value_bytes: u64::from(u32::from_le_bytes(value_bytes)),
        })
    }
}

/// Whether a batch may begin with `heads`, of which `left` bytes are there.
fn may_be_batch(heads: &[u8], left: u64) -> bool {
    let Some((&[START, i, j, k, l, ..], item)) = heads.split_first_chunk::<BRACKET_BYTES>() else {
        return false;
    };
    let count = u64::from(u32::from_le_bytes([i, j, k, l]));
    let head = item.first_chunk().and_then(|bytes| Head::of(*bytes));
    let least = |head: Head| {
        let items = count * ITEM_HEAD_BYTES as u64 + head.key_bytes + head.value_bytes;
        items + 2 * BRACKET_BYTES as u64
    };
    count > 0 && head.is_some_and(|head| least(head) <= left)
}
