//! The watchdog: one thread that looks at every worker's turn counter and reports turns that last.
//! Interrupts nothing itself; what to do about a long turn, and what to log of it, is the observers' business where there are any.
//! A turn is timed from the first sample that saw it, so figures are short by at most one sampling interval.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::host::ThreadClock;
use crate::limits::WATCHDOG_SAMPLE;
use crate::observer::{Observer, Sample};
use crate::shared::{ServerShared, WorkerLane};
use crate::{Error, Result, WorkerLimits};

/// Keeps an observer registered. Dropping it unregisters; a call that has begun may still be running then.
#[derive(Debug)]
#[must_use = "the observer is unregistered when this is dropped"]
pub struct ObserverGuard {
    shared: Arc<ServerShared>,
    worker: usize,
    key: u64,
}

impl ObserverGuard {
    pub(crate) fn new(
        shared: Arc<ServerShared>,
        worker: usize,
        observer: Arc<dyn Observer>,
    ) -> Self {
        let key = shared.lanes[worker].observe(observer);
        Self {
            shared,
            worker,
            key,
        }
    }
}

impl Drop for ObserverGuard {
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
    pub fn start(shared: Arc<ServerShared>) -> Result<Self> {
        let ended = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&ended);
        let thread = thread::Builder::new()
            .name("tsumugi-watchdog".to_owned())
            .spawn(move || {
                let mut seen = vec![WorkerWatch::default(); shared.lanes.len()];
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
struct WorkerWatch {
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

impl WorkerWatch {
    fn look(&mut self, worker: usize, lane: &WorkerLane, limits: &WorkerLimits, now: Instant) {
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

fn stalled(lane: &WorkerLane, sample: &Sample) {
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
