//! The smallest pieces of messages: checked reading, and framing. Knows no message.
//! Rule: reading never goes beyond the message; writing leaves either a whole message or the buffer as it was.

use std::borrow::Cow;

use bytes::{BufMut, BytesMut};

use crate::error::{Misuse, Violation};
use crate::limits::MESSAGE_BYTES_MAX;

/// A place in a message's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(body: &'a [u8]) -> Self {
        Self { rest: body }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Everything that is left.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn bytes(
        &mut self,
        count: usize,
        what: &'static str,
    ) -> Result<&'a [u8], Violation> {
        let (taken, rest) = self
            .rest
            .split_at_checked(count)
            .ok_or(Violation::Truncated(what))?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn array<const N: usize>(
        &mut self,
        what: &'static str,
    ) -> Result<[u8; N], Violation> {
        let (taken, rest) = self
            .rest
            .split_first_chunk()
            .ok_or(Violation::Truncated(what))?;
        self.rest = rest;
        Ok(*taken)
    }

    pub(crate) fn u8(&mut self, what: &'static str) -> Result<u8, Violation> {
        self.array::<1>(what).map(|[byte]| byte)
    }

    pub(crate) fn u16(&mut self, what: &'static str) -> Result<u16, Violation> {
        self.array(what).map(u16::from_be_bytes)
    }

    pub(crate) fn u32(&mut self, what: &'static str) -> Result<u32, Violation> {
        self.array(what).map(u32::from_be_bytes)
    }

    pub(crate) fn i32(&mut self, what: &'static str) -> Result<i32, Violation> {
        self.array(what).map(i32::from_be_bytes)
    }

    /// A text that ends with NUL, without it.
    pub(crate) fn text_bytes(&mut self, what: &'static str) -> Result<&'a [u8], Violation> {
        let end = memchr::memchr(0, self.rest).ok_or(Violation::Unterminated(what))?;
        let text = self.bytes(end, what)?;
        self.u8(what)?;
        Ok(text)
    }

    /// A text that ends with NUL, without it. What names things of the protocol itself is always UTF-8.
    pub(crate) fn text(&mut self, what: &'static str) -> Result<&'a str, Violation> {
        std::str::from_utf8(self.text_bytes(what)?).map_err(|_| Violation::NotUtf8(what))
    }

    /// A text that ends with NUL, without it. It holds what users wrote: a database of encoding SQL_ASCII passes on what
    /// is not UTF-8, and one user must not be able to end another's connection. Such bytes are replaced.
    pub(crate) fn text_lossy(&mut self, what: &'static str) -> Result<Cow<'a, str>, Violation> {
        self.text_bytes(what).map(String::from_utf8_lossy)
    }

    /// The message must end here.
    pub(crate) fn end(self, what: &'static str) -> Result<(), Violation> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(Violation::Trailing(what))
        }
    }
}

/// Appends one message: `tag`, its length, what `body` writes. On an error the buffer is as it was.
pub(crate) fn message<E: From<Misuse>>(
    out: &mut BytesMut,
    tag: u8,
    body: impl FnOnce(&mut BytesMut) -> Result<(), E>,
) -> Result<(), E> {
    let start = out.len();
    out.put_u8(tag);
    let written = framed(out, body);
    if written.is_err() {
        out.truncate(start);
    }
    written
}

/// Appends a length and what `body` writes. On an error the buffer is as it was.
pub(crate) fn framed<E: From<Misuse>>(
    out: &mut BytesMut,
    body: impl FnOnce(&mut BytesMut) -> Result<(), E>,
) -> Result<(), E> {
    let start = out.len();
    out.put_u32(0);
    let written = body(out).and_then(|()| Ok(close(out, start)?));
    if written.is_err() {
        out.truncate(start);
    }
    written
}

/// Writes the length of what was written from `start` on into its first four bytes.
pub(crate) fn close(out: &mut BytesMut, start: usize) -> Result<(), Misuse> {
    let length = out.len().saturating_sub(start);
    let encoded = u32::try_from(length)
        .ok()
        .filter(|_| length <= MESSAGE_BYTES_MAX)
        .ok_or(Misuse::MessageLength)?;
    patch(out, start, &encoded.to_be_bytes());
    Ok(())
}

/// Overwrites what was written at `at`.
pub(crate) fn patch(out: &mut BytesMut, at: usize, bytes: &[u8]) {
    let place = out.get_mut(at..at + bytes.len());
    debug_assert!(place.is_some(), "only what was written is patched");
    if let Some(place) = place {
        place.copy_from_slice(bytes);
    }
}

/// Appends `text` and the NUL that ends it. `what` names it in the error.
pub(crate) fn put_text(out: &mut BytesMut, text: &str, what: &'static str) -> Result<(), Misuse> {
    if text.len() >= MESSAGE_BYTES_MAX {
        return Err(Misuse::MessageLength);
    }
    if memchr::memchr(0, text.as_bytes()).is_some() {
        return Err(Misuse::Nul(what));
    }
    out.reserve(text.len() + 1);
    out.put_slice(text.as_bytes());
    out.put_u8(0);
    Ok(())
}
