//! Status vectors: what the server says about the success of a request. Knows no packet around them.
//! Layout: pairs of a tag and a number or text up to tag 0. Rule: a vector that says success costs nothing to read.

mod code;
mod explain;
mod server_error;
mod sqlstate;

pub use code::GdsCode;
pub use server_error::{Argument, Clause, ServerError};
pub use sqlstate::SqlState;

use crate::error::Violation;
use crate::limits::{STATUS_BYTES_MAX, STATUS_ITEMS_MAX, STATUS_TEXT_BYTES_MAX};
use crate::wire::{ReadResult, Reader};

const END: u32 = 0;
const GDS: u32 = 1;
const TEXT: u32 = 2;
const NUMBER: u32 = 4;
/// Text that explains itself.
const INTERPRETED: u32 = 5;
/// An error of the server's operating system.
const UNIX: u32 = 7;
const WARNING: u32 = 18;
const SQL_STATE: u32 = 19;

/// One pair of a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Item<'a> {
    /// Begins an error; 0 is none.
    Gds(u32),
    /// Begins a warning; 0 is none.
    Warning(u32),
    Number(i32),
    Text(&'a [u8]),
    SqlState(&'a [u8]),
}

/// A vector that is all there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StatusVector<'a> {
    items: Reader<'a>,
    failed: bool,
    warned: bool,
}

impl<'a> StatusVector<'a> {
    /// Reads up to the end of the vector.
    pub(crate) fn read(reader: &mut Reader<'a>) -> ReadResult<Self> {
        let mut vector = Self {
            items: *reader,
            failed: false,
            warned: false,
        };
        let start = reader.position();
        for _ in 0..=STATUS_ITEMS_MAX {
            match item(reader)? {
                None => return Ok(vector),
                Some(Item::Gds(code)) => vector.failed |= code != 0,
                Some(Item::Warning(code)) => vector.warned |= code != 0,
                Some(_) => {}
            }
            if reader.position() - start > STATUS_BYTES_MAX {
                return Err(
                    Violation::too_many("bytes of one status vector", STATUS_BYTES_MAX).into(),
                );
            }
        }
        Err(Violation::too_many("items of one status vector", STATUS_ITEMS_MAX).into())
    }

    /// The error, if the request failed.
    #[inline]
    pub(crate) fn error(&self) -> Option<Box<ServerError>> {
        self.failed
            .then(|| Box::new(ServerError::of(self.items(), Part::Errors)))
    }

    /// What the server warns of, if anything.
    #[inline]
    pub(crate) fn warning(&self) -> Option<Box<ServerError>> {
        self.warned
            .then(|| Box::new(ServerError::of(self.items(), Part::Warnings)))
    }

    fn items(&self) -> impl Iterator<Item = Item<'a>> + use<'a> {
        let mut reader = self.items;
        std::iter::from_fn(move || item(&mut reader).ok().flatten())
    }
}

/// Which clauses of a vector make an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Errors,
    Warnings,
}

fn item<'a>(reader: &mut Reader<'a>) -> ReadResult<Option<Item<'a>>> {
    Ok(Some(match reader.u32()? {
        END => return Ok(None),
        GDS => Item::Gds(reader.u32()?),
        WARNING => Item::Warning(reader.u32()?),
        NUMBER | UNIX => Item::Number(reader.i32()?),
        TEXT | INTERPRETED => Item::Text(text(reader)?),
        SQL_STATE => Item::SqlState(text(reader)?),
        value => {
            return Err(Violation::value("the tag of a status vector's item", value).into());
        }
    }))
}

fn text<'a>(reader: &mut Reader<'a>) -> ReadResult<&'a [u8]> {
    reader.cstring(STATUS_TEXT_BYTES_MAX, "a text of a status vector")
}

#[cfg(test)]
mod tests;
