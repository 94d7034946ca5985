//! Rows as PostgreSQL sent them, behind the face that all drivers' rows have. Decodes a value when it is read.
//! Rule: the structure of an answer is checked once, when it arrives; what is inside a value, when it is read.

use std::sync::Arc;

use tsumugi_pg::Column;
use tsumugi_pg_proto::types::json::{self, Style};
use tsumugi_pg_proto::types::{Decode as _, DecodeError, Format, Kind, Type, print};
use tsumugi_values::json::write_string;
use tsumugi_values::{Timestamp, TimestampTz};

use crate::error::{Error, FailedStatement, Result};
use crate::rows::Columns;
use crate::value::{TypedValueRef, ValueKind, ValueRef};

const ANONYMOUS: &str = "it is a row without a name that has a value of a type of the database's own; make it with to_jsonb(…), or \
     cast it to text or to a named type";

/// The rows of a result.
#[derive(Clone)]
pub(crate) struct Rows {
    rows: tsumugi_pg::Rows,
    columns: Arc<Columns>,
}

impl Rows {
    /// Takes the rows over. Fails when they are not what the server itself described.
    pub(super) fn new(mut rows: tsumugi_pg::Rows) -> Result<Self, tsumugi_pg::Error> {
        rows.check()?;
        let columns = rows
            .columns()
            .derived(|columns| Arc::new(Columns::new(columns.iter().map(|column| &*column.name))));
        Ok(Rows { rows, columns })
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Drops the rows beyond the first so many.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.rows.truncate(len);
    }

    pub(crate) fn columns(&self) -> &Arc<Columns> {
        &self.columns
    }

    pub(crate) fn bytes(&self) -> usize {
        self.rows.bytes()
    }

    pub(super) fn affected(&self) -> u64 {
        self.rows.affected()
    }

    pub(crate) fn row(&self, index: usize) -> Option<Row<'_>> {
        let row = self.rows.row(index).ok().flatten()?;
        Some(Row {
            row,
            columns: &self.columns,
        })
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        let columns = &self.columns;
        let rows = self.rows.iter().map_while(std::result::Result::ok);
        rows.map(move |row| Row { row, columns })
    }
}

/// One of the rows.
#[derive(Clone, Copy)]
pub(crate) struct Row<'a> {
    row: tsumugi_pg::Row<'a>,
    columns: &'a Columns,
}

impl<'a> Row<'a> {
    pub(crate) fn columns(self) -> &'a Columns {
        self.columns
    }

    /// The fields with their columns; `None` is NULL.
    pub(crate) fn fields(self) -> impl Iterator<Item = Option<Field<'a>>> + use<'a> {
        let fields = self.row.fields().map_while(std::result::Result::ok);
        self.row
            .columns()
            .iter()
            .zip(fields)
            .map(|(column, bytes)| bytes.map(|bytes| Field { column, bytes }))
    }

    pub(crate) fn values(self) -> impl Iterator<Item = ValueRef<'a>> + use<'a> {
        self.fields()
            .map(|field| field.map_or(ValueRef::Null, Field::value))
    }
}

/// One value where it lies.
#[derive(Clone, Copy)]
pub(crate) struct Field<'a> {
    column: &'a Column,
    bytes: &'a [u8],
}

impl PartialEq for Field<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.column.ty == other.column.ty && self.bytes == other.bytes
    }
}

/// Types that Rust, Ruby and JSON have, by their number in the catalogue.
mod oid {
    pub(super) const BOOL: u32 = 16;
    pub(super) const BYTEA: u32 = 17;
    pub(super) const INT8: u32 = 20;
    pub(super) const INT2: u32 = 21;
    pub(super) const INT4: u32 = 23;
    pub(super) const TEXT: u32 = 25;
    pub(super) const OID: u32 = 26;
    pub(super) const JSON: u32 = 114;
    pub(super) const FLOAT4: u32 = 700;
    pub(super) const FLOAT8: u32 = 701;
    pub(super) const BPCHAR: u32 = 1042;
    pub(super) const VARCHAR: u32 = 1043;
    pub(super) const DATE: u32 = 1082;
    pub(super) const TIMESTAMP: u32 = 1114;
    pub(super) const TIMESTAMPTZ: u32 = 1184;
    pub(super) const NUMERIC: u32 = 1700;
    pub(super) const NAME: u32 = 19;
    pub(super) const JSONB: u32 = 3802;
    pub(super) const RECORD: u32 = 2249;
    pub(super) const VOID: u32 = 2278;
}

impl<'a> Field<'a> {
    fn ty(self) -> &'a Type {
        self.column.ty.base()
    }

    /// The value, where it is one of the plain ones. What does not decode is left to whoever asks for its text.
    pub(crate) fn value(self) -> ValueRef<'a> {
        let (ty, bytes) = (self.ty(), Some(self.bytes));
        let plain = match (self.column.format, ty.oid()) {
            (Format::Binary, oid::INT4 | oid::INT8 | oid::INT2) => {
                i64::decode(ty, bytes).ok().map(ValueRef::Integer)
            }
            (Format::Binary, oid::OID) => u32::decode(ty, bytes)
                .ok()
                .map(|oid| ValueRef::Integer(oid.into())),
            (Format::Binary, oid::FLOAT8 | oid::FLOAT4) => {
                f64::decode(ty, bytes).ok().map(ValueRef::Real)
            }
            (Format::Binary, oid::BOOL) => bool::decode(ty, bytes).ok().map(ValueRef::Boolean),
            (Format::Binary, oid::BYTEA) => Some(ValueRef::Blob(self.bytes)),
            (_, oid::VOID) => Some(ValueRef::Null),
            (_, oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME) | (Format::Text, _) => {
                std::str::from_utf8(self.bytes).ok().map(ValueRef::Text)
            }
            _ => None,
        };
        plain.unwrap_or(ValueRef::Typed(TypedValueRef::field(self)))
    }

    pub(crate) fn kind(self) -> ValueKind {
        let ty = self.ty();
        match (ty.kind(), ty.oid()) {
            (_, oid::NUMERIC) => ValueKind::Decimal,
            (_, oid::DATE) => ValueKind::Date,
            (_, oid::TIMESTAMP) => ValueKind::Timestamp,
            (_, oid::TIMESTAMPTZ) => ValueKind::TimestampTz,
            (Kind::Array(_) | Kind::Composite(_), _)
            | (_, oid::JSON | oid::JSONB | oid::RECORD) => ValueKind::Structure,
            _ if ty.name() == "hstore" => ValueKind::Structure,
            _ => ValueKind::Printed,
        }
    }

    pub(crate) fn unix_micros(self) -> Option<i64> {
        let (ty, bytes) = (self.ty(), Some(self.bytes));
        match ty.oid() {
            oid::TIMESTAMP => Timestamp::decode(ty, bytes).ok()?.unix_micros(),
            oid::TIMESTAMPTZ => TimestampTz::decode(ty, bytes).ok()?.unix_micros(),
            _ => None,
        }
    }

    pub(crate) fn write_text(self, out: &mut Vec<u8>) -> Result<()> {
        match self.column.format {
            Format::Text => {
                let text = std::str::from_utf8(self.bytes).map_err(|_| self.not_utf8())?;
                out.extend_from_slice(text.as_bytes());
                Ok(())
            }
            Format::Binary => {
                print::print(self.ty(), self.bytes, out).map_err(|error| self.malformed(error))
            }
        }
    }

    pub(crate) fn write_json(self, out: &mut Vec<u8>) -> Result<()> {
        match self.column.format {
            Format::Text => {
                let text = std::str::from_utf8(self.bytes).map_err(|_| self.not_utf8())?;
                write_string(text, out);
                Ok(())
            }
            Format::Binary => json::write(self.ty(), self.bytes, &Style::default(), out)
                .map_err(|error| self.malformed(error)),
        }
    }

    fn not_utf8(self) -> Error {
        Error::InvalidText {
            column: (*self.column.name).to_owned(),
            statement: FailedStatement::none(),
        }
    }

    fn malformed(self, error: DecodeError) -> Error {
        Error::Malformed {
            column: (*self.column.name).to_owned(),
            reason: match error {
                DecodeError::UnknownType { .. } => ANONYMOUS.to_owned(),
                error => error.to_string(),
            },
        }
    }
}
