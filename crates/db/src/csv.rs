//! Writes packed rows as CSV (RFC 4180): comma, CRLF, quotes where needed. Not a CSV reader.
//!
//! NULL is an empty field and empty text is `""`, so that both can be told apart. A blob is base64. Of an infinity
//! the name is written. Columns of one name are all written, in order.

use crate::json::{write_base64, write_integer, write_real};
use crate::rows::{Cell, Columns, Rows};

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
    pub fn write_csv(&self, out: &mut Vec<u8>) {
        out.reserve(self.packed_bytes());
        for row in self.iter() {
            for (index, cell) in row.cells().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_cell(cell, out);
            }
            out.extend_from_slice(b"\r\n");
        }
    }
}

fn write_cell(cell: Cell<'_>, out: &mut Vec<u8>) {
    match cell {
        Cell::Null => {}
        Cell::Integer(integer) => write_integer(integer, out),
        Cell::Real(real) if real.is_finite() => write_real(real, out),
        Cell::Real(real) if real.is_nan() => out.extend_from_slice(b"NaN"),
        Cell::Real(real) if real > 0.0 => out.extend_from_slice(b"Infinity"),
        Cell::Real(_) => out.extend_from_slice(b"-Infinity"),
        Cell::Text(text) => write_text(text, out),
        Cell::Blob(blob) => write_base64(blob, out),
    }
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
    use crate::rows::Packer;
    use std::sync::Arc;

    fn check(cells: &[Cell<'_>], expected: &str) {
        let mut packer = Packer::default();
        packer.begin_row();
        cells.iter().for_each(|cell| packer.push(*cell).unwrap());
        let mut out = Vec::new();
        packer
            .finish(Arc::new(Columns::new(["a"])))
            .write_csv(&mut out);
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
