//! Which caller gets which connection, and when one more is opened. Knows no lease: it counts users of members.
//! Rule: a connection is handed out only if its link calls it usable, and what becomes free serves those that wait first. One that is not clean becomes so
//! before the next caller gets it, in a task when that takes a round trip.

use std::cell::{Cell, RefCell};
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::{FutureExt as _, LocalBoxFuture};
use tokio::time::Instant;
use tsumugi_trace::{SpanKind, in_wait, span};

use super::link::{ConnectFailure, Link, Retryable};
use super::member::Member;
use super::opening::Opening;
use super::waiting::{AcquireError, Kind, Queue, WaitOutcome, Waiter};

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

/// One pool. Its owners, leases, tasks and those that wait share it.
pub(crate) struct Inner<L: Link> {
    pub(super) link: L,
    pub(super) settings: Settings,
    pub(super) members: RefCell<Vec<Rc<Member<L::Connection>>>>,
    pub(super) queue: Queue<L::Connection>,
    pub(super) opening: Opening,
    pub(super) counts: Counts,
    pub(super) closed: Cell<bool>,
    pub(super) vtable: AcquireVtable<L>,
}

/// What a caller calls to get a connection, and a lease to give it back, by pointers for the reason given at
/// [`StatementVtable`](crate::server::backend::StatementVtable).
#[expect(
    clippy::type_complexity,
    reason = "a pointer has the type of the function that it points to"
)]
pub(super) struct AcquireVtable<L: Link> {
    /// One to share that is there.
    pub(super) share: fn(&Inner<L>) -> Option<Rc<Member<L::Connection>>>,
    pub(super) wait:
        for<'p> fn(&'p Rc<Inner<L>>, Kind) -> LocalBoxFuture<'p, WaitOutcome<L::Connection>>,
    pub(super) leave_shared: fn(&Rc<Inner<L>>, &Rc<Member<L::Connection>>),
    pub(super) leave_exclusive: fn(&Rc<Inner<L>>, &Rc<Member<L::Connection>>),
}

impl<L: Link> AcquireVtable<L> {
    pub(super) const fn new() -> AcquireVtable<L> {
        AcquireVtable {
            share: Inner::share,
            wait: |pool, kind| pool.wait(kind).boxed_local(),
            leave_shared: Inner::leave_shared,
            leave_exclusive: Inner::leave_exclusive,
        }
    }
}

#[derive(Default)]
pub(super) struct Counts {
    pub(super) opened: Cell<u64>,
    pub(super) acquired: Cell<u64>,
    pub(super) timeouts: Cell<u64>,
    pub(super) wait: Cell<Duration>,
}

pub(super) fn add(count: &Cell<u64>) {
    count.set(count.get() + 1);
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
        let waiting = Waiting::new(self, waiter);
        self.dispatch();
        let served = tokio::time::timeout(self.settings.acquire_timeout, waiting.waiter.served());
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

    pub(super) fn is_silent(&self, member: &Member<L::Connection>, patience: Duration) -> bool {
        self.link
            .unanswered_since(&member.connection)
            .is_some_and(|since| since.elapsed() >= patience)
    }

    /// Whether a member may be given to another caller.
    pub(super) fn is_fit(&self, member: &Member<L::Connection>) -> bool {
        !member.is_retired() && self.link.is_usable(&member.connection)
    }

    /// A free connection; those that died meanwhile are dropped on the way.
    pub(super) fn idle(&self) -> Option<Rc<Member<L::Connection>>> {
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
    pub(super) fn dispatch(self: &Rc<Self>) {
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
            self.open();
        }
    }

    /// Starts opening one more connection, in a task of its own: a caller that leaves does not end the attempt others may need.
    pub(super) fn open(self: &Rc<Self>) {
        self.opening.begin();
        let pool = Rc::clone(self);
        tokio::task::spawn_local(async move {
            let under_way = pool.opening.attempt();
            if let Some(not_before) = pool.opening.not_before() {
                tokio::time::sleep_until(not_before).await;
            }
            if pool.closed.get() {
                return;
            }
            let opened = pool.link.open().await;
            drop(under_way);
            match opened {
                Ok(connection) if pool.link.is_usable(&connection) => pool.opened(connection),
                Ok(_) => pool.unopened(&ConnectFailure::at_once()),
                Err(refused) => pool.unopened(&refused),
            }
            // Callers that still wait are the reason for the next attempt.
            pool.dispatch();
        });
    }

    fn opened(&self, connection: L::Connection) {
        self.opening.succeed();
        if self.closed.get() {
            return;
        }
        add(&self.counts.opened);
        let expires = Instant::now() + shortened(self.settings.lifetime);
        let member = Rc::new(Member::new(connection, expires));
        self.members.borrow_mut().push(member);
    }

    fn unopened(&self, refused: &ConnectFailure) {
        self.opening.fail(&refused.reason);
        // Connections that there are go on serving: a caller that waits for one of them gets it.
        if refused.retryable == Retryable::Permanent && self.members.borrow().is_empty() {
            let reason = Rc::clone(&refused.reason);
            self.queue.refuse(&AcquireError::Refused(reason));
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

    /// Takes back what one of several callers had. What the last of them has left unanswered is made clean before.
    fn leave_shared(self: &Rc<Self>, member: &Rc<Member<L::Connection>>) {
        let (link, connection) = (&self.link, &member.connection);
        let unanswered = link.is_usable(connection) && !link.is_clean(connection);
        if unanswered && member.sharers() == 1 && has_runtime() {
            // The last caller gave up: the next shall not wait behind a reply that is not wanted.
            member.keep();
            return self.clean(member);
        }
        self.give_back(member, Kind::Shared);
    }

    /// Takes back what one caller had alone, once it is clean.
    fn leave_exclusive(self: &Rc<Self>, member: &Rc<Member<L::Connection>>) {
        if self.link.is_clean(&member.connection) || !has_runtime() {
            return self.give_back(member, Kind::Exclusive);
        }
        self.clean(member);
    }

    /// Cleans what nobody else has, and takes it back then.
    fn clean(self: &Rc<Self>, member: &Rc<Member<L::Connection>>) {
        let (pool, member) = (Rc::clone(self), Rc::clone(member));
        tokio::task::spawn_local(async move {
            pool.link.clean(&member.connection).await;
            pool.give_back(&member, Kind::Exclusive);
        });
    }

    /// Takes back what one caller had. The member is free, or has one sharer less.
    pub(super) fn give_back(self: &Rc<Self>, member: &Rc<Member<L::Connection>>, kind: Kind) {
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

fn has_runtime() -> bool {
    tokio::runtime::Handle::try_current().is_ok()
}

/// A lifetime less a random part.
fn shortened(lifetime: Duration) -> Duration {
    let random = RandomState::new().hash_one(0) as f64 / u64::MAX as f64;
    lifetime.mul_f64(1.0 - LIFETIME_JITTER * random)
}

/// A caller's place in the queue.
struct Waiting<'a, L: Link> {
    pool: &'a Rc<Inner<L>>,
    waiter: Rc<Waiter<L::Connection>>,
}

impl<'a, L: Link> Waiting<'a, L> {
    fn new(pool: &'a Rc<Inner<L>>, waiter: Rc<Waiter<L::Connection>>) -> Self {
        Waiting { pool, waiter }
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
