//! Rows and their descriptions: iterators over a message's bytes. Knows no types.
//! Rule: nothing is copied; a row is checked while it is walked, and a walk ends with what is wrong or with the row.

use std::borrow::Cow;
use std::iter::FusedIterator;

use super::copy::format;
use super::message::field;
use crate::error::Violation;
use crate::types::{Format, Oid};
use crate::wire::Reader;

/// The fields of one row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataRow<'a> {
    count: u16,
    fields: Reader<'a>,
}

impl<'a> DataRow<'a> {
    /// The row in the body of a DataRow, or in what [`crate::copy::BinaryReader`] returns: both are written alike.
    ///
    /// # Errors
    /// [`Violation::Truncated`] without a number of fields.
    pub fn new(body: &'a [u8]) -> Result<Self, Violation> {
        Self::read(Reader::new(body))
    }

    #[inline]
    pub(super) fn read(mut fields: Reader<'a>) -> Result<Self, Violation> {
        let count = fields.u16("number of fields")?;
        Ok(Self { count, fields })
    }

    /// Bytes of the body that it was read from.
    #[inline]
    pub fn body_bytes(self) -> usize {
        size_of::<u16>() + self.fields.rest().len()
    }

    /// How many fields the row claims to have.
    #[inline]
    pub fn count(self) -> usize {
        self.count.into()
    }

    /// The row, if it claims as many fields as the row description has.
    ///
    /// # Errors
    /// [`Violation::FieldCount`].
    #[inline]
    pub fn expect(self, columns: usize) -> Result<Self, Violation> {
        if self.count() == columns {
            Ok(self)
        } else {
            Err(Violation::FieldCount {
                expected: columns,
                found: self.count(),
            })
        }
    }

    /// The fields in their order; `None` is NULL. The first error ends the walk, and so it does when bytes are left over.
    #[inline]
    pub fn columns(self) -> Columns<'a> {
        Columns {
            left: self.count,
            rest: self.fields,
        }
    }

    /// One field by its place, from 0. It walks the fields before it: walk once when you need many.
    ///
    /// # Errors
    /// [`Violation::FieldLength`], or [`Violation::FieldCount`] if the row has no such field.
    pub fn column(self, at: usize) -> Result<Option<&'a [u8]>, Violation> {
        let absent = Violation::FieldCount {
            expected: at + 1,
            found: self.count(),
        };
        let mut columns = self.columns();
        for _ in 0..at {
            columns.next().ok_or(absent)??;
        }
        columns.next().ok_or(absent)?
    }
}

/// The fields of a row, one by one.
#[derive(Debug, Clone)]
pub struct Columns<'a> {
    left: u16,
    rest: Reader<'a>,
}

impl<'a> Iterator for Columns<'a> {
    type Item = Result<Option<&'a [u8]>, Violation>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 {
            if self.rest.is_empty() {
                return None;
            }
            self.rest = Reader::new(&[]);
            return Some(Err(Violation::Trailing("last field")));
        }
        let next = field(&mut self.rest);
        if next.is_err() {
            self.left = 0;
            self.rest = Reader::new(&[]);
        } else {
            self.left -= 1;
        }
        Some(next)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        // An error may cut the walk short, or come in addition.
        (0, Some(usize::from(self.left) + 1))
    }
}

impl FusedIterator for Columns<'_> {}

/// The columns of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowDescription<'a> {
    count: u16,
    fields: Reader<'a>,
}

impl<'a> RowDescription<'a> {
    /// Everything is looked at, so that the walk later cannot fail.
    pub(super) fn read(mut reader: Reader<'a>) -> Result<Self, Violation> {
        let count = reader.u16("number of columns")?;
        let fields = reader;
        for _ in 0..count {
            Field::read(&mut reader)?;
        }
        reader.end("last column")?;
        Ok(Self { count, fields })
    }

    /// How many columns there are.
    pub fn count(self) -> usize {
        self.count.into()
    }

    /// The columns in their order.
    pub fn fields(self) -> Fields<'a> {
        Fields {
            left: self.count,
            rest: self.fields,
        }
    }
}

/// The columns of a description, one by one.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    left: u16,
    rest: Reader<'a>,
}

impl<'a> Iterator for Fields<'a> {
    type Item = Field<'a>;

    fn next(&mut self) -> Option<Field<'a>> {
        self.left = self.left.checked_sub(1)?;
        Field::read(&mut self.rest).ok()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::from(self.left), Some(usize::from(self.left)))
    }
}

impl ExactSizeIterator for Fields<'_> {}

/// One column of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field<'a> {
    name: &'a [u8],
    /// The table the column comes from, 0 if from none.
    pub table: Oid,
    /// The column's number in that table, 0 if from none.
    pub attribute: i16,
    /// The column's type.
    pub type_oid: Oid,
    /// The type's size in bytes, negative if it varies.
    pub type_size: i16,
    /// The type's modifier, such as the length of a varchar; -1 for none.
    pub type_modifier: i32,
    /// How the values come. In the answer to a described statement it is always text: not known yet.
    pub format: Format,
}

impl<'a> Field<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, Violation> {
        Ok(Self {
            name: reader.text_bytes("column's name")?,
            table: reader.u32("column's table")?,
            attribute: reader.u16("column's number")?.cast_signed(),
            type_oid: reader.u32("column's type")?,
            type_size: reader.u16("column's size")?.cast_signed(),
            type_modifier: reader.i32("column's modifier")?,
            format: format(reader.u16("column's format")?)?,
        })
    }

    /// The column's name. A database of encoding SQL_ASCII may send what is not UTF-8; it is replaced.
    pub fn name(self) -> Cow<'a, str> {
        String::from_utf8_lossy(self.name)
    }
}

/// The types of a statement's parameters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parameters<'a> {
    count: u16,
    types: Reader<'a>,
}

impl<'a> Parameters<'a> {
    pub(super) fn read(mut reader: Reader<'a>) -> Result<Self, Violation> {
        let count = reader.u16("number of parameters")?;
        let types = reader;
        reader.bytes(usize::from(count) * 4, "parameter types")?;
        reader.end("parameter types")?;
        Ok(Self { count, types })
    }

    /// How many parameters there are.
    pub fn count(self) -> usize {
        self.count.into()
    }

    /// The types in the order of the parameters.
    pub fn types(self) -> impl Iterator<Item = Oid> {
        let mut reader = self.types;
        std::iter::from_fn(move || reader.u32("parameter type").ok())
    }
}
