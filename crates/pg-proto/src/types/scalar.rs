//! What every small type of our own has in common: bytes of one shape, a `Display` and a `FromStr`. Not numbers, texts or containers.
//! Rule: `Display` is the text PostgreSQL prints, `FromStr` reads that text.

use std::fmt::Display;
use std::str::FromStr;

use bytes::BytesMut;

use super::DecodeError;
use super::kind::Shape;
use super::read::Reader;

/// A type of our own with one binary form.
pub(crate) trait Scalar: Sized + Display + FromStr<Err = DecodeError> {
    const RUST: &'static str;

    fn fits(shape: Shape<'_>) -> bool;

    /// Reads the binary form; what is left over is the caller's business.
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError>;

    fn write(&self, out: &mut BytesMut);

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
                    $crate::types::decode::utf8(bytes)?.parse()
                }
            }
        )*
    };
}

pub(crate) use scalar;
