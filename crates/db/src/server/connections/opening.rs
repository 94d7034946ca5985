//! Which attempts to open a connection are under way, and what became of the last one. Opens nothing itself.
//! Rule: after a failure the next attempt waits, twice as long each time, at most [`BACKOFF_MAX`]; a success resets that.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

use tokio::time::Instant;

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
    /// An attempt shall run.
    pub(super) fn begin(&self) {
        self.under_way.set(self.under_way.get() + 1);
    }

    /// The attempt runs from now on.
    pub(super) fn attempt(&self) -> UnderWay<'_> {
        UnderWay(self)
    }

    /// An attempt failed.
    pub(super) fn fail(&self, reason: &Rc<str>) {
        let failures = self.failures.get().saturating_add(1);
        self.failures.set(failures);
        self.failed_at.set(Some(Instant::now()));
        tracing::debug!(target: "tsumugi_db", failures, "no connection to the database: {reason}");
        *self.last_failure.borrow_mut() = Some(Rc::clone(reason));
    }

    /// An attempt succeeded.
    pub(super) fn succeed(&self) {
        self.failures.set(0);
        *self.last_failure.borrow_mut() = None;
    }

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
    pub(super) fn not_before(&self) -> Option<Instant> {
        let failures = self.failures.get().checked_sub(1)?;
        let backoff = BACKOFF_MAX.min(BACKOFF_MIN * 2u32.saturating_pow(failures));
        self.failed_at.get().map(|failed_at| failed_at + backoff)
    }
}

/// Counts an attempt for as long as it lasts, also when its task is dropped.
pub(super) struct UnderWay<'a>(&'a Opening);

impl Drop for UnderWay<'_> {
    fn drop(&mut self) {
        self.0.under_way.set(self.0.under_way.get() - 1);
    }
}
