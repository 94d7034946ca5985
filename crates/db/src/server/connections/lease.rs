//! A caller's hold on a connection. Dropping it gives the connection back. Decides nothing about it.
//! Rule: what is dropped is given back once, and the pool makes it clean before the next caller gets it.

use std::ops::Deref;
use std::rc::Rc;

use super::dispatch::Inner;
use super::link::Link;
use super::member::Member;

/// A connection that others use as well.
pub(crate) struct Shared<L: Link> {
    pool: Rc<Inner<L>>,
    member: Rc<Member<L::Connection>>,
}

impl<L: Link> Shared<L> {
    pub(super) fn new(pool: &Rc<Inner<L>>, member: Rc<Member<L::Connection>>) -> Self {
        Shared {
            pool: Rc::clone(pool),
            member,
        }
    }
}

impl<L: Link> Deref for Shared<L> {
    type Target = L::Connection;

    fn deref(&self) -> &L::Connection {
        &self.member.connection
    }
}

impl<L: Link> Drop for Shared<L> {
    fn drop(&mut self) {
        (self.pool.vtable.leave_shared)(&self.pool, &self.member);
    }
}

/// A connection that one caller has alone.
pub(crate) struct Exclusive<L: Link> {
    pool: Rc<Inner<L>>,
    member: Rc<Member<L::Connection>>,
}

impl<L: Link> Exclusive<L> {
    pub(super) fn new(pool: &Rc<Inner<L>>, member: Rc<Member<L::Connection>>) -> Self {
        Exclusive {
            pool: Rc::clone(pool),
            member,
        }
    }
}

impl<L: Link> Deref for Exclusive<L> {
    type Target = L::Connection;

    fn deref(&self) -> &L::Connection {
        &self.member.connection
    }
}

impl<L: Link> Drop for Exclusive<L> {
    fn drop(&mut self) {
        (self.pool.vtable.leave_exclusive)(&self.pool, &self.member);
    }
}
