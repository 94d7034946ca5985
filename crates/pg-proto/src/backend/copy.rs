//! How COPY data will be written: the content of CopyInResponse, CopyOutResponse and CopyBothResponse.
//! Not the data: see [`crate::copy`]. Rule: the number of formats is the number of columns, or the message is refused.

use crate::error::Violation;
use crate::types::Format;
use crate::wire::Reader;

/// The formats of COPY data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CopyFormats<'a> {
    /// Of all the data: text and CSV are both [`Format::Text`].
    pub overall: Format,
    columns: Reader<'a>,
    count: u16,
}

impl<'a> CopyFormats<'a> {
    pub(super) fn read(mut reader: Reader<'a>) -> Result<Self, Violation> {
        let overall = format(reader.u8("COPY format")?.into())?;
        let count = reader.u16("number of columns")?;
        let columns = reader;
        for _ in 0..count {
            format(reader.u16("column's format")?)?;
        }
        reader.end("column formats")?;
        Ok(Self {
            overall,
            columns,
            count,
        })
    }

    /// How many columns there are.
    pub fn count(self) -> usize {
        self.count.into()
    }

    /// The format of each column.
    pub fn columns(self) -> impl Iterator<Item = Format> {
        let mut reader = self.columns;
        std::iter::from_fn(move || reader.u16("column's format").and_then(format).ok())
    }
}

/// A format code of the protocol.
pub(super) fn format(code: u16) -> Result<Format, Violation> {
    match code {
        0 => Ok(Format::Text),
        1 => Ok(Format::Binary),
        code => Err(Violation::value("a format code", code)),
    }
}
