//! Rows as they came, cut at their boundaries and not decoded. Owns their bytes, not a copy of each.
//! Rule: only `connection` makes them, of bytes it has measured.

use std::sync::Arc;

use bytes::Bytes;

use crate::describe::Column;
use crate::wire::Reader;

use super::Format;

/// Before each row of a fetch: the operation, its status, how many rows follow.
pub(crate) const HEAD_BYTES: usize = 12;

/// Some rows of a result.
#[derive(Debug, Clone)]
pub struct Rows {
    pub(crate) format: Arc<Format>,
    /// Whole rows, each with `head` bytes before it.
    pub(crate) bytes: Bytes,
    pub(crate) head: usize,
    pub(crate) count: usize,
}

impl Rows {
    /// How many.
    pub fn len(&self) -> usize {
        self.count
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Their bytes, with those that belong to no value.
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The form they share.
    pub fn format(&self) -> &Arc<Format> {
        &self.format
    }

    /// One after another.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        let mut rest: &[u8] = &self.bytes;
        (0..self.count).map_while(move |_| {
            let bytes = rest.get(self.head..)?;
            let mut reader = Reader::new(bytes);
            self.format.skip(&mut reader).ok()?;
            rest = reader.rest();
            let bytes = bytes.get(..reader.position())?;
            let format = &*self.format;
            Some(Row { format, bytes })
        })
    }
}

/// One row.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    format: &'a Format,
    bytes: &'a [u8],
}

impl<'a> Row<'a> {
    /// A row that was kept as its bytes, by [`Row::bytes`]. `None` if they are not exactly one.
    pub fn of(format: &'a Format, bytes: &'a [u8]) -> Option<Self> {
        format.whole(bytes).ok()?;
        Some(Self { format, bytes })
    }

    /// The row as it was sent, not decoded.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The descriptions of the columns, in order.
    pub fn columns(&self) -> &'a [Column] {
        self.format.columns()
    }

    /// Its values, each with its column, in their order.
    pub fn fields(&self) -> impl Iterator<Item = Field<'a>> + use<'a> {
        let columns = self.format.columns().iter();
        columns
            .zip(self.format.values(self.bytes))
            .map(|(column, bytes)| Field { column, bytes })
    }

    /// The value of the column at `at`, from 0. Walks there.
    pub fn field(&self, at: usize) -> Option<Field<'a>> {
        self.fields().nth(at)
    }
}

/// One value, not decoded.
#[derive(Debug, Clone, Copy)]
pub struct Field<'a> {
    /// The description of the value's column.
    pub column: &'a Column,
    /// Its bytes without padding, `None` for NULL.
    pub bytes: Option<&'a [u8]>,
}
