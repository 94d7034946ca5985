//! Rows and hstore: their binary forms part by part. Not their text; `print` writes that.
//! Rule: what a row says of its fields' types must agree with the catalogue, or nothing is made of it.

use std::borrow::Cow;

use super::decode::utf8;
use super::kind::{Field, TypeRef};
use super::read::Reader;
use super::{DecodeError, Oid, Type};

const INVALID: DecodeError = DecodeError::Invalid { what: "row" };
/// Bytes of a field that is NULL: its type and its length.
const FIELD_BYTES_MIN: usize = 8;
/// Bytes of an entry of hstore with an empty key and NULL.
const ENTRY_BYTES_MIN: usize = 8;

/// The fields of a row: described by the catalogue, or anonymous, as `record` is.
#[derive(Debug, Clone)]
pub(crate) struct RowRef<'a, 't> {
    fields: Option<&'t [Field]>,
    count: usize,
    next: usize,
    reader: Reader<'a>,
}

/// One field of a row.
pub(crate) struct Part<'a, 't> {
    pub name: Cow<'t, str>,
    pub ty: &'t Type,
    /// `None` is NULL.
    pub bytes: Option<&'a [u8]>,
}

impl<'a, 't> RowRef<'a, 't> {
    /// The row in all of `bytes`; `fields` is `None` for a `record`.
    pub fn scan(fields: Option<&'t [Field]>, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let count = reader.count(FIELD_BYTES_MIN, "row")?;
        if fields.is_some_and(|fields| fields.len() != count) {
            return Err(INVALID);
        }
        Ok(Self {
            fields,
            count,
            next: 0,
            reader,
        })
    }

    pub const fn len(&self) -> usize {
        self.count
    }

    /// The next field, `None` after the last one.
    pub fn part(&mut self) -> Result<Option<Part<'a, 't>>, DecodeError> {
        if self.next == self.count {
            self.reader.end()?;
            return Ok(None);
        }
        let index = self.next;
        self.next += 1;
        let oid: Oid = self.reader.u32()?;
        let bytes = self.reader.field()?;
        let (name, ty): (Cow<'t, str>, &'t Type) = match self.fields {
            Some(fields) => {
                let Field { name, ty } = fields.get(index).ok_or(INVALID)?;
                (Cow::Borrowed(name), TypeRef::as_type(ty))
            }
            None => {
                let ty = Type::from_oid(oid).ok_or(DecodeError::UnknownType { oid })?;
                (Cow::Owned(format!("f{}", index + 1)), ty)
            }
        };
        if ty.oid() != oid {
            return Err(INVALID);
        }
        Ok(Some(Part { name, ty, bytes }))
    }
}

/// The entries of an hstore, in the server's order.
#[derive(Debug, Clone)]
pub(crate) struct HstoreRef<'a> {
    left: usize,
    reader: Reader<'a>,
}

impl<'a> HstoreRef<'a> {
    /// The hstore in all of `bytes`.
    pub fn scan(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(bytes);
        let left = reader.count(ENTRY_BYTES_MIN, "hstore")?;
        Ok(Self { left, reader })
    }

    /// The next key and its value, `None` after the last one.
    pub fn entry(&mut self) -> Result<Option<(&'a str, Option<&'a str>)>, DecodeError> {
        if self.left == 0 {
            self.reader.end()?;
            return Ok(None);
        }
        self.left -= 1;
        let key = self.reader.field()?;
        let key = key.ok_or(DecodeError::Invalid { what: "hstore" })?;
        let value = self.reader.field()?;
        Ok(Some((utf8(key)?, value.map(utf8).transpose()?)))
    }
}
