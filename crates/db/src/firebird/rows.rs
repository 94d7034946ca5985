//! Rows as Firebird sent them, behind the face that all drivers' rows have. Decodes a value when it is read.
//! Rule: the bytes of a result lie together, row after row, so that any row is found at once.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Display;
use std::io::Write as _;
use std::ops::Range;
use std::sync::Arc;

use tsumugi_firebird_proto::values::TimestampTz;
use tsumugi_firebird_proto::{Field as Raw, Format, Kind, Row as RawRow, Value};
use tsumugi_values::json;

use super::blobs::{Blobs, RULES, blobs_of};
use crate::error::{Error, Result};
use crate::limits::{BATCH_MAX_BLOBS, BATCH_MAX_BYTES, PLANS_MAX};
use crate::options::Names;
use crate::rows::Columns;
use crate::value::{TypedValueRef, ValueKind, ValueRef};

/// The names of columns by the form of their rows, which is the same each time a prepared statement runs.
pub(super) struct Shapes {
    names: Names,
    known: RefCell<HashMap<*const Format, Shape>>,
}

/// A form, and the names of its columns.
type Shape = (Arc<Format>, Arc<Columns>);

impl Shapes {
    pub(super) fn new(names: Names) -> Shapes {
        Shapes {
            names,
            known: RefCell::default(),
        }
    }

    pub(super) fn columns(&self, format: &Arc<Format>) -> Arc<Columns> {
        let mut known = self.known.borrow_mut();
        if let Some((_, columns)) = known.get(&Arc::as_ptr(format)) {
            return Arc::clone(columns);
        }
        let names: Vec<Cow<'_, str>> = format
            .columns()
            .iter()
            .map(|column| self.names.shown(&column.alias))
            .collect();
        let columns = Arc::new(Columns::new(names.iter().map(|name| &**name)));
        if known.len() >= PLANS_MAX {
            known.clear();
        }
        // The format is kept, so that its address is not another's meanwhile.
        known.insert(
            Arc::as_ptr(format),
            (Arc::clone(format), Arc::clone(&columns)),
        );
        columns
    }
}

/// The rows of a result, or some of them.
#[derive(Clone)]
pub(crate) struct Rows {
    inner: Arc<RowsInner>,
    range: Range<usize>,
    blobs: Arc<Blobs>,
}

struct RowsInner {
    format: Arc<Format>,
    columns: Arc<Columns>,
    bytes: Vec<u8>,
    /// Where each row ends.
    ends: Vec<usize>,
    affected: u64,
}

impl Rows {
    /// Takes the rows over; what they name of blobs comes with [`Rows::with`].
    pub(super) fn new(rows: &tsumugi_firebird::Rows, columns: Arc<Columns>) -> Rows {
        let mut bytes = Vec::with_capacity(rows.bytes());
        let mut ends = Vec::with_capacity(rows.len());
        for row in rows.iter() {
            bytes.extend_from_slice(row.bytes());
            ends.push(bytes.len());
        }
        Rows {
            range: 0..ends.len(),
            inner: Arc::new(RowsInner {
                format: Arc::clone(rows.format()),
                columns,
                bytes,
                ends,
                affected: rows.affected(),
            }),
            blobs: Arc::default(),
        }
    }

    /// The same rows with the blobs they name.
    pub(super) fn with(mut self, blobs: Arc<Blobs>) -> Rows {
        self.blobs = blobs;
        self
    }

    /// Whether rows name blobs.
    pub(super) fn name_blobs(&self) -> bool {
        let columns = self.inner.format.columns();
        columns.iter().any(|column| column.kind == Kind::Blob)
    }

    /// Takes rows from the beginning: as many as a batch may have, at most so many, and one at least.
    pub(super) fn batch(&self, rows_max: usize) -> Rows {
        let (first, counts) = (self.range.start, self.name_blobs());
        let (mut end, mut blobs) = (first, 0);
        while end < self.range.end {
            if counts {
                blobs += self.raw_row(end).map_or(0, |row| blobs_of(row).count());
            }
            let fits = end - first < rows_max
                && self.start(end) - self.start(first) <= BATCH_MAX_BYTES
                && blobs <= BATCH_MAX_BLOBS;
            if end > first && !fits {
                break;
            }
            end += 1;
        }
        Rows {
            range: first..end,
            ..self.clone()
        }
    }

    /// The rows after so many.
    pub(super) fn after(&self, count: usize) -> Rows {
        Rows {
            range: (self.range.start + count).min(self.range.end)..self.range.end,
            ..self.clone()
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.range.len()
    }

    pub(crate) fn truncate(&mut self, len: usize) {
        self.range.end = self.range.end.min(self.range.start + len);
    }

    pub(crate) fn columns(&self) -> &Arc<Columns> {
        &self.inner.columns
    }

    pub(crate) fn bytes(&self) -> usize {
        self.start(self.range.end) - self.start(self.range.start) + self.blobs.bytes
    }

    pub(super) fn affected(&self) -> u64 {
        self.inner.affected
    }

    /// The rows as the driver knows them.
    pub(super) fn raw(&self) -> impl Iterator<Item = RawRow<'_>> {
        self.range.clone().filter_map(|index| self.raw_row(index))
    }

    pub(crate) fn row(&self, index: usize) -> Option<Row<'_>> {
        if index >= self.len() {
            return None;
        }
        Some(Row {
            row: self.raw_row(self.range.start + index)?,
            columns: &self.inner.columns,
            blobs: &self.blobs,
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        (0..self.len()).filter_map(|index| self.row(index))
    }

    fn raw_row(&self, index: usize) -> Option<RawRow<'_>> {
        let end = *self.inner.ends.get(index)?;
        let bytes = self.inner.bytes.get(self.start(index)..end)?;
        RawRow::of(&self.inner.format, bytes)
    }

    fn start(&self, index: usize) -> usize {
        let before = index.checked_sub(1).and_then(|at| self.inner.ends.get(at));
        before.copied().unwrap_or(0)
    }
}

/// One of the rows.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    row: RawRow<'a>,
    columns: &'a Columns,
    blobs: &'a Blobs,
}

impl<'a> Row<'a> {
    pub(crate) fn columns(self) -> &'a Columns {
        self.columns
    }

    /// The fields with their columns; `None` is NULL.
    pub(crate) fn fields(self) -> impl Iterator<Item = Option<Field<'a>>> + use<'a> {
        let blobs = self.blobs;
        self.row
            .fields()
            .map(move |field| field.bytes.map(|_| Field { field, blobs }))
    }

    pub(crate) fn values(self) -> impl Iterator<Item = ValueRef<'a>> + use<'a> {
        self.fields()
            .map(|field| field.map_or(ValueRef::Null, Field::value))
    }
}

/// One value where it lies; not NULL.
#[derive(Clone, Copy)]
pub(crate) struct Field<'a> {
    field: Raw<'a>,
    blobs: &'a Blobs,
}

impl PartialEq for Field<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.field.value(RULES) == other.field.value(RULES)
    }
}

impl<'a> Field<'a> {
    /// The value, where it is one of the plain ones.
    pub(crate) fn value(self) -> ValueRef<'a> {
        match self.field.value(RULES) {
            Value::Null => ValueRef::Null,
            Value::Boolean(boolean) => ValueRef::Boolean(boolean),
            Value::Integer(integer) => ValueRef::Integer(integer),
            Value::Float(real) => ValueRef::Real(real.into()),
            Value::Double(real) => ValueRef::Real(real),
            Value::Text(Cow::Borrowed(text)) => ValueRef::Text(text),
            Value::Bytes(bytes) => ValueRef::Blob(bytes),
            Value::Blob(id) => self.content(id),
            _ => ValueRef::Typed(TypedValueRef::firebird(self)),
        }
    }

    /// What a blob holds: text if its column says so and it is.
    fn content(self, id: u64) -> ValueRef<'a> {
        let content = self.blobs.content(id);
        match std::str::from_utf8(content) {
            Ok(text) if self.field.column.sub_type == 1 => ValueRef::Text(text),
            _ => ValueRef::Blob(content),
        }
    }

    pub(crate) fn kind(self) -> ValueKind {
        match self.field.value(RULES) {
            Value::Decimal(_) => ValueKind::Decimal,
            Value::Date(_) => ValueKind::Date,
            Value::Timestamp(_) => ValueKind::Timestamp,
            Value::TimestampTz(_) => ValueKind::TimestampTz,
            _ => ValueKind::Printed,
        }
    }

    pub(crate) fn unix_micros(self) -> Option<i64> {
        match self.field.value(RULES) {
            Value::Timestamp(at) | Value::TimestampTz(TimestampTz { utc: at, .. }) => {
                at.calendar()?.unix_micros()
            }
            _ => None,
        }
    }

    /// As the database prints it.
    pub(crate) fn write_text(self, out: &mut Vec<u8>) -> Result<()> {
        match self.field.value(RULES) {
            Value::Decimal(decimal) => print(out, decimal),
            Value::DecFloat(number) => print(out, number),
            Value::Date(date) => print(out, date),
            Value::Time(time) => print(out, time),
            Value::Timestamp(at) => print(out, at),
            Value::TimeTz(time) => print(out, time),
            Value::TimestampTz(at) => print(out, at),
            Value::Text(text) => print(out, text),
            Value::Array(_) => return Err(self.unreadable()),
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn write_json(self, out: &mut Vec<u8>) -> Result<()> {
        match self.field.value(RULES) {
            Value::Boolean(true) => out.extend_from_slice(json::TRUE),
            Value::Boolean(false) => out.extend_from_slice(json::FALSE),
            Value::Integer(integer) => json::write_integer(integer, out),
            Value::Float(real) => json::write_f32(real, out),
            Value::Double(real) => json::write_f64(real, out),
            Value::Null => json::write_null(out),
            Value::Text(text) => json::write_string(&text, out),
            Value::Bytes(bytes) => json::write_bytes(bytes, out),
            Value::Blob(id) => match self.content(id) {
                ValueRef::Text(text) => json::write_string(text, out),
                _ => json::write_bytes(self.blobs.content(id), out),
            },
            Value::Timestamp(at) => print(out, format_args!("\"{}T{}\"", at.date, at.time)),
            Value::TimestampTz(TimestampTz { utc: at, .. }) => {
                print(out, format_args!("\"{}T{}Z\"", at.date, at.time));
            }
            _ => {
                out.push(b'"');
                self.write_text(out)?;
                out.push(b'"');
            }
        }
        Ok(())
    }

    fn unreadable(self) -> Error {
        Error::Malformed {
            column: self.field.column.alias.to_string(),
            reason: "it is an array, which is not read; select its elements".to_owned(),
        }
    }
}

fn print(out: &mut Vec<u8>, value: impl Display) {
    // A vector takes all that is written.
    let _ = write!(out, "{value}");
}
