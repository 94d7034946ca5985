//! ISO 8601 as the databases print and read it: the parts that dates, times and points in time are made of.
//! Not a parser of everything that the standard allows. Rule: what is read is ASCII, and a number of digits is bounded before it is computed with.

use std::fmt::{self, Write};

/// Microseconds of a second.
pub const MICROS_PER_SECOND: i64 = 1_000_000;
/// Microseconds of a day.
pub const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
/// Zones are less than 16 hours from UTC.
pub const ZONE_SECONDS_MAX: i32 = 16 * 3_600 - 1;

/// Appends two digits.
///
/// # Errors
/// Those of `out`.
#[inline]
pub fn two<W: Write>(out: &mut W, number: u8) -> fmt::Result {
    out.write_char(char::from(b'0' + number / 10 % 10))?;
    out.write_char(char::from(b'0' + number % 10))
}

/// Appends `.ffffff` without zeros at the end; nothing for 0.
///
/// # Errors
/// Those of `out`.
pub fn write_fraction<W: Write>(out: &mut W, micros: i64) -> fmt::Result {
    if micros == 0 {
        return Ok(());
    }
    out.write_char('.')?;
    let mut unit = MICROS_PER_SECOND / 10;
    let mut rest = micros;
    while rest > 0 && unit > 0 {
        let digit = u8::try_from(rest / unit).unwrap_or(0);
        out.write_char(char::from(b'0' + digit % 10))?;
        rest %= unit;
        unit /= 10;
    }
    Ok(())
}

/// Reads the parts of ISO dates and times from ASCII.
#[derive(Debug, Clone, Copy)]
pub struct Scanner<'a>(pub &'a [u8]);

impl<'a> Scanner<'a> {
    /// Takes this text off, if it is there.
    pub fn eat(&mut self, text: &[u8]) -> bool {
        let rest = self.0.strip_prefix(text);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// The same, or `None`.
    pub fn expect(&mut self, text: &[u8]) -> Option<()> {
        self.eat(text).then_some(())
    }

    /// One to nine digits.
    pub fn number(&mut self) -> Option<u32> {
        let digits = self.digits();
        (1..=9).contains(&digits.len()).then(|| number(digits))
    }

    /// Exactly two digits.
    pub fn two(&mut self) -> Option<u8> {
        let (head, rest) = self.0.split_first_chunk::<2>()?;
        head.iter().all(u8::is_ascii_digit).then_some(())?;
        self.0 = rest;
        let [tens, ones] = *head;
        Some((tens - b'0') * 10 + (ones - b'0'))
    }

    /// All digits up to something else.
    pub fn digits(&mut self) -> &'a [u8] {
        let digits = self.0.iter().take_while(|byte| byte.is_ascii_digit());
        let count = digits.count();
        let (digits, rest) = self.0.split_at_checked(count).unwrap_or((&[], self.0));
        self.0 = rest;
        digits
    }

    /// A year as printed, a month, a day.
    pub fn date(&mut self) -> Option<(i32, u8, u8)> {
        let year = i32::try_from(self.number()?).ok()?;
        self.expect(b"-")?;
        let month = self.two()?;
        self.expect(b"-")?;
        Some((year, month, self.two()?))
    }

    /// The fraction after a point, if any, in microseconds: one to six digits.
    pub fn fraction(&mut self) -> Option<u32> {
        if !self.eat(b".") {
            return Some(0);
        }
        let digits = self.digits();
        (1..=6).contains(&digits.len()).then_some(())?;
        Some(number(digits) * 10_u32.pow(6 - u32::try_from(digits.len()).ok()?))
    }

    /// `+HH[:MM[:SS]]`, in seconds east of UTC.
    pub fn zone(&mut self) -> Option<i32> {
        let sign = if self.eat(b"-") {
            -1
        } else {
            self.expect(b"+")?;
            1
        };
        let mut seconds = i32::from(self.two()?) * 3_600;
        if self.eat(b":") {
            seconds += i32::from(self.two()?) * 60;
        }
        if self.eat(b":") {
            seconds += i32::from(self.two()?);
        }
        (seconds <= ZONE_SECONDS_MAX).then_some(sign * seconds)
    }

    /// `None` if anything is left.
    pub fn end(self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

/// The number of at most nine digits.
fn number(digits: &[u8]) -> u32 {
    let digits = digits.iter().map(|digit| u32::from(digit - b'0'));
    digits.fold(0, |number, digit| number * 10 + digit)
}

/// The astronomical year of one printed with or without ` BC`; there is no year 0.
pub fn astronomical(year: i32, scanner: &mut Scanner<'_>) -> Option<i32> {
    (year >= 1).then_some(())?;
    Some(if scanner.eat(b" BC") { 1 - year } else { year })
}
