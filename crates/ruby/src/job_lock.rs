//! A lock that a job holds, and when its loss ends what the job waits for. Renews nothing.
//! Rule: a lock that is lost ends the wait in which the job is, and the next one before it begins; then `ensure` has its time, as after a cancellation.

use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::select_all;
use tokio::time::{Instant, sleep_until};
use tsumugi_cluster::{Lease, ReleaseKind};

use crate::answer::{Answer, raise};

/// A lock of `Tsumugi.lock`, whose block the job is in.
pub(crate) struct JobLock {
    pub lease: Lease,
    /// How it is given back.
    pub ending: ReleaseKind,
    /// When the job met the loss last.
    met_at: Cell<Option<Instant>>,
}

impl JobLock {
    pub fn new(lease: Lease, ending: ReleaseKind) -> JobLock {
        JobLock {
            lease,
            ending,
            met_at: Cell::new(None),
        }
    }

    /// Resolves when the loss is to be met: once, and then again after the time that `ensure` has.
    async fn loss_due(&self, grace: Duration) {
        self.lease.lost().await;
        if let Some(met_at) = self.met_at.get() {
            sleep_until(met_at + grace).await;
        }
    }
}

/// What a fibre is resumed with when one of its locks, of which there is at least one, is lost.
pub(crate) async fn first_loss(locks: &[Rc<JobLock>], grace: Duration) -> Answer {
    let losses = locks.iter().map(|lock| Box::pin(lock.loss_due(grace)));
    let ((), index, _) = select_all(losses).await;
    let lock = &locks[index];
    lock.met_at.set(Some(Instant::now()));
    raise("Tsumugi::Lock::Cut", lock.lease.loss().to_string())
}
