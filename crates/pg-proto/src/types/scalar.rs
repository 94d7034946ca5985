//! What every small type has in common that is no number, text or container: bytes of one shape, a `Display` and a `FromStr`.
//! Rule: `Display` is the text PostgreSQL prints, `FromStr` reads that text.

use std::fmt::Display;
use std::str::FromStr;

use bytes::BytesMut;

use super::DecodeError;
use super::decode::utf8;
use super::read::Reader;

/// A type with one binary form.
pub(crate) trait Scalar: Sized + Display + FromStr<Err: Into<DecodeError>> {
    /// Reads the binary form; what is left over is the caller's business.
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError>;

    fn write(&self, out: &mut BytesMut);

    /// Reads the text form.
    fn from_utf8(text: &[u8]) -> Result<Self, DecodeError> {
        utf8(text)?.parse().map_err(Into::into)
    }

    /// Reads all of `bytes`.
    fn scan(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let value = Self::read(&mut reader)?;
        reader.end()?;
        Ok(value)
    }
}

/// `Encode` and `Decode` for types that are `Scalar`, each with the shape of its name and the type that it hints at.
macro_rules! scalar {
    ($($rust:ident => $hint:ident),* $(,)?) => {
        const _: () = {
            use $crate::types::kind::Shape;
            use $crate::types::scalar::Scalar;
            use $crate::types::{
                Decode, DecodeError, Encode, EncodeError, Encoded, Oid, Type, decode, encode,
            };

            $(
                impl Encode for $rust {
                    fn accepts(ty: &Type) -> bool {
                        matches!(ty.shape(), Shape::$rust)
                    }

                    #[inline]
                    fn encode(&self, ty: &Type, out: &mut bytes::BytesMut) -> Result<Encoded, EncodeError> {
                        if !<Self as Encode>::accepts(ty) {
                            return encode::mismatch(ty, stringify!($rust));
                        }
                        Scalar::write(self, out);
                        Encoded::BINARY
                    }

                    fn type_hint() -> Option<Oid> {
                        Some(Type::$hint.oid())
                    }
                }

                impl<'a> Decode<'a> for $rust {
                    fn accepts(ty: &Type) -> bool {
                        matches!(ty.shape(), Shape::$rust)
                    }

                    #[inline]
                    fn from_binary(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
                        if !<Self as Decode>::accepts(ty) {
                            return decode::mismatch(ty, stringify!($rust));
                        }
                        Scalar::scan(bytes)
                    }

                    fn from_text(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
                        if !<Self as Decode>::accepts(ty) {
                            return decode::mismatch(ty, stringify!($rust));
                        }
                        Scalar::from_utf8(bytes)
                    }
                }
            )*
        };
    };
}

pub(crate) use scalar;
