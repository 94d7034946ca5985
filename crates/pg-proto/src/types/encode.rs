//! From Rust to a parameter's bytes. Not the Bind message: that wants a format code and a length, both known after [`Encode::encode`].
//! Rule: a value that fails leaves the buffer as it was.

use bytes::BytesMut;

use super::{EncodeError, Format, Oid, Type};
use crate::limits::VALUE_BYTES_MAX;
use crate::wire::patch;

/// What became of a value, for the parameter's format code and length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Encoded {
    /// NULL: nothing was appended, the length is -1. The format code does not matter.
    Null,
    /// The value was appended in this format. Strings for types that are no text go as text; the server parses them.
    Value(Format),
}

impl Encoded {
    pub(crate) const BINARY: Result<Self, EncodeError> = Ok(Self::Value(Format::Binary));
    pub(crate) const TEXT: Result<Self, EncodeError> = Ok(Self::Value(Format::Text));

    /// The format for Bind's format code.
    pub const fn format(self) -> Format {
        match self {
            Self::Null => Format::Binary,
            Self::Value(format) => format,
        }
    }
}

/// A Rust value that can be sent as a parameter.
pub trait Encode {
    /// Whether values of this Rust type can be sent as `ty` at all; a single value may still be out of range.
    fn accepts(ty: &Type) -> bool
    where
        Self: Sized;

    /// Appends the value, without its length, as a parameter of type `ty`.
    ///
    /// # Errors
    /// [`EncodeError`], with `out` unchanged.
    fn encode(&self, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError>;

    /// The parameter type to name in Parse so that the server need not guess. `None` lets it decide.
    fn type_hint() -> Option<Oid>
    where
        Self: Sized,
    {
        None
    }
}

impl<T: Encode> Encode for Option<T> {
    fn accepts(ty: &Type) -> bool {
        T::accepts(ty)
    }

    #[inline]
    fn encode(&self, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError> {
        match self {
            Some(value) => value.encode(ty, out),
            None => Ok(Encoded::Null),
        }
    }

    fn type_hint() -> Option<Oid> {
        T::type_hint()
    }
}

impl<T: Encode> Encode for &T {
    fn accepts(ty: &Type) -> bool {
        T::accepts(ty)
    }

    #[inline]
    fn encode(&self, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError> {
        (**self).encode(ty, out)
    }

    fn type_hint() -> Option<Oid> {
        T::type_hint()
    }
}

pub(crate) fn mismatch<T>(ty: &Type, rust: &'static str) -> Result<T, EncodeError> {
    Err(EncodeError::Mismatch {
        oid: ty.oid(),
        name: ty.name().to_owned(),
        rust,
    })
}

/// Refuses a type that `T` is not sent as.
#[inline]
pub(crate) fn accepted<T: Encode>(ty: &Type, rust: &'static str) -> Result<(), EncodeError> {
    if T::accepts(ty) {
        Ok(())
    } else {
        mismatch(ty, rust)
    }
}

pub(crate) fn out_of_range(ty: &Type) -> EncodeError {
    EncodeError::OutOfRange {
        name: ty.name().to_owned(),
    }
}

/// Runs `write` and takes back what it appended if it fails.
pub(crate) fn whole<T>(
    out: &mut BytesMut,
    write: impl FnOnce(&mut BytesMut) -> Result<T, EncodeError>,
) -> Result<T, EncodeError> {
    let start = out.len();
    let written = write(out);
    if written.is_err() {
        out.truncate(start);
    }
    written
}

/// Appends what `binary` appends or, where that meets a part that goes as text, what `text` appends instead. On an error nothing.
pub(crate) fn binary_or_text(
    out: &mut BytesMut,
    binary: impl FnOnce(&mut BytesMut) -> Result<Format, EncodeError>,
    text: impl FnOnce(&mut BytesMut) -> Result<Encoded, EncodeError>,
) -> Result<Encoded, EncodeError> {
    let start = out.len();
    if whole(out, binary)? == Format::Binary {
        return Encoded::BINARY;
    }
    out.truncate(start);
    whole(out, text)
}

/// Appends what `write` appends, with its length before it, as the parts of arrays and rows have it. NULL is the length -1.
pub(crate) fn part(
    out: &mut BytesMut,
    write: impl FnOnce(&mut BytesMut) -> Result<Encoded, EncodeError>,
) -> Result<Encoded, EncodeError> {
    let start = out.len();
    out.extend_from_slice(&(-1_i32).to_be_bytes());
    let encoded = write(out)?;
    if encoded == Encoded::Null {
        // What is appended all the same would be read as the next part.
        out.truncate(start + 4);
        return Ok(encoded);
    }
    let length = out.len() - start - 4;
    let length = i32::try_from(length)
        .ok()
        .filter(|_| length <= VALUE_BYTES_MAX)
        .ok_or(EncodeError::TooLong)?;
    patch(out, start, &length.to_be_bytes());
    Ok(encoded)
}
