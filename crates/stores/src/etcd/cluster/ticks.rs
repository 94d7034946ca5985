//! When the last tick of a timer was begun, as far as this process knows. Asks no server and no clock.
//! Rule: a tick is believed to be younger than it is rather than older, so that none is begun too soon.
//!
//! A mark of a tick says how old the tick was when the mark was written, and its lease how long ago that was; who has seen it knows that the tick is
//! older than that by the time since. That is a span of one process's own clock, as the deadline of a holder is, and no time of day.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use tsumugi_cluster::BootTime;

/// By the name of each timer's lease: as many as the application declares.
#[derive(Debug, Default)]
pub(super) struct SeenTicks(RefCell<HashMap<String, SeenTick>>);

#[derive(Clone, Copy, Debug)]
struct SeenTick {
    /// The revision of its mark.
    revision: i64,
    /// Not before it was begun.
    begun: BootTime,
}

impl SeenTicks {
    /// When the last tick that is known of was begun, or a little later.
    pub(super) fn begun(&self, name: &str) -> Option<BootTime> {
        self.0.borrow().get(name).map(|tick| tick.begun)
    }

    /// Whether the tick whose mark has this revision is known.
    pub(super) fn knows(&self, name: &str, revision: i64) -> bool {
        let ticks = self.0.borrow();
        ticks
            .get(name)
            .is_some_and(|tick| tick.revision == revision)
    }

    /// Notes a tick that is so old now at least.
    pub(super) fn see(&self, name: &str, revision: i64, age: Duration, now: BootTime) {
        self.note(name, revision, earlier(now, age));
    }

    /// Notes a tick that was begun then.
    pub(super) fn note(&self, name: &str, revision: i64, begun: BootTime) {
        let tick = SeenTick { revision, begun };
        self.0.borrow_mut().insert(name.to_owned(), tick);
    }
}

/// So long before; the start of the machine at the earliest.
fn earlier(now: BootTime, age: Duration) -> BootTime {
    let since_start = BootTime::since_start(Duration::ZERO).until(now);
    BootTime::since_start(since_start.saturating_sub(age))
}

/// How long a lease of etcd has lasted at least. What is left is told in whole seconds, of which a part may have passed.
pub(super) fn passed(granted: i64, left: i64) -> Duration {
    let passed = granted.saturating_sub(left).saturating_sub(1);
    Duration::from_secs(u64::try_from(passed).unwrap_or_default())
}

/// What a mark holds.
pub(super) fn mark_of(age: Duration) -> String {
    age.as_millis().to_string()
}

/// How old the tick was when its mark was written. A mark that is none is of a tick that was begun then.
pub(super) fn age_in(mark: &[u8]) -> Duration {
    let text = std::str::from_utf8(mark).unwrap_or_default();
    Duration::from_millis(text.parse().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(milliseconds: u64) -> BootTime {
        BootTime::since_start(Duration::from_millis(milliseconds))
    }

    #[test]
    fn tick_is_as_old_as_was_seen_and_its_mark_is_known_by_its_revision() {
        let ticks = SeenTicks::default();
        assert_eq!(ticks.begun("t"), None);
        ticks.see("t", 7, Duration::from_millis(200), at(5_000));
        assert_eq!(ticks.begun("t"), Some(at(4_800)));
        assert!(ticks.knows("t", 7) && !ticks.knows("t", 8) && !ticks.knows("other", 7));
        ticks.note("t", 11, at(20_000));
        assert_eq!(ticks.begun("t"), Some(at(20_000)));
        // Older than the machine is as old as the machine.
        ticks.see("t", 12, Duration::from_secs(60), at(100));
        assert_eq!(ticks.begun("t"), Some(at(0)));
    }

    #[test]
    fn time_that_a_lease_has_lasted_is_counted_by_a_second_less() {
        for (granted, left, expected) in [(60, 60, 0), (60, 59, 0), (60, 10, 49), (60, 0, 59)] {
            assert_eq!(passed(granted, left), Duration::from_secs(expected));
        }
        // Of a lease that is gone: nothing is known but its time.
        assert_eq!(passed(0, -1), Duration::ZERO);
    }

    #[test]
    fn mark_that_is_none_is_of_a_tick_that_has_just_begun() {
        assert_eq!(
            age_in(mark_of(Duration::from_millis(1_234)).as_bytes()).as_millis(),
            1_234
        );
        assert_eq!(age_in(b"x"), Duration::ZERO);
        assert_eq!(age_in(b"\xff"), Duration::ZERO);
    }
}
