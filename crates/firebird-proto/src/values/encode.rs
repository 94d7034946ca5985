//! Parameters: the message of one execution out of values. A value goes as what it is, and the server makes its column's type of it, exactly as it
//! does with a literal. Knows no statement but the types of its parameters.
//! Rule: a value that would have to be changed to be sent is refused, with its number.

use bytes::{BufMut, Bytes, BytesMut};
use thiserror::Error;

use crate::describe::{Column, Kind};
use crate::limits::{COLUMNS_MAX, SENT_BYTES_MAX, TEXT_PARAMETER_BYTES_MAX};
use crate::request::Message;
use crate::row::{Blr, kind};
use crate::wire::{padding, put_cstring};

use super::{CharacterSet, DecFloat, Decimal, Timestamp, Value};

/// Why a value cannot be sent.
#[non_exhaustive]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum EncodeError {
    /// Another number of values than the statement has parameters.
    #[error("{given} values were given; the statement has {expected} parameters")]
    Count {
        /// How many values.
        given: usize,
        /// How many parameters.
        expected: usize,
    },
    /// A text or bytes are too long for a message. Write a blob and pass its id.
    #[error(
        "parameter {number}: {length} bytes are too long, at most {max} can be sent; write a blob and pass its id",
        max = TEXT_PARAMETER_BYTES_MAX
    )]
    TooLong {
        /// The parameter, from 1.
        number: usize,
        /// The value's bytes.
        length: usize,
    },
    /// A text has a character that the connection's character set lacks. Connect with UTF8.
    #[error(
        "parameter {number}: a character does not exist in the connection's character set {set}; connect with UTF8"
    )]
    Character {
        /// The parameter, from 1.
        number: usize,
        /// The connection's character set.
        set: &'static str,
    },
    /// A decimal floating-point number has more than 34 digits or a greater exponent than there is.
    #[error("parameter {number}: the number has more digits or a greater exponent than DECFLOAT")]
    DecFloat {
        /// The parameter, from 1.
        number: usize,
    },
    /// All values together are longer than may be sent.
    #[error("the values take more than {} bytes together", SENT_BYTES_MAX)]
    TooMuch,
}

/// The message of one execution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Parameters {
    blr: Bytes,
    row: Bytes,
}

impl Parameters {
    /// `values` for a statement whose parameters are `described`, with texts in the connection's character set.
    ///
    /// # Errors
    /// An [`EncodeError`].
    pub fn new(
        described: &[Column],
        values: &[Value<'_>],
        connection: CharacterSet,
    ) -> Result<Self, EncodeError> {
        if described.len() != values.len() || values.len() > COLUMNS_MAX {
            return Err(EncodeError::Count {
                given: values.len(),
                expected: described.len(),
            });
        }
        if values.is_empty() {
            return Ok(Self::default());
        }
        let (mut blr, mut row) = (BytesMut::new(), BytesMut::new());
        put_bitmap(&mut row, values);
        let mut message = Writer {
            blr: Blr::begin(&mut blr, values.len()),
            row: &mut row,
            connection,
            number: 0,
        };
        for (column, value) in described.iter().zip(values) {
            message.put(column, value)?;
        }
        message.blr.end();
        Ok(Self {
            blr: blr.freeze(),
            row: row.freeze(),
        })
    }

    /// As requests carry it.
    pub fn message(&self) -> Message<'_> {
        Message {
            blr: &self.blr,
            row: &self.row,
        }
    }
}

/// A bit for each value, 1 for NULL, lowest first, up to a multiple of four bytes.
fn put_bitmap(row: &mut BytesMut, values: &[Value<'_>]) {
    for eight in values.chunks(8) {
        let bits = eight.iter().enumerate();
        row.put_u8(bits.fold(0, |byte, (at, value)| {
            byte | u8::from(*value == Value::Null) << at
        }));
    }
    row.put_bytes(0, padding(row.len()));
}

/// A message being written.
struct Writer<'a> {
    blr: Blr<'a>,
    row: &'a mut BytesMut,
    connection: CharacterSet,
    /// Of the parameter, from 1.
    number: usize,
}

impl Writer<'_> {
    fn put(&mut self, column: &Column, value: &Value<'_>) -> Result<(), EncodeError> {
        self.number += 1;
        if self.row.len() > SENT_BYTES_MAX {
            return Err(EncodeError::TooMuch);
        }
        // Of `? is null` only the bitmap matters.
        if column.kind == Kind::Null {
            self.blr.text(kind::TEXT, 0);
            return Ok(());
        }
        match value {
            Value::Null => self.blr.text(kind::TEXT, 0),
            Value::Text(text) => return self.text(text),
            Value::Bytes(bytes) => {
                let length = self.length(bytes.len())?;
                let octets = CharacterSet::OCTETS.id();
                self.blr.text_of(kind::VARYING2, octets, length);
                put_cstring(self.row, bytes);
            }
            Value::Decimal(decimal) => return self.decimal(column, *decimal),
            Value::DecFloat(number) => return self.dec_float(column, *number),
            Value::Boolean(yes) => self.plain(kind::BOOL).put_slice(&[u8::from(*yes), 0, 0, 0]),
            Value::Integer(number) => self.scaled(kind::INT64, 0).put_i64(*number),
            Value::Float(number) => self.plain(kind::FLOAT).put_f32(*number),
            Value::Double(number) => self.plain(kind::DOUBLE).put_f64(*number),
            Value::Blob(id) | Value::Array(id) => self.scaled(kind::QUAD, 0).put_u64(*id),
            Value::Date(date) => self.plain(kind::DATE).put_i32(date.0),
            Value::Time(time) => self.plain(kind::TIME).put_u32(time.0),
            Value::Timestamp(at) => put_timestamp(self.plain(kind::TIMESTAMP), *at),
            Value::TimeTz(at) => {
                let row = self.plain(kind::TIME_TZ);
                row.put_u32(at.utc.0);
                row.put_u32(at.zone.0.into());
            }
            Value::TimestampTz(at) => {
                let row = self.plain(kind::TIMESTAMP_TZ);
                put_timestamp(row, at.utc);
                row.put_u32(at.zone.0.into());
            }
        }
        Ok(())
    }

    /// Where a value of a type without more goes.
    fn plain(&mut self, kind: u8) -> &mut BytesMut {
        self.blr.plain(kind);
        self.row
    }

    /// Where a number goes of whose digits so many stand behind the point, negated.
    fn scaled(&mut self, kind: u8, scale: i8) -> &mut BytesMut {
        self.blr.scaled(kind, scale);
        self.row
    }

    fn length(&self, length: usize) -> Result<u16, EncodeError> {
        u16::try_from(length)
            .ok()
            .filter(|length| usize::from(*length) <= TEXT_PARAMETER_BYTES_MAX)
            .ok_or(EncodeError::TooLong {
                number: self.number,
                length,
            })
    }

    fn text(&mut self, text: &str) -> Result<(), EncodeError> {
        let (number, set) = (self.number, self.connection.name());
        let bytes = self
            .connection
            .encode(text)
            .ok_or(EncodeError::Character { number, set })?;
        let length = self.length(bytes.len())?;
        self.blr.text(kind::VARYING, length);
        put_cstring(self.row, &bytes);
        Ok(())
    }

    /// In 64 bits where it fits; else in 128 where the server knows those, and as text, which is as exact, where it does not.
    fn decimal(&mut self, column: &Column, decimal: Decimal) -> Result<(), EncodeError> {
        let Decimal { unscaled, scale } = decimal;
        match i64::try_from(unscaled) {
            Ok(number) => self.scaled(kind::INT64, scale).put_i64(number),
            Err(_) if is_of_4(column.kind) => self.scaled(kind::INT128, scale).put_i128(unscaled),
            Err(_) => return self.text(&decimal.to_string()),
        }
        Ok(())
    }

    fn dec_float(&mut self, column: &Column, number: DecFloat) -> Result<(), EncodeError> {
        let bytes = number.to_decimal128().ok_or(EncodeError::DecFloat {
            number: self.number,
        })?;
        if !is_of_4(column.kind) {
            return self.text(&number.to_string());
        }
        self.plain(kind::DEC128).put_slice(&bytes);
        Ok(())
    }
}

fn put_timestamp(row: &mut BytesMut, at: Timestamp) {
    row.put_i32(at.date.0);
    row.put_u32(at.time.0);
}

/// Whether a server that describes this kind knows all numbers of Firebird 4.
fn is_of_4(kind: Kind) -> bool {
    matches!(kind, Kind::Int128 | Kind::Dec16 | Kind::Dec34)
}
