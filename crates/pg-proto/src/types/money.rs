//! `money`, `pg_lsn` and `tid`: numbers with a way of their own to be printed.
//! Not currencies: the server's `lc_monetary` decides what money looks like there.
//! Rule: money is an integer of the smallest unit; it is printed as in the locale C, with two digits after the point.

use std::fmt;

use super::scalar::{from_text, scalar};

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

impl fmt::Display for Lsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:X}/{:X}", self.0 >> 32, self.0 & 0xffff_ffff)
    }
}

fn parse_lsn(text: &str) -> Option<Lsn> {
    let (high, low) = text.split_once('/')?;
    let high = u32::from_str_radix(high, 16).ok()?;
    let low = u32::from_str_radix(low, 16).ok()?;
    Some(Lsn(u64::from(high) << 32 | u64::from(low)))
}

impl fmt::Display for Tid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "({},{})", self.block, self.offset)
    }
}

fn parse_tid(text: &str) -> Option<Tid> {
    let inner = text.strip_prefix('(')?.strip_suffix(')')?;
    let (block, offset) = inner.split_once(',')?;
    Some(Tid {
        block: block.parse().ok()?,
        offset: offset.parse().ok()?,
    })
}

from_text! {
    Money "money" parse_money;
    Lsn "pg_lsn" parse_lsn;
    Tid "tid" parse_tid;
}

scalar!(Money { 0 } => MONEY, Lsn { 0 } => PG_LSN, Tid { block, offset } => TID);
