//! The rows of an answer, as the server sent them. A value is decoded when it is asked for.
//! Rule: the bytes are those of the socket's buffer, shared and never copied.

use std::cell::OnceCell;
use std::fmt;
use std::rc::Rc;

use bytes::Bytes;
use tsumugi_pg_proto::backend::{CommandTag, DataRow, HEAD_BYTES, Message};
use tsumugi_pg_proto::connection::Messages;
use tsumugi_pg_proto::types::Decode;

use crate::error::{Error, Result};
use crate::statement::{Columns, PortalColumns};

/// The rows of a result, or of one batch of a stream, and what the server says the statement did.
#[derive(Clone)]
pub struct Rows {
    columns: Rc<Columns>,
    bytes: Bytes,
    len: usize,
    /// Where the first row begins, once all were looked at; 0 before.
    first: u32,
    /// How many rows the server counts, once all were looked at.
    affected: Option<u64>,
    /// Where the rows begin, found out when a row is asked for by number.
    starts: OnceCell<Box<[u32]>>,
}

impl Rows {
    pub(crate) fn new(columns: Rc<Columns>, bytes: Bytes, len: usize) -> Self {
        Rows {
            columns,
            bytes,
            len,
            first: 0,
            affected: None,
            starts: OnceCell::new(),
        }
    }

    /// The same rows, described anew.
    pub(crate) fn described_by(mut self, columns: &Rc<Columns>) -> Self {
        self.columns = Rc::clone(columns);
        self
    }

    /// What the server says of the rows in this very answer; none where it was not asked.
    pub(crate) fn description(&self) -> Result<Option<PortalColumns<'_>>> {
        for message in Messages::new(&self.bytes) {
            match message.map_err(Error::Protocol)? {
                Message::RowDescription(row) => return Ok(Some(PortalColumns(Some(row)))),
                Message::NoData => return Ok(Some(PortalColumns(None))),
                Message::DataRow(_) | Message::CommandComplete(_) => break,
                _ => {}
            }
        }
        Ok(None)
    }

    /// How many rows there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Rows inserted, updated, deleted, selected, moved or copied, as the server counts.
    pub fn affected(&self) -> u64 {
        let count = |command: Option<CommandTag<'_>>| command.and_then(CommandTag::rows);
        let affected = self.affected.or_else(|| count(self.command()));
        affected.unwrap_or(0)
    }

    /// What the server says the statement was, such as `SELECT 1` or `SET`; none for a batch of a stream that goes on.
    pub fn command(&self) -> Option<CommandTag<'_>> {
        let mut messages = Messages::new(&self.bytes);
        messages.find_map(|message| match message {
            Ok(Message::CommandComplete(tag)) => Some(tag),
            _ => None,
        })
    }

    /// The columns, also when there is no row.
    pub fn columns(&self) -> &Rc<Columns> {
        &self.columns
    }

    /// Looks at every row once, so that walking them later finds nothing wrong.
    ///
    /// # Errors
    /// [`Error::Protocol`] when a row is not what the server described.
    pub fn check(&mut self) -> Result<()> {
        let mut messages = Messages::new(&self.bytes);
        let mut first = None;
        while let Some(row) = messages.next_row() {
            let row = row.and_then(|row| row.expect(self.columns.len()));
            let row = row.map_err(Error::Protocol)?;
            for field in row.columns() {
                field.map_err(Error::Protocol)?;
            }
            let bytes = HEAD_BYTES + row.body_bytes();
            first.get_or_insert(messages.offset().saturating_sub(bytes));
        }
        self.first = first
            .and_then(|first| u32::try_from(first).ok())
            .unwrap_or(0);
        self.affected = messages.command().and_then(CommandTag::rows);
        Ok(())
    }

    /// Bytes that the answer takes.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// The rows in order.
    ///
    /// # Errors
    /// An item is [`Error::Protocol`] when a row is not what the server described; there is none after it.
    pub fn iter(&self) -> impl Iterator<Item = Result<Row<'_>>> {
        let mut messages = Messages::new(&self.bytes);
        messages.seek(self.first as usize);
        self.walk(messages)
    }

    /// The first row.
    ///
    /// # Errors
    /// As [`Rows::iter`].
    pub fn first(&self) -> Result<Option<Row<'_>>> {
        self.iter().next().transpose()
    }

    /// The row at `index`, counted from 0.
    ///
    /// # Errors
    /// As [`Rows::iter`].
    pub fn row(&self, index: usize) -> Result<Option<Row<'_>>> {
        if index == 0 || index >= self.len {
            return if index == 0 { self.first() } else { Ok(None) };
        }
        let Some(start) = self.starts().get(index) else {
            return Ok(None);
        };
        let mut messages = Messages::new(&self.bytes);
        messages.seek(*start as usize);
        self.walk(messages).next().transpose()
    }

    /// Drops the rows beyond the first so many, and what the server said after them.
    pub fn truncate(&mut self, len: usize) {
        if let Some(end) = self.starts().get(len) {
            self.bytes.truncate(*end as usize);
            self.len = len;
            self.starts = OnceCell::new();
        }
    }

    fn starts(&self) -> &[u32] {
        self.starts.get_or_init(|| {
            let mut messages = Messages::new(&self.bytes);
            let mut starts = Vec::with_capacity(self.len);
            while let Some(Ok(row)) = messages.next_row() {
                let at = messages.offset() - HEAD_BYTES - row.body_bytes();
                starts.push(u32::try_from(at).unwrap_or(u32::MAX));
            }
            starts.into()
        })
    }

    fn walk<'r>(&'r self, mut messages: Messages<'r>) -> impl Iterator<Item = Result<Row<'r>>> {
        let columns = &self.columns;
        std::iter::from_fn(move || {
            let row = messages.next_row()?;
            let row = row.and_then(|row| row.expect(columns.len()));
            Some(match row {
                Ok(row) => Ok(Row { columns, row }),
                Err(violation) => Err(Error::Protocol(violation)),
            })
        })
    }
}

impl fmt::Debug for Rows {
    /// Sizes only: row data does not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows")
            .field("len", &self.len)
            .field("bytes", &self.bytes.len())
            .finish_non_exhaustive()
    }
}

/// One row.
#[derive(Clone, Copy)]
pub struct Row<'r> {
    columns: &'r Columns,
    row: DataRow<'r>,
}

impl<'r> Row<'r> {
    /// The columns.
    pub fn columns(&self) -> &'r Columns {
        self.columns
    }

    /// Without them.
    pub(crate) fn raw(&self) -> DataRow<'r> {
        self.row
    }

    /// The fields in order, as the server sent them; `None` is NULL.
    ///
    /// # Errors
    /// As [`Rows::iter`].
    pub fn fields(&self) -> impl Iterator<Item = Result<Option<&'r [u8]>>> + use<'r> {
        self.row
            .columns()
            .map(|field| field.map_err(Error::Protocol))
    }

    /// The value in the column at `index`, counted from 0. The fields before it are skipped one by one.
    ///
    /// # Errors
    /// [`Error::Column`] when there is no such column or its value cannot be a `T`, [`Error::Protocol`].
    pub fn value<T: Decode<'r>>(&self, index: usize) -> Result<T> {
        let Some(column) = self.columns.column(index) else {
            return Err(Error::no_column(index, self.columns.len()));
        };
        let field = self.row.column(index).map_err(Error::Protocol)?;
        T::decode_as(column.format, &column.ty, field)
            .map_err(|source| Error::column(&column.name, source))
    }

    /// The value in the last column called `name`.
    ///
    /// # Errors
    /// As [`Row::value`].
    pub fn find<T: Decode<'r>>(&self, name: &str) -> Result<T> {
        match self.columns.find(name) {
            Some(index) => self.value(index),
            None => Err(Error::no_column_called(name)),
        }
    }
}

impl fmt::Debug for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row").finish_non_exhaustive()
    }
}
