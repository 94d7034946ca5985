//! From a field's bytes to Rust. Not the row: which column failed is for the caller to add.
//! Rule: a value borrows from the message where its type allows; bytes left over are an error.

use std::str;

use super::{DecodeError, Format, Type};

/// A Rust type that fields can be read as. `'a` is how long the message's bytes live.
pub trait Decode<'a>: Sized {
    /// Whether fields of type `ty` can be read as this Rust type at all; a single value may still be out of range.
    fn accepts(ty: &Type) -> bool;

    /// Reads the binary form.
    ///
    /// # Errors
    /// [`DecodeError`]; among them `Mismatch` when `ty` is not accepted.
    fn from_binary(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError>;

    /// Reads the text form: UTF-8, as the server prints with `DateStyle = ISO` and `IntervalStyle = postgres`.
    ///
    /// # Errors
    /// [`DecodeError`]; among them `Mismatch` when `ty` is not accepted.
    fn from_text(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError>;

    /// Reads text that stood with backslashes in the text form of an array, so that it cannot be borrowed.
    ///
    /// # Errors
    /// `Mismatch` for Rust types that only borrow; ask for an owned one, or for binary format.
    fn from_unescaped(ty: &Type, _text: &[u8]) -> Result<Self, DecodeError> {
        mismatch(ty, "borrowed text with escapes")
    }

    /// What NULL becomes.
    ///
    /// # Errors
    /// `UnexpectedNull` unless the Rust type has room for it.
    fn from_null(_ty: &Type) -> Result<Self, DecodeError> {
        Err(DecodeError::UnexpectedNull)
    }

    /// Reads a field in binary format; `None` is NULL.
    ///
    /// # Errors
    /// As `from_binary` and `from_null`.
    #[inline]
    fn decode(ty: &Type, bytes: Option<&'a [u8]>) -> Result<Self, DecodeError> {
        match bytes {
            Some(bytes) => Self::from_binary(ty, bytes),
            None => Self::from_null(ty),
        }
    }

    /// Reads a field in text format; `None` is NULL.
    ///
    /// # Errors
    /// As `from_text` and `from_null`.
    #[inline]
    fn decode_text(ty: &Type, bytes: Option<&'a [u8]>) -> Result<Self, DecodeError> {
        match bytes {
            Some(bytes) => Self::from_text(ty, bytes),
            None => Self::from_null(ty),
        }
    }

    /// Reads a field in the format that its column has.
    ///
    /// # Errors
    /// As `decode` or `decode_text`.
    #[inline]
    fn decode_as(format: Format, ty: &Type, bytes: Option<&'a [u8]>) -> Result<Self, DecodeError> {
        match format {
            Format::Binary => Self::decode(ty, bytes),
            Format::Text => Self::decode_text(ty, bytes),
        }
    }
}

impl<'a, T: Decode<'a>> Decode<'a> for Option<T> {
    fn accepts(ty: &Type) -> bool {
        T::accepts(ty)
    }

    #[inline]
    fn from_binary(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        T::from_binary(ty, bytes).map(Some)
    }

    #[inline]
    fn from_text(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        T::from_text(ty, bytes).map(Some)
    }

    fn from_unescaped(ty: &Type, text: &[u8]) -> Result<Self, DecodeError> {
        T::from_unescaped(ty, text).map(Some)
    }

    fn from_null(_ty: &Type) -> Result<Self, DecodeError> {
        Ok(None)
    }
}

pub(crate) fn mismatch<T>(ty: &Type, rust: &'static str) -> Result<T, DecodeError> {
    Err(DecodeError::Mismatch {
        oid: ty.oid(),
        name: ty.name().to_owned(),
        rust,
    })
}

/// Refuses a type that `T` is not read from.
#[inline]
pub(crate) fn accepted<'a, T: Decode<'a>>(
    ty: &Type,
    rust: &'static str,
) -> Result<(), DecodeError> {
    if T::accepts(ty) {
        Ok(())
    } else {
        mismatch(ty, rust)
    }
}

pub(crate) fn utf8(bytes: &[u8]) -> Result<&str, DecodeError> {
    str::from_utf8(bytes).map_err(|_| DecodeError::Invalid { what: "UTF-8 text" })
}

/// Parses ASCII text with a type's `FromStr`.
pub(crate) fn parsed<T: str::FromStr>(bytes: &[u8], what: &'static str) -> Result<T, DecodeError> {
    utf8(bytes)?
        .parse()
        .map_err(|_| DecodeError::Invalid { what })
}
