//! Which claims this process is running jobs of, over all of its workers. Asks no database and ends no job.
//! Rule: what is here is not taken for left by its process, whatever clocks say: its worker renews it, or drops it in time.

use std::collections::HashSet;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use crate::job_claim::JobClaim;

/// Claims with the worker that has them, whose text no other worker of any process has.
static RUNNING: LazyLock<Mutex<HashSet<(String, JobClaim)>>> = LazyLock::new(Mutex::default);

fn running() -> MutexGuard<'static, HashSet<(String, JobClaim)>> {
    RUNNING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A claim that is run here, until it is dropped.
#[derive(Debug)]
pub(crate) struct RunningClaim {
    worker: String,
    claim: JobClaim,
}

impl RunningClaim {
    /// `worker` is how the text of its worker begins.
    pub fn begin(worker: &str, claim: JobClaim) -> RunningClaim {
        running().insert((worker.to_owned(), claim));
        RunningClaim {
            worker: worker.to_owned(),
            claim,
        }
    }
}

impl Drop for RunningClaim {
    fn drop(&mut self) {
        running().remove(&(std::mem::take(&mut self.worker), self.claim));
    }
}

/// Whether this process runs the job of a claim, of which the row names this worker.
pub(crate) fn is_running_here(claimed_by: &str, claim: JobClaim) -> bool {
    let worker = claimed_by.split('+').next().unwrap_or(claimed_by);
    running().contains(&(worker.to_owned(), claim))
}

#[cfg(test)]
mod tests {
    use super::{RunningClaim, is_running_here};
    use crate::job_claim::JobClaim;

    #[test]
    fn claim_is_running_here_until_it_is_dropped_whatever_lock_its_worker_has() {
        let claim = JobClaim { id: 7, attempt: 2 };
        let running = RunningClaim::begin("1-test", claim);
        assert!(is_running_here("1-test", claim) && is_running_here("1-test+99", claim));
        let other = JobClaim {
            attempt: 3,
            ..claim
        };
        assert!(!is_running_here("1-test", other) && !is_running_here("1-tes", claim));
        drop(running);
        assert!(!is_running_here("1-test", claim));
    }
}
