//! Blocks of parameters: a tag, a length of one byte, a value, again and again. Knows no meaning of a tag.
//! Rule: what is too long for its length is refused, never cut.

use bytes::{BufMut, Bytes, BytesMut};

use crate::error::Misuse;

/// A block being written.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clumplets(BytesMut);

impl Clumplets {
    /// A block that begins with a version.
    pub(crate) fn versioned(version: u8) -> Self {
        let mut block = Self::default();
        block.0.put_u8(version);
        block
    }

    /// A tag that says all.
    pub(crate) fn flag(&mut self, tag: u8) {
        self.0.put_u8(tag);
    }

    /// `what` names the value in the error.
    pub(crate) fn bytes(
        &mut self,
        tag: u8,
        value: &[u8],
        what: &'static str,
    ) -> Result<(), Misuse> {
        let length = u8::try_from(value.len()).map_err(|_| Misuse::ClumpletLength {
            what,
            length: value.len(),
        })?;
        self.0.put_u8(tag);
        self.0.put_u8(length);
        self.0.put_slice(value);
        Ok(())
    }

    pub(crate) fn text(&mut self, tag: u8, value: &str, what: &'static str) -> Result<(), Misuse> {
        self.bytes(tag, value.as_bytes(), what)
    }

    pub(crate) fn byte(&mut self, tag: u8, value: u8) {
        self.0.put_slice(&[tag, 1, value]);
    }

    /// Little-endian, in four bytes.
    pub(crate) fn number(&mut self, tag: u8, value: u32) {
        self.0.put_slice(&[tag, 4]);
        self.0.put_u32_le(value);
    }

    pub(crate) fn finish(self) -> Bytes {
        self.0.freeze()
    }
}
