//! Observers of long turns: what the watchdog reports to them. Starts no thread.
//! Rule: an observer is called on the watchdog's thread, returns quickly and never blocks.

use std::time::Duration;

/// One look at a long turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// Number of the worker.
    pub worker: usize,
    /// The turn, as [`WorkerHandle::turn_number`](crate::WorkerHandle::turn_number) shows it while it runs.
    pub turn: u64,
    /// Time since the turn was first seen.
    pub elapsed: Duration,
    /// CPU time that the worker's thread used since then. Elapsed time on systems other than Linux.
    pub cpu: Duration,
}

/// Called about long turns of a worker, on the watchdog's thread. Must return quickly and never block.
pub trait Observer: Send + Sync {
    /// The turn has used `stall_ms` of CPU, or has lasted as long and sleeps in a system call; time in which its thread was ready
    /// and waited for a core does not count. Called once per turn.
    fn stalled(&self, sample: &Sample);

    /// The turn has used more CPU than `turn_cpu_ms_max`. Called at each sample until the turn ends.
    fn overran(&self, sample: &Sample);
}
