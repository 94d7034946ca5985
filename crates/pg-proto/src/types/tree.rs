//! `serde_json::Value` as a Rust type of json and jsonb. Not how rows become JSON; that is [`json`](super::json).
//! Rule: numbers are what that crate makes of them: a caller that needs every digit reads the text.

use bytes::{BufMut as _, BytesMut};
use serde_json::Value;

use super::kind::Shape;
use super::text::read_text;
use super::{Decode, DecodeError, Encode, EncodeError, Encoded, Oid, Type, decode, encode};

const INVALID: DecodeError = DecodeError::Invalid { what: "JSON" };

impl Encode for Value {
    fn accepts(ty: &Type) -> bool {
        matches!(ty.shape(), Shape::Json | Shape::Jsonb)
    }

    fn encode(&self, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError> {
        encode::accepted::<Self>(ty, "serde_json::Value")?;
        encode::whole(out, |out| {
            if matches!(ty.shape(), Shape::Jsonb) {
                out.put_u8(1);
            }
            serde_json::to_writer(out.writer(), self).map_err(|_| encode::out_of_range(ty))?;
            Encoded::BINARY
        })
    }

    fn type_hint() -> Option<Oid> {
        Some(Type::JSONB.oid())
    }
}

impl<'a> Decode<'a> for Value {
    fn accepts(ty: &Type) -> bool {
        matches!(ty.shape(), Shape::Json | Shape::Jsonb)
    }

    fn from_binary(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        decode::accepted::<Self>(ty, "serde_json::Value")?;
        let text = read_text(ty, bytes)?.ok_or(INVALID)?;
        serde_json::from_str(text).map_err(|_| INVALID)
    }

    fn from_text(ty: &Type, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        decode::accepted::<Self>(ty, "serde_json::Value")?;
        serde_json::from_slice(bytes).map_err(|_| INVALID)
    }
}
