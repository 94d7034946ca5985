//! A caller's hold on a connection. Dropping it gives the connection back.
//! Rule: one that is not clean becomes so before the next caller gets it, in a task when that takes a round trip.

use std::ops::Deref;
use std::rc::Rc;

use super::dispatch::Inner;
use super::link::Link;
use super::member::Member;
use super::waiting::Kind;

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
        (self.pool.code.leave_shared)(&self.pool, &self.member);
    }
}

pub(super) fn leave_shared<L: Link>(pool: &Rc<Inner<L>>, member: &Rc<Member<L::Connection>>) {
    let (link, connection) = (&pool.link, &member.connection);
    let unanswered = link.is_usable(connection) && !link.is_clean(connection);
    if unanswered && member.sharers() == 1 && has_runtime() {
        // The last caller gave up: the next shall not wait behind a reply that is not wanted.
        member.keep();
        return clean(pool, member);
    }
    pool.give_back(member, Kind::Shared);
}

fn has_runtime() -> bool {
    tokio::runtime::Handle::try_current().is_ok()
}

/// Gives back what one has alone once it is clean.
fn clean<L: Link>(pool: &Rc<Inner<L>>, member: &Rc<Member<L::Connection>>) {
    let (pool, member) = (Rc::clone(pool), Rc::clone(member));
    tokio::task::spawn_local(async move {
        pool.link.clean(&member.connection).await;
        pool.give_back(&member, Kind::Exclusive);
    });
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
        (self.pool.code.leave_exclusive)(&self.pool, &self.member);
    }
}

pub(super) fn leave_exclusive<L: Link>(pool: &Rc<Inner<L>>, member: &Rc<Member<L::Connection>>) {
    if pool.link.is_clean(&member.connection) || !has_runtime() {
        return pool.give_back(member, Kind::Exclusive);
    }
    clean(pool, member);
}
