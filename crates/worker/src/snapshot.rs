//! Plain figures of a server at one moment, for exporters. Knows no metrics library.
//! Each figure is exact, but they are read one after another while the server goes on.

/// Figures of the whole server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ServerSnapshot {
    /// One entry per worker, in order of their numbers.
    pub workers: Vec<WorkerSnapshot>,
    /// The process-wide offload pool.
    pub offload: OffloadSnapshot,
}

/// Figures of one worker since it started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct WorkerSnapshot {
    /// Connections open now, counting those on their way from another worker.
    pub open: usize,
    /// Connections that this worker accepted, also those that another serves.
    pub accepted: u64,
    /// Of these, connections given to a worker that had fewer.
    pub handed_over: u64,
    /// Connections closed at once because every worker had `connections_max`.
    pub refused: u64,
    /// Accepts that failed for want of a resource, such as file descriptors.
    pub accept_errors: u64,
    /// Loop turns that used `stall_ms` of CPU or slept as long in a system call.
    pub stalled: u64,
    /// Loop turns.
    pub turns: u64,
}

/// Figures of the offload pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct OffloadSnapshot {
    /// Threads started so far.
    pub threads: usize,
    /// Jobs that wait for a thread now.
    pub queued: usize,
    /// Jobs refused because `offload_queue_max` were waiting.
    pub refused: u64,
}
