//! Times with a time zone, of Firebird 4 and later: UTC and a number for the zone. Tested on constructed bytes only.
//! The rules of regions are not known here: their times are shown in UTC. Rule: what the server sent is kept as it is.

use std::fmt;

use super::{Time, Timestamp};

/// Minutes east of Greenwich, shifted, up to this number; above are regions.
const OFFSET_MAX: u16 = 2_878;
const OFFSET_SHIFT: i16 = 1_439;
const GMT: u16 = u16::MAX;

/// A time zone as the server numbers it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Zone(pub u16);

impl Zone {
    /// So many minutes east of Greenwich, at most 23:59 either way.
    pub fn from_offset(minutes: i16) -> Option<Self> {
        if !(-OFFSET_SHIFT..=OFFSET_SHIFT).contains(&minutes) {
            return None;
        }
        u16::try_from(minutes + OFFSET_SHIFT).ok().map(Self)
    }

    /// Minutes east of Greenwich; `None` of a region, whose number `rdb$time_zones` explains.
    pub fn offset(self) -> Option<i16> {
        match self.0 {
            GMT => Some(0),
            shifted if shifted <= OFFSET_MAX => Some(i16::try_from(shifted).ok()? - OFFSET_SHIFT),
            _ => None,
        }
    }
}

impl fmt::Display for Zone {
    /// `+09:00`, or `region 65534`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.offset() {
            Some(minutes) => {
                let sign = if minutes < 0 { '-' } else { '+' };
                let minutes = minutes.unsigned_abs();
                write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
            }
            None => write!(f, "region {}", self.0),
        }
    }
}

/// A TIME WITH TIME ZONE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimeTz {
    /// In UTC.
    pub utc: Time,
    /// The zone it was given in.
    pub zone: Zone,
}

impl fmt::Display for TimeTz {
    /// The time in its zone, `03:04:05+09:00`; of a region, in UTC, `18:04:05+00:00 (region 65534)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.zone.offset() {
            Some(minutes) => write!(f, "{}{}", self.utc.plus_minutes(minutes.into()), self.zone),
            None => write!(f, "{}+00:00 ({})", self.utc, self.zone),
        }
    }
}

/// A TIMESTAMP WITH TIME ZONE.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct TimestampTz {
    /// In UTC.
    pub utc: Timestamp,
    /// The zone it was given in.
    pub zone: Zone,
}

impl fmt::Display for TimestampTz {
    /// The time in its zone, `2024-01-02 03:04:05+09:00`; of a region, in UTC, `2024-01-01 18:04:05+00:00 (region 65534)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let local = self
            .zone
            .offset()
            .and_then(|minutes| self.utc.plus_minutes(minutes.into()));
        match local {
            Some(local) => write!(f, "{local}{}", self.zone),
            None => write!(f, "{}+00:00 ({})", self.utc, self.zone),
        }
    }
}
