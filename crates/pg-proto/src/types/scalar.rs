//! What every small type has in common that is no number, text or container: bytes of one shape, a `Display` and a `FromStr`.
//! Rule: `Display` is the text PostgreSQL prints, `FromStr` reads that text.

use std::fmt::Display;
use std::str::FromStr;

use bytes::BytesMut;

use super::DecodeError;
use super::decode::utf8;
use super::kind::Shape;
use super::read::Reader;

/// A type with one binary form.
pub(crate) trait Scalar: Sized + Display + FromStr<Err: Into<DecodeError>> {
    const RUST: &'static str;

    fn fits(shape: Shape<'_>) -> bool;

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

/// `Encode` and `Decode` for types that are `Scalar`, with the type each hints at.
macro_rules! scalar {
    ($($rust:ty => $hint:expr),* $(,)?) => {
        $(
            impl $crate::types::Encode for $rust {
                fn accepts(ty: &$crate::types::Type) -> bool {
                    <$rust as $crate::types::scalar::Scalar>::fits(ty.shape())
                }

                #[inline]
                fn encode(
                    &self,
                    ty: &$crate::types::Type,
                    out: &mut bytes::BytesMut,
                ) -> Result<$crate::types::Encoded, $crate::types::EncodeError> {
                    use $crate::types::scalar::Scalar;
                    if !<$rust as Scalar>::fits(ty.shape()) {
                        return $crate::types::encode::mismatch(ty, <$rust as Scalar>::RUST);
                    }
                    self.write(out);
                    $crate::types::Encoded::BINARY
                }

                fn type_hint() -> Option<$crate::types::Oid> {
                    Some($hint.oid())
                }
            }

            impl<'a> $crate::types::Decode<'a> for $rust {
                fn accepts(ty: &$crate::types::Type) -> bool {
                    <$rust as $crate::types::scalar::Scalar>::fits(ty.shape())
                }

                #[inline]
                fn from_binary(
                    ty: &$crate::types::Type,
                    bytes: &'a [u8],
                ) -> Result<Self, $crate::types::DecodeError> {
                    use $crate::types::scalar::Scalar;
                    if !<$rust as Scalar>::fits(ty.shape()) {
                        return $crate::types::decode::mismatch(ty, <$rust as Scalar>::RUST);
                    }
                    <$rust as Scalar>::scan(bytes)
                }

                fn from_text(
                    ty: &$crate::types::Type,
                    bytes: &'a [u8],
                ) -> Result<Self, $crate::types::DecodeError> {
                    use $crate::types::scalar::Scalar;
                    if !<$rust as Scalar>::fits(ty.shape()) {
                        return $crate::types::decode::mismatch(ty, <$rust as Scalar>::RUST);
                    }
                    <$rust as Scalar>::from_utf8(bytes)
                }
            }
        )*
    };
}

pub(crate) use scalar;
