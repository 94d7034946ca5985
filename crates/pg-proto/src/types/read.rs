//! A cursor over the bytes of one value. Not a parser of messages.
//! Rule: it hands out only what is there; a length is compared with the rest before anything is made of it.

use super::DecodeError;

/// What is left of a value's bytes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

/// A number of fixed width, the most significant byte first.
macro_rules! numbers {
    ($($number:ident)*) => {
        $(#[inline]
        pub fn $number(&mut self) -> Result<$number, DecodeError> {
            self.array().map($number::from_be_bytes)
        })*
    };
}

impl<'a> Reader<'a> {
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (head, rest) = self
            .rest
            .split_first_chunk::<N>()
            .ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(*head)
    }

    numbers!(u8 i16 u16 i32 u32 i64 u64 f64);

    #[inline]
    pub fn bytes(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let (head, rest) = self
            .rest
            .split_at_checked(length)
            .ok_or(DecodeError::Truncated)?;
        self.rest = rest;
        Ok(head)
    }

    /// A count that cannot be true unless `unit` bytes are there for each item.
    pub fn count(&mut self, unit: usize, what: &'static str) -> Result<usize, DecodeError> {
        let count = usize::try_from(self.i32()?).map_err(|_| DecodeError::Invalid { what })?;
        if count > self.rest.len() / unit {
            return Err(DecodeError::Truncated);
        }
        Ok(count)
    }

    /// A length and that many bytes; `None` for the length -1, which is NULL.
    #[inline]
    pub fn field(&mut self) -> Result<Option<&'a [u8]>, DecodeError> {
        match self.i32()? {
            -1 => Ok(None),
            length => {
                let length =
                    usize::try_from(length).map_err(|_| DecodeError::Invalid { what: "length" })?;
                self.bytes(length).map(Some)
            }
        }
    }

    #[inline]
    pub const fn end(self) -> Result<(), DecodeError> {
        if self.rest.is_empty() {
            Ok(())
        } else {
            Err(DecodeError::Trailing)
        }
    }
}

pub(crate) fn read_bool(bytes: &[u8]) -> Result<bool, DecodeError> {
    match bytes {
        [0] => Ok(false),
        [1] => Ok(true),
        _ => Err(DecodeError::Invalid { what: "bool" }),
    }
}
