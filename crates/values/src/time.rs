//! Times of day: microseconds since midnight. Not durations.
//! Rule: 24:00:00 is a time of day, as ISO 8601 has it; nothing beyond it is.

use std::fmt::{self, Write};

use crate::error::from_text;
use crate::iso::{MICROS_PER_DAY, MICROS_PER_SECOND, Scanner, two, write_fraction};

/// A time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(i64);

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

    /// Appends `HH:MM:SS`, with as many digits of a fraction as it needs.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn write_iso<W: Write>(self, out: &mut W) -> fmt::Result {
        let (hour, minute, second) = self.hms();
        two(out, hour)?;
        out.write_char(':')?;
        two(out, minute)?;
        out.write_char(':')?;
        two(out, second)?;
        write_fraction(out, self.0 % MICROS_PER_SECOND)
    }

    /// Hour, minute and second.
    #[inline]
    fn hms(self) -> (u8, u8, u8) {
        let seconds = self.0 / MICROS_PER_SECOND;
        let small = |number: i64| u8::try_from(number).unwrap_or(0);
        let (minute, second) = (seconds / 60 % 60, seconds % 60);
        (small(seconds / 3_600), small(minute), small(second))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.write_iso(f)
    }
}

fn parse(text: &str) -> Option<Time> {
    let mut scanner = Scanner(text.as_bytes());
    let time = scanner.time()?;
    scanner.end()?;
    Some(time)
}

from_text!(Time "time" parse);

#[cfg(feature = "time")]
mod convert {
    use super::{MICROS_PER_SECOND, Time};
    use crate::ValueError;

    impl TryFrom<Time> for ::time::Time {
        type Error = ValueError;

        /// Fails for 24:00:00.
        fn try_from(time: Time) -> Result<Self, ValueError> {
            let (hour, minute, second) = time.hms();
            let micro = u32::try_from(time.0 % MICROS_PER_SECOND).unwrap_or(u32::MAX);
            Self::from_hms_micro(hour, minute, second, micro)
                .map_err(|_| ValueError::OutOfRange { rust: "time::Time" })
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
}
