//! Keeps a worker awake for a moment when the next bytes are likely to come at once: to sleep and to be woken takes longer than most
//! calls do. Knows no connection. Rule: only a worker that was called again within the window stays awake for it, and lets others have the core.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use tokio::time::Instant;

/// The rhythm in which bytes come to one worker.
#[derive(Debug)]
pub(crate) struct BusyPoll {
    window: Duration,
    last: Cell<Instant>,
    awake: Cell<bool>,
}

impl BusyPoll {
    pub(crate) fn new(window: Duration, now: Instant) -> Rc<BusyPoll> {
        Rc::new(BusyPoll {
            window,
            last: Cell::new(now),
            awake: Cell::new(false),
        })
    }

    /// Bytes have come. Must be called on the worker's thread.
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

    fn begins(&self, now: Instant) -> bool {
        let gap = now.duration_since(self.last.replace(now));
        gap < self.window && !self.awake.replace(true)
    }

    fn is_over(&self, now: Instant) -> bool {
        let is_over = now.duration_since(self.last.get()) >= self.window;
        self.awake.set(!is_over);
        is_over
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
}
