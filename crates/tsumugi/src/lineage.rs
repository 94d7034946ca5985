//! Which computations of `Kv::fetch` the code that runs now is a part of. Knows no store.
//! Rule: a future sees the computations it was made in, on whatever task it is polled, and leaves the others' as they were.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tsumugi_kv::single_flight::{Lineage, Runner};

thread_local! {
    static CURRENT: RefCell<Option<Rc<Computation>>> = const { RefCell::new(None) };
}

/// A computation of `Kv::fetch`, and the one that it is a part of.
#[derive(Debug)]
pub(crate) struct Computation {
    runner: Runner,
    outer: Option<Rc<Computation>>,
    wait: Wait,
}

/// Whether the outer computation waits for the inner one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Certain,
    /// It was spawned by the outer one, which may or may not wait for its end.
    Possible,
}

impl Computation {
    /// A new computation within those of now.
    pub(crate) fn begin() -> Rc<Computation> {
        Computation::new(Wait::Certain)
    }

    fn new(wait: Wait) -> Rc<Computation> {
        Rc::new(Computation {
            runner: Runner::unique(),
            outer: current(),
            wait,
        })
    }

    /// This computation and all it is a part of.
    pub(crate) fn lineage(&self) -> Lineage {
        let computations =
            || std::iter::successors(Some(self), |computation| computation.outer.as_deref());
        let is_certain = |computation: &&Computation| computation.wait == Wait::Certain;
        // A spawned computation waits for what is within it; whether it waits for more is not known.
        let certain = computations().take_while(is_certain).count();
        Lineage {
            runners: computations()
                .map(|computation| computation.runner)
                .collect(),
            certain,
        }
    }
}

fn current() -> Option<Rc<Computation>> {
    CURRENT.with_borrow(Clone::clone)
}

/// A future that runs as a part of a computation.
pub(crate) struct ComputationFuture<F> {
    computation: Rc<Computation>,
    future: Pin<Box<F>>,
}

impl<F: Future> ComputationFuture<F> {
    pub(crate) fn new(computation: Rc<Computation>, future: F) -> ComputationFuture<F> {
        let future = Box::pin(future);
        ComputationFuture {
            computation,
            future,
        }
    }
}

impl<F: Future> Future for ComputationFuture<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let computation = Some(Rc::clone(&self.computation));
        let _restore =
            Restore(CURRENT.with_borrow_mut(|current| std::mem::replace(current, computation)));
        self.future.as_mut().poll(context)
    }
}

/// Restores the computation of before, also when the future panics.
struct Restore(Option<Rc<Computation>>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// The computation for a task that is spawned now; none outside of computations.
pub(crate) fn for_spawned_task() -> Option<Rc<Computation>> {
    current().map(|_| Computation::new(Wait::Possible))
}
