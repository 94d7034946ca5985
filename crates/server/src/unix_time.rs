//! Times as numbers since 1970, for figures and pages. Asks no clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// Milliseconds since 1970; 0 before.
pub(crate) fn unix_ms(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}
