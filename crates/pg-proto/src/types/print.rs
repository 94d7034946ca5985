//! From a value's binary form to the text the server itself would print.
//! Not for parameters. Rule: dates are ISO, moments in UTC with `+00`, intervals in the style `postgres`, money as in the locale C.

use std::fmt::{self, Display, Write};
use std::ops::Bound;

use tsumugi_values::json::write_integer;

use super::array::{ArrayRef, Step};
use super::bits::BitsRef;
use super::composite::{HstoreRef, RowRef};
use super::decode::utf8;
use super::float::{write_f32, write_f64};
use super::geometry::{Box, Circle, Line, Lseg, Path, Point, Polygon};
use super::integer::fixed;
use super::kind::{Field, Shape};
use super::literal::{self, Escape, write_quoted};
use super::numeric::NumericRef;
use super::range::{Range, RangeRef, bracket};
use super::read::{Reader, read_bool};
use super::scalar::Scalar;
use super::text::versioned;
use super::{
    Date, DecodeError, Inet, Interval, Lsn, MacAddr, MacAddr8, Money, Tid, Time, TimeTz, Timestamp,
    TimestampTz, Type, Uuid,
};
use crate::limits::TYPE_DEPTH_MAX;

/// Appends the text of the value whose binary form is `binary`.
///
/// # Errors
/// [`DecodeError`]; what was appended before the error stays.
pub fn print(ty: &Type, binary: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
    print_at(ty, binary, out, 0)
}

/// Bytes as a place to format to.
pub(crate) struct Sink<'a>(pub &'a mut Vec<u8>);

impl Write for Sink<'_> {
    #[inline]
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.0.extend_from_slice(text.as_bytes());
        Ok(())
    }

    #[inline]
    fn write_char(&mut self, character: char) -> fmt::Result {
        match u8::try_from(character).ok().filter(u8::is_ascii) {
            Some(byte) => self.0.push(byte),
            None => self.write_str(character.encode_utf8(&mut [0; 4]))?,
        }
        Ok(())
    }
}

/// Writing to memory fails only where our own formatting does.
pub(crate) fn formatted(written: fmt::Result) -> Result<(), DecodeError> {
    written.map_err(|_| DecodeError::Invalid { what: "number" })
}

fn scalar<T: Scalar + Display>(binary: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
    let value = T::scan(binary)?;
    formatted(write!(Sink(out), "{value}"))
}

pub(crate) fn print_at(
    ty: &Type,
    binary: &[u8],
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), DecodeError> {
    if depth > TYPE_DEPTH_MAX {
        return Err(DecodeError::TooDeep);
    }
    match ty.shape() {
        Shape::Bool => out.push(if read_bool(binary)? { b't' } else { b'f' }),
        Shape::Char => print_char(binary, out)?,
        Shape::Int2 => write_integer(i16::from_be_bytes(fixed(binary)?), out),
        Shape::Int4 => write_integer(i32::from_be_bytes(fixed(binary)?), out),
        Shape::Int8 => write_integer(i64::from_be_bytes(fixed(binary)?), out),
        Shape::Oid => write_integer(u32::from_be_bytes(fixed(binary)?), out),
        Shape::Xid8 => write_integer(u64::from_be_bytes(fixed(binary)?), out),
        Shape::Float4 => {
            let number = f32::from_be_bytes(fixed(binary)?);
            formatted(write_f32(&mut Sink(out), number))?;
        }
        Shape::Float8 => {
            let number = f64::from_be_bytes(fixed(binary)?);
            formatted(write_f64(&mut Sink(out), number))?;
        }
        Shape::Numeric => formatted(NumericRef::scan(binary)?.write_text(&mut Sink(out)))?,
        Shape::Text | Shape::Json => out.extend_from_slice(utf8(binary)?.as_bytes()),
        Shape::Jsonb | Shape::Versioned => out.extend_from_slice(versioned(binary)?.as_bytes()),
        Shape::Bytea => print_bytea(binary, out),
        Shape::Bits => print_bits(binary, out)?,
        Shape::Hstore => print_hstore(binary, out)?,
        Shape::Void => Reader::new(binary).end()?,
        Shape::Record => print_row(None, binary, out, depth)?,
        Shape::Composite(fields) => print_row(Some(fields), binary, out, depth)?,
        Shape::Array(element) => print_array(element, binary, out, depth)?,
        Shape::Range(bound) => print_range(bound, binary, out, depth)?,
        Shape::Multirange(range) => print_multirange(range, binary, out, depth)?,
        Shape::Opaque => return Err(DecodeError::UnknownType { oid: ty.oid() }),
        shape => print_scalar(shape, ty, binary, out)?,
    }
    Ok(())
}

/// The types of one fixed form that have a Rust type of their own.
macro_rules! scalars {
    ($($shape:ident)*) => {
        fn print_scalar(
            shape: Shape<'_>,
            ty: &Type,
            binary: &[u8],
            out: &mut Vec<u8>,
        ) -> Result<(), DecodeError> {
            match shape {
                $(Shape::$shape => scalar::<$shape>(binary, out),)*
                _ => Err(DecodeError::UnknownType { oid: ty.oid() }),
            }
        }
    };
}

scalars! {
    Uuid Date Time TimeTz Timestamp TimestampTz Interval Money Inet MacAddr MacAddr8 Tid Lsn
    Point Line Lseg Box Path Polygon Circle
}

fn print_bits(binary: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
    let mut reader = Reader::new(binary);
    let bits = BitsRef::read(&mut reader)?;
    reader.end()?;
    formatted(write!(Sink(out), "{bits}"))
}

/// Bytes beyond ASCII as from version 16 on: a backslash and three octal digits. The byte 0 is the empty text.
fn print_char(binary: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
    let [byte] = fixed(binary)?;
    match byte {
        0 => Ok(()),
        1..=0x7f => {
            out.push(byte);
            Ok(())
        }
        _ => formatted(write!(Sink(out), "\\{byte:03o}")),
    }
}

fn print_bytea(binary: &[u8], out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.reserve(binary.len() * 2 + 2);
    out.extend_from_slice(b"\\x");
    let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or(b'0');
    for byte in binary {
        out.extend_from_slice(&[digit(byte >> 4), digit(byte & 0x0f)]);
    }
}

fn print_hstore(binary: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
    let mut hstore = HstoreRef::scan(binary)?;
    let mut separator: &[u8] = b"";
    while let Some((key, value)) = hstore.entry()? {
        out.extend_from_slice(separator);
        separator = b", ";
        write_quoted(out, key.as_bytes(), Escape::Backslash);
        out.extend_from_slice(b"=>");
        match value {
            Some(value) => write_quoted(out, value.as_bytes(), Escape::Backslash),
            None => out.extend_from_slice(b"NULL"),
        }
    }
    Ok(())
}

fn print_row(
    fields: Option<&[Field]>,
    binary: &[u8],
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), DecodeError> {
    let mut row = RowRef::scan(fields, binary)?;
    out.push(b'(');
    let mut first = true;
    while let Some(part) = row.part()? {
        if !first {
            out.push(b',');
        }
        first = false;
        if let Some(bytes) = part.bytes {
            let start = out.len();
            print_at(part.ty, bytes, out, depth + 1)?;
            literal::quote_field(out, start);
        }
    }
    out.push(b')');
    Ok(())
}

fn print_array(
    element: &Type,
    binary: &[u8],
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), DecodeError> {
    let mut array = ArrayRef::scan(element, binary)?;
    let delimiter = element.delimiter();
    literal::write_bounds(out, array.dimensions());
    array.walk(|step| {
        match step {
            Step::Open => out.push(b'{'),
            Step::Close => out.push(b'}'),
            Step::Separator => out.push(delimiter),
            Step::Item(None) => out.extend_from_slice(b"NULL"),
            Step::Item(Some(bytes)) => {
                let start = out.len();
                print_at(element, bytes, out, depth + 1)?;
                literal::quote_item(out, start, delimiter);
            }
        }
        Ok(())
    })
}

fn print_range(
    ty: &Type,
    binary: &[u8],
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), DecodeError> {
    let Range::Between(lower, upper) = RangeRef::scan(binary)? else {
        out.extend_from_slice(b"empty");
        return Ok(());
    };
    let close = bracket(&upper, b']', b')');
    out.push(bracket(&lower, b'[', b'('));
    for (bound, after) in [(lower, b','), (upper, close)] {
        if let Bound::Included(bytes) | Bound::Excluded(bytes) = bound {
            let start = out.len();
            print_at(ty, bytes, out, depth + 1)?;
            literal::quote_bound(out, start);
        }
        out.push(after);
    }
    Ok(())
}

fn print_multirange(
    range: &Type,
    binary: &[u8],
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), DecodeError> {
    let mut reader = Reader::new(binary);
    let count = reader.count(4, "multirange")?;
    out.push(b'{');
    for index in 0..count {
        if index > 0 {
            out.push(b',');
        }
        let bytes = reader.field()?;
        let bytes = bytes.ok_or(DecodeError::Invalid { what: "multirange" })?;
        print_at(range, bytes, out, depth + 1)?;
    }
    out.push(b'}');
    reader.end()
}
