//! Dates: days since 2000-01-01 in the proleptic Gregorian calendar, with infinities. Not a calendar library.
//! Rule: arithmetic is 64 bits wide, so no number of days in 32 bits overflows.

use std::fmt::{self, Write};

use crate::error::from_text;
use crate::iso::{Scanner, astronomical, two};

/// Days from 1970-01-01 to 2000-01-01.
const UNIX_TO_2000_DAYS: i64 = 10_957;
/// -4713-11-24 (4714 BC), Julian day 0: the first date: that of PostgreSQL, the widest of the databases.
const DAYS_MIN: i64 = -2_451_545;
/// 5874897-12-31: the last one.
const DAYS_MAX: i64 = 2_145_031_948;

/// A calendar date, or an infinity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Date(i32);

impl Date {
    /// Later than every date.
    pub const INFINITY: Self = Self(i32::MAX);
    /// Earlier than every date.
    pub const NEG_INFINITY: Self = Self(i32::MIN);

    /// `days` since 2000-01-01; `i32::MAX` and `i32::MIN` are the infinities.
    pub const fn from_days(days: i32) -> Self {
        Self(days)
    }

    /// The same, or `None` for a day that no database has.
    pub fn in_range(days: i32) -> Option<Self> {
        let date = Self(days);
        let is_day = (DAYS_MIN..=DAYS_MAX).contains(&i64::from(days));
        (is_day || !date.is_finite()).then_some(date)
    }

    /// Days since 2000-01-01; `i32::MAX` and `i32::MIN` are the infinities.
    pub const fn days(self) -> i32 {
        self.0
    }

    /// Whether this is a date and no infinity.
    pub const fn is_finite(self) -> bool {
        self.0 != i32::MAX && self.0 != i32::MIN
    }

    /// The date of an astronomical year (0 is 1 BC), a month and a day; `None` if there is no such day or no database has it.
    pub fn from_ymd(year: i32, month: u8, day: u8) -> Option<Self> {
        if month == 0 || month > 12 || day == 0 || day > month_days(i64::from(year), month) {
            return None;
        }
        let days = days_from_civil(i64::from(year), i64::from(month), i64::from(day));
        (DAYS_MIN..=DAYS_MAX).contains(&days).then_some(())?;
        i32::try_from(days).ok().map(Self)
    }

    /// Astronomical year, month and day; `None` for an infinity.
    pub fn ymd(self) -> Option<(i32, u8, u8)> {
        self.is_finite().then_some(())?;
        let (year, month, day) = civil_from_days(i64::from(self.0));
        Some((i32::try_from(year).ok()?, month, day))
    }
}

fn month_days(year: i64, month: u8) -> u8 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 2000-01-01. Years begin in March here, so that the leap day is the last one.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468 - UNIX_TO_2000_DAYS
}

/// The inverse: astronomical year, month, day.
pub(crate) fn civil_from_days(days: i64) -> (i64, u8, u8) {
    let days = days + UNIX_TO_2000_DAYS + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (
        year,
        u8::try_from(month).unwrap_or(0),
        u8::try_from(day).unwrap_or(0),
    )
}

/// `YYYY-MM-DD`, with the year before Christ counted from 1; true if ` BC` must follow at the end.
pub(crate) fn write_days<W: Write>(out: &mut W, days: i64) -> Result<bool, fmt::Error> {
    let (year, month, day) = civil_from_days(days);
    let before_christ = year <= 0;
    let year = if before_christ { 1 - year } else { year };
    match u16::try_from(year) {
        Ok(year @ ..=9_999) => {
            two(out, u8::try_from(year / 100).unwrap_or(0))?;
            two(out, u8::try_from(year % 100).unwrap_or(0))?;
        }
        _ => write!(out, "{year}")?,
    }
    out.write_char('-')?;
    two(out, month)?;
    out.write_char('-')?;
    two(out, day)?;
    Ok(before_christ)
}

impl Date {
    /// Appends it as ISO 8601 has it, with ` BC` behind years before Christ.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_iso<W: Write>(self, out: &mut W) -> fmt::Result {
        match self {
            Self::INFINITY => out.write_str("infinity"),
            Self::NEG_INFINITY => out.write_str("-infinity"),
            Self(days) => {
                if write_days(out, i64::from(days))? {
                    out.write_str(" BC")?;
                }
                Ok(())
            }
        }
    }
}

impl fmt::Display for Date {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_iso(f)
    }
}

fn parse(text: &str) -> Option<Date> {
    match text {
        "infinity" => return Some(Date::INFINITY),
        "-infinity" => return Some(Date::NEG_INFINITY),
        _ => {}
    }
    let mut scanner = Scanner(text.as_bytes());
    let (year, month, day) = scanner.date()?;
    let year = astronomical(year, &mut scanner)?;
    scanner.end()?;
    Date::from_ymd(year, month, day)
}

from_text!(Date "date" parse);

#[cfg(feature = "time")]
mod convert {
    use super::Date;
    use crate::ValueError;

    impl TryFrom<Date> for ::time::Date {
        type Error = ValueError;

        fn try_from(date: Date) -> Result<Self, ValueError> {
            let out_of_range = ValueError::OutOfRange { rust: "time::Date" };
            let (year, month, day) = date.ymd().ok_or(out_of_range)?;
            let month = ::time::Month::try_from(month).map_err(|_| out_of_range)?;
            Self::from_calendar_date(year, month, day).map_err(|_| out_of_range)
        }
    }

    impl TryFrom<::time::Date> for Date {
        type Error = ValueError;

        fn try_from(date: ::time::Date) -> Result<Self, ValueError> {
            Self::from_ymd(date.year(), date.month().into(), date.day())
                .ok_or(ValueError::OutOfRange { rust: "Date" })
        }
    }
}
