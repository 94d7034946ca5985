//! Dates and times of day as the server counts them: days since 1858-11-17, ten-thousandths of a second since midnight. No zones; the calendar is
//! that of `tsumugi_values`.
//! Rule: what is no date of the calendar or no time of day can be held, because a server may send it, but says so.

use std::fmt;

use tsumugi_values as calendar;

/// Days from 1858-11-17, where the server begins, to 2000-01-01, where the calendar does.
const DAYS_TO_2000: i32 = 51_544;
const FRACTIONS_PER_DAY: u32 = 864_000_000;
const FRACTIONS_PER_MINUTE: i64 = 600_000;
const MICROS_PER_FRACTION: i64 = 100;

/// A DATE: days since 1858-11-17. Firebird has the years 1 to 9999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Date(pub i32);

impl Date {
    /// The date of the Gregorian calendar, `None` if it does not exist or its year is not 1 to 9999.
    pub fn from_ymd(year: i32, month: u8, day: u8) -> Option<Self> {
        Self::from_calendar(calendar::Date::from_ymd(year, month, day)?)
    }

    fn from_calendar(date: calendar::Date) -> Option<Self> {
        let date = Self(date.days().checked_add(DAYS_TO_2000)?);
        date.calendar().map(|_| date)
    }

    /// The same in the calendar; `None` if it is beyond the years 1 to 9999.
    pub fn calendar(self) -> Option<calendar::Date> {
        let date = calendar::Date::from_days(self.0.checked_sub(DAYS_TO_2000)?);
        let (year, ..) = date.ymd()?;
        (1..=9999).contains(&year).then_some(date)
    }
}

impl fmt::Display for Date {
    /// `2024-02-29`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.calendar() {
            Some(date) => date.write_iso(f),
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
        let micro = u32::from(fraction) * 100;
        Self::from_calendar(calendar::Time::from_hms_micro(hour, minute, second, micro)?)
    }

    fn from_calendar(time: calendar::Time) -> Option<Self> {
        let time = Self(u32::try_from(time.micros() / MICROS_PER_FRACTION).ok()?);
        time.calendar().map(|_| time)
    }

    /// The same as a time of day; `None` if it is beyond the day.
    pub fn calendar(self) -> Option<calendar::Time> {
        let time = calendar::Time::from_micros(i64::from(self.0) * MICROS_PER_FRACTION);
        time.filter(|_| self.0 < FRACTIONS_PER_DAY)
    }

    /// So many minutes later, past midnight where it must.
    pub(super) fn plus_minutes(self, minutes: i32) -> Self {
        let fractions = i64::from(self.0) + i64::from(minutes) * FRACTIONS_PER_MINUTE;
        let within = fractions.rem_euclid(FRACTIONS_PER_DAY.into());
        // Below a day by the line before.
        Self(u32::try_from(within).unwrap_or(0))
    }
}

impl fmt::Display for Time {
    /// `03:04:05`, and `03:04:05.67` with as many digits as it needs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.calendar() {
            Some(time) => time.write_iso(f),
            None => write!(f, "fraction {}", self.0),
        }
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
    /// The same to a ten-thousandth of a second; `None` beyond the years 1 to 9999.
    pub fn from_calendar(at: calendar::Timestamp) -> Option<Self> {
        let (date, time) = at.date_time()?;
        Some(Self {
            date: Date::from_calendar(date)?,
            time: Time::from_calendar(time)?,
        })
    }

    /// The same in the calendar; `None` where its date or its time of day is none.
    pub fn calendar(self) -> Option<calendar::Timestamp> {
        calendar::Timestamp::new(self.date.calendar()?, self.time.calendar()?)
    }

    /// So many minutes later; `None` where there is no such date.
    pub(super) fn plus_minutes(self, minutes: i32) -> Option<Self> {
        let micros = self.calendar()?.micros() + i64::from(minutes) * 60_000_000;
        Self::from_calendar(calendar::Timestamp::from_micros(micros))
    }
}

impl fmt::Display for Timestamp {
    /// `2024-02-29 03:04:05.67`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.date, self.time)
    }
}
