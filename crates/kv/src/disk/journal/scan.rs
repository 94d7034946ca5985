//! Reads one journal: whole batches, the frame of one that is not whole, commits behind a damaged one. Decides nothing and changes nothing.
//! Rule: the work is linear in the bytes of the file, whatever they are; what would take more is answered as unclear.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use memchr::memmem::Finder;
use xxhash_rust::xxh3::Xxh3;

use crate::disk::layout::{META_KEY, Meta};
use crate::limits::JOURNAL_LOOK_FACTOR;

pub(super) const START: u8 = 1;
pub(super) const ITEM: u8 = 2;
pub(super) const END: u8 = 3;
pub(super) const TRAILER: [u8; 4] = *b"FJL\x03";
/// A batch's tag, items and sequence; also its end: the tag, the checksum and the trailer.
const BRACKET_BYTES: usize = 13;
/// An item's fields before its key, its tag among them.
const ITEM_HEAD_BYTES: usize = 21;
/// Where in an item its length of key is.
const KEY_LENGTH_AT: u64 = 11;
/// A batch's head and that of its first item, by which most of what is no batch is told from one.
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

/// How what is at a place looks as a batch, by its heads and lengths alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frame {
    /// It has an end.
    Closed,
    /// It goes on behind the last byte that was written. The last item whose head is there.
    Open(Option<u64>),
    /// There are bytes that are no part of a batch.
    Broken,
}

/// What is behind a damaged place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Following {
    /// Nothing that must not be lost.
    Nothing,
    /// A commit, here.
    Commit(u64),
    /// From here on, nothing is known.
    Unclear(u64),
}

/// Another length of key than an item has.
#[derive(Clone, Copy)]
struct Repair {
    item: u64,
    key_bytes: [u8; 2],
}

/// An item's head, once it is known to be one.
struct Head {
    bytes: [u8; ITEM_HEAD_BYTES],
    key_bytes: u64,
    value_bytes: u64,
}

/// One journal, read from a position on.
pub(super) struct Scan {
    file: BufReader<Counted>,
    pub(super) position: u64,
    pub(super) length: u64,
    chunk: Vec<u8>,
    /// Bytes that were taken out of the buffer.
    taken: u64,
}

/// Counts what is read of a file.
struct Counted {
    file: File,
    read: u64,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.read += read as u64;
        Ok(read)
    }
}

impl io::Seek for Counted {
    fn seek(&mut self, place: io::SeekFrom) -> io::Result<u64> {
        self.file.seek(place)
    }
}

impl Scan {
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok(Self {
            file: BufReader::with_capacity(CHUNK_BYTES, Counted { file, read: 0 }),
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
        self.batch_with(None)
    }

    fn batch_with(&mut self, repair: Option<Repair>) -> io::Result<Option<Batch>> {
        let Some(items) = self.head()? else {
            return Ok(None);
        };
        let (count, sequence) = items;
        let mut hash = Xxh3::new();
        let mut meta = None;
        for _ in 0..count {
            let Some(head) = self.item(repair)? else {
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

    fn item(&mut self, repair: Option<Repair>) -> io::Result<Option<Head>> {
        let at = self.position;
        let Some(mut bytes) = self.bytes::<ITEM_HEAD_BYTES>()? else {
            return Ok(None);
        };
        if let Some(repair) = repair.filter(|repair| repair.item == at) {
            bytes[KEY_LENGTH_AT as usize..][..2].copy_from_slice(&repair.key_bytes);
        }
        Ok(Head::of(bytes))
    }

    /// Whether the batch at `start` is the beginning of one that was not written to its end; `written` is where the bytes end that were.
    pub(super) fn is_torn(&mut self, start: u64, written: u64) -> io::Result<bool> {
        let Frame::Open(last) = self.frame(start, written, None)? else {
            return Ok(false);
        };
        // The length of a key stands there once, and a flipped bit of it can make a whole batch look torn.
        let Some(item) = last else {
            return Ok(true);
        };
        let mut length = [0; 2];
        self.file
            .get_ref()
            .file
            .read_exact_at(&mut length, item + KEY_LENGTH_AT)?;
        for bit in 0..u16::BITS {
            let key_bytes = (u16::from_le_bytes(length) ^ (1 << bit)).to_le_bytes();
            let repair = Some(Repair { item, key_bytes });
            if self.frame(start, written, repair)? == Frame::Closed {
                self.seek(start)?;
                if self.batch_with(repair)?.is_some() {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Follows the heads of a batch, and passes over its keys and values.
    fn frame(&mut self, start: u64, written: u64, repair: Option<Repair>) -> io::Result<Frame> {
        self.seek(start)?;
        let mut last = None;
        if let Some(frame) = self.beyond(BRACKET_BYTES, START, written, last)? {
            return Ok(frame);
        }
        let Some((count, _)) = self.head()? else {
            return Ok(Frame::Broken);
        };
        for _ in 0..count {
            if let Some(frame) = self.beyond(ITEM_HEAD_BYTES, ITEM, written, last)? {
                return Ok(frame);
            }
            last = Some(self.position);
            let Some(head) = self.item(repair)? else {
                return Ok(Frame::Broken);
            };
            let bytes = head.key_bytes + head.value_bytes;
            if bytes > written.saturating_sub(self.position) {
                return Ok(Frame::Open(last));
            }
            self.seek(self.position + bytes)?;
        }
        let open = self.beyond(BRACKET_BYTES, END, written, last)?;
        Ok(open.unwrap_or(Frame::Closed))
    }

    /// What a frame is when its next field, which begins with `tag`, is not there; `None` when it may be.
    fn beyond(
        &mut self,
        bytes: usize,
        tag: u8,
        written: u64,
        last: Option<u64>,
    ) -> io::Result<Option<Frame>> {
        let left = written.saturating_sub(self.position);
        if left == 0 {
            return Ok(Some(Frame::Open(last)));
        }
        let at = self.position;
        let is_tagged = self.bytes::<1>()? == Some([tag]);
        self.seek(at)?;
        Ok(match is_tagged {
            false => Some(Frame::Broken),
            true => (left < bytes as u64).then_some(Frame::Open(last)),
        })
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

    /// Looks for a commit of those that `is_later` names, from a damaged place on.
    pub(super) fn following(
        &mut self,
        start: u64,
        written: u64,
        is_later: impl Fn(u64) -> bool,
    ) -> io::Result<Following> {
        let work_max = self.work() + LOOK_BYTES_MIN + (written - start) * JOURNAL_LOOK_FACTOR;
        let finder = Finder::new(&TRAILER);
        // What a batch is told by may lie across the end of a window: the next one begins before it.
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
                    return Ok(Following::Unclear(place));
                }
                if self.frame(place, written, None)? == Frame::Closed {
                    self.seek(place)?;
                    if self.batch()?.is_some_and(|batch| is_later(batch.commit)) {
                        return Ok(Following::Commit(place));
                    }
                }
            }
            base += CHUNK_BYTES as u64;
        }
        Ok(Following::Nothing)
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
