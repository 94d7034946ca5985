//! `timetz`: a time of day with a zone. Rule: the local time is kept, and the zone beside it.

use std::fmt::{self, Write};

use bytes::BytesMut;
use tsumugi_values::Time;
use tsumugi_values::iso::{Scanner, ZONE_SECONDS_MAX, two};

use super::DecodeError;
use super::read::Reader;
use super::scalar::{Scalar, from_text, scalar};

/// A time of day in a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimeTz {
    /// The local time.
    pub time: Time,
    zone: i32,
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
}

impl fmt::Display for TimeTz {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
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

fn parse(text: &str) -> Option<TimeTz> {
    let mut scanner = Scanner(text.as_bytes());
    let time = TimeTz::new(scanner.time()?, scanner.zone()?)?;
    scanner.end()?;
    Some(time)
}

from_text! {
    TimeTz "timetz" parse;
}

impl Scalar for TimeTz {
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

scalar!(TimeTz => TIMETZ);
