//! The view of all workers' activities from outside: what is under way, what it waits for, the last traces, what is to be sent.
//! Rule: it asks no worker, which may be stuck, but looks under short locks.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering::Relaxed};
use std::sync::mpsc::sync_channel;
use std::sync::{Arc, Mutex};
use std::time::{Instant, SystemTime};

use crate::activity::{Activity, lock};
use crate::context::{SpanId, TraceId};
use crate::lane::{Lane, LaneShared, TraceCounts};
use crate::limits::{ACTIVITIES_SHOWN_MAX, TRACES_QUEUED_MAX, TRACES_TAKEN_BYTES_MAX};
use crate::local;
use crate::record::FinishedActivity;

/// Which new traces are recorded. What a caller has decided counts before this.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sampling {
    /// This part of them, from 0 to 1.
    Ratio(f64),
    /// A few each second: all where there are few requests, next to none of many.
    Rate,
}

/// What a tracer is for.
#[derive(Clone, Copy, Debug)]
pub struct TraceSettings {
    /// Which traces are recorded.
    pub sampling: Sampling,
    /// Somebody looks at what is under way.
    pub watches: bool,
    /// The last traces are kept in memory.
    pub keeps: bool,
    /// Somebody takes what is recorded: see [`Tracer::take_queued`].
    pub sends: bool,
}

/// All workers of a process. Cheap to clone; usable from any thread.
#[derive(Clone, Debug)]
pub struct Tracer(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    settings: TraceSettings,
    lanes: Mutex<Vec<Arc<LaneShared>>>,
}

/// Something under way, as others see it.
#[derive(Clone, Debug)]
pub struct ActivityView {
    /// Names it for [`Tracer::cancel`].
    pub id: String,
    /// `request`, `job`, `timer`, `websocket` or `stream`.
    pub kind: &'static str,
    /// Its worker.
    pub worker: usize,
    /// What logs call it.
    pub request_id: String,
    /// The method of a request.
    pub method: Option<String>,
    /// The path of a request without its query, or a name.
    pub path: String,
    /// The pattern of the route.
    pub route: Option<String>,
    /// The trace.
    pub trace_id: TraceId,
    /// When it began.
    pub since: SystemTime,
    /// What it waits for, as far as that is known.
    pub waits_for: Option<WaitView>,
    /// Whether [`Tracer::cancel`] can end it.
    pub is_cancellable: bool,
}

/// What something waits for.
#[derive(Clone, Debug)]
pub struct WaitView {
    /// `sql`, `kv`, `http`, …
    pub kind: &'static str,
    /// What exactly; the text of a statement, without values.
    pub what: String,
    /// `file:line` of the caller, where that is known.
    pub place: Option<String>,
    /// Since when.
    pub since: SystemTime,
}

/// What became of a request to cancel something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelReply {
    /// It ends soon.
    Asked,
    /// Nothing of that name is under way.
    Unknown,
    /// It is under way and cannot be cancelled.
    NotCancellable,
}

impl Tracer {
    /// One without workers yet.
    pub fn new(settings: TraceSettings) -> Tracer {
        Tracer(Arc::new(Shared {
            settings,
            lanes: Mutex::default(),
        }))
    }

    /// This thread is worker `worker` from now on.
    pub fn attach(&self, worker: usize) {
        let TraceSettings {
            sampling,
            watches,
            keeps,
            sends,
        } = self.0.settings;
        let (queue, queued) = match sends {
            true => {
                let (queue, queued) = sync_channel(TRACES_QUEUED_MAX);
                (Some(queue), Some(Mutex::new(queued)))
            }
            false => (None, None),
        };
        let shared = Arc::new(LaneShared {
            worker,
            listed: Mutex::default(),
            kept: Mutex::default(),
            queued,
            queued_bytes: AtomicUsize::new(0),
            recorded: AtomicU64::new(0),
            dropped: AtomicU64::new(0),
            left_out: AtomicU64::new(0),
        });
        lock(&self.0.lanes).push(Arc::clone(&shared));
        local::attach(Lane {
            watches,
            records: keeps || sends,
            keeps,
            sampling,
            budget: Cell::new((0.0, None)),
            exhausted_until: Cell::new(None),
            queue,
            shared,
        });
    }

    fn lanes(&self) -> Vec<Arc<LaneShared>> {
        lock(&self.0.lanes).clone()
    }

    /// What waits now, the longest first, up to `max`; and whether there is more.
    pub fn activities(&self, max: usize) -> (Vec<ActivityView>, bool) {
        let mut found: Vec<(usize, Arc<Activity>)> = Vec::new();
        let mut has_more = false;
        for lane in self.lanes() {
            let listed = lock(&lane.listed);
            let waiting = listed.slots.iter().flatten().map(Arc::clone);
            found.extend(
                waiting
                    .take(ACTIVITIES_SHOWN_MAX)
                    .map(|activity| (lane.worker, activity)),
            );
            let count = listed.slots.iter().flatten().count();
            has_more |= count > ACTIVITIES_SHOWN_MAX;
        }
        found.sort_by_key(|(_, activity)| activity.started_at());
        has_more |= found.len() > max;
        let clock = Clock::now();
        let shown = found.iter().take(max);
        let views = shown.map(|(worker, activity)| activity.view(*worker, clock));
        (views.collect(), has_more)
    }

    /// Asks for the end of what has this name ([`ActivityView::id`]).
    pub fn cancel(&self, id: &str) -> CancelReply {
        let Some(id) = SpanId::parse(id) else {
            return CancelReply::Unknown;
        };
        for lane in self.lanes() {
            let listed = lock(&lane.listed);
            let mut waiting = listed.slots.iter().flatten();
            let found = waiting.find(|activity| activity.span_id() == id).cloned();
            drop(listed);
            if let Some(activity) = found {
                return match activity.cancel() {
                    true => CancelReply::Asked,
                    false => CancelReply::NotCancellable,
                };
            }
        }
        CancelReply::Unknown
    }

    /// The last activities that were recorded and are kept, the latest first.
    pub fn kept(&self) -> Vec<Arc<FinishedActivity>> {
        let mut all = Vec::new();
        for lane in self.lanes() {
            all.extend(lock(&lane.kept).finished.iter().map(Arc::clone));
        }
        all.sort_by_key(|finished| std::cmp::Reverse(finished.started_at));
        all
    }

    /// Takes up to `max` recorded activities that wait to be sent, and not many more than [`TRACES_TAKEN_BYTES_MAX`] bytes of them. Workers take
    /// turns: of each the oldest, then of each the next.
    pub fn take_queued(&self, max: usize) -> Vec<Arc<FinishedActivity>> {
        let mut taken = Vec::new();
        let mut bytes = 0;
        let mut lanes = self.lanes();
        while !lanes.is_empty() && taken.len() < max && bytes < TRACES_TAKEN_BYTES_MAX {
            lanes.retain(|lane| {
                if taken.len() >= max {
                    return false;
                }
                let queued = lane.queued.as_ref();
                let Some(finished) = queued.and_then(|queued| lock(queued).try_recv().ok()) else {
                    return false;
                };
                lane.queued_bytes.fetch_sub(finished.bytes(), Relaxed);
                bytes += finished.bytes();
                taken.push(finished);
                true
            });
        }
        taken
    }

    /// The sums of all workers.
    pub fn counts(&self) -> TraceCounts {
        let mut sum = TraceCounts::default();
        for lane in self.lanes() {
            let counts = lane.counts();
            sum.recorded += counts.recorded;
            sum.dropped += counts.dropped;
            sum.spans_left_out += counts.spans_left_out;
        }
        sum
    }
}

/// One moment on both clocks.
#[derive(Clone, Copy)]
struct Clock(Instant, SystemTime);

impl Clock {
    fn now() -> Clock {
        Clock(Instant::now(), SystemTime::now())
    }

    fn time_of(self, moment: Instant) -> SystemTime {
        let age = self.0.saturating_duration_since(moment);
        self.1.checked_sub(age).unwrap_or(self.1)
    }
}

impl Activity {
    fn view(&self, worker: usize, clock: Clock) -> ActivityView {
        let waits_for = {
            let state = self.state();
            let waits = state.open.iter().rfind(|open| open.kind.is_wait());
            waits.map(|open| WaitView {
                kind: open.kind.as_str(),
                what: open.name.to_string(),
                place: open.place.as_deref().map(str::to_owned),
                since: clock.time_of(open.since),
            })
        };
        ActivityView {
            id: self.span_id().to_string(),
            kind: self.shown_kind().as_str(),
            worker,
            request_id: self.id().to_string(),
            method: self.subject().method().map(str::to_owned),
            path: crate::span::cut(self.subject().path()).to_owned(),
            route: self.route().map(|route| route.to_string()),
            trace_id: self.trace_id(),
            since: clock.time_of(self.started_at()),
            waits_for,
            is_cancellable: self.is_cancellable(),
        }
    }
}
