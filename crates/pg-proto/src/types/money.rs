//! `money`, `pg_lsn` and `tid`: numbers with a way of their own to be printed.
//! Not currencies: the server's `lc_monetary` decides what money looks like there.
//! Rule: money is an integer of the smallest unit; it is printed as in the locale C, with two digits after the point.

use std::fmt;
use std::str::FromStr;

use bytes::BytesMut;

use super::DecodeError;
use super::read::Reader;
use super::scalar::{Scalar, scalar};

/// An amount in the smallest unit of the server's currency, such as cents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Money(pub i64);

/// A place in the server's write-ahead log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lsn(pub u64);

/// A row's place in its table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tid {
    /// The page.
    pub block: u32,
    /// The row in it, from 1.
    pub offset: u16,
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let amount = self.0.unsigned_abs();
        let whole = (amount / 100).to_string();
        write!(f, "{sign}$")?;
        for (index, digit) in whole.chars().enumerate() {
            if index > 0 && (whole.len() - index).is_multiple_of(3) {
                f.write_str(",")?;
            }
            write!(f, "{digit}")?;
        }
        write!(f, ".{:02}", amount % 100)
    }
}

fn parse_money(text: &str) -> Option<Money> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(text) => (true, text),
        None => (false, text),
    };
    let (whole, cents) = text.strip_prefix('$')?.split_once('.')?;
    (cents.len() == 2).then_some(())?;
    let mut amount = 0_i128;
    for digit in whole.chars().chain(cents.chars()).filter(|it| *it != ',') {
        let digit = i128::from(digit.to_digit(10)?);
        amount = amount.checked_mul(10)?.checked_add(digit)?;
    }
    i64::try_from(if negative { -amount } else { amount })
        .ok()
        .map(Money)
}

impl FromStr for Money {
    type Err = DecodeError;

    fn from_str(text: &str) -> Result<Self, DecodeError> {
        parse_money(text).ok_or(DecodeError::Invalid { what: "money" })
    }
}

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 & 0xffff_ffff)
    }
}

impl FromStr for Lsn {
    type Err = DecodeError;

    fn from_str(text: &str) -> Result<Self, DecodeError> {
        let parts = text.split_once('/').and_then(|(high, low)| {
            let high = u32::from_str_radix(high, 16).ok()?;
            let low = u32::from_str_radix(low, 16).ok()?;
            Some(u64::from(high) << 32 | u64::from(low))
        });
        parts
            .map(Self)
            .ok_or(DecodeError::Invalid { what: "pg_lsn" })
    }
}

impl fmt::Display for Tid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({},{})", self.block, self.offset)
    }
}

impl FromStr for Tid {
    type Err = DecodeError;

    fn from_str(text: &str) -> Result<Self, DecodeError> {
        let inner = text.strip_prefix('(').and_then(|it| it.strip_suffix(')'));
        inner
            .and_then(|inner| inner.split_once(','))
            .and_then(|(block, offset)| {
                Some(Self {
                    block: block.parse().ok()?,
                    offset: offset.parse().ok()?,
                })
            })
            .ok_or(DecodeError::Invalid { what: "tid" })
    }
}

impl Scalar for Money {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.i64().map(Self)
    }

    fn write(&self, out: &mut BytesMut) {
        out.extend_from_slice(&self.0.to_be_bytes());
    }
}

impl Scalar for Lsn {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        reader.u64().map(Self)
    }

    fn write(&self, out: &mut BytesMut) {
        out.extend_from_slice(&self.0.to_be_bytes());
    }
}

impl Scalar for Tid {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let block = reader.u32()?;
        let offset = reader.u16()?;
        Ok(Self { block, offset })
    }

    fn write(&self, out: &mut BytesMut) {
        out.extend_from_slice(&self.block.to_be_bytes());
        out.extend_from_slice(&self.offset.to_be_bytes());
    }
}

scalar!(Money => MONEY, Lsn => PG_LSN, Tid => TID);
