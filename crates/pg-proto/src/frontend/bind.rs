//! The Bind message: parameters for a statement. How a value is written is its type's business.
//! Rule: values are written in place, one after the other; a writer that is dropped unfinished takes everything back.

use bytes::{BufMut, BytesMut};

use super::{close, count, patch, put_bytes, put_text};
use crate::error::{Error, Misuse};
use crate::limits::MESSAGE_BYTES_MAX;
use crate::types::{Encode, Encoded, Format, Type};

/// In which format the columns of the result shall come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ResultFormats<'a> {
    /// All in the same.
    All(Format),
    /// One for each column.
    Each(&'a [Format]),
}

/// Binds `values` (`None` is NULL), all in `format`, to `statement` under the name `portal` (`""` is the unnamed one).
///
/// # Errors
/// [`Misuse::Nul`], [`Misuse::ParameterCount`], [`Misuse::MessageLength`].
pub fn bind(
    out: &mut BytesMut,
    portal: &str,
    statement: &str,
    format: Format,
    values: &[Option<&[u8]>],
    results: ResultFormats<'_>,
) -> Result<(), Misuse> {
    let mut writer = BindWriter::begin(out, portal, statement, values.len())?;
    for value in values {
        match value {
            Some(bytes) => writer.bytes(format, bytes)?,
            None => writer.null()?,
        }
    }
    writer.finish(results)
}

/// A Bind message while its values are written. Nothing of it stays in the buffer unless [`BindWriter::finish`] succeeds.
#[derive(Debug)]
pub struct BindWriter<'b> {
    out: &'b mut BytesMut,
    /// Where the message begins.
    start: usize,
    /// Where the formats of the values are.
    formats: usize,
    expected: usize,
    given: usize,
    finished: bool,
}

impl<'b> BindWriter<'b> {
    /// Begins the message for `parameters` values.
    ///
    /// # Errors
    /// [`Misuse::Nul`], [`Misuse::ParameterCount`].
    pub fn begin(
        out: &'b mut BytesMut,
        portal: &str,
        statement: &str,
        parameters: usize,
    ) -> Result<Self, Misuse> {
        let encoded = count(parameters)?;
        let mut writer = Self {
            start: out.len(),
            out,
            formats: 0,
            expected: parameters,
            given: 0,
            finished: false,
        };
        let out = &mut *writer.out;
        if portal.is_empty() {
            out.put_slice(&[b'B', 0, 0, 0, 0, 0]);
        } else {
            out.put_slice(&[b'B', 0, 0, 0, 0]);
            put_text(out, portal, "portal's name")?;
        }
        put_text(out, statement, "statement's name")?;
        writer.formats = out.len() + 2;
        if parameters == 1 {
            out.put_slice(&[0, 1, 0, 0, 0, 1]);
        } else {
            out.put_u16(encoded);
            out.put_bytes(0, parameters * 2);
            out.put_u16(encoded);
        }
        Ok(writer)
    }

    /// How many values are still to be written.
    pub fn left(&self) -> usize {
        self.expected - self.given
    }

    /// Writes the next value as NULL.
    ///
    /// # Errors
    /// [`Misuse::ValueCount`] when all values are written.
    pub fn null(&mut self) -> Result<(), Misuse> {
        self.advance(Format::Text)?;
        self.out.put_i32(-1);
        Ok(())
    }

    /// Writes the next value.
    ///
    /// # Errors
    /// [`Misuse::ValueCount`] when all values are written, [`Misuse::MessageLength`].
    pub fn bytes(&mut self, format: Format, bytes: &[u8]) -> Result<(), Misuse> {
        let length = u32::try_from(bytes.len()).map_err(|_| Misuse::MessageLength)?;
        self.advance(format)?;
        self.out.put_u32(length);
        put_bytes(self.out, bytes)
    }

    /// Writes the next value as a parameter of type `ty`.
    ///
    /// # Errors
    /// [`Error::Parameter`] if the type does not take the value; [`Misuse::ValueCount`] when all values are written,
    /// [`Misuse::MessageLength`].
    #[inline]
    pub fn encode<V: Encode + ?Sized>(&mut self, ty: &Type, value: &V) -> Result<(), Error> {
        let number = self.given + 1;
        self.value(|out| {
            let encoded = value.encode(ty, out);
            encoded.map_err(|cause| Error::Parameter { number, cause })
        })
    }

    /// Writes the next value by `encode`, which appends it and says in which format, or appends nothing and says
    /// [`Encoded::Null`].
    ///
    /// # Errors
    /// What `encode` returns; [`Misuse::ValueCount`] when all values are written, [`Misuse::MessageLength`].
    #[inline]
    pub fn value<E: From<Misuse>>(
        &mut self,
        encode: impl FnOnce(&mut BytesMut) -> Result<Encoded, E>,
    ) -> Result<(), E> {
        let place = self.formats + self.given * 2;
        self.advance(Format::Text)?;
        let start = self.out.len();
        self.out.put_i32(-1);
        let Encoded::Value(format) = encode(self.out)? else {
            // What is appended all the same would be read as the next value.
            self.out.truncate(start + 4);
            return Ok(());
        };
        let length = self.out.len().saturating_sub(start + 4);
        if self.out.len() - self.start > MESSAGE_BYTES_MAX {
            return Err(Misuse::MessageLength.into());
        }
        let length = u32::try_from(length).map_err(|_| Misuse::MessageLength)?;
        patch(self.out, start, &length.to_be_bytes());
        patch(self.out, place, &format.code().to_be_bytes());
        Ok(())
    }

    /// Ends the message.
    ///
    /// # Errors
    /// [`Misuse::ValueCount`] when values are missing, [`Misuse::ParameterCount`] for too many formats,
    /// [`Misuse::MessageLength`].
    pub fn finish(mut self, results: ResultFormats<'_>) -> Result<(), Misuse> {
        if self.given != self.expected {
            return Err(self.miscounted(self.given));
        }
        match results {
            ResultFormats::All(Format::Text) => self.out.put_u16(0),
            ResultFormats::All(format) => {
                let [high, low] = format.code().to_be_bytes();
                self.out.put_slice(&[0, 1, high, low]);
            }
            ResultFormats::Each(formats) => {
                self.out.put_u16(count(formats.len())?);
                for format in formats {
                    self.out.put_i16(format.code());
                }
            }
        }
        close(self.out, self.start + 1)?;
        self.finished = true;
        Ok(())
    }

    fn miscounted(&self, given: usize) -> Misuse {
        let expected = self.expected;
        Misuse::ValueCount { expected, given }
    }

    fn advance(&mut self, format: Format) -> Result<(), Misuse> {
        if self.given == self.expected {
            return Err(self.miscounted(self.given + 1));
        }
        let place = self.formats + self.given * 2;
        patch(self.out, place, &format.code().to_be_bytes());
        self.given += 1;
        Ok(())
    }
}

impl Drop for BindWriter<'_> {
    fn drop(&mut self) {
        if !self.finished {
            self.out.truncate(self.start);
        }
    }
}
