//! Which attempts to open a connection are under way, and what became of the last one. Opens nothing itself.
//! Rule: it is logged as [`outage_notice`] says. After a failure the next attempt waits, twice as long each time, at most [`BACKOFF_MAX`]; a success resets that.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use crate::limits::{OUTAGE_NOTICE_EVERY, WAIT_NOTICE_AFTER};
use crate::server::outage_notice;

/// The wait after the first failure.
const BACKOFF_MIN: Duration = Duration::from_millis(20);
/// The longest wait between two attempts.
pub(crate) const BACKOFF_MAX: Duration = Duration::from_secs(1);

pub(super) struct Opening {
    /// None where others log that no connection can be opened.
    address: Option<Arc<str>>,
    under_way: Cell<usize>,
    failures: Cell<u32>,
    /// The first failure of those without a success, and without a long pause, between them.
    failing_since: Cell<Option<Instant>>,
    failed_at: Cell<Option<Instant>>,
    last_failure: RefCell<Option<Rc<str>>>,
}

impl Opening {
    /// Of connections to `address`, if that is logged here.
    pub(super) fn new(address: Option<Arc<str>>) -> Opening {
        Opening {
            address,
            under_way: Cell::default(),
            failures: Cell::default(),
            failing_since: Cell::default(),
            failed_at: Cell::default(),
            last_failure: RefCell::default(),
        }
    }

    /// What the log calls the server and its database.
    pub(super) fn address(&self) -> Option<&Arc<str>> {
        self.address.as_ref()
    }

    /// An attempt shall run.
    pub(super) fn begin(&self) {
        let under_way = self.under_way.get();
        let paused = |failed_at: Instant| failed_at.elapsed() >= OUTAGE_NOTICE_EVERY;
        // Nobody asked for a connection for a while: what was before says nothing of now. Looked at here, because an attempt may itself take longer.
        if under_way == 0 && self.failed_at.get().is_some_and(paused) {
            self.failing_since.set(None);
        }
        self.under_way.set(under_way + 1);
    }

    /// The attempt runs from now on.
    pub(super) fn attempt(&self) -> UnderWay<'_> {
        UnderWay(self)
    }

    /// An attempt failed.
    pub(super) fn fail(&self, reason: &Rc<str>) {
        let failures = self.failures.get().saturating_add(1);
        self.failures.set(failures);
        let now = Instant::now();
        self.failed_at.set(Some(now));
        let since = self.failing_since.get().unwrap_or(now);
        self.failing_since.set(Some(since));
        tracing::trace!(target: "tsumugi_db", failures, "no connection to the database: {reason}");
        if let Some(address) = &self.address
            && now - since >= WAIT_NOTICE_AFTER
        {
            outage_notice::note_failure(address, reason);
        }
        *self.last_failure.borrow_mut() = Some(Rc::clone(reason));
    }

    /// An attempt succeeded.
    pub(super) fn succeed(&self) {
        self.failures.set(0);
        self.failing_since.set(None);
        if let Some(address) = &self.address {
            outage_notice::note_success(address);
        }
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

#[cfg(test)]
mod tests {
    use tokio::time::sleep;
    use tsumugi_testkit::LogBuffer;

    use super::*;

    /// An attempt that fails after so many seconds.
    async fn fail(opening: &Opening, seconds: u64) {
        opening.begin();
        let under_way = opening.attempt();
        sleep(Duration::from_secs(seconds)).await;
        drop(under_way);
        opening.fail(&Rc::from("connection refused"));
    }

    #[tokio::test(start_paused = true)]
    async fn failure_is_logged_when_attempts_fail_for_a_while_but_not_alone_after_a_pause() {
        let log = LogBuffer::default();
        let guard = tracing::subscriber::set_default(log.subscriber(tracing::Level::INFO));
        let opening = Opening::new(Some("postgres://ann@db:5432/seldom".into()));
        fail(&opening, 0).await;
        sleep(OUTAGE_NOTICE_EVERY).await;
        fail(&opening, 0).await;
        assert_eq!(log.take(), "");
        fail(&opening, 1).await;
        let lines = log.take();
        assert!(
            lines.contains(" WARN ") && lines.contains("/seldom"),
            "{lines}"
        );
        drop(guard);
    }

    #[tokio::test(start_paused = true)]
    async fn attempts_that_take_long_are_no_pause() {
        let log = LogBuffer::default();
        let guard = tracing::subscriber::set_default(log.subscriber(tracing::Level::INFO));
        let opening = Opening::new(Some("postgres://ann@db:5432/slow".into()));
        fail(&opening, 12).await;
        fail(&opening, 12).await;
        let lines = log.take();
        assert_eq!(lines.matches(" WARN ").count(), 1, "{lines}");
        drop(guard);
    }
}
