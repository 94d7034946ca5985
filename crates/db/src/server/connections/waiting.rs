//! Callers that wait for a connection, first come, first served within each kind. Knows no connection's state.
//! Rule: a caller that leaves takes itself out, and hands back what it was served and has not seen.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;

use super::member::Member;

/// Why a caller got no connection.
#[derive(Clone, Debug)]
pub(crate) enum AcquireError {
    /// None became free in time. The reason is that of the last attempt to open one, if it failed.
    Timeout {
        waited: Duration,
        reason: Option<Rc<str>>,
    },
    /// `waiting_max` callers wait already.
    QueueFull,
    /// No connection can be opened, and waiting cannot help.
    Refused(Rc<str>),
    /// The pool was closed.
    Closed,
}

/// What a caller wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Shared,
    Exclusive,
}

pub(super) type WaitOutcome<C> = Result<Rc<Member<C>>, AcquireError>;

pub(super) struct Waiter<C> {
    pub(super) kind: Kind,
    /// Smaller for callers that came earlier.
    number: u64,
    pub(super) served: RefCell<Option<WaitOutcome<C>>>,
    waker: Cell<Option<Waker>>,
    /// Left without having been served, or after it was served.
    pub(super) gone: Cell<bool>,
}

/// A line for each kind: a caller that waits for exclusive use does not hold up those that could share one.
pub(super) struct Queue<C> {
    shared: Line<C>,
    exclusive: Line<C>,
    max: usize,
    came: Cell<u64>,
}

type Line<C> = RefCell<VecDeque<Rc<Waiter<C>>>>;

impl<C> Queue<C> {
    pub(super) fn new(max: usize) -> Self {
        Queue {
            shared: RefCell::default(),
            exclusive: RefCell::default(),
            max,
            came: Cell::new(0),
        }
    }

    fn line(&self, kind: Kind) -> &Line<C> {
        match kind {
            Kind::Shared => &self.shared,
            Kind::Exclusive => &self.exclusive,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn len(&self) -> usize {
        self.count(Kind::Shared) + self.count(Kind::Exclusive)
    }

    pub(super) fn count(&self, kind: Kind) -> usize {
        self.line(kind).borrow().len()
    }

    /// A place at the end; none when the queue is full.
    pub(super) fn join(&self, kind: Kind) -> Option<Rc<Waiter<C>>> {
        if self.len() >= self.max {
            return None;
        }
        self.came.set(self.came.get() + 1);
        let waiter = Rc::new(Waiter {
            kind,
            number: self.came.get(),
            served: RefCell::new(None),
            waker: Cell::new(None),
            gone: Cell::new(false),
        });
        self.line(kind).borrow_mut().push_back(Rc::clone(&waiter));
        Some(waiter)
    }

    /// What the first caller wants.
    pub(super) fn first(&self) -> Option<Kind> {
        let number = |kind| {
            let line = self.line(kind).borrow();
            line.front().map(|waiter| (waiter.number, kind))
        };
        let fronts = [number(Kind::Shared), number(Kind::Exclusive)];
        let first = fronts
            .into_iter()
            .flatten()
            .min_by_key(|(number, _)| *number);
        first.map(|(_, kind)| kind)
    }

    /// Serves the first one of a kind. False when it has gone.
    pub(super) fn serve(&self, kind: Kind, member: Rc<Member<C>>) -> bool {
        let first = self.line(kind).borrow_mut().pop_front();
        first.is_some_and(|waiter| waiter.serve(Ok(member)))
    }

    /// Refuses all callers that wait.
    pub(super) fn refuse(&self, why: &AcquireError) {
        let waiters = self.shared.take().into_iter().chain(self.exclusive.take());
        for waiter in waiters {
            waiter.serve(Err(why.clone()));
        }
    }

    /// Takes out a caller that waits no longer.
    pub(super) fn leave(&self, waiter: &Rc<Waiter<C>>) {
        let mut line = self.line(waiter.kind).borrow_mut();
        if let Some(at) = line.iter().position(|other| Rc::ptr_eq(other, waiter)) {
            line.remove(at);
        }
    }
}

impl<C> Waiter<C> {
    /// Waits for its turn.
    pub(super) async fn served(&self) -> WaitOutcome<C> {
        poll_fn(|cx| match self.served.take() {
            Some(served) => Poll::Ready(served),
            None => {
                self.waker.set(Some(cx.waker().clone()));
                Poll::Pending
            }
        })
        .await
    }

    fn serve(&self, served: WaitOutcome<C>) -> bool {
        if self.gone.get() {
            return false;
        }
        *self.served.borrow_mut() = Some(served);
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
        true
    }
}
