//! The watchdog: one thread that looks at every worker's turn counter and reports turns that last.
//! Interrupts nothing itself; what to do about a long turn is the observers' business.
//! A turn is timed from the first sample that saw it, so figures are short by at most one sampling interval.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::host::ThreadClock;
use crate::limits::WATCHDOG_SAMPLE;
use crate::shared::{Lane, Shared};
use crate::{Error, Limits, Result};

/// One look at a long turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Sample {
    /// Number of the worker.
    pub worker: usize,
    /// The turn, as [`Worker::turn_number`](crate::Worker::turn_number) shows it while it runs.
    pub turn: u64,
    /// Time since the turn was first seen.
    pub elapsed: Duration,
    /// CPU time that the worker's thread used since then. Elapsed time on systems other than Linux.
    pub cpu: Duration,
}

/// Is told about long turns of a worker, on the watchdog's thread. Must return quickly and never block.
pub trait Observer: Send + Sync {
    /// The turn has lasted `stall_ms`. Told once per turn.
    fn stalled(&self, sample: &Sample);

    /// The turn has used more CPU than `turn_cpu_ms_max`. Told at each sample until the turn ends.
    fn overran(&self, sample: &Sample);
}

/// Keeps an observer registered. Dropping it unregisters; a call that has begun may still be running then.
#[derive(Debug)]
#[must_use = "the observer is unregistered when this is dropped"]
pub struct Watch {
    shared: Arc<Shared>,
    worker: usize,
    key: u64,
}

impl Watch {
    pub(crate) fn new(shared: Arc<Shared>, worker: usize, observer: Arc<dyn Observer>) -> Self {
        let key = shared.lanes[worker].observe(observer);
        Self {
            shared,
            worker,
            key,
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.lanes[self.worker].forget(self.key);
    }
}

/// The running watchdog thread; dropping this ends it.
#[derive(Debug)]
pub(crate) struct Watchdog {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    pub fn start(shared: Arc<Shared>) -> Result<Self> {
        let ended = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&ended);
        let thread = thread::Builder::new()
            .name("tsumugi-watchdog".to_owned())
            .spawn(move || {
                let mut seen = vec![Seen::default(); shared.lanes.len()];
                while !flag.load(Ordering::Acquire) {
                    for (worker, (lane, seen)) in shared.lanes.iter().zip(&mut seen).enumerate() {
                        seen.look(worker, lane, &shared.limits, Instant::now());
                    }
                    thread::park_timeout(WATCHDOG_SAMPLE);
                }
            })
            .map_err(|source| Error::Start {
                what: "the watchdog thread",
                source,
            })?;
        Ok(Self {
            ended,
            thread: Some(thread),
        })
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A panicking observer ended the thread early; its message is in the log.
            let _ = thread.join();
        }
    }
}

/// What the watchdog remembers of one worker.
#[derive(Clone, Default)]
struct Seen {
    /// The turn that was running at the last look, if one was.
    turn: Option<Running>,
}

#[derive(Clone, Copy)]
struct Running {
    number: u64,
    since: Instant,
    cpu: Option<Duration>,
    reported: bool,
}

impl Seen {
    fn look(&mut self, worker: usize, lane: &Lane, limits: &Limits, now: Instant) {
        let number = lane.turn.load(Ordering::Acquire);
        if number.is_multiple_of(2) {
            self.turn = None;
            return;
        }
        let used = || lane.clock.get().and_then(ThreadClock::used);
        let Some(running) = self
            .turn
            .as_mut()
            .filter(|running| running.number == number)
        else {
            self.turn = Some(Running {
                number,
                since: now,
                cpu: used(),
                reported: false,
            });
            return;
        };
        let elapsed = now.saturating_duration_since(running.since);
        let cpu = match (used(), running.cpu) {
            (Some(now), Some(then)) => now.saturating_sub(then),
            _ => Duration::ZERO,
        };
        let sample = Sample {
            worker,
            turn: number,
            elapsed,
            cpu,
        };
        if !running.reported && elapsed >= Duration::from_millis(limits.stall_ms) {
            running.reported = true;
            lane.counters.stalled.fetch_add(1, Ordering::Relaxed);
            stalled(lane, &sample);
        }
        if cpu > Duration::from_millis(limits.turn_cpu_ms_max) {
            lane.observers()
                .iter()
                .for_each(|observer| observer.overran(&sample));
        }
    }
}

fn stalled(lane: &Lane, sample: &Sample) {
    let observers = lane.observers();
    if observers.is_empty() {
        let elapsed_ms = sample.elapsed.as_millis() as u64;
        tracing::warn!(
            worker = sample.worker,
            elapsed_ms,
            "a loop turn is taking long (stall_ms)"
        );
    }
    observers
        .iter()
        .for_each(|observer| observer.stalled(sample));
}
