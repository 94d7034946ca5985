//! What a thread is at: the activity that is polled now, the span that new ones are below, the place in the author's code.
//! Rule: an activity is there only while something is polled for it, so that what runs next on the thread is not taken for a part of it.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use crate::activity::{Activity, RequestId};
use crate::context::{SpanId, TraceId, TraceParent};
use crate::lane::Lane;
use crate::limits::ACTIVITIES_SPARE_MAX;
use crate::record::FinishedActivity;
use crate::span::Span;

struct Local {
    current: Cell<Option<Arc<Activity>>>,
    /// What is below the current activity, if it is not itself.
    within: Cell<Option<SpanId>>,
    place: Cell<Option<Arc<str>>>,
    lane: RefCell<Option<Rc<Lane>>>,
    spare: RefCell<Vec<Arc<Activity>>>,
    ids: Cell<u64>,
}

thread_local! {
    /// Apart from the rest, as it is looked at for each statement.
    static IS_OBSERVED: Cell<bool> = const { Cell::new(false) };
    static LOCAL: Local = Local {
        current: Cell::default(),
        within: Cell::default(),
        place: Cell::default(),
        lane: RefCell::default(),
        spare: RefCell::default(),
        // The standard hasher's keys are the one source of randomness in the standard library.
        ids: Cell::new(RandomState::new().hash_one(std::thread::current().id())),
    };
}

/// The activity that is polled now on this thread; none outside of any.
pub fn current() -> Option<Arc<Activity>> {
    LOCAL.try_with(|local| look(&local.current)).ok().flatten()
}

/// Whether spans of now are of use to anybody.
pub fn is_observed() -> bool {
    IS_OBSERVED.get()
}

/// Where in the author's code something is done now, `file:line`, where that is known.
pub fn source_location() -> Option<Arc<str>> {
    LOCAL.try_with(|local| look(&local.place)).ok().flatten()
}

/// What lines of the log about the current activity carry.
pub struct LogIds {
    /// What the request is called.
    pub request_id: RequestId,
    /// Its trace.
    pub trace_id: TraceId,
}

impl fmt::Display for LogIds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LogIds {
            request_id,
            trace_id,
        } = self;
        write!(f, "request_id={request_id}")?;
        // A request that no client has named has the number of its trace.
        match request_id {
            RequestId::Number(number) if TraceId::of(*number) == *trace_id => Ok(()),
            _ => write!(f, " trace_id={trace_id}"),
        }
    }
}

/// The names of the current activity, for the log.
pub fn log_ids() -> Option<LogIds> {
    current().map(|activity| LogIds {
        request_id: activity.id().clone(),
        trace_id: activity.trace_id(),
    })
}

/// What another server is to be told.
pub struct Outgoing {
    /// The value of `traceparent`.
    pub trace_parent: TraceParent,
    /// The value of `tracestate`.
    pub trace_state: Option<Box<str>>,
}

/// What another server is to be told that is called now, in `span`. None where nobody traces.
pub fn outgoing(span: &Span) -> Option<Outgoing> {
    let activity = current()?;
    let traces = activity.has_parent() || with_lane(|lane| lane.records).unwrap_or(false);
    traces.then(|| Outgoing {
        trace_parent: span.as_parent().unwrap_or_else(|| activity.as_parent()),
        trace_state: activity.trace_state().map(Into::into),
    })
}

/// Runs this below a span of the current activity, and at a place in the author's code (`file:line`). What is none stays as it is.
pub fn within<T>(span: Option<SpanId>, place: Option<&Arc<str>>, run: impl FnOnce() -> T) -> T {
    let _restore = begin_within(span, place);
    run()
}

fn begin_within(span: Option<SpanId>, place: Option<&Arc<str>>) -> Option<Restore> {
    let begun = LOCAL.try_with(|local| Restore {
        within: span.map(|span| local.within.replace(Some(span))),
        place: place.map(|place| local.place.replace(Some(Arc::clone(place)))),
        activity: None,
    });
    begun.ok()
}

pub(crate) fn enter<T>(activity: &Arc<Activity>, run: impl FnOnce() -> T) -> T {
    let _restore = begin_activity(activity);
    run()
}

#[inline]
fn begin_activity(activity: &Arc<Activity>) -> Option<Restore> {
    let restore = LOCAL.try_with(|local| {
        let before = local.current.take();
        let is_same = before
            .as_ref()
            .is_some_and(|now| Arc::ptr_eq(now, activity));
        if is_same {
            local.current.set(before);
            return None;
        }
        local.current.set(Some(Arc::clone(activity)));
        Some(Restore {
            within: Some(local.within.take()),
            place: Some(local.place.take()),
            activity: Some((before, IS_OBSERVED.replace(activity.is_observed()))),
        })
    });
    restore.ok().flatten()
}

/// Restores what was before, also when what ran panics.
struct Restore {
    within: Option<Option<SpanId>>,
    place: Option<Option<Arc<str>>>,
    activity: Option<(Option<Arc<Activity>>, bool)>,
}

impl Drop for Restore {
    fn drop(&mut self) {
        let _ = LOCAL.try_with(|local| {
            if let Some(within) = self.within.take() {
                local.within.set(within);
            }
            if let Some(place) = self.place.take() {
                local.place.set(place);
            }
            if let Some((activity, is_observed)) = self.activity.take() {
                local.current.set(activity);
                IS_OBSERVED.set(is_observed);
            }
        });
    }
}

fn look<T: Clone>(cell: &Cell<Option<T>>) -> Option<T> {
    let value = cell.take();
    cell.set(value.clone());
    value
}

/// The current activity, if spans of it are of use, what they are below, and the place.
pub(crate) fn observed() -> Option<(Arc<Activity>, SpanId, Option<Arc<str>>)> {
    LOCAL
        .try_with(|local| {
            let activity = look(&local.current).filter(|activity| activity.is_observed())?;
            let within = local.within.get().unwrap_or(activity.span_id());
            Some((activity, within, look(&local.place)))
        })
        .ok()
        .flatten()
}

/// What is decided about a new activity.
#[derive(Clone, Copy, Default)]
pub(crate) struct Decision {
    pub is_sampled: bool,
    pub is_recorded: bool,
    pub is_watched: bool,
}

/// Its caller decides whether a trace is recorded, if it has one.
pub(crate) fn decide(parent: Option<TraceParent>, trace_id: TraceId, now: Instant) -> Decision {
    let said = parent.map(|parent| parent.is_sampled);
    let decided = with_lane(|lane| {
        let is_sampled = said.unwrap_or_else(|| lane.samples(trace_id, now));
        Decision {
            is_sampled,
            is_recorded: is_sampled && lane.records,
            is_watched: lane.watches,
        }
    });
    decided.unwrap_or(Decision {
        is_sampled: said.unwrap_or(false),
        ..Decision::default()
    })
}

fn with_lane<T>(run: impl FnOnce(&Lane) -> T) -> Option<T> {
    LOCAL
        .try_with(|local| local.lane.borrow().as_deref().map(run))
        .ok()
        .flatten()
}

/// This thread is a worker whose activities go here.
pub(crate) fn attach(lane: Lane) {
    let _ = LOCAL.try_with(|local| local.lane.replace(Some(Rc::new(lane))));
}

/// Shows an activity to those who watch.
pub(crate) fn list(activity: &Arc<Activity>) {
    with_lane(|lane| lane.shared.list(activity));
}

pub(crate) fn unlist(activity: &Activity) {
    with_lane(|lane| lane.shared.unlist(activity));
}

/// Keeps what has ended.
pub(crate) fn keep(finished: FinishedActivity) {
    with_lane(|lane| lane.keep(finished));
}

/// An activity in memory of one that has ended, where there is some.
pub(crate) fn allocate(activity: Activity) -> Arc<Activity> {
    let spare = LOCAL.try_with(|local| local.spare.borrow_mut().pop());
    let Some(mut placed) = spare.ok().flatten() else {
        return Arc::new(activity);
    };
    match Arc::get_mut(&mut placed) {
        Some(room) => {
            *room = activity;
            placed
        }
        None => Arc::new(activity),
    }
}

/// Keeps the memory of an activity that nothing else holds.
pub(crate) fn recycle(activity: &mut Arc<Activity>) {
    if Arc::get_mut(activity).is_none() {
        return;
    }
    let _ = LOCAL.try_with(|local| {
        let mut spare = local.spare.borrow_mut();
        if spare.len() < ACTIVITIES_SPARE_MAX {
            spare.push(Arc::clone(activity));
        }
    });
}

/// A number that no other activity has.
pub(crate) fn number() -> u128 {
    u128::from(random()) << 64 | u128::from(random())
}

pub(crate) fn span_id() -> SpanId {
    SpanId(random().max(1))
}

/// The next number of a sequence that begins at a random place (SplitMix64).
fn random() -> u64 {
    let step = |local: &Local| {
        let state = local.ids.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
        local.ids.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    };
    LOCAL.try_with(step).unwrap_or(1)
}
