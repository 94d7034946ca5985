//! Values of a caller as parameters of PostgreSQL. The parameter's type decides how a value is sent; the codecs are the driver's.
//! Rule: a number is sent exactly or refused; text goes as text to whatever type, and the server reads it.

use bytes::BytesMut;
use tsumugi_pg::Parameters;
use tsumugi_pg_proto::types::{Encode, EncodeError, Encoded, Format, Kind, Numeric, Type};

use crate::json;
use crate::value::Value;

/// The values of one statement.
pub(crate) struct Binds<'a>(pub(super) &'a [Value]);

impl Parameters for Binds<'_> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn encode(&self, index: usize, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError> {
        Bind(&self.0[index]).encode(ty, out)
    }
}

/// One of them.
struct Bind<'a>(&'a Value);

impl Encode for Bind<'_> {
    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode(&self, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError> {
        match self.0 {
            Value::Null => Ok(Encoded::Null),
            Value::Boolean(boolean) => boolean.encode(ty, out),
            Value::Integer(integer) => number(*integer, ty, out),
            Value::Real(real) => real.encode(ty, out),
            Value::Text(text) | Value::Decimal(text) => text.encode(ty, out),
            Value::Blob(blob) => blob.encode(ty, out),
            Value::Json(text) => text.encode(ty, out),
            Value::List(values) => match ty.base().kind() {
                Kind::Array(_) => {
                    let binds: Vec<Bind<'_>> = values.iter().map(Bind).collect();
                    binds.encode(ty, out)
                }
                _ => {
                    out.extend_from_slice(json::text(self.0).as_bytes());
                    Ok(Encoded::Value(Format::Text))
                }
            },
        }
    }
}

/// An integer fits wherever numbers go, as long as it keeps its value.
fn number(integer: i64, ty: &Type, out: &mut BytesMut) -> Result<Encoded, EncodeError> {
    if <i64 as Encode>::accepts(ty) {
        return integer.encode(ty, out);
    }
    if ty.base() == Type::NUMERIC {
        return Numeric::from(integer).encode(ty, out);
    }
    let real = integer as f64;
    if <f64 as Encode>::accepts(ty) && real as i64 == integer && integer != i64::MAX {
        return real.encode(ty, out);
    }
    integer.encode(ty, out)
}
