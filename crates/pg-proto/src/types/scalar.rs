//! What every small type has in common that is no number, text or container: bytes of one shape, a `Display` and a `FromStr`.
//! Rule: `Display` is the text PostgreSQL prints, `FromStr` reads that text.

use std::str::FromStr;

use bytes::BytesMut;

use super::DecodeError;
use super::decode::utf8;
use super::read::{Reader, read_bool};

/// A type with one binary form, or a field of one.
pub(crate) trait Scalar: Sized {
    /// Reads the binary form; what is left over is the caller's business.
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError>;

    fn write(&self, out: &mut BytesMut);

    /// Reads the text form.
    fn from_utf8(text: &[u8]) -> Result<Self, DecodeError>
    where
        Self: FromStr<Err: Into<DecodeError>>,
    {
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

macro_rules! numbers {
    ($($number:ident)*) => {
        $(
            impl Scalar for $number {
                #[inline]
                fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
                    reader.$number()
                }

                #[inline]
                fn write(&self, out: &mut BytesMut) {
                    out.extend_from_slice(&self.to_be_bytes());
                }
            }
        )*
    };
}

numbers!(u16 i32 u32 i64 u64 f64);

impl Scalar for bool {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        read_bool(&reader.array::<1>()?)
    }

    fn write(&self, out: &mut BytesMut) {
        out.extend_from_slice(&[u8::from(*self)]);
    }
}

impl<const N: usize> Scalar for [u8; N] {
    #[inline]
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.array()
    }

    #[inline]
    fn write(&self, out: &mut BytesMut) {
        out.extend_from_slice(self);
    }
}

/// `Encode` and `Decode` for types that are `Scalar`, each with the shape of its name and the type that it hints at. `Scalar` itself
/// for those whose fields are given: one after another in that order.
macro_rules! scalar {
    ($($rust:ident $({ $($field:tt),* })? => $hint:ident),* $(,)?) => {
        const _: () = {
            use $crate::types::kind::Shape;
            use $crate::types::scalar::Scalar;
            use $crate::types::{
                Decode, DecodeError, Encode, EncodeError, Encoded, Oid, Type, decode, encode,
            };

            $(
                $(
                    impl Scalar for $rust {
                        #[inline]
                        fn read(
                            reader: &mut $crate::types::read::Reader<'_>,
                        ) -> Result<Self, DecodeError> {
                            Ok(Self { $($field: Scalar::read(reader)?),* })
                        }

                        #[inline]
                        fn write(&self, out: &mut bytes::BytesMut) {
                            $(self.$field.write(out);)*
                        }
                    }
                )?

                impl Encode for $rust {
                    fn accepts(ty: &Type) -> bool {
                        matches!(ty.shape(), Shape::$rust)
                    }

                    #[inline]
                    fn encode(&self, ty: &Type, out: &mut bytes::BytesMut) -> Result<Encoded, EncodeError> {
                        encode::accepted::<Self>(ty, stringify!($rust))?;
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
                        decode::accepted::<Self>(ty, stringify!($rust))?;
                        Scalar::scan(bytes)
                    }

                    fn from_text(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
                        decode::accepted::<Self>(ty, stringify!($rust))?;
                        Scalar::from_utf8(bytes)
                    }
                }
            )*
        };
    };
}

/// `FromStr` by a function that returns an `Option`.
macro_rules! from_text {
    ($($rust:ident $what:literal $parse:expr;)*) => {
        $(
            impl std::str::FromStr for $rust {
                type Err = $crate::types::DecodeError;

                fn from_str(text: &str) -> Result<Self, Self::Err> {
                    let parse: fn(&str) -> Option<Self> = $parse;
                    parse(text).ok_or($crate::types::DecodeError::Invalid { what: $what })
                }
            }
        )*
    };
}

pub(crate) use {from_text, scalar};
