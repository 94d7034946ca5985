//! Opening connections, in tasks of their own: a caller that leaves does not end the attempt others may need.
//! Rule: after a failure the next attempt waits, twice as long each time, at most [`BACKOFF_MAX`]; a success resets that.

use std::cell::{Cell, RefCell};
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::time::Duration;

use tokio::time::Instant;

use super::member::Member;
use super::{AcquireError, ConnectFailure, Inner, LIFETIME_JITTER, Link, Retryable, add};

/// The wait after the first failure.
const BACKOFF_MIN: Duration = Duration::from_millis(20);
/// The longest wait between two attempts.
pub(crate) const BACKOFF_MAX: Duration = Duration::from_secs(1);

#[derive(Default)]
pub(super) struct Opening {
    under_way: Cell<usize>,
    failures: Cell<u32>,
    failed_at: Cell<Option<Instant>>,
    last_failure: RefCell<Option<Rc<str>>>,
}

impl Opening {
    /// Attempts that run or wait to run.
    pub(super) fn under_way(&self) -> usize {
        self.under_way.get()
    }

    /// Whether the last attempt failed.
    pub(super) fn is_failing(&self) -> bool {
        self.failures.get() > 0
    }

    /// Why the last attempt failed; none after a success.
    pub(super) fn last_failure(&self) -> Option<Rc<str>> {
        self.last_failure.borrow().clone()
    }

    /// When the next attempt may begin, unless that is now. Counted from the failure: later callers need not wait.
    fn not_before(&self) -> Option<Instant> {
        let failures = self.failures.get().checked_sub(1)?;
        let backoff = BACKOFF_MAX.min(BACKOFF_MIN * 2u32.saturating_pow(failures));
        self.failed_at.get().map(|failed_at| failed_at + backoff)
    }
}

/// Counts an attempt for as long as it lasts, also when its task is dropped.
struct UnderWay<'a>(&'a Opening);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.under_way.set(self.0.under_way.get() - 1);
    }
}

/// Starts opening one more connection.
pub(super) fn begin<L: Link>(pool: &Rc<Inner<L>>) {
    pool.opening.under_way.set(pool.opening.under_way.get() + 1);
    let pool = Rc::clone(pool);
    tokio::task::spawn_local(async move {
        let under_way = UnderWay(&pool.opening);
        if let Some(not_before) = pool.opening.not_before() {
            tokio::time::sleep_until(not_before).await;
        }
        if pool.closed.get() {
            return;
        }
        let opened = pool.link.open().await;
        drop(under_way);
        match opened {
            Ok(connection) if pool.link.is_usable(&connection) => succeed(&pool, connection),
            Ok(_) => fail(&pool, &ConnectFailure::at_once()),
            Err(refused) => fail(&pool, &refused),
        }
        // Callers that still wait are the reason for the next attempt.
        pool.dispatch();
    });
}

fn fail<L: Link>(pool: &Inner<L>, refused: &ConnectFailure) {
    let failures = pool.opening.failures.get().saturating_add(1);
    pool.opening.failures.set(failures);
    pool.opening.failed_at.set(Some(Instant::now()));
    let reason = Rc::clone(&refused.reason);
    tracing::debug!(target: "tsumugi_db", failures, "no connection to the database: {reason}");
    *pool.opening.last_failure.borrow_mut() = Some(Rc::clone(&reason));
    // Connections that there are go on serving: a caller that waits for one of them gets it.
    if refused.retryable == Retryable::Permanent && pool.members.borrow().is_empty() {
        pool.queue.refuse(&AcquireError::Refused(reason));
    }
}

impl ConnectFailure {
    /// The connection was gone as soon as it was there.
    fn at_once() -> ConnectFailure {
        ConnectFailure {
            reason: "the server closed the connection at once".into(),
            retryable: Retryable::Transient,
        }
    }
}

fn succeed<L: Link>(pool: &Rc<Inner<L>>, connection: L::Connection) {
    pool.opening.failures.set(0);
    *pool.opening.last_failure.borrow_mut() = None;
    if pool.closed.get() {
        return;
    }
    add(&pool.counts.opened);
    let expires = Instant::now() + shortened(pool.settings.lifetime);
    let member = Rc::new(Member::new(connection, expires));
    pool.members.borrow_mut().push(member);
}

/// A lifetime less a random part.
fn shortened(lifetime: Duration) -> Duration {
    let random = RandomState::new().hash_one(0) as f64 / u64::MAX as f64;
    lifetime.mul_f64(1.0 - LIFETIME_JITTER * random)
}
