//! Rows of the blocking interface, each of which stands for itself. Decodes nothing before it is asked.
//! Rule: rows of one result share its bytes.

use std::fmt;
use std::rc::Rc;

use tsumugi_pg_proto::types::Decode;

use crate::error::{Error, Result};
use crate::rows::Rows;
use crate::statement::Columns;

/// One row.
#[derive(Clone)]
pub struct Row {
    rows: Rc<Rows>,
    index: usize,
}

/// The place of a column: its number, counted from 0, or its name.
pub trait RowIndex {
    /// The value in the column.
    ///
    /// # Errors
    /// [`Error::Column`] when there is no such column or its value cannot be a `T`.
    fn value<'r, T: Decode<'r>>(&self, row: crate::Row<'r>) -> Result<T>;
}

impl RowIndex for usize {
    fn value<'r, T: Decode<'r>>(&self, row: crate::Row<'r>) -> Result<T> {
        row.value(*self)
    }
}

impl RowIndex for str {
    fn value<'r, T: Decode<'r>>(&self, row: crate::Row<'r>) -> Result<T> {
        row.find(self)
    }
}

impl<I: RowIndex + ?Sized> RowIndex for &I {
    fn value<'r, T: Decode<'r>>(&self, row: crate::Row<'r>) -> Result<T> {
        (**self).value(row)
    }
}

impl Row {
    pub(super) fn all(mut rows: Rows) -> Result<Vec<Row>> {
        rows.check()?;
        let rows = Rc::new(rows);
        let row = |index| Row {
            rows: Rc::clone(&rows),
            index,
        };
        Ok((0..rows.len()).map(row).collect())
    }

    /// The columns.
    pub fn columns(&self) -> &Columns {
        self.rows.columns()
    }

    /// How many columns there are.
    pub fn len(&self) -> usize {
        self.columns().len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.columns().is_empty()
    }

    /// The value in a column.
    ///
    /// # Panics
    /// When there is no such column or its value cannot be a `T`.
    #[track_caller]
    pub fn get<'a, I: RowIndex, T: Decode<'a>>(&'a self, index: I) -> T {
        match self.try_get(index) {
            Ok(value) => value,
            Err(error) => panic!("{error}"),
        }
    }

    /// The value in a column.
    ///
    /// # Errors
    /// [`Error::Column`] when there is no such column or its value cannot be a `T`.
    pub fn try_get<'a, I: RowIndex, T: Decode<'a>>(&'a self, index: I) -> Result<T> {
        match self.rows.row(self.index)? {
            Some(row) => index.value(row),
            None => Err(Error::RowCount { found: self.index }),
        }
    }
}

impl fmt::Debug for Row {
    /// Sizes only: row data does not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row")
            .field("columns", &self.len())
            .finish_non_exhaustive()
    }
}

/// A row of the simple protocol: all its values are text.
#[derive(Clone, Debug)]
pub struct SimpleQueryRow(Row);

impl SimpleQueryRow {
    /// The columns.
    pub fn columns(&self) -> &Columns {
        self.0.columns()
    }

    /// How many columns there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text in a column; `None` is NULL.
    ///
    /// # Panics
    /// When there is no such column, or it is no UTF-8.
    #[track_caller]
    pub fn get<I: RowIndex>(&self, index: I) -> Option<&str> {
        self.0.get(index)
    }

    /// The text in a column; `None` is NULL.
    ///
    /// # Errors
    /// [`Error::Column`] when there is no such column, or it is no UTF-8.
    pub fn try_get<I: RowIndex>(&self, index: I) -> Result<Option<&str>> {
        self.0.try_get(index)
    }
}

/// What the simple protocol gives.
#[non_exhaustive]
#[derive(Clone, Debug)]
pub enum SimpleQueryMessage {
    /// A row.
    Row(SimpleQueryRow),
    /// The end of a statement, and how many rows it gave or changed.
    CommandComplete(u64),
}

impl SimpleQueryMessage {
    pub(super) fn all(results: Vec<Rows>) -> Result<Vec<SimpleQueryMessage>> {
        let mut messages = Vec::new();
        for rows in results {
            let affected = rows.affected();
            let rows = Row::all(rows)?.into_iter();
            messages.extend(rows.map(|row| SimpleQueryMessage::Row(SimpleQueryRow(row))));
            messages.push(SimpleQueryMessage::CommandComplete(affected));
        }
        Ok(messages)
    }
}
