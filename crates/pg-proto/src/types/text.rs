//! Strings and bytes. Not the types whose values merely can be printed; those have Rust types of their own.
//! Rule: text is UTF-8 without NUL; a string for a type that is no text is sent in text format, for bytea as its bytes.

use std::borrow::Cow;

use bytes::{Bytes, BytesMut};

use super::decode::{self, utf8};
use super::encode::{self, Encode, Encoded};
use super::kind::Shape;
use super::{Decode, DecodeError, EncodeError, Oid, Type};
use crate::limits::VALUE_BYTES_MAX;

/// The one version there is of the binary forms of jsonb, jsonpath and ltree.
const VERSION: u8 = 1;

/// Whether a string sent to `ty` goes in text format and is parsed by the server: true of every type that is no text of its own.
pub fn prefers_text(ty: &Type) -> bool {
    !matches!(
        ty.shape(),
        Shape::Text | Shape::Json | Shape::Jsonb | Shape::Versioned | Shape::Bytea
    )
}

impl Encode for &str {
    fn accepts(_ty: &Type) -> bool {
        true
    }

    #[inline]
    fn encode(&self, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError> {
        if self.len() > VALUE_BYTES_MAX {
            return Err(EncodeError::TooLong);
        }
        if !matches!(ty.shape(), Shape::Bytea) && memchr::memchr(0, self.as_bytes()).is_some() {
            return Err(EncodeError::Nul);
        }
        if matches!(ty.shape(), Shape::Jsonb | Shape::Versioned) {
            out.extend_from_slice(&[VERSION]);
        }
        out.extend_from_slice(self.as_bytes());
        if prefers_text(ty) {
            Encoded::TEXT
        } else {
            Encoded::BINARY
        }
    }
}

/// Owned and shared strings are sent as `&str`.
macro_rules! strings {
    ($($rust:ty),*) => {
        $(
            impl Encode for $rust {
                fn accepts(_ty: &Type) -> bool {
                    true
                }

                #[inline]
                fn encode(&self, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError> {
                    <&str as Encode>::encode(&&**self, ty, out)
                }
            }
        )*
    };
}

strings!(String, Cow<'_, str>, Box<str>);

/// The text of a field whose bytes are text, but for a version byte.
pub(crate) fn read_text<'a>(ty: &Type, bytes: &'a [u8]) -> Result<Option<&'a str>, DecodeError> {
    match ty.shape() {
        Shape::Text | Shape::Json => utf8(bytes).map(Some),
        Shape::Jsonb | Shape::Versioned => versioned(bytes).map(Some),
        _ => Ok(None),
    }
}

/// What follows the version byte, which must be 1.
pub(crate) fn versioned(bytes: &[u8]) -> Result<&str, DecodeError> {
    match bytes.split_first() {
        Some((&VERSION, text)) => utf8(text),
        Some(_) => Err(DecodeError::Invalid {
            what: "value of format version 1",
        }),
        None => Err(DecodeError::Truncated),
    }
}

impl<'a> Decode<'a> for &'a str {
    fn accepts(ty: &Type) -> bool {
        matches!(
            ty.shape(),
            Shape::Text | Shape::Json | Shape::Jsonb | Shape::Versioned | Shape::Opaque
        )
    }

    #[inline]
    fn from_binary(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        match read_text(ty, bytes)? {
            Some(text) => Ok(text),
            None if <Self as Decode>::accepts(ty) => {
                Err(DecodeError::UnknownType { oid: ty.oid() })
            }
            None => decode::mismatch(ty, "str"),
        }
    }

    #[inline]
    fn from_text(_ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        utf8(bytes)
    }
}

/// Strings that own what they hold, or may.
macro_rules! read_strings {
    ($($rust:ty),*) => {
        $(
            impl<'a> Decode<'a> for $rust {
                fn accepts(ty: &Type) -> bool {
                    <&str as Decode>::accepts(ty)
                }

                fn from_binary(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
                    <&str as Decode>::from_binary(ty, bytes).map(Self::from)
                }

                fn from_text(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
                    <&str as Decode>::from_text(ty, bytes).map(Self::from)
                }

                fn from_unescaped(_ty: &Type, text: &[u8]) -> Result<Self, DecodeError> {
                    utf8(text).map(str::to_owned).map(Self::from)
                }
            }
        )*
    };
}

read_strings!(String, Cow<'a, str>);

impl Encode for &[u8] {
    fn accepts(ty: &Type) -> bool {
        matches!(ty.shape(), Shape::Bytea)
    }

    #[inline]
    fn encode(&self, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError> {
        encode::accepted::<Self>(ty, "[u8]")?;
        if self.len() > VALUE_BYTES_MAX {
            return Err(EncodeError::TooLong);
        }
        out.extend_from_slice(self);
        Encoded::BINARY
    }

    fn type_hint() -> Option<Oid> {
        Some(Type::BYTEA.oid())
    }
}

impl<'a> Decode<'a> for &'a [u8] {
    fn accepts(ty: &Type) -> bool {
        matches!(ty.shape(), Shape::Bytea)
    }

    #[inline]
    fn from_binary(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        decode::accepted::<Self>(ty, "[u8]")?;
        Ok(bytes)
    }

    /// Fails: the text form is hexadecimal, which cannot be borrowed. Ask for a `Vec<u8>`.
    fn from_text(ty: &Type, _bytes: &'a [u8]) -> Result<Self, DecodeError> {
        decode::mismatch(ty, "borrowed [u8] from text format")
    }
}

/// Owned bytes.
macro_rules! owned_bytes {
    ($($rust:ty),*) => {
        $(
            impl Encode for $rust {
                fn accepts(ty: &Type) -> bool {
                    <&[u8] as Encode>::accepts(ty)
                }

                #[inline]
                fn encode(&self, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError> {
                    <&[u8] as Encode>::encode(&&**self, ty, out)
                }

                fn type_hint() -> Option<Oid> {
                    Some(Type::BYTEA.oid())
                }
            }

            impl<'a> Decode<'a> for $rust {
                fn accepts(ty: &Type) -> bool {
                    <&[u8] as Decode>::accepts(ty)
                }

                fn from_binary(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
                    <&[u8] as Decode>::from_binary(ty, bytes).map(|bytes| Self::from(bytes.to_vec()))
                }

                fn from_text(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
                    decode::accepted::<Self>(ty, "[u8]")?;
                    unhex(bytes).map(Self::from)
                }

                fn from_unescaped(ty: &Type, text: &[u8]) -> Result<Self, DecodeError> {
                    Self::from_text(ty, text)
                }
            }
        )*
    };
}

owned_bytes!(Vec<u8>, Bytes);

const NO_BYTEA: DecodeError = DecodeError::Invalid { what: "bytea" };

/// Reads bytea's text form: `\x` and hexadecimal digits, or, from servers set to `bytea_output = escape`, text with escapes.
fn unhex(text: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let Some(digits) = text.strip_prefix(b"\\x") else {
        return unescape(text);
    };
    let (pairs, []) = digits.as_chunks::<2>() else {
        return Err(NO_BYTEA);
    };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let byte = |&[high, low]: &[u8; 2]| u8::try_from(digit(high)? << 4 | digit(low)?).ok();
    let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
    bytes.ok_or(NO_BYTEA)
}

fn unescape(mut text: &[u8]) -> Result<Vec<u8>, DecodeError> {
    let mut bytes = Vec::with_capacity(text.len());
    loop {
        text = match text {
            [] => return Ok(bytes),
            [b'\\', b'\\', rest @ ..] => {
                bytes.push(b'\\');
                rest
            }
            [
                b'\\',
                high @ b'0'..=b'3',
                middle @ b'0'..=b'7',
                low @ b'0'..=b'7',
                rest @ ..,
            ] => {
                bytes.push((high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0'));
                rest
            }
            [b'\\', ..] => return Err(NO_BYTEA),
            [byte, rest @ ..] => {
                bytes.push(*byte);
                rest
            }
        };
    }
}
