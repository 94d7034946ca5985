//! The configuration of a server. Holds choices, acts on none.

use std::num::NonZeroUsize;
use std::thread;
use std::time::Duration;

use crate::{ListenAddress, WorkerLimits};

/// Configuration of a server. `Config::default()` has a worker per core and no address yet.
#[derive(Clone, Debug)]
pub struct Config {
    /// Number of worker threads.
    pub workers: NonZeroUsize,
    /// Where to listen. [`Connection::listener`](crate::Connection::listener) is an index into this list.
    pub listen: Vec<ListenAddress>,
    /// Whether each worker stays on a core of its own.
    pub pinning: Pinning,
    /// How the kernel shares cores between workers and others.
    pub scheduling: Scheduling,
    /// Who answers the process's signals.
    pub signals: Signals,
    /// How long everything goes on after the server was asked to drain, so that those who send it requests can learn of it before its
    /// listeners close. None when another process takes over.
    pub drain_delay: Duration,
    /// The limits.
    pub limits: WorkerLimits,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            workers: thread::available_parallelism().unwrap_or(NonZeroUsize::MIN),
            listen: Vec::new(),
            pinning: Pinning::Off,
            scheduling: Scheduling::Batches,
            signals: Signals::Leave,
            drain_delay: Duration::ZERO,
            limits: WorkerLimits::default(),
        }
    }
}

/// Whether workers are bound to cores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pinning {
    /// The kernel places the threads.
    #[default]
    Off,
    /// Worker n runs on the n-th core that the process may use, round again when there are more
    /// workers than cores. Linux only; elsewhere it changes nothing.
    Cores,
}

/// How the kernel shares cores between workers and others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scheduling {
    /// A worker that becomes ready lets the thread that runs on its core go on for the rest of their turn, and runs at once on a core that
    /// is free (`SCHED_BATCH`). Threads that a worker starts, those of `offload` and of SQLite among them, do the same. A process that was started under another policy than the default keeps that. Linux only;
    /// elsewhere it changes nothing.
    #[default]
    Batches,
    /// As the process was started.
    Inherited,
}

/// Who answers the process's signals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signals {
    /// The server: the first SIGTERM or SIGINT drains, the second ends at once, SIGHUP reloads.
    Handle,
    /// The caller, through a [`Handle`](crate::Handle).
    #[default]
    Leave,
}
