//! Values: what the bytes of a field mean, and the bytes of a parameter. Not where they lie: that is `row`'s.
//! Source: protocol chapters "Describe, BLR, rows" and "Character sets". Rule: reading a field never fails and loses nothing: text that is none stays bytes.

mod charset;
mod decfloat;
mod decimal;
mod decode;
mod encode;
mod temporal;
mod zone;

pub use charset::CharacterSet;
pub use decfloat::{DecFloat, Sign};
pub use decimal::{Decimal, NoDecimal};
pub use encode::{EncodeError, Parameters};
pub use temporal::{Date, Time, Timestamp};
pub use zone::{TimeTz, TimestampTz, Zone};

use std::borrow::Cow;

/// A value of a field or for a parameter.
#[non_exhaustive]
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// NULL.
    Null,
    /// BOOLEAN.
    Boolean(bool),
    /// SMALLINT, INTEGER, BIGINT.
    Integer(i64),
    /// NUMERIC, DECIMAL, INT128: exact.
    Decimal(Decimal),
    /// FLOAT.
    Float(f32),
    /// DOUBLE PRECISION.
    Double(f64),
    /// DECFLOAT. Firebird 4.
    DecFloat(DecFloat),
    /// CHAR and VARCHAR of a character set.
    Text(Cow<'a, str>),
    /// CHAR and VARCHAR of OCTETS, and what is no text of its character set.
    Bytes(&'a [u8]),
    /// DATE.
    Date(Date),
    /// TIME.
    Time(Time),
    /// TIMESTAMP.
    Timestamp(Timestamp),
    /// TIME WITH TIME ZONE. Firebird 4.
    TimeTz(TimeTz),
    /// TIMESTAMP WITH TIME ZONE. Firebird 4.
    TimestampTz(TimestampTz),
    /// BLOB: the id of one that is stored.
    Blob(u64),
    /// The id of an array. Arrays are not read here.
    Array(u64),
}

/// How texts are read that leave a choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextRules {
    /// What texts without a character set (`NONE`) are. Unless it is said, they are UTF-8 where that is possible, and bytes otherwise.
    pub none: Option<CharacterSet>,
    /// What becomes of the spaces at the end of a CHAR.
    pub padding: Padding,
}

/// What becomes of the spaces at the end of a CHAR.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Padding {
    /// They are part of the value, which has as many characters as its column.
    #[default]
    Keep,
    /// They are left out.
    Trim,
}

#[cfg(test)]
mod tests;
