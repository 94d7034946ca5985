//! zlib over the whole stream, flushed after each write, so that the other side can read what was written. Encrypts nothing.
//! Rule: what was sent as few bytes becomes many only as far as the caller lets it.

use bytes::{BufMut as _, BytesMut};
use flate2::{Compress, Compression, Decompress, FlushCompress, FlushDecompress, Status};

use crate::error::{Result, Violation};

/// Room made at once.
const STEP_BYTES: usize = 16 * 1024;

/// What we send.
pub struct Deflate(Compress);

impl Default for Deflate {
    fn default() -> Self {
        Deflate(Compress::new(Compression::fast(), true))
    }
}

impl Deflate {
    /// Appends the compressed form of `bytes`, complete.
    ///
    /// # Errors
    /// [`Violation::Truncated`] if the state is broken, which cannot happen.
    pub fn compress(&mut self, mut bytes: &[u8], out: &mut BytesMut) -> Result<()> {
        loop {
            let (before_in, before_out) = (self.0.total_in(), self.0.total_out());
            let start = out.len();
            out.put_bytes(0, STEP_BYTES);
            let room = out.get_mut(start..).unwrap_or_default();
            let status = self.0.compress(bytes, room, FlushCompress::Sync);
            let taken = count(self.0.total_in() - before_in);
            let made = count(self.0.total_out() - before_out);
            out.truncate(start + made);
            bytes = bytes.get(taken..).unwrap_or_default();
            match status {
                Ok(_) if bytes.is_empty() && made < STEP_BYTES => return Ok(()),
                Ok(_) => {}
                Err(_) => return Err(broken()),
            }
        }
    }
}

/// What the server sends.
pub struct Inflate(Decompress);

impl Default for Inflate {
    fn default() -> Self {
        Inflate(Decompress::new(true))
    }
}

impl Inflate {
    /// Appends what `bytes` stand for, `max` bytes at most, and says how many of `bytes` were used up. Call it again with the rest
    /// when there is room; also with none left, since a call that stopped at `max` may hold something back.
    ///
    /// # Errors
    /// [`Violation::Truncated`] when it is not zlib's format, or has ended.
    pub fn decompress(&mut self, bytes: &[u8], max: usize, out: &mut BytesMut) -> Result<usize> {
        let (begin, limit) = (self.0.total_in(), out.len().saturating_add(max));
        loop {
            let start = out.len();
            let room = STEP_BYTES.min(limit - start);
            let used = count(self.0.total_in() - begin);
            if room == 0 {
                return Ok(used);
            }
            let before = self.0.total_out();
            out.put_bytes(0, room);
            let rest = bytes.get(used..).unwrap_or_default();
            let into = out.get_mut(start..).unwrap_or_default();
            let status = self.0.decompress(rest, into, FlushDecompress::Sync);
            let made = count(self.0.total_out() - before);
            out.truncate(start + made);
            let used = count(self.0.total_in() - begin);
            match status {
                Ok(Status::StreamEnd) | Err(_) => return Err(broken()),
                // It has nothing more to give.
                Ok(_) if made < room && used == bytes.len() => return Ok(used),
                Ok(Status::BufError) => return Ok(used),
                Ok(Status::Ok) => {}
            }
        }
    }
}

fn count(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}

fn broken() -> crate::error::Error {
    Violation::Truncated("compressed stream").into()
}
