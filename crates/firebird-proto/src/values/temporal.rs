//! Dates and times of day as the server counts them: days since 1858-11-17, ten-thousandths of a second since midnight. No zones.
//! Rule: what is no date of the calendar or no time of day can be held, because a server may send it, but says so.

use std::fmt;

/// Days from 1858-11-17, where the server begins, to 1970-01-01.
const DAYS_TO_1970: i64 = 40_587;
/// The Julian day on which 1858-11-17 begins.
const JULIAN_DAY: i32 = 2_400_001;
/// Fractions of a second in a day.
const FRACTIONS_PER_DAY: u32 = 864_000_000;
const FRACTIONS_PER_SECOND: u32 = 10_000;

/// A DATE: days since 1858-11-17. Firebird has the years 1 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Date(pub i32);

impl Date {
    /// The date of the Gregorian calendar, `None` if it does not exist or its year is not 1 to 9999.
    pub fn from_ymd(year: i32, month: u8, day: u8) -> Option<Self> {
        if !(1..=9999).contains(&year) {
            return None;
        }
        let month = time::Month::try_from(month).ok()?;
        let date = time::Date::from_calendar_date(year, month, day).ok()?;
        Some(Self(date.to_julian_day() - JULIAN_DAY))
    }

    /// Year, month, day; `None` if it is beyond the years 1 to 9999.
    pub fn ymd(self) -> Option<(i32, u8, u8)> {
        let julian_day = self.0.checked_add(JULIAN_DAY)?;
        let (year, month, day) = time::Date::from_julian_day(julian_day)
            .ok()?
            .to_calendar_date();
        (1..=9999)
            .contains(&year)
            .then_some((year, u8::from(month), day))
    }

    /// Days since 1970-01-01.
    pub fn unix_days(self) -> i64 {
        i64::from(self.0) - DAYS_TO_1970
    }
}

impl fmt::Display for Date {
    /// `2024-02-29`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.ymd() {
            Some((year, month, day)) => write!(f, "{year:04}-{month:02}-{day:02}"),
            None => write!(f, "day {}", self.0),
        }
    }
}

/// A TIME: ten-thousandths of a second since midnight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Time(pub u32);

impl Time {
    /// A time of day, `None` if it does not exist. `fraction` is in ten-thousandths of a second.
    pub fn from_hms(hour: u8, minute: u8, second: u8, fraction: u16) -> Option<Self> {
        if hour > 23 || minute > 59 || second > 59 || fraction > 9_999 {
            return None;
        }
        let seconds = (u32::from(hour) * 60 + u32::from(minute)) * 60 + u32::from(second);
        Some(Self(seconds * FRACTIONS_PER_SECOND + u32::from(fraction)))
    }

    /// Hour, minute, second and ten-thousandths of a second; `None` if it is beyond the day.
    pub fn hms(self) -> Option<(u8, u8, u8, u16)> {
        if self.0 >= FRACTIONS_PER_DAY {
            return None;
        }
        let seconds = self.0 / FRACTIONS_PER_SECOND;
        Some((
            u8::try_from(seconds / 3600).ok()?,
            u8::try_from(seconds / 60 % 60).ok()?,
            u8::try_from(seconds % 60).ok()?,
            u16::try_from(self.0 % FRACTIONS_PER_SECOND).ok()?,
        ))
    }
}

impl fmt::Display for Time {
    /// `03:04:05`, and `03:04:05.67` with as many digits as it needs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((hour, minute, second, fraction)) = self.hms() else {
            return write!(f, "fraction {}", self.0);
        };
        write!(f, "{hour:02}:{minute:02}:{second:02}")?;
        if fraction > 0 {
            let digits = format!("{fraction:04}");
            write!(f, ".{}", digits.trim_end_matches('0'))?;
        }
        Ok(())
    }
}

/// A TIMESTAMP: a date and a time of day, without a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp {
    /// The date.
    pub date: Date,
    /// The time of day.
    pub time: Time,
}

impl Timestamp {
    /// Microseconds since 1970-01-01 00:00:00.
    pub fn unix_micros(self) -> i64 {
        let seconds = self.date.unix_days() * 86_400;
        // Both factors come from 32 bits: 2^31 days are 2 × 10^20 microseconds, which no server means.
        seconds
            .saturating_mul(1_000_000)
            .saturating_add(i64::from(self.time.0) * 100)
    }

    /// The timestamp so many microseconds after 1970-01-01 00:00:00, to a ten-thousandth of a second; `None` beyond the years 1 to 9999.
    pub fn from_unix_micros(micros: i64) -> Option<Self> {
        let fractions = micros.div_euclid(100);
        let day = fractions.div_euclid(FRACTIONS_PER_DAY.into());
        let time = fractions.rem_euclid(FRACTIONS_PER_DAY.into());
        let date = Date(i32::try_from(day + DAYS_TO_1970).ok()?);
        date.ymd()?;
        let time = Time(u32::try_from(time).ok()?);
        Some(Self { date, time })
    }

    /// So many minutes later; `None` where there is no such date.
    pub(super) fn plus_minutes(self, minutes: i32) -> Option<Self> {
        let micros = i64::from(minutes) * 60_000_000;
        Self::from_unix_micros(self.unix_micros().checked_add(micros)?)
    }
}

impl fmt::Display for Timestamp {
    /// `2024-02-29 03:04:05.67`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.date, self.time)
    }
}

impl Time {
    /// So many minutes later, past midnight where it must.
    pub(super) fn plus_minutes(self, minutes: i32) -> Self {
        let fractions =
            i64::from(self.0) + i64::from(minutes) * 60 * i64::from(FRACTIONS_PER_SECOND);
        let within = fractions.rem_euclid(FRACTIONS_PER_DAY.into());
        // Below a day by the line before.
        Self(u32::try_from(within).unwrap_or(0))
    }
}
