//! `bool` and the integers. Not numeric: an integer may be sent as one, but is never read from one.
//! Rule: an integer is sent to any numeric type that can hold it exactly, and to no other.

use bytes::BytesMut;

use super::decode::{self, parsed};
use super::encode::{self, Encode, Encoded};
use super::kind::Shape;
use super::read::{Reader, read_bool};
use super::{Decode, DecodeError, EncodeError, Numeric, Oid, Type};

impl Encode for bool {
    fn accepts(ty: &Type) -> bool {
        matches!(ty.shape(), Shape::Bool)
    }

    #[inline]
    fn encode(&self, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError> {
        encode::accepted::<Self>(ty, "bool")?;
        out.extend_from_slice(&[u8::from(*self)]);
        Encoded::BINARY
    }

    fn type_hint() -> Option<Oid> {
        Some(Type::BOOL.oid())
    }
}

impl<'a> Decode<'a> for bool {
    fn accepts(ty: &Type) -> bool {
        matches!(ty.shape(), Shape::Bool)
    }

    #[inline]
    fn from_binary(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        decode::accepted::<Self>(ty, "bool")?;
        read_bool(bytes)
    }

    fn from_text(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        decode::accepted::<Self>(ty, "bool")?;
        match bytes {
            b"t" => Ok(true),
            b"f" => Ok(false),
            _ => Err(DecodeError::Invalid { what: "bool" }),
        }
    }
}

/// One number of fixed width and nothing after it.
#[inline]
pub(crate) fn fixed<const N: usize>(bytes: &[u8]) -> Result<[u8; N], DecodeError> {
    let mut reader = Reader::new(bytes);
    let number = reader.array()?;
    reader.end()?;
    Ok(number)
}

/// Appends `value` as the number type `ty`, which must hold it exactly.
pub(crate) fn write_integer(
    value: i128,
    ty: &Type,
    rust: &'static str,
    out: &mut BytesMut,
) -> Result<Encoded, EncodeError> {
    macro_rules! narrow {
        ($to:ty) => {
            out.extend_from_slice(
                &<$to>::try_from(value)
                    .map_err(|_| encode::out_of_range(ty))?
                    .to_be_bytes(),
            )
        };
    }
    match ty.shape() {
        Shape::Int2 => narrow!(i16),
        Shape::Int4 => narrow!(i32),
        Shape::Int8 => narrow!(i64),
        Shape::Oid => narrow!(u32),
        Shape::Xid8 => narrow!(u64),
        Shape::Float4 if value.unsigned_abs() <= 1 << f32::MANTISSA_DIGITS => {
            out.extend_from_slice(&(value as f32).to_be_bytes());
        }
        Shape::Float8 if value.unsigned_abs() <= 1 << f64::MANTISSA_DIGITS => {
            out.extend_from_slice(&(value as f64).to_be_bytes());
        }
        Shape::Float4 | Shape::Float8 => return Err(encode::out_of_range(ty)),
        Shape::Numeric => return Numeric::from(value).encode(ty, out),
        // A type that only the server knows; regclass and its kin read numbers.
        Shape::Opaque => {
            out.extend_from_slice(value.to_string().as_bytes());
            return Encoded::TEXT;
        }
        _ => return encode::mismatch(ty, rust),
    }
    Encoded::BINARY
}

/// The integer types by width: what may be read as the Rust type, widened if need be.
macro_rules! integer {
    ($($rust:ident $hint:ident { $($shape:ident $wire:ty),* })*) => {
        $(
            impl Encode for $rust {
                fn accepts(ty: &Type) -> bool {
                    matches!(
                        ty.shape(),
                        Shape::Int2 | Shape::Int4 | Shape::Int8 | Shape::Oid | Shape::Xid8
                            | Shape::Float4 | Shape::Float8 | Shape::Numeric | Shape::Opaque
                    )
                }

                #[inline]
                fn encode(&self, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError> {
                    write_integer(i128::from(*self), ty, stringify!($rust), out)
                }

                fn type_hint() -> Option<Oid> {
                    Some(Type::$hint.oid())
                }
            }

            impl<'a> Decode<'a> for $rust {
                fn accepts(ty: &Type) -> bool {
                    matches!(ty.shape(), $(Shape::$shape)|*)
                }

                #[inline]
                fn from_binary(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
                    match ty.shape() {
                        $(Shape::$shape => Ok(Self::from(<$wire>::from_be_bytes(fixed(bytes)?))),)*
                        _ => decode::mismatch(ty, stringify!($rust)),
                    }
                }

                fn from_text(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
                    decode::accepted::<Self>(ty, stringify!($rust))?;
                    parsed(bytes, "integer")
                }
            }
        )*
    };
}

integer! {
    i16 INT2 { Int2 i16 }
    i32 INT4 { Int2 i16, Int4 i32 }
    i64 INT8 { Int2 i16, Int4 i32, Int8 i64, Oid u32 }
    u32 OID { Oid u32 }
    u64 XID8 { Oid u32, Xid8 u64 }
}

impl Encode for i8 {
    fn accepts(ty: &Type) -> bool {
        matches!(ty.shape(), Shape::Char)
    }

    fn encode(&self, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError> {
        encode::accepted::<Self>(ty, "i8")?;
        out.extend_from_slice(&self.to_be_bytes());
        Encoded::BINARY
    }

    fn type_hint() -> Option<Oid> {
        Some(Type::CHAR.oid())
    }
}

impl<'a> Decode<'a> for i8 {
    fn accepts(ty: &Type) -> bool {
        matches!(ty.shape(), Shape::Char)
    }

    fn from_binary(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        decode::accepted::<Self>(ty, "i8")?;
        fixed(bytes).map(Self::from_be_bytes)
    }

    fn from_text(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        decode::accepted::<Self>(ty, "i8")?;
        match bytes {
            [] => Ok(0),
            &[byte] => Ok(byte.cast_signed()),
            // From version 16 on the server prints bytes beyond ASCII as a backslash and three octal digits.
            &[
                b'\\',
                high @ b'0'..=b'3',
                middle @ b'0'..=b'7',
                low @ b'0'..=b'7',
            ] => Ok(((high - b'0') << 6 | (middle - b'0') << 3 | (low - b'0')).cast_signed()),
            _ => Err(DecodeError::Invalid { what: "\"char\"" }),
        }
    }
}
