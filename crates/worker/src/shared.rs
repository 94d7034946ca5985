//! What the threads of one server share: a lane per worker, the offload pool, the limits.
//! Knows no runtime. Each lane's hot words lie on cache lines of their own, so that workers do not slow each other.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use tokio::sync::mpsc;

use crate::arrival::Arrival;
use crate::balance::Loads;
use crate::cache_padded::CachePadded;
use crate::host::{Cores, ThreadClock};
use crate::limits::NOTICE_INTERVAL;
use crate::observer::Observer;
use crate::snapshot::{OffloadSnapshot, ServerSnapshot, WorkerSnapshot};
use crate::{Pool, WorkerLimits};

#[derive(Debug)]
pub(crate) struct ServerShared {
    pub limits: WorkerLimits,
    pub pool: Pool,
    pub cores: Cores,
    pub lanes: Box<[WorkerLane]>,
    pub loads: Arc<Loads>,
    /// Whether the server was asked to drain or to end. Written once.
    pub leaving: AtomicBool,
    /// Workers whose applications have retired in a drain.
    pub retired: AtomicUsize,
    pub full: LogThrottle,
    pub starved: LogThrottle,
}

impl ServerShared {
    /// The shared part for `workers` workers, and the end of each lane on which its worker receives arrivals.
    pub fn new(
        workers: usize,
        limits: WorkerLimits,
        cores: Cores,
    ) -> (Arc<Self>, Vec<mpsc::Receiver<Arrival>>) {
        // Every arrival in a channel holds a reservation, so `connections_max` of them always fit.
        let channels = (0..workers).map(|_| mpsc::channel(limits.connections_max.max(1)));
        let (senders, receivers): (Vec<_>, Vec<_>) = channels.unzip();
        let shared = Arc::new(Self {
            limits,
            pool: Pool::with_cores(&limits, cores.clone()),
            cores,
            lanes: senders.into_iter().map(WorkerLane::new).collect(),
            loads: Arc::new(Loads::new(workers, limits.connections_max)),
            leaving: AtomicBool::new(false),
            retired: AtomicUsize::new(0),
            full: LogThrottle::new(),
            starved: LogThrottle::new(),
        });
        (shared, receivers)
    }

    /// Whether the applications of all workers have retired in a drain.
    pub fn has_retired(&self) -> bool {
        self.retired.load(Ordering::Acquire) >= self.lanes.len()
    }

    pub fn snapshot(&self) -> ServerSnapshot {
        ServerSnapshot {
            workers: self
                .lanes
                .iter()
                .enumerate()
                .map(|(worker, lane)| lane.snapshot(self.loads.of(worker)))
                .collect(),
            offload: OffloadSnapshot {
                threads: self.pool.threads(),
                queued: self.pool.queued(),
                refused: self.pool.refused(),
            },
        }
    }
}

/// One worker as the other threads see it.
pub(crate) struct WorkerLane {
    /// Odd while the worker is inside a turn. Written by the worker only.
    pub turn: CachePadded<AtomicU64>,
    /// Written by the worker only, but for `stalled`, which the watchdog counts.
    pub counters: CachePadded<WorkerCounters>,
    pub arrivals: mpsc::Sender<Arrival>,
    pub clock: OnceLock<ThreadClock>,
    observers: Mutex<Observers>,
}

#[derive(Default)]
pub(crate) struct WorkerCounters {
    pub accepted: AtomicU64,
    pub handed_over: AtomicU64,
    pub refused: AtomicU64,
    pub accept_errors: AtomicU64,
    pub stalled: AtomicU64,
}

#[derive(Default)]
struct Observers {
    next: u64,
    list: Vec<(u64, Arc<dyn Observer>)>,
}

impl WorkerLane {
    fn new(arrivals: mpsc::Sender<Arrival>) -> Self {
        Self {
            turn: CachePadded::default(),
            counters: CachePadded::default(),
            arrivals,
            clock: OnceLock::new(),
            observers: Mutex::default(),
        }
    }

    pub fn observe(&self, observer: Arc<dyn Observer>) -> u64 {
        let mut observers = self.lock();
        let key = observers.next;
        observers.next += 1;
        observers.list.push((key, observer));
        key
    }

    pub fn forget(&self, key: u64) {
        self.lock().list.retain(|(each, _)| *each != key);
    }

    /// The observers of this moment. They are called without the lock, so that they may register and forget.
    pub fn observers(&self) -> Vec<Arc<dyn Observer>> {
        let observers = self.lock();
        let list = observers.list.iter();
        list.map(|(_, observer)| Arc::clone(observer)).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Observers> {
        self.observers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn snapshot(&self, open: usize) -> WorkerSnapshot {
        let counters = &self.counters;
        WorkerSnapshot {
            open,
            accepted: counters.accepted.load(Ordering::Relaxed),
            handed_over: counters.handed_over.load(Ordering::Relaxed),
            refused: counters.refused.load(Ordering::Relaxed),
            accept_errors: counters.accept_errors.load(Ordering::Relaxed),
            stalled: counters.stalled.load(Ordering::Relaxed),
            turns: self.turn.load(Ordering::Relaxed) / 2,
        }
    }
}

impl std::fmt::Debug for WorkerLane {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("WorkerLane").finish_non_exhaustive()
    }
}

/// Adds one to a counter that only this thread writes: no locked instruction is needed.
pub(crate) fn count(counter: &AtomicU64) {
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// Lets one log line about a trouble pass per interval, for the whole server, and counts the others.
#[derive(Debug)]
pub(crate) struct LogThrottle {
    started: Instant,
    /// Milliseconds after `started` from which the next line may pass.
    next_ms: AtomicU64,
    silent: AtomicU64,
}

impl LogThrottle {
    fn new() -> Self {
        Self {
            started: Instant::now(),
            next_ms: AtomicU64::new(0),
            silent: AtomicU64::new(0),
        }
    }

    /// How many occurrences this line stands for, or nothing when it is too early for another one.
    pub fn pass(&self) -> Option<u64> {
        let now_ms = self.started.elapsed().as_millis() as u64;
        let next_ms = self.next_ms.load(Ordering::Relaxed);
        self.silent.fetch_add(1, Ordering::Relaxed);
        let later_ms = now_ms + NOTICE_INTERVAL.as_millis() as u64;
        let passes = now_ms >= next_ms
            && self
                .next_ms
                .compare_exchange(next_ms, later_ms, Ordering::Relaxed, Ordering::Relaxed)
                .is_ok();
        passes.then(|| self.silent.swap(0, Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_trouble_is_logged_once_an_interval() {
        let notice = LogThrottle::new();
        assert_eq!(notice.pass(), Some(1));
        assert_eq!((0..1000).filter_map(|_| notice.pass()).count(), 0);
    }
}
