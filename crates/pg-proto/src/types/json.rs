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

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::BytesMut;

use super::array::{ArrayRef, Step};
use super::composite::{HstoreRef, RowRef};
use super::decode::utf8;
use super::integer::{fixed, read_bool};
use super::kind::{Field, Shape};
use super::numeric::NumericRef;
use super::print::{Sink, formatted, integer, print_at};
use super::read::Reader;
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

/// Appends UTF-8 `text` as a JSON string: for values that arrived in text format, and for names.
pub fn write_string(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut rest = text.as_bytes();
    while let Some((plain, byte, after)) = next_escape(rest) {
        out.extend_from_slice(plain);
        write_escape(byte, out);
        rest = after;
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

const CHUNK_BYTES: usize = 16;

const fn must_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// What stands before the first byte that a string cannot hold as it is, that byte, and what follows it.
fn next_escape(bytes: &[u8]) -> Option<(&[u8], u8, &[u8])> {
    // Whole chunks are looked at without branches, which the compiler turns into vector instructions.
    let (chunks, _) = bytes.as_chunks::<CHUNK_BYTES>();
    let clean = chunks
        .iter()
        .take_while(|chunk| {
            !chunk
                .iter()
                .fold(false, |any, byte| any | must_escape(*byte))
        })
        .count();
    let tail = bytes.get(clean * CHUNK_BYTES..)?;
    let at = tail.iter().position(|byte| must_escape(*byte))? + clean * CHUNK_BYTES;
    let (plain, rest) = bytes.split_at_checked(at)?;
    let (byte, after) = rest.split_first()?;
    Some((plain, *byte, after))
}

fn write_escape(byte: u8, out: &mut Vec<u8>) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'"' => b'"',
        b'\\' => b'\\',
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            let digit = |nibble: u8| DIGITS.get(usize::from(nibble)).copied().unwrap_or(b'0');
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&[digit(byte >> 4), digit(byte & 0x0f)]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
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
        Shape::Bool => out.extend_from_slice(if read_bool(binary)? {
            b"true"
        } else {
            b"false"
        }),
        Shape::Int2 => integer(i16::from_be_bytes(fixed(binary)?), out),
        Shape::Int4 => integer(i32::from_be_bytes(fixed(binary)?), out),
        Shape::Int8 => integer(i64::from_be_bytes(fixed(binary)?), out),
        Shape::Oid => integer(u32::from_be_bytes(fixed(binary)?), out),
        Shape::Xid8 => integer(u64::from_be_bytes(fixed(binary)?), out),
        Shape::Float4 => match f32::from_be_bytes(fixed(binary)?) {
            number if number.is_finite() => {
                out.extend_from_slice(zmij::Buffer::new().format_finite(number).as_bytes());
            }
            _ => write_null(out),
        },
        Shape::Float8 => match f64::from_be_bytes(fixed(binary)?) {
            number if number.is_finite() => {
                out.extend_from_slice(zmij::Buffer::new().format_finite(number).as_bytes());
            }
            _ => write_null(out),
        },
        Shape::Numeric => write_numeric(binary, style.numeric, out)?,
        Shape::Text => write_string(utf8(binary)?, out),
        Shape::Versioned => write_string(versioned(binary)?, out),
        Shape::Json => embed(utf8(binary)?, out)?,
        Shape::Jsonb => embed(versioned(binary)?, out)?,
        Shape::Bytea => write_base64(binary, out)?,
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

fn write_null(out: &mut Vec<u8>) {
    out.extend_from_slice(b"null");
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

/// The server has checked the JSON. Line breaks stand between tokens only; as spaces they keep a line of NDJSON one line.
fn embed(json: &str, out: &mut Vec<u8>) -> Result<(), DecodeError> {
    if json.is_empty() {
        return Err(DecodeError::Invalid { what: "JSON" });
    }
    out.reserve(json.len());
    let mut rest = json.as_bytes();
    while let Some(at) = memchr::memchr2(b'\n', b'\r', rest) {
        let (before, after) = rest.split_at_checked(at).unwrap_or((rest, &[]));
        out.extend_from_slice(before);
        out.push(b' ');
        rest = after.get(1..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    Ok(())
}

fn write_base64(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), DecodeError> {
    const INVALID: DecodeError = DecodeError::Invalid { what: "bytea" };
    out.push(b'"');
    let start = out.len();
    let length = base64::encoded_len(bytes.len(), true).ok_or(INVALID)?;
    out.resize(start + length, 0);
    let place = out.get_mut(start..).unwrap_or_default();
    STANDARD.encode_slice(bytes, place).map_err(|_| INVALID)?;
    out.push(b'"');
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
