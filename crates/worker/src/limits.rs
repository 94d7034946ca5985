//! The named limits of a server and their defaults. Holds numbers, enforces nothing.
//! Every limit is enforced where it is used, by an error or a log line that names it.

use std::time::Duration;

/// Limits of one server. `WorkerLimits::default()` suits a dedicated machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkerLimits {
    /// Open connections per worker. When every worker is full, a further connection is accepted and
    /// closed at once, so that its client learns of it instead of waiting in the backlog.
    pub connections_max: usize,
    /// Connections the kernel holds per listener until a worker accepts them.
    pub backlog_max: u32,
    /// Milliseconds that running connections and retiring applications have to end after a drain began.
    pub drain_ms_max: u64,
    /// Milliseconds that one load of the application may take on one worker.
    pub load_ms_max: u64,
    /// Threads of the offload pool, which the whole process shares. They start when first needed.
    pub offload_threads_max: usize,
    /// Offloaded jobs that may wait for a thread of the pool.
    pub offload_queue_max: usize,
    /// Milliseconds of CPU, or of sleep in a system call, after which a loop turn counts as stalled and is reported once.
    pub stall_ms: u64,
    /// Milliseconds of CPU that one loop turn may use before its worker's observers are called to end it.
    pub turn_cpu_ms_max: u64,
    /// Bytes of address space for each worker's stack. Pages are used only when touched. At least 4 MiB.
    pub stack_bytes_max: usize,
}

impl Default for WorkerLimits {
    fn default() -> Self {
        Self {
            connections_max: 16_384,
            backlog_max: 4_096,
            drain_ms_max: 30_000,
            load_ms_max: 300_000,
            offload_threads_max: 32,
            offload_queue_max: 16_384,
            stall_ms: 50,
            turn_cpu_ms_max: 1_000,
            stack_bytes_max: 8 * 1024 * 1024,
        }
    }
}

/// The smallest stack of a worker: with less, what a service may nest would end the process.
pub(crate) const STACK_BYTES_MIN: usize = 4 * 1024 * 1024;

/// How often the watchdog looks at every worker.
pub(crate) const WATCHDOG_SAMPLE: Duration = Duration::from_millis(10);

/// Rest after an accept failed for want of a resource, so that the loop cannot spin.
pub(crate) const ACCEPT_REST: Duration = Duration::from_millis(50);

/// Least time between two log lines about the same trouble.
pub(crate) const NOTICE_INTERVAL: Duration = Duration::from_secs(1);

/// Bytes that may wait to be written to one standard stream; what is more is dropped and counted.
pub(crate) const OUTLET_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Writes that may wait for one standard stream, whatever their size.
pub(crate) const OUTLET_PIECES_MAX: usize = 16_384;

/// Bytes for a standard stream that are gathered for one write.
pub(crate) const OUTLET_WRITE_BYTES: usize = 64 * 1024;

/// Rest of a standard stream's writer between two looks at its queue, so that it is not woken for every line.
pub(crate) const OUTLET_REST: Duration = Duration::from_millis(10);

/// How long workers that have to stop at once may take before their threads are left behind.
pub(crate) const STOP_GRACE: Duration = Duration::from_secs(1);

/// Commands that may wait for one worker. The protocol never has more than two on their way.
pub(crate) const COMMANDS_MAX: usize = 8;

/// Threads per worker that tokio itself may start (name lookups). Our own blocking work is offloaded.
pub(crate) const RUNTIME_THREADS_MAX: usize = 4;

/// Bytes of a UNIX socket's path, as in the kernel's `sockaddr_un` without its final zero.
pub(crate) const UNIX_PATH_BYTES_MAX: usize = 107;

/// Reloads whose outcome is kept.
pub(crate) const RELOADS_KEPT: usize = 50;
