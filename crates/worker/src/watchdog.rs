//! The watchdog: one thread that looks at every worker's turn counter and reports turns that last.
//! Interrupts nothing itself; what to do about a long turn, and what to log of it, is the observers' business where there are any.
//! A turn is timed from the first sample that saw it, so figures are short by at most one sampling interval.
//! Rule: a turn stalls by what its thread does: by the CPU time it uses, or by the time it sleeps in a system call. On a busy machine
//! it is ready most of the time and waits for a core; that is nothing the turn could change, and no stall.

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
            .map_err(Error::start("the watchdog thread"))?;
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
    queued: Option<Duration>,
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
        let queued = || lane.clock.get().and_then(ThreadClock::queued);
        let Some(running) = self
            .turn
            .as_mut()
            .filter(|running| running.number == number)
        else {
            self.turn = Some(Running {
                number,
                since: now,
                cpu: used(),
                queued: queued(),
                reported: false,
            });
            return;
        };
        let elapsed = now.saturating_duration_since(running.since);
        let cpu = since(used(), running.cpu);
        let sample = Sample {
            worker,
            turn: number,
            elapsed,
            cpu,
        };
        let stall = Duration::from_millis(limits.stall_ms);
        // The kernel is asked more about turns that last only.
        let sleeps = || {
            elapsed.saturating_sub(since(queued(), running.queued)) >= stall
                && lane.clock.get().is_some_and(ThreadClock::is_blocked)
        };
        if !running.reported && elapsed >= stall && (cpu >= stall || sleeps()) {
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

/// What a clock has advanced; nothing where there is none.
fn since(now: Option<Duration>, then: Option<Duration>) -> Duration {
    match (now, then) {
        (Some(now), Some(then)) => now.saturating_sub(then),
        _ => Duration::ZERO,
    }
}

fn stalled(lane: &WorkerLane, sample: &Sample) {
    let observers = lane.observers();
    if observers.is_empty() {
        let elapsed_ms = sample.elapsed.as_millis() as u64;
        let cpu_ms = sample.cpu.as_millis() as u64;
        tracing::warn!(
            worker = sample.worker,
            elapsed_ms,
            cpu_ms,
            "a loop turn is taking long (stall_ms)"
        );
    }
    observers
        .iter()
        .for_each(|observer| observer.stalled(sample));
}
