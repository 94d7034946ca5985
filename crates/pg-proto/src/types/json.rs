//! From a value's binary form to JSON, byte to byte. Not a JSON library: it reads nothing but values of the server.
//! Rule: no number is rounded, and what has no JSON of its own is a string with the server's text.
//!
//! | type | JSON |
//! | --- | --- |
//! | bool | `true`, `false` |
//! | integers, oid, xid8 | number |
//! | numeric | string; with [`NumericStyle::Number`] a number, NaN and infinities null |
//! | float4, float8 | the shortest number that reads back the same; NaN and infinities null |
//! | texts, enums | string |
//! | json, jsonb | embedded as it is, line breaks between its tokens as spaces |
//! | bytea | base64 string with padding |
//! | date, time, timestamp | ISO 8601 string: `2024-01-02T03:04:05.000006` |
//! | timestamptz | the same in UTC with `Z` |
//! | arrays | array, nested by dimension |
//! | rows | object; the fields of a `record` are `f1`, `f2`, … |
//! | hstore | object of strings |
//! | void | null |
//! | all others | string as the server prints it |

use std::fmt;

use bytes::BytesMut;
use tsumugi_values::json::{
    FALSE, TRUE, must_escape, write_bytes, write_checked, write_f32, write_f64, write_integer,
    write_null, write_string,
};

use super::array::{ArrayRef, Step};
use super::composite::{HstoreRef, RowRef};
use super::decode::utf8;
use super::integer::fixed;
use super::kind::{Field, Shape};
use super::numeric::NumericRef;
use super::print::{Sink, formatted, print_at};
use super::read::{Reader, read_bool};
use super::scalar::Scalar;
use super::text::versioned;
use super::{
    Date, Decode, DecodeError, Encode, Encoded, Format, Timestamp, TimestampTz, Type, Value,
};
use crate::limits::TYPE_DEPTH_MAX;

/// What a numeric becomes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum NumericStyle {
    /// A string, which every reader keeps exactly.
    #[default]
    String,
    /// A number with all its digits. Many readers round it.
    Number,
}

/// How values are written where there is a choice.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Style {
    /// What a numeric becomes.
    pub numeric: NumericStyle,
}

/// Appends the JSON of the value whose binary form is `binary`. NULL is for the caller to write.
///
/// # Errors
/// [`DecodeError`]; what was appended before the error stays.
pub fn write(
    ty: &Type,
    binary: &[u8],
    style: &Style,
    out: &mut Vec<u8>,
) -> Result<(), DecodeError> {
    write_at(ty, binary, style, out, 0)
}

/// Appends the JSON of a value that arrived in text format. What [`Value`] reads from text is written as [`write()`] does;
/// rows, ranges, hstore and types that are not known are strings.
///
/// # Errors
/// [`DecodeError`]; nothing was appended if the text is not of its type.
pub fn write_text(
    ty: &Type,
    text: &[u8],
    style: &Style,
    out: &mut Vec<u8>,
) -> Result<(), DecodeError> {
    let value = Value::from_text(ty, text)?;
    let mut binary = BytesMut::new();
    match value.encode(ty, &mut binary) {
        Ok(Encoded::Value(Format::Binary)) => write(ty, &binary, style, out),
        _ => {
            write_string(utf8(text)?, out);
            Ok(())
        }
    }
}

fn write_at(
    ty: &Type,
    binary: &[u8],
    style: &Style,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), DecodeError> {
    if depth > TYPE_DEPTH_MAX {
        return Err(DecodeError::TooDeep);
    }
    match ty.shape() {
        Shape::Bool => out.extend_from_slice(if read_bool(binary)? { TRUE } else { FALSE }),
        Shape::Int2 => write_integer(i16::from_be_bytes(fixed(binary)?), out),
        Shape::Int4 => write_integer(i32::from_be_bytes(fixed(binary)?), out),
        Shape::Int8 => write_integer(i64::from_be_bytes(fixed(binary)?), out),
        Shape::Oid => write_integer(u32::from_be_bytes(fixed(binary)?), out),
        Shape::Xid8 => write_integer(u64::from_be_bytes(fixed(binary)?), out),
        Shape::Float4 => write_f32(f32::from_be_bytes(fixed(binary)?), out),
        Shape::Float8 => write_f64(f64::from_be_bytes(fixed(binary)?), out),
        Shape::Numeric => write_numeric(binary, style.numeric, out)?,
        Shape::Text => write_string(utf8(binary)?, out),
        Shape::Versioned => write_string(versioned(binary)?, out),
        Shape::Json => embed(utf8(binary)?, out)?,
        Shape::Jsonb => embed(versioned(binary)?, out)?,
        Shape::Bytea => write_bytes(binary, out),
        Shape::Date => quoted(out, |sink| Date::scan(binary).map(|it| it.write_iso(sink)))?,
        Shape::Timestamp => {
            quoted(out, |sink| {
                Timestamp::scan(binary).map(|it| it.write_iso(sink))
            })?;
        }
        Shape::TimestampTz => {
            quoted(out, |sink| {
                TimestampTz::scan(binary).map(|it| it.write_iso(sink))
            })?;
        }
        Shape::Void => {
            Reader::new(binary).end()?;
            write_null(out);
        }
        Shape::Hstore => write_hstore(binary, out)?,
        Shape::Record => write_row(None, binary, style, out, depth)?,
        Shape::Composite(fields) => write_row(Some(fields), binary, style, out, depth)?,
        Shape::Array(element) => write_array(element, binary, style, out, depth)?,
        _ => write_printed(ty, binary, out, depth)?,
    }
    Ok(())
}

/// A string of characters that need no escaping.
fn quoted(
    out: &mut Vec<u8>,
    write: impl FnOnce(&mut Sink<'_>) -> Result<fmt::Result, DecodeError>,
) -> Result<(), DecodeError> {
    out.push(b'"');
    formatted(write(&mut Sink(out))?)?;
    out.push(b'"');
    Ok(())
}

/// The server's text as a string.
fn write_printed(
    ty: &Type,
    binary: &[u8],
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), DecodeError> {
    let start = out.len();
    out.push(b'"');
    print_at(ty, binary, out, depth)?;
    let text = out.get(start + 1..).unwrap_or_default();
    if !text.iter().any(|byte| must_escape(*byte)) {
        out.push(b'"');
        return Ok(());
    }
    let text = out.split_off(start + 1);
    out.truncate(start);
    write_string(utf8(&text)?, out);
    Ok(())
}

fn write_numeric(binary: &[u8], style: NumericStyle, out: &mut Vec<u8>) -> Result<(), DecodeError> {
    let numeric = NumericRef::scan(binary)?;
    match style {
        NumericStyle::String => quoted(out, |sink| Ok(numeric.write_text(sink))),
        NumericStyle::Number if numeric.is_finite() => {
            formatted(numeric.write_text(&mut Sink(out)))
        }
        NumericStyle::Number => {
            write_null(out);
            Ok(())
        }
    }
}

/// The server has checked the JSON.
fn embed(json: &str, out: &mut Vec<u8>) -> Result<(), DecodeError> {
    if json.is_empty() {
        return Err(DecodeError::Invalid { what: "JSON" });
    }
    write_checked(json, out);
    Ok(())
}

fn write_hstore(binary: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
    let mut hstore = HstoreRef::scan(binary)?;
    let mut before = b'{';
    while let Some((key, value)) = hstore.entry()? {
        out.push(before);
        before = b',';
        write_string(key, out);
        out.push(b':');
        match value {
            Some(value) => write_string(value, out),
            None => write_null(out),
        }
    }
    if before == b'{' {
        out.push(b'{');
    }
    out.push(b'}');
    Ok(())
}

fn write_row(
    fields: Option<&[Field]>,
    binary: &[u8],
    style: &Style,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), DecodeError> {
    let mut row = RowRef::scan(fields, binary)?;
    let mut before = b'{';
    while let Some(part) = row.part()? {
        out.push(before);
        before = b',';
        write_string(&part.name, out);
        out.push(b':');
        match part.bytes {
            Some(bytes) => write_at(part.ty, bytes, style, out, depth + 1)?,
            None => write_null(out),
        }
    }
    if before == b'{' {
        out.push(b'{');
    }
    out.push(b'}');
    Ok(())
}

fn write_array(
    element: &Type,
    binary: &[u8],
    style: &Style,
    out: &mut Vec<u8>,
    depth: usize,
) -> Result<(), DecodeError> {
    ArrayRef::scan(element, binary)?.walk(|step| {
        match step {
            Step::Open => out.push(b'['),
            Step::Close => out.push(b']'),
            Step::Separator => out.push(b','),
            Step::Item(None) => write_null(out),
            Step::Item(Some(bytes)) => write_at(element, bytes, style, out, depth + 1)?,
        }
        Ok(())
    })
}
