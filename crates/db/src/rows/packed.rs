//! Rows packed undecoded into one byte buffer by the thread that read them from the database.
//! Not a cursor and not an object per cell: a value is decoded when it is read, from the buffer's own bytes.
//! Rule: only `Packer` writes the buffer, so its layout is trusted; text in it has been checked to be UTF-8.
//!
//! Layout of a cell: a tag byte, then eight bytes for an integer or a real, or a 32-bit length and that many bytes
//! for text or a blob. Numbers are little-endian. A row is its cells in column order.

use std::fmt;
use std::sync::Arc;

use super::Columns;
use crate::limits;
use crate::value::ValueRef;

const NULL: u8 = 0;
const INTEGER: u8 = 1;
const REAL: u8 = 2;
const TEXT: u8 = 3;
const BLOB: u8 = 4;

/// Rows that were packed by [`Packer`].
#[derive(Clone)]
pub(crate) struct PackedRows {
    columns: Arc<Columns>,
    cells: Vec<u8>,
    /// Where each row but the first begins, so that a single row needs no second allocation.
    starts: Vec<u32>,
    len: usize,
}

impl PackedRows {
    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no row.
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The columns, also when there is no row.
    pub(crate) fn columns(&self) -> &Arc<Columns> {
        &self.columns
    }

    /// Bytes that the packed rows take.
    pub(crate) fn bytes(&self) -> usize {
        self.cells.len()
    }

    /// Drops the rows beyond the first so many.
    pub(crate) fn truncate(&mut self, len: usize) {
        if len >= self.len {
            return;
        }
        let end = match len.checked_sub(1) {
            None => 0,
            Some(last) => self.starts[last] as usize,
        };
        self.cells.truncate(end);
        self.starts.truncate(len.saturating_sub(1));
        self.len = len;
    }

    /// The row at `index`, counted from 0.
    pub(crate) fn row(&self, index: usize) -> Option<PackedRow<'_>> {
        if index >= self.len {
            return None;
        }
        let start = match index.checked_sub(1) {
            None => 0,
            Some(before) => self.starts[before] as usize,
        };
        let end = self
            .starts
            .get(index)
            .map_or(self.cells.len(), |end| *end as usize);
        Some(PackedRow {
            columns: &self.columns,
            cells: &self.cells[start..end],
        })
    }

    /// The rows in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = PackedRow<'_>> {
        (0..self.len).filter_map(|index| self.row(index))
    }
}

impl fmt::Debug for PackedRows {
    /// Sizes and column names only: row data does not belong in logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PackedRows")
            .field("columns", &self.columns.names)
            .field("len", &self.len)
            .field("packed_bytes", &self.cells.len())
            .finish()
    }
}

#[derive(Clone, Copy)]
pub(crate) struct PackedRow<'a> {
    columns: &'a Columns,
    cells: &'a [u8],
}

impl<'a> PackedRow<'a> {
    pub(crate) fn columns(self) -> &'a Columns {
        self.columns
    }

    /// The values, as far as their columns say what they are.
    pub(crate) fn values(self) -> impl Iterator<Item = ValueRef<'a>> + use<'a> {
        let cells = self.cells().enumerate();
        cells.map(move |(index, cell)| self.columns.declared_type(index).value(cell))
    }

    pub(crate) fn cells(self) -> Cells<'a> {
        Cells { rest: self.cells }
    }
}

/// A cell as it lies in the buffer: text is bytes that are known to be UTF-8.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Cell<'a> {
    Null,
    Integer(i64),
    Real(f64),
    Text(&'a [u8]),
    Blob(&'a [u8]),
}

impl<'a> Cell<'a> {
    pub(crate) fn value(self) -> ValueRef<'a> {
        match self {
            Cell::Null => ValueRef::Null,
            Cell::Integer(integer) => ValueRef::Integer(integer),
            Cell::Real(real) => ValueRef::Real(real),
            Cell::Text(text) => {
                ValueRef::Text(std::str::from_utf8(text).expect("the packer has checked the text"))
            }
            Cell::Blob(blob) => ValueRef::Blob(blob),
        }
    }
}

pub(crate) struct Cells<'a> {
    rest: &'a [u8],
}

impl<'a> Cells<'a> {
    fn number(&mut self) -> [u8; 8] {
        let (number, rest) = self
            .rest
            .split_first_chunk()
            .expect("a number is eight bytes");
        self.rest = rest;
        *number
    }

    fn bytes(&mut self) -> &'a [u8] {
        let (length, rest) = self
            .rest
            .split_first_chunk()
            .expect("a length is four bytes");
        let (bytes, rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
        self.rest = rest;
        bytes
    }
}

impl<'a> Iterator for Cells<'a> {
    type Item = Cell<'a>;

    fn next(&mut self) -> Option<Cell<'a>> {
        let (&tag, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(match tag {
            NULL => Cell::Null,
            INTEGER => Cell::Integer(i64::from_le_bytes(self.number())),
            REAL => Cell::Real(f64::from_le_bytes(self.number())),
            TEXT => Cell::Text(self.bytes()),
            BLOB => Cell::Blob(self.bytes()),
            other => unreachable!("tag {other} in packed rows"),
        })
    }
}

/// Text of a result was not UTF-8.
#[derive(Debug)]
pub(crate) struct InvalidText;

/// Writes packed rows. A thread that reads results keeps one and reuses its memory.
#[derive(Default)]
pub(crate) struct Packer {
    cells: Vec<u8>,
    starts: Vec<u32>,
    len: usize,
}

impl Packer {
    /// Begins the next row. Rows that were begun before [`Packer::finish`] or [`Packer::clear`] stay.
    pub(crate) fn begin_row(&mut self) {
        if self.len > 0 {
            let start =
                u32::try_from(self.cells.len()).expect("the size was checked after every cell");
            self.starts.push(start);
        }
        self.len += 1;
    }

    pub(crate) fn push(&mut self, cell: Cell<'_>) -> Result<(), InvalidText> {
        match cell {
            Cell::Null => self.cells.push(NULL),
            Cell::Integer(integer) => self.number(INTEGER, integer.to_le_bytes()),
            Cell::Real(real) => self.number(REAL, real.to_le_bytes()),
            Cell::Text(text) => {
                std::str::from_utf8(text).map_err(|_| InvalidText)?;
                self.bytes(TEXT, text);
            }
            Cell::Blob(blob) => self.bytes(BLOB, blob),
        }
        Ok(())
    }

    fn number(&mut self, tag: u8, number: [u8; 8]) {
        let mut cell = [tag; 9];
        cell[1..].copy_from_slice(&number);
        self.cells.extend_from_slice(&cell);
    }

    fn bytes(&mut self, tag: u8, bytes: &[u8]) {
        let length = u32::try_from(bytes.len()).expect("a database value is below 4 GiB");
        self.cells.push(tag);
        self.cells.extend_from_slice(&length.to_le_bytes());
        self.cells.extend_from_slice(bytes);
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn packed_bytes(&self) -> usize {
        self.cells.len()
    }

    /// Whether what is packed stays within `max_bytes`. To be asked after every cell.
    pub(crate) fn fits(&self, max_bytes: usize) -> bool {
        self.cells.len() <= max_bytes.min(limits::ROWS_MAX_BYTES_MAX)
    }

    pub(crate) fn clear(&mut self) {
        self.len = 0;
        self.starts.clear();
        self.cells.clear();
        self.cells.shrink_to(limits::COPY_MAX_BYTES);
    }

    /// Hands out what was packed and becomes empty.
    pub(crate) fn finish(&mut self, columns: Arc<Columns>) -> PackedRows {
        let len = std::mem::take(&mut self.len);
        if self.cells.len() > limits::COPY_MAX_BYTES {
            let (cells, starts) = (
                std::mem::take(&mut self.cells),
                std::mem::take(&mut self.starts),
            );
            return PackedRows {
                columns,
                cells,
                starts,
                len,
            };
        }
        let rows = PackedRows {
            columns,
            cells: self.cells.clone(),
            starts: self.starts.clone(),
            len,
        };
        self.cells.clear();
        self.starts.clear();
        rows
    }
}

#[cfg(test)]
mod tests {
    use tsumugi_testkit::Dice;

    use super::*;
    use crate::rows::Rows;

    fn pack(rows: &[Vec<Cell<'_>>], names: &[&str]) -> Rows {
        let mut packer = Packer::default();
        for row in rows {
            packer.begin_row();
            row.iter().for_each(|cell| packer.push(*cell).unwrap());
        }
        Rows::from(packer.finish(Arc::new(Columns::new(names.iter().copied()))))
    }

    fn value(dice: &Dice) -> OwnedCell {
        match dice.below(5) {
            0 => OwnedCell::Null,
            1 => OwnedCell::Integer([0, 1, -1, i64::MIN, i64::MAX][dice.place(5)]),
            2 => OwnedCell::Real([0.0, -0.0, f64::MIN_POSITIVE, f64::MAX, 0.1][dice.place(5)]),
            3 => OwnedCell::Text("紡ぎ\0x".repeat(dice.place(40))),
            _ => OwnedCell::Blob((0..dice.below(300)).map(|byte| byte as u8).collect()),
        }
    }

    #[derive(Debug)]
    enum OwnedCell {
        Null,
        Integer(i64),
        Real(f64),
        Text(String),
        Blob(Vec<u8>),
    }

    impl OwnedCell {
        fn cell(&self) -> Cell<'_> {
            match self {
                OwnedCell::Null => Cell::Null,
                OwnedCell::Integer(integer) => Cell::Integer(*integer),
                OwnedCell::Real(real) => Cell::Real(*real),
                OwnedCell::Text(text) => Cell::Text(text.as_bytes()),
                OwnedCell::Blob(blob) => Cell::Blob(blob),
            }
        }
    }

    #[test]
    fn packed_values_read_back_the_same() {
        let dice = Dice::new(1);
        for _ in 0..2_000 {
            let columns = dice.place(6);
            let rows = dice.place(8);
            let names: Vec<String> = (0..columns).map(|column| format!("c{column}")).collect();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            let values: Vec<Vec<OwnedCell>> = (0..rows)
                .map(|_| (0..columns).map(|_| value(&dice)).collect())
                .collect();
            let cells: Vec<Vec<Cell<'_>>> = values
                .iter()
                .map(|row| row.iter().map(OwnedCell::cell).collect())
                .collect();
            let packed = pack(&cells, &names);
            assert_eq!(packed.len(), rows);
            for (row, expected) in packed.iter().zip(&cells) {
                assert_eq!(row.values().count(), expected.len());
                for (index, cell) in expected.iter().enumerate() {
                    assert_eq!(row.value(index), Some(cell.value()));
                }
                assert_eq!(row.value(columns), None);
            }
            assert!(packed.row(rows).is_none());
        }
    }

    #[test]
    fn rows_are_cut_where_one_begins() {
        let row = |n| vec![Cell::Integer(n), Cell::Text(b"x")];
        for len in 0..=4 {
            let rows = pack(&[row(1), row(2), row(3)], &["n", "t"]).truncated(len);
            assert_eq!(rows.len(), len.min(3));
            for (index, row) in rows.iter().enumerate() {
                let number = i64::try_from(index).unwrap() + 1;
                assert_eq!(row.value(0), Some(ValueRef::Integer(number)));
                assert_eq!(row.value(1), Some(ValueRef::Text("x")));
            }
            assert!(rows.row(len).is_none());
        }
    }

    #[test]
    fn packer_refuses_text_that_is_not_utf8() {
        assert!(Packer::default().push(Cell::Text(b"\xff")).is_err());
    }

    #[test]
    fn packer_is_empty_after_finish_and_clear() {
        let columns = Arc::new(Columns::new(["a"]));
        let mut packer = Packer::default();
        for size in [10, limits::COPY_MAX_BYTES + 1] {
            packer.begin_row();
            packer.push(Cell::Blob(&vec![7; size])).unwrap();
            assert_eq!(packer.finish(columns.clone()).len(), 1);
            assert_eq!((packer.len(), packer.packed_bytes()), (0, 0));
            packer.begin_row();
            packer.push(Cell::Null).unwrap();
            packer.clear();
            assert!(packer.finish(columns.clone()).is_empty());
        }
    }

    #[test]
    fn last_of_two_columns_with_one_name_wins_by_name_and_both_are_there_by_position() {
        let rows = pack(
            &[vec![Cell::Integer(1), Cell::Integer(2), Cell::Integer(3)]],
            &["a", "b", "a"],
        );
        let row = rows.first().unwrap();
        assert_eq!(row.value(0), Some(ValueRef::Integer(1)));
        assert_eq!(row.value(2), Some(ValueRef::Integer(3)));
        assert_eq!(row.find("a"), Some(ValueRef::Integer(3)));
        assert_eq!(row.find("c"), None);
    }

    #[test]
    fn debug_shows_no_row_data() {
        let rows = pack(&[vec![Cell::Text(b"secret")]], &["a"]);
        assert!(!format!("{rows:?} {:?}", rows.first()).contains("secret"));
    }
}
