//! XDR, the smallest pieces of every packet: big-endian numbers, bytes with their length before them, padding to four. Knows no packet.
//! Rule: a packet has no length of its own, so what is not all there stops the reader with how much is missing, and the reader begins
//! the packet again when that much more has come. A length is compared with its limit before it is waited for.

use bytes::BufMut;

use crate::error::{Misuse, Violation};
use crate::limits::SENT_BYTES_MAX;

const ZEROS: [u8; 3] = [0; 3];

/// Why reading stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// At least this many more bytes are needed, never 0.
    Missing(usize),
    /// No further byte can make this sound.
    Wrong(Violation),
}

impl From<Violation> for Stop {
    fn from(violation: Violation) -> Self {
        Self::Wrong(violation)
    }
}

/// What was read, or why it could not be.
pub type ReadResult<T> = Result<T, Stop>;

/// The number of bytes that follow `length` bytes up to the next multiple of four.
#[inline]
pub fn padding(length: usize) -> usize {
    length.wrapping_neg() & 3
}

/// A place in what has come so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reader<'a> {
    rest: &'a [u8],
    whole: usize,
}

impl<'a> Reader<'a> {
    /// Begins at the first byte of `bytes`.
    #[inline]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            whole: bytes.len(),
        }
    }

    /// Bytes that have been read.
    #[inline]
    pub fn position(&self) -> usize {
        self.whole - self.rest.len()
    }

    /// What has not been read yet.
    #[inline]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// The next `count` bytes, without padding. The caller has compared `count` with a limit.
    ///
    /// # Errors
    /// [`Stop::Missing`], as of every function here.
    #[inline]
    pub fn bytes(&mut self, count: usize) -> ReadResult<&'a [u8]> {
        let (taken, rest) = self
            .rest
            .split_at_checked(count)
            .ok_or(Stop::Missing(count.saturating_sub(self.rest.len())))?;
        self.rest = rest;
        Ok(taken)
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> ReadResult<[u8; N]> {
        let (taken, rest) = self
            .rest
            .split_first_chunk()
            .ok_or(Stop::Missing(N.saturating_sub(self.rest.len())))?;
        self.rest = rest;
        Ok(*taken)
    }

    /// Four bytes.
    ///
    /// # Errors
    /// [`Stop::Missing`].
    #[inline]
    pub fn u32(&mut self) -> ReadResult<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// Four bytes with a sign; so are integers of 16 bits sent.
    ///
    /// # Errors
    /// [`Stop::Missing`].
    #[inline]
    pub fn i32(&mut self) -> ReadResult<i32> {
        self.array().map(i32::from_be_bytes)
    }

    /// Eight bytes: a quad, such as the id of a blob, or a hyper.
    ///
    /// # Errors
    /// [`Stop::Missing`].
    #[inline]
    pub fn u64(&mut self) -> ReadResult<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// Bytes of a known length and their padding, which is not part of the answer.
    ///
    /// # Errors
    /// [`Stop::Missing`].
    #[inline]
    pub fn opaque(&mut self, length: usize) -> ReadResult<&'a [u8]> {
        let padded = self.bytes(length.saturating_add(padding(length)))?;
        Ok(padded.get(..length).unwrap_or_default())
    }

    /// Bytes with their length before them and their padding after them. `what` names them in the error.
    ///
    /// # Errors
    /// [`Stop::Missing`], and [`Violation::Length`] if they are more than `max`.
    #[inline]
    pub fn cstring(&mut self, max: usize, what: &'static str) -> ReadResult<&'a [u8]> {
        let length = self.u32()?;
        match usize::try_from(length) {
            Ok(bytes) if bytes <= max => self.opaque(bytes),
            _ => Err(Violation::Length { what, length }.into()),
        }
    }
}

/// Whether all is there: `None` if more is needed, and how much more in `missing`.
///
/// # Errors
/// The [`Violation`] that stopped the reader.
#[inline]
pub fn complete<T>(taken: ReadResult<T>, missing: &mut usize) -> Result<Option<T>, Violation> {
    match taken {
        Ok(value) => Ok(Some(value)),
        Err(Stop::Missing(count)) => {
            *missing = count;
            Ok(None)
        }
        Err(Stop::Wrong(violation)) => Err(violation),
    }
}

/// Appends bytes and their padding, without a length.
#[inline]
pub fn put_opaque(out: &mut impl BufMut, bytes: &[u8]) {
    out.put_slice(bytes);
    let (padding, _) = ZEROS
        .split_at_checked(padding(bytes.len()))
        .unwrap_or_default();
    out.put_slice(padding);
}

/// Appends bytes with their length before them and their padding after them. [`sendable`] was asked before.
#[inline]
pub fn put_cstring(out: &mut impl BufMut, bytes: &[u8]) {
    debug_assert!(bytes.len() <= SENT_BYTES_MAX, "its length was checked");
    out.put_u32(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    put_opaque(out, bytes);
}

/// Whether `bytes` may be sent. Asked before anything of a packet is written, so that no half of one ever is.
///
/// # Errors
/// [`Misuse::Length`].
#[inline]
pub fn sendable(bytes: &[u8], what: &'static str) -> Result<(), Misuse> {
    if bytes.len() <= SENT_BYTES_MAX {
        Ok(())
    } else {
        Err(Misuse::Length {
            what,
            length: bytes.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a number, a text of at most five bytes and a quad, and says what came of it.
    fn check(bytes: &[u8], expected: ReadResult<(i32, &[u8], u64)>) {
        let mut reader = Reader::new(bytes);
        let mut read = || Ok((reader.i32()?, reader.cstring(5, "text")?, reader.u64()?));
        assert_eq!(read(), expected);
        assert!(expected.is_err() || reader.position() == bytes.len());
    }

    const WHOLE: &[u8] = b"\xff\xff\xff\xfe\0\0\0\x05abcde\0\0\0\x01\x02\x03\x04\x05\x06\x07\x08";

    #[test]
    fn written_values_are_read_back() {
        check(WHOLE, Ok((-2, b"abcde", 0x0102_0304_0506_0708)));
        let mut out = Vec::new();
        out.put_i32(-2);
        put_cstring(&mut out, b"abcde");
        out.put_u64(0x0102_0304_0506_0708);
        assert_eq!(out, WHOLE);
    }

    #[test]
    fn missing_bytes_are_counted_up_to_the_end_of_the_piece() {
        check(&WHOLE[..0], Err(Stop::Missing(4)));
        check(&WHOLE[..3], Err(Stop::Missing(1)));
        check(&WHOLE[..8], Err(Stop::Missing(8)));
        check(&WHOLE[..15], Err(Stop::Missing(1)));
        check(&WHOLE[..17], Err(Stop::Missing(7)));
    }

    #[test]
    fn length_beyond_its_limit_is_refused_before_it_is_waited_for() {
        for length in [6, u32::MAX] {
            let mut bytes = vec![0; 4];
            bytes.put_u32(length);
            let what = "text";
            check(&bytes, Err(Violation::Length { what, length }.into()));
        }
    }

    #[test]
    fn padding_reaches_the_next_multiple_of_four() {
        for (length, expected) in [(0, 0), (1, 3), (2, 2), (3, 1), (4, 0), (65_533, 3)] {
            assert_eq!(padding(length), expected);
            let mut out = Vec::new();
            put_cstring(&mut out, &vec![7; length]);
            assert_eq!(out.len(), 4 + length + expected);
        }
    }

    #[test]
    fn nothing_longer_than_the_limit_is_sent() {
        assert_eq!(sendable(&vec![0; SENT_BYTES_MAX], "text"), Ok(()));
        let misuse = sendable(&vec![0; SENT_BYTES_MAX + 1], "text");
        assert!(matches!(misuse, Err(Misuse::Length { what: "text", .. })));
    }
}
