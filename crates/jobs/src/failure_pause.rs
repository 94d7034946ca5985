//! How long to wait behind a failure of the database before the next try, and which failures are worth a line of the log. Waits for nothing itself.
//! Rule: failures in a row have one line, and none where another transaction was in the way for a moment.

use std::time::Duration;

use crate::error::Error;
use crate::limits::{FAILURE_PAUSE_MAX, FAILURE_PAUSE_MIN};
use crate::queue::JobQueue;

/// What a failure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FailureCause {
    /// Another transaction has a row, and mostly not for long.
    Conflict,
    Other,
}

/// The failures in a row of what is tried again and again.
#[derive(Debug)]
pub(crate) struct FailurePause {
    next: Duration,
    has_line: bool,
}

impl FailurePause {
    pub fn new() -> FailurePause {
        FailurePause {
            next: FAILURE_PAUSE_MIN,
            has_line: false,
        }
    }

    /// It went well.
    pub fn reset(&mut self) {
        *self = FailurePause::new();
    }

    /// Whether this failure is to be in the log. Asked before [`FailurePause::take`].
    pub fn is_worth_a_line(&mut self, queue: &JobQueue, error: &Error) -> bool {
        let cause = match queue.is_in_the_way(error) {
            true => FailureCause::Conflict,
            false => FailureCause::Other,
        };
        self.is_first_of(cause)
    }

    fn is_first_of(&mut self, cause: FailureCause) -> bool {
        let is_passing = cause == FailureCause::Conflict && self.next < FAILURE_PAUSE_MAX;
        !is_passing && !std::mem::replace(&mut self.has_line, true)
    }

    /// How long to wait before the next try: longer each time, until one goes well.
    pub fn take(&mut self) -> Duration {
        let pause = self.next;
        self.next = (pause * 2).min(FAILURE_PAUSE_MAX);
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many tries fail until one has a line.
    fn failures_before_a_line(failures: &mut FailurePause, cause: FailureCause) -> Option<usize> {
        (0..20).find(|_| {
            let is_first = failures.is_first_of(cause);
            failures.take();
            is_first
        })
    }

    #[test]
    fn failures_in_a_row_have_one_line_and_conflicts_only_where_they_go_on() {
        let mut failures = FailurePause::new();
        let count = failures_before_a_line(&mut failures, FailureCause::Other);
        assert_eq!(count, Some(0));
        let count = failures_before_a_line(&mut failures, FailureCause::Other);
        assert_eq!(count, None);
        failures.reset();
        let count = failures_before_a_line(&mut failures, FailureCause::Conflict);
        assert_eq!(count, Some(6));
        assert_eq!(failures.take(), FAILURE_PAUSE_MAX);
        failures.reset();
        assert_eq!(failures.take(), FAILURE_PAUSE_MIN);
        // Another cause has its line whatever came before.
        assert!(!failures.is_first_of(FailureCause::Conflict));
        assert!(failures.is_first_of(FailureCause::Other));
    }
}
