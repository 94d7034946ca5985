//! Writes packed rows as CSV (RFC 4180): comma, CRLF, quotes where needed. Not a CSV reader.
//!
//! NULL is an empty field and empty text is `""`, so that both differ. A blob is base64. Of an infinity
//! the name is written. Columns of one name are all written, in order.

use tsumugi_values::json::{FALSE, TRUE, write_base64, write_f64, write_integer};

use crate::error::Result;
use crate::rows::{Columns, Rows};
use crate::value::ValueRef;

impl Columns {
    /// Appends the header line.
    pub fn write_csv(&self, out: &mut Vec<u8>) {
        for (index, name) in self.names().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            write_text(name.as_bytes(), out);
        }
        out.extend_from_slice(b"\r\n");
    }
}

impl Rows {
    /// Appends a line for each row, without a header: see [`Columns::write_csv`].
    ///
    /// # Errors
    /// As [`Rows::write_json`].
    pub fn write_csv(&self, out: &mut Vec<u8>) -> Result<()> {
        out.reserve(self.packed_bytes());
        let mut text = Vec::new();
        for row in self.iter() {
            for (index, value) in row.values().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_value(value, &mut text, out)?;
            }
            out.extend_from_slice(b"\r\n");
        }
        Ok(())
    }
}

/// `text` is room for what has to be printed before it is known whether it needs quotes.
fn write_value(value: ValueRef<'_>, text: &mut Vec<u8>, out: &mut Vec<u8>) -> Result<()> {
    match value {
        ValueRef::Null => {}
        ValueRef::Integer(integer) => write_integer(integer, out),
        ValueRef::Boolean(truth) => out.extend_from_slice(if truth { TRUE } else { FALSE }),
        ValueRef::Real(real) if real.is_finite() => write_f64(real, out),
        ValueRef::Real(real) if real.is_nan() => out.extend_from_slice(b"NaN"),
        ValueRef::Real(real) if real > 0.0 => out.extend_from_slice(b"Infinity"),
        ValueRef::Real(_) => out.extend_from_slice(b"-Infinity"),
        ValueRef::Text(text) => write_text(text.as_bytes(), out),
        ValueRef::Blob(blob) => write_base64(blob, out),
        ValueRef::Typed(typed) => {
            text.clear();
            typed.write_text(text)?;
            write_text(text, out);
        }
    }
    Ok(())
}

fn write_text(text: &[u8], out: &mut Vec<u8>) {
    let quoted = text.is_empty()
        || text
            .iter()
            .any(|byte| matches!(byte, b'"' | b',' | b'\r' | b'\n'));
    if !quoted {
        return out.extend_from_slice(text);
    }
    out.push(b'"');
    for part in text.split_inclusive(|byte| *byte == b'"') {
        out.extend_from_slice(part);
        if part.ends_with(b"\"") {
            out.push(b'"');
        }
    }
    out.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::packed::{Cell, Packer};
    use std::sync::Arc;

    fn check(cells: &[Cell<'_>], expected: &str) {
        let mut packer = Packer::default();
        packer.begin_row();
        cells.iter().for_each(|cell| packer.push(*cell).unwrap());
        let mut out = Vec::new();
        Rows::from(packer.finish(Arc::new(Columns::new(["a"]))))
            .write_csv(&mut out)
            .unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn every_type_has_its_form() {
        check(&[Cell::Null, Cell::Text(b""), Cell::Null], ",\"\",\r\n");
        check(
            &[Cell::Integer(i64::MIN), Cell::Real(0.5)],
            "-9223372036854775808,0.5\r\n",
        );
        check(
            &[Cell::Real(f64::INFINITY), Cell::Real(f64::NEG_INFINITY)],
            "Infinity,-Infinity\r\n",
        );
        check(
            &[Cell::Text("紡ぎ".as_bytes()), Cell::Blob(b"\xff\x00")],
            "紡ぎ,/wA=\r\n",
        );
        check(
            &[
                Cell::Text(b"a,b"),
                Cell::Text(b"\"q\" x"),
                Cell::Text(b"1\r\n2"),
            ],
            "\"a,b\",\"\"\"q\"\" x\",\"1\r\n2\"\r\n",
        );
    }

    #[test]
    fn header_names_every_column() {
        let mut out = Vec::new();
        Columns::new(["id", "a,b", "id"]).write_csv(&mut out);
        assert_eq!(out, b"id,\"a,b\",id\r\n");
    }
}
