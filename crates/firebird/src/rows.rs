//! The rows of an answer, as the server sent them. A value is decoded when it is asked for.
//! Rule: the bytes are those of the socket's buffer, shared and never copied.

use std::fmt;
use std::sync::Arc;

use tsumugi_firebird_proto::describe::Column;
use tsumugi_firebird_proto::info::RowCounts;
use tsumugi_firebird_proto::row::{Format, Row, Rows as Part};

/// The rows of a result, or of one batch of a stream, and what the statement changed.
#[derive(Clone)]
pub struct Rows {
    format: Arc<Format>,
    parts: Vec<Part>,
    len: usize,
    affected: RowCounts,
}

impl Rows {
    pub(crate) fn new(format: Arc<Format>) -> Rows {
        Rows {
            format,
            parts: Vec::new(),
            len: 0,
            affected: RowCounts::default(),
        }
    }

    pub(crate) fn push(&mut self, part: Part) {
        self.len += part.len();
        if !part.is_empty() {
            self.parts.push(part);
        }
    }

    pub(crate) fn push_some(&mut self, part: Option<Part>) {
        if let Some(part) = part {
            self.push(part);
        }
    }

    pub(crate) fn count(&mut self, affected: RowCounts) {
        self.affected = affected;
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Rows inserted, updated and deleted, as the server counts; 0 of a statement that only reads.
    pub fn affected(&self) -> u64 {
        self.affected.changed()
    }

    /// The same, each for itself.
    pub fn affected_by_kind(&self) -> RowCounts {
        self.affected
    }

    /// The columns, also when there is no row.
    pub fn columns(&self) -> &[Column] {
        self.format.columns()
    }

    /// The form that its rows share, the same for every execution of a prepared statement.
    pub fn format(&self) -> &Arc<Format> {
        &self.format
    }

    /// Bytes that the answer takes.
    pub fn bytes(&self) -> usize {
        self.parts.iter().map(Part::size_bytes).sum()
    }

    /// The rows in order.
    pub fn iter(&self) -> impl Iterator<Item = Row<'_>> {
        self.parts.iter().flat_map(Part::iter)
    }

    /// The first row.
    pub fn first(&self) -> Option<Row<'_>> {
        self.iter().next()
    }

    /// The row at `index`, counted from 0. Those before it are walked over.
    pub fn row(&self, mut index: usize) -> Option<Row<'_>> {
        for part in &self.parts {
            if index < part.len() {
                return part.iter().nth(index);
            }
            index -= part.len();
        }
        None
    }
}

impl fmt::Debug for Rows {
    /// Sizes only: row data does not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows")
            .field("len", &self.len)
            .field("bytes", &self.bytes())
            .finish_non_exhaustive()
    }
}
