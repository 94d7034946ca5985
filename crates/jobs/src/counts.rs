//! How many jobs there are of each state, for operators. Changes none.
//! Rule: every job is counted, so what is asked costs the database more the more jobs wait; what looks often asks for figures (`figures.rs`) instead.

use futures_util::future::{FutureExt as _, LocalBoxFuture};

use crate::error::Result;
use crate::queue::{JobQueue, JobState, integer};
use crate::statements;

/// How many jobs there are of each state. `failed` are a part of `scheduled`.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct JobCounts {
    /// Whose time has not come.
    pub scheduled: u64,
    /// That wait for a worker.
    pub ready: u64,
    /// That run.
    pub running: u64,
    /// That have failed and will be begun again.
    pub failed: u64,
    /// That have failed for the last time.
    pub dead: u64,
    /// Milliseconds that the oldest ready job has waited.
    pub oldest_ms: u64,
}

impl JobQueue {
    /// How many jobs there are. Reads all of them: [`JobQueue::figures`] does not.
    ///
    /// # Errors
    /// Of the database.
    pub fn counts(&self) -> LocalBoxFuture<'_, Result<JobCounts>> {
        async move {
            let rows = self.ask(statements::counts(self.family())).await?;
            let mut counts = JobCounts::default();
            for row in rows.iter() {
                let count = |index| u64::try_from(integer(row, index)).unwrap_or_default();
                match JobState::of(integer(row, 0)) {
                    Some(JobState::Scheduled) => {
                        counts.scheduled = count(1);
                        counts.failed = count(2);
                    }
                    Some(JobState::Ready) => {
                        counts.ready = count(1);
                        counts.oldest_ms = count(3);
                    }
                    Some(JobState::Running) => counts.running = count(1),
                    Some(JobState::Dead) => counts.dead = count(1),
                    None => {}
                }
            }
            Ok(counts)
        }
        .boxed_local()
    }
}
