//! Writes rows as JSON and NDJSON, byte to byte. Not a JSON library: it reads nothing and knows only result rows.
//! Rule: a single value is written by `tsumugi_values::json`, whatever the database; NULL is null.

use tsumugi_values::json::{
    FALSE, TRUE, write_bytes, write_f64, write_integer, write_null, write_string, write_utf8,
};

use crate::error::Result;
use crate::rows::packed::Cell;
use crate::rows::typed::DeclaredType;
use crate::rows::{Columns, Row, RowRef, Rows};
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
            None => write_null(out),
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
                    match columns.declared_type(index) {
                        DeclaredType::Plain => write_cell(cell, out),
                        declared => match declared.value(cell) {
                            ValueRef::Typed(typed) => typed.write_json(out)?,
                            ValueRef::Boolean(truth) => {
                                out.extend_from_slice(if truth { TRUE } else { FALSE });
                            }
                            _ => write_cell(cell, out),
                        },
                    }
                }
            }
            RowRef::Postgres(row) => {
                object.fields(columns, row.fields(), |field, out| field.write_json(out))?;
            }
            #[cfg(feature = "firebird")]
            RowRef::Firebird(row) => {
                object.fields(columns, row.fields(), |field, out| field.write_json(out))?;
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

    /// Writes the fields of a driver's row; `None` is NULL.
    fn fields<F>(
        &mut self,
        columns: &Columns,
        fields: impl Iterator<Item = Option<F>>,
        write: impl Fn(F, &mut Vec<u8>) -> Result<()>,
    ) -> Result<()> {
        for (key, field) in columns.keys().iter().zip(fields) {
            match (self.key(key), field) {
                (Some(out), Some(field)) => write(field, out)?,
                (Some(out), None) => write_null(out),
                (None, _) => {}
            }
        }
        Ok(())
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
        Cell::Null => write_null(out),
        Cell::Integer(integer) => write_integer(integer, out),
        Cell::Real(real) => write_f64(real, out),
        Cell::Text(text) => write_utf8(text, out),
        Cell::Blob(blob) => write_bytes(blob, out),
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
        Value::Null => write_null(out),
        Value::Boolean(truth) => out.extend_from_slice(if *truth { TRUE } else { FALSE }),
        Value::Integer(integer) => write_integer(*integer, out),
        Value::Real(real) => write_f64(*real, out),
        Value::Text(text) | Value::Decimal(text) => write_string(text, out),
        Value::Blob(blob) => write_bytes(blob, out),
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

#[cfg(test)]
mod tests {
    use super::*;
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
    fn rows_are_written_as_array_object_or_ndjson() {
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
