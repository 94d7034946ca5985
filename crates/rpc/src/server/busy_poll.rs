//! Keeps a worker awake for a moment when the next bytes are likely to come at once: to sleep and to be woken takes longer than most
//! calls do. Knows no connection. Rule: only a worker that was called again within the window stays awake for it, and lets others have the core.
//! The window grows with the bytes of a call and its answer: a client takes longer between calls of large values, since it copies them too.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tokio::time::Instant;

use crate::limits::{AWAKE_BYTES, AWAKE_US_MAX};

/// The rhythm in which bytes come to one worker.
#[derive(Debug)]
pub(crate) struct BusyPoll {
    /// For a call without bytes.
    window: Duration,
    last: Cell<Instant>,
    /// Bytes of the last call and of its answer, so far.
    moved: Cell<usize>,
    awake: Cell<bool>,
}

impl BusyPoll {
    pub(crate) fn new(window: Duration, now: Instant) -> Rc<BusyPoll> {
        Rc::new(BusyPoll {
            window,
            last: Cell::new(now),
            moved: Cell::new(0),
            awake: Cell::new(false),
        })
    }

    /// The first bytes of a call have come. Must be called on the worker's thread.
    pub(crate) fn came(self: &Rc<BusyPoll>, now: Instant) {
        if !self.begins(now) {
            return;
        }
        let busy_poll = Rc::clone(self);
        // Not a task that the watchdog sees: it has nothing to do, very often.
        drop(tokio::task::spawn_local(async move {
            while !busy_poll.is_over(Instant::now()) {
                // The worker looks for events without waiting for them, and does what there is to do.
                tokio::task::yield_now().await;
                std::thread::yield_now();
            }
        }));
    }

    /// So many bytes of a call or of an answer went over the connection.
    pub(crate) fn moved(&self, bytes: usize) {
        self.moved.set(self.moved.get().saturating_add(bytes));
    }

    fn begins(&self, now: Instant) -> bool {
        let window = self.current_window();
        let gap = now.duration_since(self.last.replace(now));
        self.moved.set(0);
        gap < window && !self.awake.replace(true)
    }

    fn is_over(&self, now: Instant) -> bool {
        let is_over = now.duration_since(self.last.get()) >= self.current_window();
        self.awake.set(!is_over);
        is_over
    }

    /// The window once more for each [`AWAKE_BYTES`], up to [`AWAKE_US_MAX`].
    fn current_window(&self) -> Duration {
        let times = u32::try_from(self.moved.get() / AWAKE_BYTES).unwrap_or(u32::MAX);
        let window = self.window.saturating_mul(times.saturating_add(1));
        window.min(Duration::from_micros(AWAKE_US_MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worker_called_in_quick_succession_polls_until_that_ends() {
        let window = Duration::from_micros(200);
        let start = Instant::now();
        let after = |us| start + Duration::from_micros(us);
        let busy_poll = BusyPoll::new(window, start);
        assert!(!busy_poll.begins(after(200)));
        assert!(busy_poll.begins(after(399)));
        // There is one busy poll at a time.
        assert!(!busy_poll.begins(after(500)));
        assert!(!busy_poll.is_over(after(699)));
        assert!(busy_poll.is_over(after(700)));
        assert!(!busy_poll.begins(after(800)));
        assert!(busy_poll.begins(after(900)));
    }

    #[test]
    fn window_of_zero_never_polls() {
        let start = Instant::now();
        let busy_poll = BusyPoll::new(Duration::ZERO, start);
        assert!(!busy_poll.begins(start));
    }

    #[test]
    fn window_grows_with_the_bytes_of_the_call_and_ends_at_its_limit() {
        let start = Instant::now();
        let after = |us| start + Duration::from_micros(us);
        let busy_poll = BusyPoll::new(Duration::from_micros(200), start);
        assert!(busy_poll.begins(after(100)));
        busy_poll.moved(AWAKE_BYTES - 1);
        busy_poll.moved(AWAKE_BYTES + 1);
        assert!(!busy_poll.is_over(after(699)));
        assert!(busy_poll.is_over(after(700)));
        // The next call is within the window of this one, and has the one without bytes.
        assert!(busy_poll.begins(after(699)));
        assert!(busy_poll.is_over(after(899)));
        busy_poll.moved(usize::MAX);
        busy_poll.moved(1);
        assert!(!busy_poll.is_over(after(699 + AWAKE_US_MAX - 1)));
        assert!(busy_poll.is_over(after(699 + AWAKE_US_MAX)));
    }

    #[test]
    fn window_of_zero_never_polls_after_large_calls_either() {
        let start = Instant::now();
        let busy_poll = BusyPoll::new(Duration::ZERO, start);
        busy_poll.moved(usize::MAX);
        assert!(!busy_poll.begins(start));
    }
}
