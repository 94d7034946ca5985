//! Marks the loop turns of a worker, for the watchdog. Measures nothing itself.
//! A turn is one counter, odd inside and even outside, written by its worker alone: two plain stores a poll and no
//! clock. A turn inside a turn belongs to the outer one.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::worker::WorkerInner;

/// The worker is inside a turn until this is dropped. Get it from [`WorkerHandle::turn`](crate::WorkerHandle::turn).
#[derive(Debug)]
#[must_use = "the turn ends when this is dropped"]
pub struct WorkerTurn<'a> {
    /// The counter to step when this turn ends; nothing when the turn is inside another.
    counter: Option<&'a AtomicU64>,
}

impl<'a> WorkerTurn<'a> {
    pub(crate) fn begin(counter: &'a AtomicU64) -> Self {
        let number = counter.load(Ordering::Relaxed);
        if number % 2 == 1 {
            return Self { counter: None };
        }
        counter.store(number + 1, Ordering::Release);
        Self {
            counter: Some(counter),
        }
    }
}

impl Drop for WorkerTurn<'_> {
    fn drop(&mut self) {
        if let Some(counter) = self.counter {
            counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Release);
        }
    }
}

pin_project! {
    /// A future each of whose polls is a turn of its worker. Get it from [`WorkerHandle::watched`](crate::WorkerHandle::watched).
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct WatchedFuture<F> {
        worker: Rc<WorkerInner>,
        #[pin]
        future: F,
    }
}

impl<F> WatchedFuture<F> {
    pub(crate) fn new(worker: Rc<WorkerInner>, future: F) -> Self {
        Self { worker, future }
    }
}

impl<F: Future> Future for WatchedFuture<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        let _turn = this.worker.turn();
        this.future.poll(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counter_is_odd_inside_a_turn_only() {
        let counter = AtomicU64::new(0);
        let turn = WorkerTurn::begin(&counter);
        assert_eq!(counter.load(Ordering::Relaxed), 1);
        drop(turn);
        assert_eq!(counter.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_nested_turn_belongs_to_the_outer_one() {
        let counter = AtomicU64::new(0);
        let outer = WorkerTurn::begin(&counter);
        drop(WorkerTurn::begin(&counter));
        assert_eq!(counter.load(Ordering::Relaxed), 1);
        drop(outer);
        assert_eq!(counter.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_panic_ends_the_turn() {
        let counter = AtomicU64::new(0);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _turn = WorkerTurn::begin(&counter);
            std::panic::resume_unwind(Box::new(()));
        }));
        assert!(outcome.is_err());
        assert_eq!(counter.load(Ordering::Relaxed), 2);
    }
}
