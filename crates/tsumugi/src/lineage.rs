//! Which computations of `Kv::fetch` the code that runs now is a part of. Knows no store.
//! Rule: a future sees the computations it was made in, on whatever task it is polled, and leaves the others' as they were.

use std::cell::RefCell;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll};

use tsumugi_kv::single_flight::{Lineage, Runner};

thread_local! {
    static CURRENT: RefCell<Option<Rc<Line>>> = const { RefCell::new(None) };
}

/// A computation, and those that wait for it.
#[derive(Debug)]
pub(crate) struct Line {
    runner: Runner,
    outer: Option<Rc<Line>>,
    wait: Wait,
}

/// Whether the outer computation waits for the inner one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    Certain,
    /// It was spawned by the outer one, which may or may not wait for its end.
    Possible,
}

impl Line {
    /// A new computation within those of now.
    pub(crate) fn begin() -> Rc<Line> {
        Line::new(Wait::Certain)
    }

    fn new(wait: Wait) -> Rc<Line> {
        Rc::new(Line {
            runner: Runner::unique(),
            outer: current(),
            wait,
        })
    }

    /// This computation and all it is a part of.
    pub(crate) fn lineage(&self) -> Lineage {
        let lines = || std::iter::successors(Some(self), |line| line.outer.as_deref());
        let is_certain = |line: &&Line| line.wait == Wait::Certain;
        // What was spawned waits for what is within it, but for nobody else for certain.
        let certain = lines().take_while(is_certain).count();
        Lineage {
            runners: lines().map(|line| line.runner).collect(),
            certain,
        }
    }
}

fn current() -> Option<Rc<Line>> {
    CURRENT.with_borrow(Clone::clone)
}

/// A future that runs as a part of a computation.
pub(crate) struct Within<F> {
    line: Rc<Line>,
    future: Pin<Box<F>>,
}

impl<F: Future> Within<F> {
    pub(crate) fn new(line: Rc<Line>, future: F) -> Within<F> {
        let future = Box::pin(future);
        Within { line, future }
    }
}

impl<F: Future> Future for Within<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let line = Some(Rc::clone(&self.line));
        let _back = Back(CURRENT.with_borrow_mut(|current| std::mem::replace(current, line)));
        self.future.as_mut().poll(context)
    }
}

/// Puts the computations of before back, also when the future panics.
struct Back(Option<Rc<Line>>);

impl Drop for Back {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// What a task is to carry that is spawned now; `None` outside of computations.
pub(crate) fn spawned() -> Option<Rc<Line>> {
    current().map(|_| Line::new(Wait::Possible))
}
