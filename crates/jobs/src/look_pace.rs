//! How soon a worker may look again after looks that found nothing: passing over many jobs that it may not run would take most of the database's time.
//! Asks nothing. Rule: a look that takes longer than the one before, as the first, is taken for an exception, and delays nothing.

use std::time::Duration;

use tokio::time::Instant;

use crate::limits::{JOB_POLL_DEFAULT, LOOK_PAUSE_FACTOR, LOOK_TIME_FREE};

/// The pace of one worker.
#[derive(Debug)]
pub(crate) struct LookPace {
    not_before: Instant,
    /// How long the last look took that found nothing.
    took: Duration,
}

impl LookPace {
    pub fn new() -> LookPace {
        LookPace {
            not_before: Instant::now(),
            took: Duration::ZERO,
        }
    }

    /// When the next look may be, which is wanted at this time.
    pub fn next(&self, wanted: Instant) -> Instant {
        wanted.max(self.not_before)
    }

    /// It may be at once.
    pub fn reset(&mut self) {
        self.not_before = Instant::now();
    }

    /// Notes a look that took so long and found nothing.
    pub fn note(&mut self, took: Duration) {
        self.not_before = Instant::now() + self.pause_after(took);
    }

    fn pause_after(&mut self, took: Duration) -> Duration {
        let usual = took.min(std::mem::replace(&mut self.took, took));
        match usual > LOOK_TIME_FREE {
            true => (usual * LOOK_PAUSE_FACTOR).min(JOB_POLL_DEFAULT),
            false => Duration::ZERO,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_that_takes_long_and_finds_nothing_is_repeated_later_unless_it_was_an_exception() {
        let mut pace = LookPace::new();
        let mut pause = |took| pace.pause_after(Duration::from_millis(took)).as_millis();
        assert_eq!([pause(500), pause(100), pause(30)], [0, 900, 270]);
        assert_eq!([pause(10), pause(600), pause(60_000)], [0, 0, 1_000]);
        let now = Instant::now();
        assert!(pace.next(now) == now);
        pace.note(Duration::from_secs(60));
        assert!(pace.next(now) > now);
        pace.reset();
        assert!(pace.next(now) <= Instant::now());
    }
}
