//! Writes packed rows as JSON and NDJSON, byte to byte. Not a JSON library: it reads nothing and knows only result rows.
//!
//! | value | JSON |
//! | --- | --- |
//! | integer | number, exact |
//! | real | the shortest number that reads back the same; infinities are null |
//! | text | string; only what JSON requires is escaped |
//! | blob | base64 string with padding |
//! | NULL | null |

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use crate::error::Result;
use crate::rows::packed::Cell;
use crate::rows::typed::DeclaredType;
use crate::rows::{Row, RowRef, Rows};
use crate::value::{Value, ValueRef};

impl Rows {
    /// Appends an array of objects, one for each row. Of several columns with one name the last one is written.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) and [`Error::InvalidText`](crate::Error::InvalidText), of values that a server
    /// sent; what was appended stays.
    pub fn write_json(&self, out: &mut Vec<u8>) -> Result<()> {
        out.reserve(self.packed_bytes() + self.packed_bytes() / 2 + 2);
        out.push(b'[');
        for (index, row) in self.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            row.write_json(out)?;
        }
        out.push(b']');
        Ok(())
    }

    /// Appends the row at `index` as an object, or `null` if there is no such row.
    ///
    /// # Errors
    /// As [`Rows::write_json`].
    pub fn write_json_row(&self, index: usize, out: &mut Vec<u8>) -> Result<()> {
        match self.row(index) {
            Some(row) => row.write_json(out)?,
            None => out.extend_from_slice(b"null"),
        }
        Ok(())
    }

    /// Appends an object and a line feed for each row.
    ///
    /// # Errors
    /// As [`Rows::write_json`].
    pub fn write_ndjson(&self, out: &mut Vec<u8>) -> Result<()> {
        for row in self.iter() {
            row.write_json(out)?;
            out.push(b'\n');
        }
        Ok(())
    }
}

impl Row<'_> {
    /// Appends the row as an object.
    ///
    /// # Errors
    /// As [`Rows::write_json`].
    pub fn write_json(&self, out: &mut Vec<u8>) -> Result<()> {
        let mut object = Object { before: b'{', out };
        let columns = self.columns();
        match self.0 {
            RowRef::Packed(row) => {
                for (index, (key, cell)) in columns.keys().iter().zip(row.cells()).enumerate() {
                    let Some(out) = object.key(key) else { continue };
                    match columns.held(index) {
                        DeclaredType::Plain => write_cell(cell, out),
                        held => match held.value(cell) {
                            ValueRef::Rich(rich) => rich.write_json(out)?,
                            ValueRef::Boolean(truth) => {
                                out.extend_from_slice(truth.to_string().as_bytes());
                            }
                            _ => write_cell(cell, out),
                        },
                    }
                }
            }
            RowRef::Postgres(row) => {
                for (key, field) in columns.keys().iter().zip(row.fields()) {
                    if let Some(out) = object.key(key) {
                        match field {
                            Some(field) => field.write_json(out)?,
                            None => out.extend_from_slice(b"null"),
                        }
                    }
                }
            }
            RowRef::Firebird(row) => {
                for (key, field) in columns.keys().iter().zip(row.fields()) {
                    if let Some(out) = object.key(key) {
                        match field {
                            Some(field) => field.write_json(out)?,
                            None => out.extend_from_slice(b"null"),
                        }
                    }
                }
            }
        }
        object.end();
        Ok(())
    }
}

/// An object that is being written.
struct Object<'o> {
    /// What stands before the next key.
    before: u8,
    out: &'o mut Vec<u8>,
}

impl Object<'_> {
    /// Writes a key; the value goes where this points. None for a column that a later one hides.
    fn key(&mut self, key: &Option<Box<[u8]>>) -> Option<&mut Vec<u8>> {
        let key = key.as_deref()?;
        self.out.push(std::mem::replace(&mut self.before, b','));
        self.out.extend_from_slice(key);
        Some(self.out)
    }

    fn end(self) {
        if self.before == b'{' {
            self.out.push(b'{');
        }
        self.out.push(b'}');
    }
}

fn write_cell(cell: Cell<'_>, out: &mut Vec<u8>) {
    match cell {
        Cell::Null => out.extend_from_slice(b"null"),
        Cell::Integer(integer) => write_integer(integer, out),
        Cell::Real(real) if real.is_finite() => write_real(real, out),
        Cell::Real(_) => out.extend_from_slice(b"null"),
        Cell::Text(text) => write_string(text, out),
        Cell::Blob(blob) => {
            out.push(b'"');
            write_base64(blob, out);
            out.push(b'"');
        }
    }
}

/// A value as JSON text, for a database or a parameter that has no other place for a list.
pub(crate) fn text(value: &Value) -> String {
    let mut out = Vec::new();
    write_value(value, &mut out);
    String::from_utf8(out).expect("JSON of text is text")
}

fn write_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"null"),
        Value::Boolean(boolean) => out.extend_from_slice(boolean.to_string().as_bytes()),
        Value::Integer(integer) => write_integer(*integer, out),
        Value::Real(real) if real.is_finite() => write_real(*real, out),
        Value::Real(_) => out.extend_from_slice(b"null"),
        Value::Text(text) => write_string(text.as_bytes(), out),
        Value::Blob(blob) => {
            out.push(b'"');
            write_base64(blob, out);
            out.push(b'"');
        }
        Value::Json(json) => out.extend_from_slice(json.as_bytes()),
        Value::List(values) => {
            out.push(b'[');
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_value(value, out);
            }
            out.push(b']');
        }
    }
}

pub(crate) fn write_integer(integer: i64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(integer).as_bytes());
}

/// Appends a finite real.
pub(crate) fn write_real(real: f64, out: &mut Vec<u8>) {
    out.extend_from_slice(zmij::Buffer::new().format_finite(real).as_bytes());
}

/// Appends a finite real of single precision, with as many digits as tell it from others.
pub(crate) fn write_float(real: f32, out: &mut Vec<u8>) {
    out.extend_from_slice(zmij::Buffer::new().format_finite(real).as_bytes());
}

pub(crate) fn write_base64(bytes: &[u8], out: &mut Vec<u8>) {
    let start = out.len();
    let length = base64::encoded_len(bytes.len(), true).expect("a database value is below 4 GiB");
    out.resize(start + length, 0);
    STANDARD
        .encode_slice(bytes, &mut out[start..])
        .expect("the space was just made");
}

/// Appends UTF-8 `text` as a JSON string.
pub(crate) fn write_string(text: &[u8], out: &mut Vec<u8>) {
    out.reserve(text.len() + 2);
    out.push(b'"');
    let mut rest = text;
    while let Some(plain) = position_to_escape(rest) {
        let (before, after) = rest.split_at(plain);
        out.extend_from_slice(before);
        write_escape(after[0], out);
        rest = &after[1..];
    }
    out.extend_from_slice(rest);
    out.push(b'"');
}

/// Where the first byte is that a JSON string cannot hold as it is.
fn position_to_escape(bytes: &[u8]) -> Option<usize> {
    let (chunks, tail) = bytes.as_chunks::<8>();
    for (index, chunk) in chunks.iter().enumerate() {
        if holds_byte_to_escape(u64::from_le_bytes(*chunk)) {
            let within = chunk.iter().position(|byte| must_escape(*byte));
            return within.map(|within| index * 8 + within);
        }
    }
    let within = tail.iter().position(|byte| must_escape(*byte));
    within.map(|within| chunks.len() * 8 + within)
}

fn must_escape(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Tests eight bytes at once. A byte below a bound borrows from its top bit when the bound is subtracted, and a byte
/// equal to another is zero after an exclusive or. The borrow of one byte can only spoil bytes above it, so the
/// answer for the whole word is exact.
fn holds_byte_to_escape(word: u64) -> bool {
    const ONES: u64 = u64::MAX / 255;
    const TOPS: u64 = ONES << 7;
    let zero_in = |word: u64| word.wrapping_sub(ONES) & !word & TOPS;
    let control = word.wrapping_sub(ONES * 0x20) & !word & TOPS;
    let quote = zero_in(word ^ (ONES * u64::from(b'"')));
    let backslash = zero_in(word ^ (ONES * u64::from(b'\\')));
    control | quote | backslash != 0
}

fn write_escape(byte: u8, out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let short = match byte {
        b'"' | b'\\' => byte,
        b'\n' => b'n',
        b'\r' => b'r',
        b'\t' => b't',
        0x08 => b'b',
        0x0c => b'f',
        _ => {
            out.extend_from_slice(b"\\u00");
            out.extend_from_slice(&[HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 15)]]);
            return;
        }
    };
    out.extend_from_slice(&[b'\\', short]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::Columns;
    use crate::rows::packed::Packer;
    use std::sync::Arc;

    fn check(cell: Cell<'_>, expected: &str) {
        let mut out = Vec::new();
        write_cell(cell, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn every_type_has_its_form() {
        check(Cell::Null, "null");
        check(Cell::Integer(i64::MIN), "-9223372036854775808");
        check(Cell::Integer(i64::MAX), "9223372036854775807");
        check(Cell::Real(1.0), "1.0");
        check(Cell::Real(0.1), "0.1");
        check(Cell::Real(-0.0), "-0.0");
        check(Cell::Real(f64::NAN), "null");
        check(Cell::Real(f64::INFINITY), "null");
        check(
            Cell::Text("紡ぎ/\u{2028}</script>é".as_bytes()),
            "\"紡ぎ/\u{2028}</script>é\"",
        );
        check(
            Cell::Text(b"a\"b\\c\nd\re\tf\x08\x0c\x00\x1f\x7f"),
            "\"a\\\"b\\\\c\\nd\\re\\tf\\b\\f\\u0000\\u001f\x7f\"",
        );
        check(Cell::Blob(b"\xde\xad\xbe\xef"), "\"3q2+7w==\"");
        check(Cell::Blob(b""), "\"\"");
    }

    #[test]
    fn reals_read_back_the_same() {
        for real in [
            f64::MIN,
            f64::MAX,
            f64::MIN_POSITIVE,
            5e-324,
            1e16,
            123_456_789.123_456_78,
            1.0 / 3.0,
        ] {
            let mut out = Vec::new();
            write_real(real, &mut out);
            let read: f64 = serde_json::from_slice(&out).unwrap();
            assert_eq!(read.to_bits(), real.to_bits());
        }
    }

    #[test]
    fn strings_of_every_byte_at_every_place_match_another_writer() {
        for code in 0..=0x17f_u32 {
            let Some(odd) = char::from_u32(code) else {
                continue;
            };
            for length in 0..20 {
                for place in 0..=length {
                    let mut text: String = "x".repeat(place);
                    text.push(odd);
                    text.push_str(&"~".repeat(length - place));
                    let mut out = Vec::new();
                    write_string(text.as_bytes(), &mut out);
                    assert_eq!(
                        String::from_utf8(out).unwrap(),
                        serde_json::to_string(&text).unwrap()
                    );
                }
            }
        }
    }

    #[test]
    fn arrays_objects_and_lines() {
        let mut packer = Packer::default();
        for number in 1..=2 {
            packer.begin_row();
            packer.push(Cell::Integer(0)).unwrap();
            packer.push(Cell::Text(b"x")).unwrap();
            packer.push(Cell::Integer(number)).unwrap();
        }
        let rows = Rows::from(packer.finish(Arc::new(Columns::new(["id", "a\"b", "id"]))));
        let text = |write: &dyn Fn(&mut Vec<u8>) -> Result<()>| {
            let mut out = Vec::new();
            write(&mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            text(&|out| rows.write_json(out)),
            r#"[{"a\"b":"x","id":1},{"a\"b":"x","id":2}]"#
        );
        assert_eq!(
            text(&|out| rows.write_json_row(1, out)),
            r#"{"a\"b":"x","id":2}"#
        );
        assert_eq!(text(&|out| rows.write_json_row(2, out)), "null");
        assert_eq!(
            text(&|out| rows.write_ndjson(out)),
            "{\"a\\\"b\":\"x\",\"id\":1}\n{\"a\\\"b\":\"x\",\"id\":2}\n"
        );
        let none = Rows::from(packer.finish(Arc::new(Columns::new(["id"]))));
        assert_eq!(text(&|out| none.write_json(out)), "[]");
    }
}
