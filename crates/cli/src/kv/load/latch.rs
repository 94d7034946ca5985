//! Where the threads of an operation wait until all are ready, so that their clocks and the processor time begin together. Knows no call.
//! Rule: no thread waits for one that will not come; one that ends before the start cancels it for all.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// What the threads wait for.
#[derive(Debug)]
pub struct StartLatch {
    state: Mutex<LatchState>,
    changed: Condvar,
    threads: u64,
}

#[derive(Debug)]
struct LatchState {
    ready: u64,
    start: Option<LoadStart>,
}

/// What came of the wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoadStart {
    /// All threads were ready.
    Begun,
    /// One of them was not and will not be, which has the error.
    Cancelled,
}

/// Cancels the start where its thread ends before it, by an error or a panic.
#[derive(Debug)]
pub struct LatchGuard<'a>(&'a StartLatch);

impl Drop for LatchGuard<'_> {
    fn drop(&mut self) {
        self.0.decide(LoadStart::Cancelled);
    }
}

impl StartLatch {
    /// One for so many threads.
    pub fn new(threads: u64) -> StartLatch {
        StartLatch {
            state: Mutex::new(LatchState {
                ready: 0,
                start: None,
            }),
            changed: Condvar::new(),
            threads,
        }
    }

    /// Each thread holds one, and so does the one that starts them.
    pub fn guard(&self) -> LatchGuard<'_> {
        LatchGuard(self)
    }

    /// This thread is ready, and waits for the start.
    pub fn wait(&self) -> LoadStart {
        let mut state = self.state();
        state.ready += 1;
        self.changed.notify_all();
        loop {
            if let Some(start) = state.start {
                return start;
            }
            state = self.sleep(state);
        }
    }

    /// Waits until all threads are ready, or one has cancelled.
    pub fn wait_ready(&self) {
        let mut state = self.state();
        while state.start.is_none() && state.ready < self.threads {
            state = self.sleep(state);
        }
    }

    /// Has the threads begin.
    pub fn begin(&self) {
        self.decide(LoadStart::Begun);
    }

    /// The first word counts.
    fn decide(&self, start: LoadStart) {
        self.state().start.get_or_insert(start);
        self.changed.notify_all();
    }

    fn state(&self) -> MutexGuard<'_, LatchState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sleep<'a>(&self, state: MutexGuard<'a, LatchState>) -> MutexGuard<'a, LatchState> {
        let woken = self.changed.wait(state);
        woken.unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn threads_begin_when_all_are_ready() {
        let latch = StartLatch::new(2);
        thread::scope(|scope| {
            let threads = [(); 2].map(|()| scope.spawn(|| latch.wait()));
            latch.wait_ready();
            assert_eq!(latch.state().ready, 2);
            latch.begin();
            let starts = threads.map(|thread| thread.join().unwrap());
            assert_eq!(starts, [LoadStart::Begun; 2]);
        });
    }

    #[test]
    fn thread_that_ends_early_cancels_the_start_of_all() {
        let latch = StartLatch::new(3);
        thread::scope(|scope| {
            let waiting = scope.spawn(|| latch.wait());
            drop(latch.guard());
            // The third never comes.
            latch.wait_ready();
            latch.begin();
            assert_eq!(waiting.join().unwrap(), LoadStart::Cancelled);
        });
    }

    #[test]
    fn guard_that_ends_after_the_start_changes_nothing() {
        let latch = StartLatch::new(1);
        latch.begin();
        drop(latch.guard());
        assert_eq!(latch.wait(), LoadStart::Begun);
    }
}
