//! For how long the machine has slept, which timers leave out. Sets no timer and asks no database.
//! Rule: what counts the time of a claim counts this too, since claims run out while a machine sleeps.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use tokio::time::Instant;

use crate::limits::SLEEP_MIN;

/// For how long the machine has slept since it was started. Two looks may differ a little though it has not slept meanwhile.
pub(crate) fn slept() -> Duration {
    // In this order the difference is never too small.
    let awake = read(ClockId::Monotonic);
    let slept = read(ClockId::Boottime).saturating_sub(awake);
    #[cfg(test)]
    let slept = slept + test_sleep::slept();
    slept
}

fn read(clock: ClockId) -> Duration {
    // Neither of them is ever negative.
    Duration::try_from(clock_gettime(clock)).unwrap_or_default()
}

/// For how long it has slept between two looks.
pub(crate) fn slept_between(before: Duration, after: Duration) -> Duration {
    let slept = after.saturating_sub(before);
    match slept < SLEEP_MIN {
        true => Duration::ZERO,
        false => slept,
    }
}

/// A moment before a sleep of this length, as timers see it.
pub(crate) fn earlier(at: Instant, slept: Duration) -> Instant {
    at.checked_sub(slept).unwrap_or(at)
}

/// Sleeps of tests.
#[cfg(test)]
pub(crate) mod test_sleep {
    use std::cell::Cell;
    use std::time::Duration;

    thread_local! {
        static SLEPT: Cell<Duration> = const { Cell::new(Duration::ZERO) };
    }

    pub(super) fn slept() -> Duration {
        SLEPT.get()
    }

    pub(crate) fn add(time: Duration) {
        SLEPT.set(SLEPT.get() + time);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sleep_is_seen_and_two_looks_one_behind_the_other_are_none() {
        // A machine that stands still between two clocks does not do so each time.
        assert!((0..3).any(|_| slept_between(slept(), slept()).is_zero()));
        let before = slept();
        test_sleep::add(Duration::from_secs(60));
        let between = slept_between(before, slept());
        assert!((59..90).contains(&between.as_secs()), "{between:?}");
        assert_eq!(slept_between(slept(), before), Duration::ZERO);
    }
}
