//! `bit` and `varbit`: a string of bits. Not a number and not a set.
//! Rule: the bits after the last one, up to the end of its byte, are zero.

use std::fmt;

use bytes::BytesMut;

use super::DecodeError;
use super::read::Reader;
use super::scalar::{Scalar, from_text, scalar};

/// A string of bits.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Bits {
    length: u32,
    bytes: Vec<u8>,
}

/// Bits where they lie.
#[derive(Clone, Copy)]
pub(crate) struct BitsRef<'a> {
    length: u32,
    bytes: &'a [u8],
}

impl Bits {
    /// The bits of `bools`, in order; `None` if they are more than a value can hold.
    pub fn from_bools(bools: &[bool]) -> Option<Self> {
        let length = i32::try_from(bools.len()).ok()?.unsigned_abs();
        let bytes = bools
            .chunks(8)
            .map(|chunk| {
                let bits = chunk.iter().enumerate();
                bits.fold(0, |byte, (index, bit)| byte | u8::from(*bit) << (7 - index))
            })
            .collect();
        Some(Self { length, bytes })
    }

    /// How many bits there are.
    pub const fn len(&self) -> u32 {
        self.length
    }

    /// Whether there are none.
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The bits, the first one in the highest place of the first byte.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The bit at `index`.
    pub fn bit(&self, index: u32) -> Option<bool> {
        self.by_ref().bit(index)
    }

    fn by_ref(&self) -> BitsRef<'_> {
        BitsRef {
            length: self.length,
            bytes: &self.bytes,
        }
    }
}

impl<'a> BitsRef<'a> {
    pub fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let invalid = DecodeError::Invalid { what: "bit string" };
        let length = u32::try_from(reader.i32()?).map_err(|_| invalid.clone())?;
        let count = usize::try_from(length.div_ceil(8)).map_err(|_| invalid.clone())?;
        let bytes = reader.bytes(count)?;
        let unused = (8 - length % 8) % 8;
        if bytes
            .last()
            .is_some_and(|last| last & !(0xff << unused) != 0)
        {
            return Err(invalid);
        }
        Ok(Self { length, bytes })
    }

    fn bit(self, index: u32) -> Option<bool> {
        if index >= self.length {
            return None;
        }
        let byte = self.bytes.get(usize::try_from(index / 8).ok()?)?;
        Some(byte >> (7 - index % 8) & 1 == 1)
    }
}

impl fmt::Display for BitsRef<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = (0..self.length).filter_map(|index| self.bit(index));
        for bit in bits {
            f.write_str(if bit { "1" } else { "0" })?;
        }
        Ok(())
    }
}

impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.by_ref().fmt(f)
    }
}

fn parse(text: &str) -> Option<Bits> {
    let bools: Option<Vec<bool>> = text
        .bytes()
        .map(|byte| match byte {
            b'0' => Some(false),
            b'1' => Some(true),
            _ => None,
        })
        .collect();
    Bits::from_bools(&bools?)
}

from_text! {
    Bits "bit string" parse;
}

impl Scalar for Bits {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let BitsRef { length, bytes } = BitsRef::read(reader)?;
        Ok(Self {
            length,
            bytes: bytes.to_vec(),
        })
    }

    fn write(&self, out: &mut BytesMut) {
        out.extend_from_slice(&self.length.to_be_bytes());
        out.extend_from_slice(&self.bytes);
    }
}

scalar!(Bits => VARBIT);
