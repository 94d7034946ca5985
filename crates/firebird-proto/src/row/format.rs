//! The form of a row: where its values begin and end. Not what they mean.
//! Rule: no row is longer than the format says it can be, and that is within `ROW_BYTES_MAX`.

use bytes::Bytes;

use crate::describe::{Column, Kind};
use crate::error::{Misuse, Violation};
use crate::limits::{COLUMNS_MAX, ROW_BYTES_MAX};
use crate::wire::{ReadResult, Reader, padding};

use super::blr;

/// The rows of one result: its columns, and the description that the server gets of the message they come in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Format {
    columns: Box<[Column]>,
    layouts: Box<[Layout]>,
    bytes_max: usize,
    blr: Bytes,
}

/// How a value that is not NULL lies on the wire.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Always as many bytes, which take as many more up to a multiple of four.
    Fixed(u16),
    /// A length, at most this, and as many bytes.
    Counted(u16),
}

impl Layout {
    fn of(column: &Column) -> Self {
        match column.kind {
            Kind::Text if column.travels_as_varying() => Self::Counted(column.length),
            Kind::Text => Self::Fixed(column.length),
            Kind::Varying => Self::Counted(column.length),
            Kind::Null => Self::Fixed(0),
            Kind::Boolean => Self::Fixed(1),
            Kind::Short | Kind::Long | Kind::Float | Kind::Date | Kind::Time => Self::Fixed(4),
            Kind::Int64
            | Kind::Double
            | Kind::Dec16
            | Kind::Timestamp
            | Kind::TimeTz
            | Kind::Blob
            | Kind::Array => Self::Fixed(8),
            Kind::TimestampTz => Self::Fixed(12),
            Kind::Int128 | Kind::Dec34 => Self::Fixed(16),
        }
    }

    /// With padding and length.
    fn bytes_max(self) -> usize {
        match self {
            Self::Fixed(length) => padded(length.into()),
            Self::Counted(length) => 4 + padded(length.into()),
        }
    }

    #[inline]
    fn take<'a>(self, reader: &mut Reader<'a>) -> ReadResult<&'a [u8]> {
        match self {
            Self::Fixed(length) => reader.opaque(length.into()),
            Self::Counted(max) => reader.cstring(max.into(), "a value"),
        }
    }
}

fn padded(length: usize) -> usize {
    length + padding(length)
}

/// Bytes of the bitmap, padding included.
#[inline]
fn bitmap_bytes(columns: usize) -> usize {
    padded(columns.div_ceil(8))
}

impl Format {
    /// Of rows with these columns.
    ///
    /// # Errors
    /// [`Misuse::RowTooBig`].
    pub fn new(columns: Vec<Column>) -> Result<Self, Misuse> {
        let layouts: Box<[Layout]> = columns.iter().map(Layout::of).collect();
        let bytes = layouts
            .iter()
            .fold(bitmap_bytes(columns.len()), |sum, layout| {
                sum.saturating_add(layout.bytes_max())
            });
        if columns.len() > COLUMNS_MAX || bytes > ROW_BYTES_MAX {
            return Err(Misuse::RowTooBig {
                columns: columns.len(),
                bytes,
            });
        }
        Ok(Self {
            bytes_max: bytes,
            blr: blr::of_columns(&columns),
            columns: columns.into(),
            layouts,
        })
    }

    /// The columns, in their order.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The bytes that one row may have.
    pub fn row_bytes_max(&self) -> usize {
        self.bytes_max
    }

    /// The description of the message: execute and fetch carry it.
    pub fn blr(&self) -> &Bytes {
        &self.blr
    }

    /// Goes past one row.
    ///
    /// # Errors
    /// [`Violation::Length`] if a value is longer than its column.
    #[inline]
    pub(crate) fn skip(&self, reader: &mut Reader<'_>) -> ReadResult<()> {
        let bitmap = reader.bytes(bitmap_bytes(self.columns.len()))?;
        for (at, layout) in self.layouts.iter().enumerate() {
            if !is_null(bitmap, at) {
                layout.take(reader)?;
            }
        }
        Ok(())
    }

    /// The values of the row that `bytes` begins with: `None` for NULL, else its bytes without length and padding.
    pub(crate) fn values<'a>(&self, bytes: &'a [u8]) -> impl Iterator<Item = Option<&'a [u8]>> {
        let mut reader = Reader::new(bytes);
        // What is not there reads as NULL; `skip` has seen that all is there.
        let bitmap = reader
            .bytes(bitmap_bytes(self.columns.len()))
            .unwrap_or(&[]);
        self.layouts.iter().enumerate().map(move |(at, layout)| {
            if is_null(bitmap, at) {
                return None;
            }
            layout.take(&mut reader).ok()
        })
    }

    /// Measures one row that has to be all there.
    pub(crate) fn whole(&self, bytes: &[u8]) -> Result<(), Violation> {
        let mut reader = Reader::new(bytes);
        match self.skip(&mut reader) {
            Ok(()) if reader.rest().is_empty() => Ok(()),
            _ => Err(Violation::Truncated("row")),
        }
    }
}

#[inline]
fn is_null(bitmap: &[u8], at: usize) -> bool {
    bitmap
        .get(at / 8)
        .is_none_or(|byte| byte >> (at % 8) & 1 == 1)
}
