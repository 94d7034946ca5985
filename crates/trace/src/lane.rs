//! What one worker does with its activities: which it records, which it shows, where they go when they end. Knows no exporter.
//! Rule: the worker never waits here; locks are held for moments, and what finds no room is dropped and counted.

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::activity::{Activity, ActivityKind, UNLISTED, lock};
use crate::context::TraceId;
use crate::limits::{
    TRACES_AT_ONCE, TRACES_KEPT_BYTES_MAX, TRACES_KEPT_FAILED_TICKS_MAX, TRACES_KEPT_MAX,
    TRACES_KEPT_SPANS_MAX, TRACES_KEPT_TICKS_MAX, TRACES_PER_SECOND, TRACES_QUEUED_BYTES_MAX,
};
use crate::record::FinishedActivity;
use crate::tracer::Sampling;

/// One worker's side.
pub(crate) struct Lane {
    pub watches: bool,
    pub records: bool,
    pub keeps: bool,
    pub sampling: Sampling,
    /// New traces that may begin, and when that was known.
    pub budget: Cell<(f64, Option<Instant>)>,
    /// When the next one may begin, after the last that was refused: until then a request costs one comparison.
    pub exhausted_until: Cell<Option<Instant>>,
    pub queue: Option<SyncSender<Arc<FinishedActivity>>>,
    pub shared: Arc<LaneShared>,
}

/// What others see of it.
#[derive(Debug)]
pub(crate) struct LaneShared {
    pub worker: usize,
    pub listed: Mutex<Listed>,
    pub kept: Mutex<TraceRing>,
    pub queued: Option<Mutex<Receiver<Arc<FinishedActivity>>>>,
    /// Bytes of what is queued.
    pub queued_bytes: AtomicUsize,
    pub recorded: AtomicU64,
    pub dropped: AtomicU64,
    pub left_out: AtomicU64,
}

/// The activities that wait.
#[derive(Debug, Default)]
pub(crate) struct Listed {
    pub slots: Vec<Option<Arc<Activity>>>,
    free: Vec<usize>,
}

/// The last activities that were recorded.
#[derive(Debug, Default)]
pub(crate) struct TraceRing {
    pub finished: VecDeque<Arc<FinishedActivity>>,
    spans: usize,
    bytes: usize,
}

/// How many activities were recorded, and what became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TraceCounts {
    /// Activities that were recorded.
    pub recorded: u64,
    /// Those that found no room among what waits to be sent.
    pub dropped: u64,
    /// Spans that were left out because their activity had too many.
    pub spans_left_out: u64,
}

impl Lane {
    /// Whether a new trace is recorded.
    pub fn samples(&self, trace_id: TraceId, now: Instant) -> bool {
        if !self.records {
            return false;
        }
        match self.sampling {
            Sampling::Ratio(ratio) => {
                // The last 7 bytes are the random ones (W3C Trace Context level 2).
                let part = (trace_id.0 & ((1 << 56) - 1)) as f64;
                part < ratio * (1_u64 << 56) as f64
            }
            Sampling::Rate => self.takes_budget(now),
        }
    }

    fn takes_budget(&self, now: Instant) -> bool {
        if self.exhausted_until.get().is_some_and(|until| now < until) {
            return false;
        }
        let (left, since) = self.budget.get();
        let gained = since.map_or(TRACES_AT_ONCE, |since| {
            now.saturating_duration_since(since).as_secs_f64() * TRACES_PER_SECOND
        });
        let left = (left + gained).min(TRACES_AT_ONCE);
        let is_enough = left >= 1.0;
        let left = if is_enough { left - 1.0 } else { left };
        self.budget.set((left, Some(now)));
        let missing_s = (1.0 - left).max(0.0) / TRACES_PER_SECOND;
        self.exhausted_until
            .set(now.checked_add(Duration::from_secs_f64(missing_s)));
        is_enough
    }

    pub fn keep(&self, finished: FinishedActivity) {
        let shared = &self.shared;
        shared.recorded.fetch_add(1, Relaxed);
        shared.left_out.fetch_add(finished.left_out as u64, Relaxed);
        let finished = Arc::new(finished);
        if let Some(queue) = &self.queue {
            let bytes = finished.bytes();
            // Counted before it can be taken. Only this thread adds.
            let queued = shared.queued_bytes.fetch_add(bytes, Relaxed) + bytes;
            let is_too_much = queued > TRACES_QUEUED_BYTES_MAX;
            if is_too_much || queue.try_send(Arc::clone(&finished)).is_err() {
                shared.queued_bytes.fetch_sub(bytes, Relaxed);
                shared.dropped.fetch_add(1, Relaxed);
            }
        }
        if self.keeps {
            lock(&shared.kept).add(finished);
        }
    }
}

impl LaneShared {
    pub fn list(&self, activity: &Arc<Activity>) {
        let mut listed = lock(&self.listed);
        let slot = match listed.free.pop() {
            Some(slot) => slot,
            None => {
                listed.slots.push(None);
                listed.slots.len() - 1
            }
        };
        if let Some(place) = listed.slots.get_mut(slot) {
            *place = Some(Arc::clone(activity));
            activity.slot.store(slot, Relaxed);
        }
    }

    pub fn unlist(&self, activity: &Activity) {
        let slot = activity.slot.swap(UNLISTED, Relaxed);
        if slot == UNLISTED {
            return;
        }
        let mut listed = lock(&self.listed);
        if let Some(place) = listed.slots.get_mut(slot) {
            let gone = place.take();
            listed.free.push(slot);
            drop(listed);
            drop(gone);
        }
    }

    pub fn counts(&self) -> TraceCounts {
        TraceCounts {
            recorded: self.recorded.load(Relaxed),
            dropped: self.dropped.load(Relaxed),
            spans_left_out: self.left_out.load(Relaxed),
        }
    }
}

impl TraceRing {
    pub fn add(&mut self, finished: Arc<FinishedActivity>) {
        self.spans += finished.spans.len();
        self.bytes += finished.bytes();
        if finished.kind == ActivityKind::Timer {
            self.remove_oldest_tick_beside(&finished);
        }
        self.finished.push_back(finished);
        while self.finished.len() > TRACES_KEPT_MAX
            || self.spans > TRACES_KEPT_SPANS_MAX
            || self.bytes > TRACES_KEPT_BYTES_MAX
        {
            let Some(oldest) = self.finished.pop_front() else {
                return;
            };
            self.forget(&oldest);
        }
    }

    /// Removes the oldest tick of the same timer where it has as many as it may. Failed ones make room for failed ones and the others for the
    /// others: one failure among many that went well is what somebody looks for.
    fn remove_oldest_tick_beside(&mut self, tick: &FinishedActivity) {
        let has_failed = tick.has_failed();
        let is_alike = |finished: &Arc<FinishedActivity>| {
            finished.kind == ActivityKind::Timer
                && finished.path == tick.path
                && finished.has_failed() == has_failed
        };
        let max = match has_failed {
            true => TRACES_KEPT_FAILED_TICKS_MAX,
            false => TRACES_KEPT_TICKS_MAX,
        };
        let kept = self.finished.iter();
        if kept.filter(|finished| is_alike(finished)).count() < max {
            return;
        }
        let oldest = self.finished.iter().position(is_alike);
        if let Some(oldest) = oldest.and_then(|place| self.finished.remove(place)) {
            self.forget(&oldest);
        }
    }

    fn forget(&mut self, gone: &FinishedActivity) {
        self.spans -= gone.spans.len();
        self.bytes -= gone.bytes();
    }
}
