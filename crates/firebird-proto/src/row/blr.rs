//! The description of a message that the server can read: BLR, one type a value. Not the server's language of requests.
//! Rule: what is written here has exactly the row that `format` measures.

use bytes::{BufMut, Bytes, BytesMut};

use crate::describe::{Column, Kind};

const VERSION_5: u8 = 5;
const BEGIN: u8 = 2;
const MESSAGE: u8 = 4;
const END: u8 = 255;
const END_OF_COMMAND: u8 = 76;
/// A NULL flag of 16 bits, as which the server counts the bit of the row.
const FLAG: [u8; 2] = [7, 0];

/// Types, by their names in the server's interface.
pub(crate) mod kind {
    pub const SHORT: u8 = 7;
    pub const LONG: u8 = 8;
    pub const QUAD: u8 = 9;
    pub const FLOAT: u8 = 10;
    pub const DATE: u8 = 12;
    pub const TIME: u8 = 13;
    pub const TEXT: u8 = 14;
    pub const INT64: u8 = 16;
    pub const BOOL: u8 = 23;
    pub const DEC64: u8 = 24;
    pub const DEC128: u8 = 25;
    pub const INT128: u8 = 26;
    pub const DOUBLE: u8 = 27;
    pub const TIME_TZ: u8 = 28;
    pub const TIMESTAMP_TZ: u8 = 29;
    pub const TIMESTAMP: u8 = 35;
    pub const VARYING: u8 = 37;
    pub const VARYING2: u8 = 38;
}

/// A message being described.
#[derive(Debug)]
pub(crate) struct Blr<'a>(&'a mut BytesMut);

impl<'a> Blr<'a> {
    /// Begins a message of `count` values.
    pub(crate) fn begin(out: &'a mut BytesMut, count: usize) -> Self {
        // A flag belongs to each; COLUMNS_MAX keeps both within 16 bits.
        let fields = u16::try_from(2 * count).unwrap_or(u16::MAX);
        out.put_slice(&[VERSION_5, BEGIN, MESSAGE, 0]);
        out.put_u16_le(fields);
        Self(out)
    }

    /// A type without more.
    pub(crate) fn plain(&mut self, kind: u8) {
        self.0.put_u8(kind);
        self.0.put_slice(&FLAG);
    }

    /// A number, with how many of its digits stand behind the point, negated.
    pub(crate) fn scaled(&mut self, kind: u8, scale: i8) {
        self.0.put_u8(kind);
        self.0.put_i8(scale);
        self.0.put_slice(&FLAG);
    }

    /// A text in the connection's character set.
    pub(crate) fn text(&mut self, kind: u8, length: u16) {
        self.0.put_u8(kind);
        self.0.put_u16_le(length);
        self.0.put_slice(&FLAG);
    }

    /// A text in a character set of its own.
    pub(crate) fn text_of(&mut self, kind: u8, character_set: u8, length: u16) {
        self.0.put_u8(kind);
        self.0.put_u16_le(character_set.into());
        self.0.put_u16_le(length);
        self.0.put_slice(&FLAG);
    }

    pub(crate) fn end(self) {
        self.0.put_slice(&[END, END_OF_COMMAND]);
    }

    /// A value as `column` describes it.
    pub(crate) fn column(&mut self, column: &Column) {
        match column.kind {
            Kind::Text if column.travels_as_varying() => self.text(kind::VARYING, column.length),
            Kind::Text => self.text(kind::TEXT, column.length),
            Kind::Varying => self.text(kind::VARYING, column.length),
            Kind::Short => self.scaled(kind::SHORT, column.scale),
            Kind::Long => self.scaled(kind::LONG, column.scale),
            Kind::Int64 => self.scaled(kind::INT64, column.scale),
            Kind::Int128 => self.scaled(kind::INT128, column.scale),
            Kind::Float => self.plain(kind::FLOAT),
            Kind::Double => self.plain(kind::DOUBLE),
            Kind::Dec16 => self.plain(kind::DEC64),
            Kind::Dec34 => self.plain(kind::DEC128),
            Kind::Date => self.plain(kind::DATE),
            Kind::Time => self.plain(kind::TIME),
            Kind::Timestamp => self.plain(kind::TIMESTAMP),
            Kind::TimeTz => self.plain(kind::TIME_TZ),
            Kind::TimestampTz => self.plain(kind::TIMESTAMP_TZ),
            Kind::Boolean => self.plain(kind::BOOL),
            Kind::Blob | Kind::Array => self.scaled(kind::QUAD, 0),
            Kind::Null => self.text(kind::TEXT, 0),
        }
    }
}

/// The message of rows with these columns.
pub(crate) fn of_columns(columns: &[Column]) -> Bytes {
    let mut out = BytesMut::with_capacity(8 + 5 * columns.len());
    let mut blr = Blr::begin(&mut out, columns.len());
    for column in columns {
        blr.column(column);
    }
    blr.end();
    out.freeze()
}
