//! Points in time: microseconds since 2000-01-01, local and in UTC, with infinities. Knows no time zones.
//! Rule: a point in time is printed in UTC, whatever zone it was given in.

use std::fmt::{self, Write};

use crate::date::write_days;
use crate::error::from_text;
use crate::iso::{MICROS_PER_DAY, MICROS_PER_SECOND, Scanner, astronomical};
use crate::{Date, Time};

/// Microseconds from 1970-01-01 to 2000-01-01.
const UNIX_TO_2000_MICROS: i64 = 946_684_800_000_000;
/// 4714-11-24 00:00:00 BC, the first that PostgreSQL takes, the widest of the databases.
const MICROS_MIN: i64 = -211_813_488_000_000_000;
/// 294277-01-01 00:00:00, the first that it does not.
const MICROS_END: i64 = 9_223_371_331_200_000_000;

/// A date and a time of day without a zone, or an infinity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(i64);

/// A moment, or an infinity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TimestampTz(i64);

/// What both have, under each one's own name.
macro_rules! stamp {
    ($name:ident $what:literal $zone:ident, $iso:literal, $utc:literal) => {
        impl $name {
            /// Later than all others.
            pub const INFINITY: Self = Self(i64::MAX);
            /// Earlier than all others.
            pub const NEG_INFINITY: Self = Self(i64::MIN);

            /// `micros` microseconds since 2000-01-01 00:00:00; `i64::MAX` and `i64::MIN` are the infinities.
            pub const fn from_micros(micros: i64) -> Self {
                Self(micros)
            }

            /// The same, or `None` for a time that no database has.
            pub fn in_range(micros: i64) -> Option<Self> {
                match Self(micros) {
                    infinity @ (Self::INFINITY | Self::NEG_INFINITY) => Some(infinity),
                    Self(micros) => in_range(micros).map(Self),
                }
            }

            /// Microseconds since 2000-01-01 00:00:00; `i64::MAX` and `i64::MIN` are the infinities.
            pub const fn micros(self) -> i64 {
                self.0
            }

            /// Whether this is no infinity.
            pub const fn is_finite(self) -> bool {
                self.0 != i64::MAX && self.0 != i64::MIN
            }

            /// `micros` microseconds since 1970-01-01 00:00:00; `None` if no database has such a time.
            pub fn from_unix_micros(micros: i64) -> Option<Self> {
                in_range(micros.checked_sub(UNIX_TO_2000_MICROS)?).map(Self)
            }

            /// Microseconds since 1970-01-01 00:00:00; `None` for an infinity and what 64 bits cannot hold.
            pub fn unix_micros(self) -> Option<i64> {
                self.is_finite().then_some(())?;
                self.0.checked_add(UNIX_TO_2000_MICROS)
            }

            /// A date and a time of day; `None` if no database has such a time.
            pub fn new(date: Date, time: Time) -> Option<Self> {
                date.is_finite().then_some(())?;
                let days = i64::from(date.days()).checked_mul(MICROS_PER_DAY)?;
                in_range(days.checked_add(time.micros())?).map(Self)
            }

            /// The date and the time of day; `None` for an infinity.
            pub fn date_time(self) -> Option<(Date, Time)> {
                self.is_finite().then_some(())?;
                let days = i32::try_from(self.0.div_euclid(MICROS_PER_DAY)).ok()?;
                let time = Time::from_micros(self.0.rem_euclid(MICROS_PER_DAY))?;
                Some((Date::from_days(days), time))
            }

            #[doc = concat!("Appends it as ISO 8601 has it: `2024-01-02T03:04:05", $iso, "`.")]
            ///
            /// # Errors
            /// Those of `out`.
            pub fn write_iso<W: Write>(self, out: &mut W) -> fmt::Result {
                write_stamp(out, self.0, 'T', $iso)
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write_stamp(f, self.0, ' ', $utc)
            }
        }

        from_text!($name $what |text| parse(text, Zone::$zone).map(Self));
    };
}

stamp!(Timestamp "timestamp" None, "", "");
stamp!(TimestampTz "timestamptz" Required, "Z", "+00");

fn in_range(micros: i64) -> Option<i64> {
    (MICROS_MIN..MICROS_END).contains(&micros).then_some(micros)
}

/// Date, `between`, time, `zone`, and the era at the very end as the server puts it.
fn write_stamp<W: Write>(out: &mut W, micros: i64, between: char, zone: &str) -> fmt::Result {
    match micros {
        i64::MAX => return out.write_str("infinity"),
        i64::MIN => return out.write_str("-infinity"),
        _ => {}
    }
    let before_christ = write_days(out, micros.div_euclid(MICROS_PER_DAY))?;
    out.write_char(between)?;
    if let Some(time) = Time::from_micros(micros.rem_euclid(MICROS_PER_DAY)) {
        time.write_iso(out)?;
    }
    out.write_str(zone)?;
    if before_christ {
        out.write_str(" BC")?;
    }
    Ok(())
}

/// Whether a zone must follow the time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Zone {
    None,
    Required,
}

/// Reads what the server prints, or the same with `T` and `Z`.
fn parse(text: &str, zone: Zone) -> Option<i64> {
    match text {
        "infinity" => return Some(i64::MAX),
        "-infinity" => return Some(i64::MIN),
        _ => {}
    }
    let mut scanner = Scanner(text.as_bytes());
    let (year, month, day) = scanner.date()?;
    if !scanner.eat(b"T") {
        scanner.expect(b" ")?;
    }
    let time = scanner.time()?;
    let east = if zone == Zone::None || scanner.eat(b"Z") {
        0
    } else {
        scanner.zone()?
    };
    let year = astronomical(year, &mut scanner)?;
    scanner.end()?;
    let days = i64::from(Date::from_ymd(year, month, day)?.days());
    let local = days
        .checked_mul(MICROS_PER_DAY)?
        .checked_add(time.micros())?;
    in_range(local.checked_sub(i64::from(east) * MICROS_PER_SECOND)?)
}

#[cfg(feature = "time")]
mod convert {
    use super::{Date, Time, Timestamp, TimestampTz};
    use crate::ValueError;

    const OUT_OF_RANGE: ValueError = ValueError::OutOfRange {
        rust: "Timestamp of another library",
    };

    impl TryFrom<Timestamp> for ::time::PrimitiveDateTime {
        type Error = ValueError;

        fn try_from(stamp: Timestamp) -> Result<Self, ValueError> {
            let (date, time) = stamp.date_time().ok_or(OUT_OF_RANGE)?;
            Ok(Self::new(date.try_into()?, time.try_into()?))
        }
    }

    impl TryFrom<::time::PrimitiveDateTime> for Timestamp {
        type Error = ValueError;

        fn try_from(stamp: ::time::PrimitiveDateTime) -> Result<Self, ValueError> {
            Self::new(Date::try_from(stamp.date())?, Time::from(stamp.time())).ok_or(OUT_OF_RANGE)
        }
    }

    impl TryFrom<TimestampTz> for ::time::OffsetDateTime {
        type Error = ValueError;

        fn try_from(stamp: TimestampTz) -> Result<Self, ValueError> {
            let local = ::time::PrimitiveDateTime::try_from(Timestamp(stamp.0))?;
            Ok(local.assume_utc())
        }
    }

    impl TryFrom<::time::OffsetDateTime> for TimestampTz {
        type Error = ValueError;

        fn try_from(stamp: ::time::OffsetDateTime) -> Result<Self, ValueError> {
            let micros = stamp.unix_timestamp_nanos().div_euclid(1_000);
            let micros = i64::try_from(micros).map_err(|_| OUT_OF_RANGE)?;
            Self::from_unix_micros(micros).ok_or(OUT_OF_RANGE)
        }
    }
}
