//! Marks the loop turns of a worker, for the watchdog. Measures nothing itself.
//! A turn is one counter, odd inside and even outside, written by its worker alone: two plain stores a poll and no
//! clock. A turn inside a turn belongs to the outer one.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use pin_project_lite::pin_project;

use crate::worker::Inner;

/// The worker is inside a turn until this is dropped. Get it from [`Worker::turn`](crate::Worker::turn).
#[derive(Debug)]
#[must_use = "the turn ends when this is dropped"]
pub struct Turn<'a> {
    /// The counter to step when this turn ends; nothing when the turn is inside another.
    counter: Option<&'a AtomicU64>,
}

impl<'a> Turn<'a> {
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

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Some(counter) = self.counter {
            counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Release);
        }
    }
}

pin_project! {
    /// A future each of whose polls is a turn of its worker. Get it from [`Worker::watched`](crate::Worker::watched).
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct Watched<F> {
        worker: Rc<Inner>,
        #[pin]
        future: F,
    }
}

impl<F> Watched<F> {
    pub(crate) fn new(worker: Rc<Inner>, future: F) -> Self {
        Self { worker, future }
    }
}

impl<F: Future> Future for Watched<F> {
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
        let turn = Turn::begin(&counter);
        assert_eq!(counter.load(Ordering::Relaxed), 1);
        drop(turn);
        assert_eq!(counter.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_nested_turn_belongs_to_the_outer_one() {
        let counter = AtomicU64::new(0);
        let outer = Turn::begin(&counter);
        drop(Turn::begin(&counter));
        assert_eq!(counter.load(Ordering::Relaxed), 1);
        drop(outer);
        assert_eq!(counter.load(Ordering::Relaxed), 2);
    }

    #[test]
    fn a_panic_ends_the_turn() {
        let counter = AtomicU64::new(0);
        let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _turn = Turn::begin(&counter);
            std::panic::resume_unwind(Box::new(()));
        }));
        assert!(outcome.is_err());
        assert_eq!(counter.load(Ordering::Relaxed), 2);
    }
}
