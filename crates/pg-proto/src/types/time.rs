//! `time` and `timetz`: microseconds since midnight, the latter with a zone. Not a duration; that is [`Interval`](super::Interval).
//! Rule: 24:00:00 is a time of day, as the server has it; nothing beyond it is.

use std::fmt::{self, Write};
use std::str::FromStr;

use bytes::BytesMut;

use super::date::{Scanner, two};
use super::kind::Shape;
use super::read::Reader;
use super::scalar::{Scalar, scalar};
use super::{DecodeError, Type};

pub(crate) const MICROS_PER_SECOND: i64 = 1_000_000;
pub(crate) const MICROS_PER_DAY: i64 = 86_400 * MICROS_PER_SECOND;
/// The server's zones are less than 16 hours from UTC.
const ZONE_SECONDS_MAX: i32 = 16 * 3_600 - 1;

/// A time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

/// A time of day in a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimeTz {
    /// The local time.
    pub time: Time,
    zone: i32,
}

impl Time {
    /// The time `micros` microseconds after midnight; `None` beyond 24:00:00.
    pub const fn from_micros(micros: i64) -> Option<Self> {
        if micros < 0 || micros > MICROS_PER_DAY {
            return None;
        }
        Some(Self(micros))
    }

    /// Microseconds since midnight.
    pub const fn micros(self) -> i64 {
        self.0
    }

    /// The time of an hour, a minute, a second and microseconds; 24:00:00 is the last one.
    pub fn from_hms_micro(hour: u8, minute: u8, second: u8, micro: u32) -> Option<Self> {
        if minute > 59 || second > 60 || micro > 999_999 {
            return None;
        }
        let seconds = i64::from(hour) * 3_600 + i64::from(minute) * 60 + i64::from(second);
        Self::from_micros(seconds * MICROS_PER_SECOND + i64::from(micro))
    }

    pub(crate) fn write_iso<W: Write>(self, out: &mut W) -> fmt::Result {
        let seconds = self.0 / MICROS_PER_SECOND;
        let small = |number: i64| u8::try_from(number).unwrap_or(0);
        two(out, small(seconds / 3_600))?;
        out.write_char(':')?;
        two(out, small(seconds / 60 % 60))?;
        out.write_char(':')?;
        two(out, small(seconds % 60))?;
        write_fraction(out, self.0 % MICROS_PER_SECOND)
    }
}

/// `.ffffff` without zeros at the end; nothing for 0.
pub(crate) fn write_fraction<W: Write>(out: &mut W, micros: i64) -> fmt::Result {
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

impl TimeTz {
    /// A local time and its zone in seconds east of UTC; `None` if the server has no such zone.
    pub const fn new(time: Time, zone_seconds_east: i32) -> Option<Self> {
        if zone_seconds_east < -ZONE_SECONDS_MAX || zone_seconds_east > ZONE_SECONDS_MAX {
            return None;
        }
        Some(Self {
            time,
            zone: -zone_seconds_east,
        })
    }

    /// Seconds east of UTC.
    pub const fn zone_seconds_east(self) -> i32 {
        -self.zone
    }

    pub(crate) fn write_iso<W: Write>(self, out: &mut W) -> fmt::Result {
        self.time.write_iso(out)?;
        out.write_char(if self.zone > 0 { '-' } else { '+' })?;
        let seconds = self.zone.unsigned_abs();
        let small = |number: u32| u8::try_from(number).unwrap_or(0);
        two(out, small(seconds / 3_600))?;
        if !seconds.is_multiple_of(3_600) {
            out.write_char(':')?;
            two(out, small(seconds / 60 % 60))?;
        }
        if !seconds.is_multiple_of(60) {
            out.write_char(':')?;
            two(out, small(seconds % 60))?;
        }
        Ok(())
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_iso(f)
    }
}

impl fmt::Display for TimeTz {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_iso(f)
    }
}

impl Scanner<'_> {
    /// `HH:MM:SS[.ffffff]`
    pub fn time(&mut self) -> Option<Time> {
        let hour = self.two()?;
        self.expect(b":")?;
        let minute = self.two()?;
        self.expect(b":")?;
        let second = self.two()?;
        Time::from_hms_micro(hour, minute, second, self.fraction()?)
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
}

impl FromStr for Time {
    type Err = DecodeError;

    fn from_str(text: &str) -> Result<Self, DecodeError> {
        let mut scanner = Scanner(text.as_bytes());
        let time = scanner.time();
        time.filter(|_| scanner.0.is_empty())
            .ok_or(DecodeError::Invalid { what: "time" })
    }
}

impl FromStr for TimeTz {
    type Err = DecodeError;

    fn from_str(text: &str) -> Result<Self, DecodeError> {
        let mut scanner = Scanner(text.as_bytes());
        let time = scanner
            .time()
            .and_then(|time| Self::new(time, scanner.zone()?));
        time.filter(|_| scanner.0.is_empty())
            .ok_or(DecodeError::Invalid { what: "timetz" })
    }
}

impl Scalar for Time {
    const RUST: &'static str = "Time";

    fn fits(shape: Shape<'_>) -> bool {
        matches!(shape, Shape::Time)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Self::from_micros(reader.i64()?).ok_or(DecodeError::Invalid { what: "time" })
    }

    fn write(&self, out: &mut BytesMut) {
        out.extend_from_slice(&self.0.to_be_bytes());
    }
}

impl Scalar for TimeTz {
    const RUST: &'static str = "TimeTz";

    fn fits(shape: Shape<'_>) -> bool {
        matches!(shape, Shape::TimeTz)
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let time = Time::read(reader)?;
        let zone = reader.i32()?;
        if zone.unsigned_abs() > ZONE_SECONDS_MAX.unsigned_abs() {
            return Err(DecodeError::Invalid { what: "timetz" });
        }
        Ok(Self { time, zone })
    }

    fn write(&self, out: &mut BytesMut) {
        self.time.write(out);
        out.extend_from_slice(&self.zone.to_be_bytes());
    }
}

scalar!(Time => Type::TIME, TimeTz => Type::TIMETZ);

#[cfg(feature = "time")]
mod convert {
    use super::{DecodeError, MICROS_PER_SECOND, Time};

    impl TryFrom<Time> for ::time::Time {
        type Error = DecodeError;

        /// Fails for 24:00:00.
        fn try_from(time: Time) -> Result<Self, DecodeError> {
            let seconds = time.0 / MICROS_PER_SECOND;
            let part = |number: i64| u8::try_from(number).unwrap_or(u8::MAX);
            let micro = u32::try_from(time.0 % MICROS_PER_SECOND).unwrap_or(u32::MAX);
            Self::from_hms_micro(
                part(seconds / 3_600),
                part(seconds / 60 % 60),
                part(seconds % 60),
                micro,
            )
            .map_err(|_| DecodeError::OutOfRange { rust: "time::Time" })
        }
    }

    impl From<::time::Time> for Time {
        /// Nanoseconds are cut off.
        fn from(time: ::time::Time) -> Self {
            let (hour, minute, second, micro) = time.as_hms_micro();
            let seconds = i64::from(hour) * 3_600 + i64::from(minute) * 60 + i64::from(second);
            Self(seconds * MICROS_PER_SECOND + i64::from(micro))
        }
    }
}
