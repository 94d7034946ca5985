//! Callers that wait for a connection, first come, first served. Knows no connection's state.
//! Rule: a caller that leaves takes itself out, and hands back what it was served and has not seen.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::task::{Poll, Waker};

use super::member::Member;
use super::{Inner, Link, Missed};

/// What a caller wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Shared,
    Exclusive,
}

type Served<C> = Result<Rc<Member<C>>, Missed>;

pub(super) struct Waiter<C> {
    kind: Kind,
    served: RefCell<Option<Served<C>>>,
    waker: Cell<Option<Waker>>,
    /// Left without having been served, or after it was told.
    gone: Cell<bool>,
}

pub(super) struct Queue<C> {
    waiters: RefCell<VecDeque<Rc<Waiter<C>>>>,
    max: usize,
}

impl<C> Queue<C> {
    pub(super) fn new(max: usize) -> Self {
        Queue {
            waiters: RefCell::default(),
            max,
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiters.borrow().is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.waiters.borrow().len()
    }

    pub(super) fn count(&self, kind: Kind) -> usize {
        let waiters = self.waiters.borrow();
        waiters.iter().filter(|waiter| waiter.kind == kind).count()
    }

    /// A place at the end; none when the queue is full.
    pub(super) fn join(&self, kind: Kind) -> Option<Rc<Waiter<C>>> {
        let mut waiters = self.waiters.borrow_mut();
        if waiters.len() >= self.max {
            return None;
        }
        let waiter = Rc::new(Waiter {
            kind,
            served: RefCell::new(None),
            waker: Cell::new(None),
            gone: Cell::new(false),
        });
        waiters.push_back(Rc::clone(&waiter));
        Some(waiter)
    }

    /// What the first one wants.
    pub(super) fn first(&self) -> Option<Kind> {
        self.waiters.borrow().front().map(|waiter| waiter.kind)
    }

    /// Serves the first one. False when it has gone.
    pub(super) fn serve(&self, member: Rc<Member<C>>) -> bool {
        let first = self.waiters.borrow_mut().pop_front();
        first.is_some_and(|waiter| waiter.tell(Ok(member)))
    }

    /// Turns everybody away.
    pub(super) fn refuse(&self, why: &Missed) {
        for waiter in self.waiters.take() {
            waiter.tell(Err(why.clone()));
        }
    }

    fn leave(&self, waiter: &Rc<Waiter<C>>) {
        let mut waiters = self.waiters.borrow_mut();
        if let Some(at) = waiters.iter().position(|other| Rc::ptr_eq(other, waiter)) {
            waiters.remove(at);
        }
    }
}

impl<C> Waiter<C> {
    fn tell(&self, served: Served<C>) -> bool {
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

/// A caller's place in the queue.
pub(super) struct Waiting<'a, L: Link> {
    pool: &'a Rc<Inner<L>>,
    waiter: Rc<Waiter<L::Connection>>,
}

impl<'a, L: Link> Waiting<'a, L> {
    pub(super) fn new(pool: &'a Rc<Inner<L>>, waiter: Rc<Waiter<L::Connection>>) -> Self {
        Waiting { pool, waiter }
    }

    /// Waits for its turn.
    pub(super) async fn served(&self) -> Served<L::Connection> {
        poll_fn(|cx| match self.waiter.served.take() {
            Some(served) => Poll::Ready(served),
            None => {
                self.waiter.waker.set(Some(cx.waker().clone()));
                Poll::Pending
            }
        })
        .await
    }
}

impl<L: Link> Drop for Waiting<'_, L> {
    fn drop(&mut self) {
        self.waiter.gone.set(true);
        self.pool.queue.leave(&self.waiter);
        if let Some(Ok(member)) = self.waiter.served.take() {
            self.pool.give_back(&member, self.waiter.kind);
        } else if self.waiter.kind == Kind::Exclusive && !self.pool.closed.get() {
            // What was reserved for it may be open to others again.
            self.pool.dispatch();
        }
    }
}
