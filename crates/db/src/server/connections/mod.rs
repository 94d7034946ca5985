//! The connections of one worker to one database: many callers share few for single statements, one caller has one alone
//! for a transaction. Knows no driver and no SQL: a [`Link`] opens, judges and cleans connections.
//! Rule: it lives on one thread, has no lock, and only hands out connections that its link calls usable.
//!
//! Callers of one kind wait first come, first served. Shared callers need not wait while a connection exists that takes them:
//! others can have it as well. A caller that needs a connection alone and finds all shared has one *reserved*: it takes no new
//! callers, and is given to that one when the last has left. What a shared caller that gave up left unanswered is waited for, or stopped,
//! before the connection counts as free.

mod code;
mod lease;
mod member;
mod opening;
mod upkeep;
mod waiting;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;
use std::time::Duration;

use tokio::time::Instant;
use tsumugi_trace::{SpanKind, in_wait, span};

use code::Code;
pub(crate) use lease::{Exclusive, Shared};
use member::Member;
use opening::Opening;
use waiting::{Kind, Queue};

/// What the pool asks of a driver.
pub(crate) trait Link: 'static {
    /// One connection. The pool keeps it; leases give access to it.
    type Connection: 'static;

    /// Connects, within a time that the link bounds.
    fn open(&self) -> impl Future<Output = Result<Self::Connection, ConnectFailure>>;

    /// Whether the connection may be given to another caller, as far as is known without asking the server.
    fn is_usable(&self, connection: &Self::Connection) -> bool;

    /// Whether one that a caller had alone is as it was before.
    fn is_clean(&self, connection: &Self::Connection) -> bool;

    /// Since when the server has sent nothing although it owes an answer.
    fn silent_since(&self, connection: &Self::Connection) -> Option<Instant>;

    /// Called about once a second for every connection.
    fn look_after(&self, _: &Self::Connection) {}

    /// Since when the oldest statement has been waiting for its answer, if any does.
    fn unanswered_since(&self, connection: &Self::Connection) -> Option<Instant>;

    /// Makes one that is not clean fit for the next user, or ends it.
    fn clean(&self, connection: &Self::Connection) -> impl Future<Output = ()>;

    /// Asks the server whether it is there.
    fn ping(&self, connection: &Self::Connection) -> impl Future<Output = Result<(), ()>>;

    /// Ends a connection whose server does not answer: callers that wait for something there get an error.
    fn end(&self, connection: &Self::Connection);
}

/// Why no connection could be opened.
#[derive(Clone, Debug)]
pub(crate) struct ConnectFailure {
    /// In words, without secrets.
    pub(crate) reason: Rc<str>,
    /// Whether trying again can help.
    pub(crate) retryable: Retryable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Retryable {
    /// The server may be restarting: callers go on waiting.
    Transient,
    /// The settings are wrong: callers get an error at once.
    Permanent,
}

/// The choices of a pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Settings {
    /// Connections that stay open when none are needed.
    pub(crate) min: usize,
    /// Connections at most, those being opened included.
    pub(crate) max: usize,
    /// How long a caller waits.
    pub(crate) acquire_timeout: Duration,
    /// Callers that may wait.
    pub(crate) waiting_max: usize,
    /// Age at which a connection is replaced, shortened by up to [`LIFETIME_JITTER`] so that not all are at once.
    pub(crate) lifetime: Duration,
    /// How long an unneeded connection above `min` stays open.
    pub(crate) idle: Duration,
    /// How long a server may be silent that owes an answer before the connection counts as lost.
    pub(crate) silence_max: Duration,
}

/// A shared connection whose oldest statement waits longer than this gets no new ones while another is free: most statements take
/// less, and one that takes seconds shall have few behind it.
const BUSY: Duration = Duration::from_millis(1);
/// One whose oldest statement waits longer than this gets no new ones while another may be opened.
pub(crate) const STALL: Duration = Duration::from_millis(5);
/// The part of its lifetime by which a connection's is shortened at most.
pub(crate) const LIFETIME_JITTER: f64 = 0.1;

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

pub(crate) struct Inner<L: Link> {
    link: L,
    settings: Settings,
    members: RefCell<Vec<Rc<Member<L::Connection>>>>,
    queue: Queue<L::Connection>,
    opening: Opening,
    counts: Counts,
    closed: Cell<bool>,
    code: Code<L>,
}

#[derive(Default)]
struct Counts {
    opened: Cell<u64>,
    acquired: Cell<u64>,
    timeouts: Cell<u64>,
    wait: Cell<Duration>,
}

fn add(count: &Cell<u64>) {
    count.set(count.get() + 1);
}

impl<L: Link> ConnectionPool<L> {
    /// A pool, and its upkeep as a task of this thread. Opens nothing yet but `min` connections, in the background.
    pub(crate) fn new(link: L, settings: Settings) -> Self {
        let inner = Rc::new(Inner {
            link,
            settings,
            members: RefCell::default(),
            queue: Queue::new(settings.waiting_max),
            opening: Opening::default(),
            counts: Counts::default(),
            closed: Cell::new(false),
            code: Code::here(),
        });
        upkeep::start(&inner);
        ConnectionPool(inner)
    }

    /// A connection together with others, for one statement outside a transaction.
    pub(crate) async fn shared(&self) -> Result<Shared<L>, AcquireError> {
        let member = match (self.0.code.share)(&self.0) {
            Some(member) => member,
            None => (self.0.code.wait)(&self.0, Kind::Shared).await?,
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
        let member = (self.0.code.wait)(&self.0, Kind::Exclusive).await?;
        Ok(Exclusive::new(&self.0, member))
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

impl<L: Link> Inner<L> {
    /// Counts a caller into a connection that takes one more, without taking a free one from callers that wait. Those that wait already for one to share
    /// come first.
    fn share(&self) -> Option<Rc<Member<L::Connection>>> {
        if self.closed.get() || self.queue.count(Kind::Shared) > 0 {
            return None;
        }
        let member = self.share_or(|| self.queue.is_empty().then(|| self.idle()).flatten())?;
        add(&self.counts.acquired);
        Some(member)
    }

    /// Waits for a connection.
    async fn wait(self: &Rc<Self>, kind: Kind) -> Result<Rc<Member<L::Connection>>, AcquireError> {
        if self.closed.get() {
            return Err(AcquireError::Closed);
        }
        let begun = Instant::now();
        let waiter = self.queue.join(kind).ok_or(AcquireError::QueueFull)?;
        // A caller that gives up between being served and being polled hands the connection back.
        let waiting = waiting::Waiting::new(self, waiter);
        self.dispatch();
        let served = tokio::time::timeout(self.settings.acquire_timeout, waiting.served());
        match in_wait(|| span(SpanKind::Pool, "connection"), served).await {
            Ok(served) => {
                let counts = &self.counts;
                counts.wait.set(counts.wait.get() + begun.elapsed());
                if served.is_ok() {
                    add(&counts.acquired);
                }
                served
            }
            Err(_) => {
                add(&self.counts.timeouts);
                Err(AcquireError::Timeout {
                    waited: begun.elapsed(),
                    reason: self.opening.last_failure(),
                })
            }
        }
    }

    /// One that is shared already and answers quickly, then a free one, then one that answers not quite as quickly. One that stalls
    /// only when no other may be opened.
    fn share_or(
        &self,
        free: impl FnOnce() -> Option<Rc<Member<L::Connection>>>,
    ) -> Option<Rc<Member<L::Connection>>> {
        let better = self.least_loaded(BUSY).or_else(free);
        let good = better.or_else(|| self.least_loaded(STALL));
        let member = match good {
            Some(member) => member,
            None if self.better_may_come() => return None,
            None => self.least_loaded(Duration::MAX)?,
        };
        member.join();
        Some(member)
    }

    /// Of those whose oldest statement waits for less than `patience`.
    fn least_loaded(&self, patience: Duration) -> Option<Rc<Member<L::Connection>>> {
        let members = self.members.borrow();
        let mut best: Option<&Rc<Member<L::Connection>>> = None;
        for member in members.iter() {
            let fits = member.takes_sharers() && self.is_fit(member);
            if !fits || self.is_silent(member, patience) {
                continue;
            }
            if best.is_none_or(|best| member.sharers() < best.sharers()) {
                best = Some(member);
            }
        }
        best.cloned()
    }

    fn is_silent(&self, member: &Member<L::Connection>, patience: Duration) -> bool {
        self.link
            .unanswered_since(&member.connection)
            .is_some_and(|since| since.elapsed() >= patience)
    }

    /// Whether a member may be given to another caller.
    fn is_fit(&self, member: &Member<L::Connection>) -> bool {
        !member.is_retired() && self.link.is_usable(&member.connection)
    }

    /// A free connection; those that died meanwhile are dropped on the way.
    fn idle(&self) -> Option<Rc<Member<L::Connection>>> {
        let mut members = self.members.borrow_mut();
        members.retain(|member| !member.is_free() || self.is_fit(member));
        // The one used last: the others get a chance to become superfluous.
        let free = members.iter().filter(|member| member.is_free());
        free.max_by_key(|member| member.free_since()).cloned()
    }

    fn may_open(&self) -> bool {
        !self.closed.get()
            && self.members.borrow().len() + self.opening.under_way() < self.settings.max
    }

    /// Whether a new connection is worth waiting for when those there are stall. While attempts fail it is not.
    fn better_may_come(&self) -> bool {
        !self.opening.is_failing() && (self.may_open() || self.opening.under_way() > 0)
    }

    /// Serves callers that wait as far as connections go, then opens more for the rest.
    pub(crate) fn dispatch(self: &Rc<Self>) {
        while let Some(kind) = self.queue.first() {
            let member = match kind {
                Kind::Exclusive => self.idle().inspect(|member| member.take()),
                Kind::Shared => self.share_or(|| self.idle()),
            };
            let Some(member) = member else { break };
            self.serve(kind, member);
        }
        let alone = self.queue.count(Kind::Exclusive);
        self.reserve(alone);
        // There is no free connection now; a shared one may take callers behind one that waits for exclusive use.
        while self.queue.count(Kind::Shared) > 0
            && let Some(member) = self.share_or(|| self.idle())
        {
            self.serve(Kind::Shared, member);
        }
        let wanted = alone + self.queue.count(Kind::Shared).min(1);
        // While attempts fail, one at a time is enough to learn when they no longer do.
        let wanted = if self.opening.is_failing() {
            wanted.min(1)
        } else {
            wanted
        };
        while self.opening.under_way() < wanted && self.may_open() {
            opening::begin(self);
        }
    }

    fn serve(self: &Rc<Self>, kind: Kind, member: Rc<Member<L::Connection>>) {
        if !self.queue.serve(kind, Rc::clone(&member)) {
            self.give_back(&member, kind);
        }
    }

    /// Keeps new callers off as many shared connections as callers wait for one alone that cannot be opened.
    fn reserve(&self, alone: usize) {
        let members = self.members.borrow();
        let openable = match self.opening.is_failing() {
            true => 0,
            false => self.settings.max.saturating_sub(members.len()),
        };
        let mut wanted = alone.saturating_sub(openable);
        let mut shared: Vec<_> = members
            .iter()
            .filter(|member| member.sharers() > 0)
            .collect();
        shared.sort_by_key(|member| (!member.is_reserved(), member.sharers()));
        for member in shared {
            if wanted > 0 {
                member.reserve();
            } else {
                member.unreserve();
            }
            wanted = wanted.saturating_sub(1);
        }
    }

    /// Takes back what one caller had. The member is free, or has one sharer less.
    pub(crate) fn give_back(self: &Rc<Self>, member: &Rc<Member<L::Connection>>, kind: Kind) {
        match kind {
            Kind::Shared => member.leave(),
            Kind::Exclusive => member.release(),
        }
        if member.is_free() && (self.closed.get() || !self.is_fit(member)) {
            self.forget(member);
        }
        if !self.queue.is_empty() {
            self.dispatch();
        }
    }

    fn forget(&self, member: &Rc<Member<L::Connection>>) {
        self.members
            .borrow_mut()
            .retain(|other| !Rc::ptr_eq(other, member));
    }
}
