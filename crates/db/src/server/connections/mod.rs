//! The connections of one worker to one database: many callers share few for single statements, one caller has one alone
//! for a transaction. Knows no driver and no SQL: a [`Link`] opens, judges and cleans connections.
//! Rule: it lives on one thread, has no lock, and only hands out connections that its link calls usable.
//!
//! Callers of one kind wait first come, first served. Shared callers need not wait while a connection exists that takes them:
//! others can have it as well. A caller that needs a connection alone and finds all shared has one *reserved*: it takes no new
//! callers, and is given to that one when the last has left. What a shared caller that gave up left unanswered is waited for, or stopped,
//! before the connection counts as free.

mod dispatch;
mod lease;
mod link;
mod member;
mod opening;
mod upkeep;
mod waiting;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use dispatch::Settings;
use dispatch::{AcquireVtable, Counts, Inner, add};
pub(crate) use lease::{Exclusive, Shared};
pub(crate) use link::{ConnectFailure, Link, Retryable};
use opening::Opening;
pub(crate) use waiting::AcquireError;
use waiting::{Kind, Queue};

/// Figures of a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) open: usize,
    pub(crate) busy: usize,
    pub(crate) waiting: usize,
    pub(crate) opened: u64,
    pub(crate) acquired: u64,
    pub(crate) timeouts: u64,
    pub(crate) wait: Duration,
}

/// A pool of connections. Clones are the same pool.
pub(crate) struct ConnectionPool<L: Link>(Rc<Inner<L>>);

impl<L: Link> Clone for ConnectionPool<L> {
    fn clone(&self) -> Self {
        ConnectionPool(Rc::clone(&self.0))
    }
}

impl<L: Link> ConnectionPool<L> {
    /// A pool, and its upkeep as a task of this thread. Opens nothing yet but `min` connections, in the background.
    pub(crate) fn new(link: L, address: Option<Arc<str>>, settings: Settings) -> Self {
        let inner = Rc::new(Inner {
            link,
            settings,
            members: RefCell::default(),
            queue: Queue::new(settings.waiting_max),
            opening: Opening::new(address),
            counts: Counts::default(),
            closed: Cell::new(false),
            vtable: AcquireVtable::new(),
        });
        upkeep::start(&inner);
        ConnectionPool(inner)
    }

    /// A connection together with others, for one statement outside a transaction.
    pub(crate) async fn shared(&self) -> Result<Shared<L>, AcquireError> {
        let member = match (self.0.vtable.share)(&self.0) {
            Some(member) => member,
            None => (self.0.vtable.wait)(&self.0, Kind::Shared).await?,
        };
        Ok(Shared::new(&self.0, member))
    }

    /// A connection alone.
    pub(crate) async fn exclusive(&self) -> Result<Exclusive<L>, AcquireError> {
        if self.0.queue.is_empty()
            && let Some(member) = self.0.idle()
        {
            member.take();
            add(&self.0.counts.acquired);
            return Ok(Exclusive::new(&self.0, member));
        }
        let member = (self.0.vtable.wait)(&self.0, Kind::Exclusive).await?;
        Ok(Exclusive::new(&self.0, member))
    }

    /// What the log calls the server and its database.
    pub(crate) fn address(&self) -> Option<&Arc<str>> {
        self.0.opening.address()
    }

    /// Why the last attempt to open a connection failed, if it did.
    pub(crate) fn last_failure(&self) -> Option<Rc<str>> {
        self.0.opening.last_failure()
    }

    /// Lets connections go as they become free, and refuses new callers and those that wait.
    pub(crate) fn close(&self) {
        self.0.closed.set(true);
        self.0.queue.refuse(&AcquireError::Closed);
        self.0
            .members
            .borrow_mut()
            .retain(|member| !member.is_free());
    }

    /// Ends all connections there are: callers that wait for something there get an error.
    pub(crate) fn end_all(&self) {
        for member in self.0.members.borrow().iter() {
            self.0.link.end(&member.connection);
        }
    }

    /// Whether both are the same pool.
    pub(crate) fn is(&self, other: &ConnectionPool<L>) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// Figures since the pool was made.
    pub(crate) fn figures(&self) -> Figures {
        let members = self.0.members.borrow();
        let counts = &self.0.counts;
        Figures {
            open: members.len(),
            busy: members.iter().filter(|member| !member.is_free()).count(),
            waiting: self.0.queue.len(),
            opened: counts.opened.get(),
            acquired: counts.acquired.get(),
            timeouts: counts.timeouts.get(),
            wait: counts.wait.get(),
        }
    }
}
