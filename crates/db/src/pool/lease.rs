//! A caller's hold on a connection. Dropping it gives the connection back.
//! Rule: one that was kept alone is cleaned before the next caller gets it, in a task when that takes a round trip.

use std::ops::Deref;
use std::rc::Rc;

use super::member::Member;
use super::waiting::Kind;
use super::{Inner, Link};

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
        self.pool.give_back(&self.member, Kind::Shared);
    }
}

/// A connection that nobody else uses.
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
        let (pool, member) = (Rc::clone(&self.pool), Rc::clone(&self.member));
        if pool.link.is_clean(&member.connection) || tokio::runtime::Handle::try_current().is_err()
        {
            return pool.give_back(&member, Kind::Exclusive);
        }
        tokio::task::spawn_local(async move {
            pool.link.clean(&member.connection).await;
            pool.give_back(&member, Kind::Exclusive);
        });
    }
}
