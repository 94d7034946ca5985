//! `interval`: months, days and microseconds, kept apart because a month has no fixed number of days, nor a day of hours.
//! Not a duration. Rule: nothing is carried from one part to another.

use std::fmt;

use tsumugi_values::iso::{MICROS_PER_SECOND, Scanner, write_fraction};

use super::scalar::{from_text, scalar};

/// A span of time. From version 17 on the server has infinite ones: all parts at their largest or all at their smallest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Interval {
    /// Whole months.
    pub months: i32,
    /// Whole days.
    pub days: i32,
    /// Microseconds.
    pub micros: i64,
}

impl Interval {
    /// Longer than all others (version 17 and later).
    pub const INFINITY: Self = Self {
        months: i32::MAX,
        days: i32::MAX,
        micros: i64::MAX,
    };
    /// The other way as long.
    pub const NEG_INFINITY: Self = Self {
        months: i32::MIN,
        days: i32::MIN,
        micros: i64::MIN,
    };
}

impl fmt::Display for Interval {
    /// As `IntervalStyle = postgres` prints it.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::INFINITY => return out.write_str("infinity"),
            Self::NEG_INFINITY => return out.write_str("-infinity"),
            _ => {}
        }
        let parts = [
            (self.months / 12, "year"),
            (self.months % 12, "mon"),
            (self.days, "day"),
        ];
        // A positive part after a negative one gets a sign, so that the reader does not carry the minus on.
        let (mut first, mut negative) = (true, false);
        for (value, unit) in parts {
            if value == 0 {
                continue;
            }
            let space = if first { "" } else { " " };
            let sign = if negative && value > 0 { "+" } else { "" };
            let plural = if value == 1 { "" } else { "s" };
            write!(out, "{space}{sign}{value} {unit}{plural}")?;
            (first, negative) = (false, value < 0);
        }
        if !first && self.micros == 0 {
            return Ok(());
        }
        let space = if first { "" } else { " " };
        let sign = match self.micros {
            ..0 => "-",
            _ if negative => "+",
            _ => "",
        };
        let micros = self.micros.unsigned_abs();
        let seconds = micros / MICROS_PER_SECOND.unsigned_abs();
        let (hour, minute, second) = (seconds / 3_600, seconds / 60 % 60, seconds % 60);
        write!(out, "{space}{sign}{hour:02}:{minute:02}:{second:02}")?;
        let fraction = micros % MICROS_PER_SECOND.unsigned_abs();
        write_fraction(out, i64::try_from(fraction).unwrap_or(0))
    }
}

/// Reads what `Display` writes.
fn parse(text: &str) -> Option<Interval> {
    match text {
        "infinity" => return Some(Interval::INFINITY),
        "-infinity" => return Some(Interval::NEG_INFINITY),
        _ => {}
    }
    let mut interval = Interval {
        months: 0,
        days: 0,
        micros: 0,
    };
    let mut words = text.split(' ');
    while let Some(word) = words.next() {
        if word.contains(':') {
            interval.micros = parse_clock(word)?;
            return words.next().is_none().then_some(interval);
        }
        let number: i32 = word.parse().ok()?;
        match words.next()?.trim_end_matches('s') {
            "year" => interval.months = interval.months.checked_add(number.checked_mul(12)?)?,
            "mon" => interval.months = interval.months.checked_add(number)?,
            "day" => interval.days = interval.days.checked_add(number)?,
            _ => return None,
        }
    }
    Some(interval)
}

/// `[+-]HH:MM:SS[.ffffff]` with any number of hours.
fn parse_clock(word: &str) -> Option<i64> {
    let mut scanner = Scanner(word.as_bytes());
    let negative = scanner.eat(b"-");
    if !negative {
        scanner.eat(b"+");
    }
    let hours = std::str::from_utf8(scanner.digits()).ok()?;
    let hours: i128 = hours.parse().ok()?;
    scanner.expect(b":")?;
    let minutes = i128::from(scanner.two()?);
    scanner.expect(b":")?;
    let seconds = i128::from(scanner.two()?);
    let fraction = i128::from(scanner.fraction()?);
    scanner.end()?;
    let seconds = hours
        .checked_mul(3_600)?
        .checked_add(minutes * 60 + seconds)?;
    let micros = seconds
        .checked_mul(i128::from(MICROS_PER_SECOND))?
        .checked_add(fraction)?;
    i64::try_from(if negative { -micros } else { micros }).ok()
}

from_text! {
    Interval "interval" parse;
}

scalar!(Interval { micros, days, months } => INTERVAL);
