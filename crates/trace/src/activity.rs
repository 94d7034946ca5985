//! One request, job, tick, stream or WebSocket under way: what it is, which trace it belongs to, its spans, and whether it is to be cancelled.
//! Rule: its own thread writes, others look under a short lock. One that has ended takes no more spans.

use std::fmt;
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant, SystemTime};

use http::Method;
use http::uri::PathAndQuery;

use crate::context::{SpanId, TraceId, TraceParent};
use crate::limits::SPAN_TEXT_BYTES_MAX;
use crate::local;
use crate::record::{FinishedActivity, FinishedSpan};
use crate::span::{OpenSpan, cut};

/// What sort of work it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ActivityKind {
    /// An HTTP request, to the end of its response.
    #[default]
    Request,
    /// Work for later.
    Job,
    /// A tick of `every`.
    Timer,
    /// A conversation over a WebSocket.
    WebSocket,
    /// What goes on beside a response: the body that a task writes, what `after_response` left.
    Stream,
}

impl ActivityKind {
    /// Its word, as pages and traces show it.
    pub fn as_str(self) -> &'static str {
        match self {
            ActivityKind::Request => "request",
            ActivityKind::Job => "job",
            ActivityKind::Timer => "timer",
            ActivityKind::WebSocket => "websocket",
            ActivityKind::Stream => "stream",
        }
    }
}

/// What it is about.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A request: its method and its target as it was sent. The query is never shown.
    Request(Method, Option<PathAndQuery>),
    /// Anything else: the name of a job or of a timer.
    Named(Arc<str>),
}

impl Subject {
    /// The method of a request.
    pub fn method(&self) -> Option<&str> {
        match self {
            Subject::Request(method, _) => Some(method.as_str()),
            Subject::Named(_) => None,
        }
    }

    /// The path of a request without its query, or the name.
    pub fn path(&self) -> &str {
        match self {
            Subject::Request(_, target) => target.as_ref().map_or("", PathAndQuery::path),
            Subject::Named(name) => name,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.method() {
            Some(method) => write!(f, "{method} {}", self.path()),
            None => f.write_str(self.path()),
        }
    }
}

/// What is known when something begins.
#[derive(Debug)]
pub struct ActivityStart<'a> {
    /// The sort of work.
    pub kind: ActivityKind,
    /// What it is about.
    pub subject: Subject,
    /// A number that nothing else of this process has. None has one made.
    pub number: Option<u128>,
    /// What the client calls it, where that may stand in a log.
    pub given_id: Option<&'a str>,
    /// What its caller says of the trace.
    pub parent: Option<TraceParent>,
    /// What is to be sent on with the trace.
    pub trace_state: Option<Box<str>>,
    /// When it began.
    pub started_at: Instant,
}

/// What the log calls a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestId {
    /// As the client has named it.
    Given(Box<str>),
    /// A number of the server's, printed as 32 hexadecimal digits.
    Number(u128),
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestId::Given(text) => f.write_str(text),
            RequestId::Number(number) => write!(f, "{number:032x}"),
        }
    }
}

/// How something ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EndingKind {
    /// By itself, whether well or not.
    #[default]
    Complete,
    /// Its client went away, or its connection ended.
    ClientLeft,
    /// An operator cancelled it.
    Cancelled,
}

/// How it ended, and with what.
#[derive(Clone, Debug, Default)]
pub struct Ending {
    /// How.
    pub kind: EndingKind,
    /// The status of a response.
    pub status: Option<u16>,
    /// What went wrong, for what has no status.
    pub error: Option<String>,
}

/// Something under way. Shared by its thread and by those who look at it.
#[derive(Debug)]
pub struct Activity {
    kind: ActivityKind,
    id: RequestId,
    trace_id: TraceId,
    /// The caller's span.
    parent: Option<SpanId>,
    span_id: SpanId,
    is_sampled: bool,
    /// Its spans are kept.
    pub(crate) is_recorded: bool,
    /// Others look at what it waits for.
    pub(crate) is_watched: bool,
    trace_state: Option<Box<str>>,
    subject: Subject,
    started_at: Instant,
    route: OnceLock<Arc<str>>,
    /// Of a request only the body of its answer is left, which a task writes.
    is_stream: AtomicBool,
    /// Its place among those that are shown, or [`UNLISTED`].
    pub(crate) slot: AtomicUsize,
    cancellation: Cancellation,
    state: Mutex<State>,
}

pub(crate) const UNLISTED: usize = usize::MAX;

#[derive(Debug, Default)]
struct Cancellation {
    is_possible: AtomicBool,
    is_asked: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

#[derive(Debug, Default)]
pub(crate) struct State {
    pub open: Vec<OpenSpan>,
    pub spans: Vec<FinishedSpan>,
    /// Spans beyond a limit.
    pub left_out: usize,
    pub has_ended: bool,
    /// How many keep it from ending.
    holds: usize,
    /// How it ended while it was kept from it.
    ending: Option<Ending>,
}

impl Activity {
    /// Begins something on this thread: a new trace, or a part of the caller's. It lasts until what is returned is dropped.
    pub fn begin(beginning: ActivityStart<'_>) -> OwnedActivity {
        let number = beginning.number.unwrap_or_else(local::number);
        let (trace_id, parent) = match beginning.parent {
            Some(parent) => (parent.trace_id, Some(parent.span_id)),
            None => (TraceId::of(number), None),
        };
        let view = local::decide(beginning.parent, trace_id, beginning.started_at);
        let id = match beginning.given_id {
            Some(given) => RequestId::Given(given.into()),
            None => RequestId::Number(number),
        };
        let activity = Activity {
            kind: beginning.kind,
            id,
            trace_id,
            parent,
            span_id: local::span_id(),
            is_sampled: view.is_sampled,
            is_recorded: view.is_recorded,
            is_watched: view.is_watched,
            trace_state: beginning.trace_state,
            subject: beginning.subject,
            started_at: beginning.started_at,
            route: OnceLock::new(),
            is_stream: AtomicBool::new(false),
            slot: AtomicUsize::new(UNLISTED),
            cancellation: Cancellation::default(),
            state: Mutex::default(),
        };
        OwnedActivity(local::allocate(activity))
    }

    /// Begins work with a name: a job, a tick. A part of the trace of `parent`, if there is one.
    pub fn begin_named(
        kind: ActivityKind,
        name: Arc<str>,
        parent: Option<TraceParent>,
    ) -> OwnedActivity {
        Activity::begin(ActivityStart {
            kind,
            subject: Subject::Named(name),
            number: None,
            given_id: None,
            parent,
            trace_state: None,
            started_at: Instant::now(),
        })
    }

    /// The sort of work.
    pub fn kind(&self) -> ActivityKind {
        self.kind
    }

    /// It has answered, and a task writes the body of that.
    pub fn begin_stream(&self) {
        self.is_stream.store(true, Ordering::Relaxed);
    }

    /// What is under way of it now.
    pub(crate) fn shown_kind(&self) -> ActivityKind {
        match self.is_stream.load(Ordering::Relaxed) {
            true => ActivityKind::Stream,
            false => self.kind,
        }
    }

    /// What logs call it.
    pub fn id(&self) -> &RequestId {
        &self.id
    }

    /// The trace that it belongs to.
    pub fn trace_id(&self) -> TraceId {
        self.trace_id
    }

    /// Its own span.
    pub fn span_id(&self) -> SpanId {
        self.span_id
    }

    /// What it is about.
    pub fn subject(&self) -> &Subject {
        &self.subject
    }

    /// When it began.
    pub fn started_at(&self) -> Instant {
        self.started_at
    }

    /// The pattern of its route, once that is known.
    pub fn route(&self) -> Option<&Arc<str>> {
        self.route.get()
    }

    /// Its route is known now. The first one stays.
    pub fn set_route(&self, route: &Arc<str>) {
        let _ = self.route.set(Arc::clone(route));
    }

    /// Whether its spans are kept.
    pub fn is_recorded(&self) -> bool {
        self.is_recorded
    }

    /// The trace as a part of it is to be told: this activity is the parent.
    pub fn as_parent(&self) -> TraceParent {
        TraceParent {
            trace_id: self.trace_id,
            span_id: self.span_id,
            is_sampled: self.is_sampled,
        }
    }

    /// Whether it came with a trace of its caller's.
    pub(crate) fn has_parent(&self) -> bool {
        self.parent.is_some()
    }

    /// What is to be sent on with the trace.
    pub fn trace_state(&self) -> Option<&str> {
        self.trace_state.as_deref()
    }

    /// Whether spans of it are of use to anybody.
    pub(crate) fn is_observed(&self) -> bool {
        self.is_recorded || self.is_watched
    }

    /// Runs this as a part of the activity, such as one poll of its future.
    pub fn enter<T>(self: &Arc<Self>, run: impl FnOnce() -> T) -> T {
        local::enter(self, run)
    }

    /// Shows it among what is under way, where somebody watches. To be called when it waits for the first time; spans do so by themselves.
    pub fn show(self: &Arc<Self>) {
        if self.is_watched && self.slot.load(Ordering::Relaxed) == UNLISTED {
            local::list(self);
        }
    }

    /// What runs it looks at [`Activity::poll_cancelled`] from now on.
    pub fn allow_cancel(&self) {
        self.cancellation.is_possible.store(true, Ordering::Relaxed);
    }

    /// What runs it looks no more.
    pub fn forbid_cancel(&self) {
        let possible = &self.cancellation.is_possible;
        possible.store(false, Ordering::Relaxed);
    }

    /// Whether it can be cancelled.
    pub fn is_cancellable(&self) -> bool {
        self.cancellation.is_possible.load(Ordering::Relaxed)
    }

    /// Asks for its end, from any thread. False where it cannot be cancelled.
    pub(crate) fn cancel(&self) -> bool {
        if !self.is_cancellable() {
            return false;
        }
        self.cancellation.is_asked.store(true, Ordering::Release);
        if let Some(waker) = lock(&self.cancellation.waker).take() {
            waker.wake();
        }
        true
    }

    /// Whether its end was asked for.
    pub fn is_cancelled(&self) -> bool {
        self.cancellation.is_asked.load(Ordering::Acquire)
    }

    /// Ready once its end was asked for. Costs nothing where nobody watches.
    pub fn poll_cancelled(&self, cx: &Context<'_>) -> Poll<()> {
        if !self.is_watched {
            return Poll::Pending;
        }
        if !self.is_cancelled() {
            let mut waker = lock(&self.cancellation.waker);
            match &mut *waker {
                Some(waker) => waker.clone_from(cx.waker()),
                None => *waker = Some(cx.waker().clone()),
            }
        }
        // Looked at behind the waker: what is asked for in between is not missed.
        match self.is_cancelled() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }

    /// Resolves once its end was asked for.
    pub async fn cancelled(&self) {
        std::future::poll_fn(|cx| self.poll_cancelled(cx)).await;
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }

    /// Keeps it under way for what it still has to do when its owner has ended it, such as an `ensure` that waits. To be dropped on its thread.
    pub fn hold(self: &Arc<Self>) -> ActivityHold {
        self.state().holds += 1;
        ActivityHold(Arc::clone(self))
    }

    /// Ends it, once nothing holds it.
    fn end(&self, ending: Ending) {
        if !self.is_observed() {
            return;
        }
        {
            let mut state = self.state();
            if state.ending.is_some() {
                return;
            }
            if state.holds > 0 {
                state.ending = Some(ending);
                return;
            }
        }
        self.finish(ending);
    }

    /// What is recorded goes to those who want it. What comes later is left out.
    fn finish(&self, ending: Ending) {
        let (spans, left_out) = {
            let mut state = self.state();
            if std::mem::replace(&mut state.has_ended, true) {
                return;
            }
            state.open.clear();
            (std::mem::take(&mut state.spans), state.left_out)
        };
        local::unlist(self);
        if !self.is_recorded {
            return;
        }
        let took = self.started_at.elapsed();
        let now = SystemTime::now();
        local::keep(FinishedActivity {
            kind: self.kind,
            request_id: self.id.to_string(),
            trace_id: self.trace_id,
            span_id: self.span_id,
            parent: self.parent,
            trace_state: self.trace_state.clone(),
            method: self.subject.method().map(Into::into),
            path: cut(self.subject.path()).into(),
            route: self.route.get().cloned(),
            started_at: now.checked_sub(took).unwrap_or(now),
            took,
            ending: match self.is_cancelled() {
                true => EndingKind::Cancelled,
                false => ending.kind,
            },
            status: ending.status,
            error: ending.error.map(|error| {
                let end = error.floor_char_boundary(SPAN_TEXT_BYTES_MAX);
                error.get(..end).unwrap_or_default().into()
            }),
            spans,
            left_out,
        });
    }
}

pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps an activity under way: see [`Activity::hold`].
#[derive(Debug)]
#[must_use = "an activity is held until this is dropped"]
pub struct ActivityHold(Arc<Activity>);

impl Drop for ActivityHold {
    fn drop(&mut self) {
        let ending = {
            let mut state = self.0.state();
            state.holds -= 1;
            match state.holds {
                0 => state.ending.take(),
                _ => None,
            }
        };
        if let Some(ending) = ending {
            self.0.finish(ending);
        }
    }
}

/// An activity with the duty to end it: one that is only dropped has ended as its client left.
#[derive(Debug)]
pub struct OwnedActivity(Arc<Activity>);

impl OwnedActivity {
    /// Ends it.
    pub fn end(&self, ending: Ending) {
        if self.leaves_something() {
            self.0.end(ending);
        }
    }

    /// Whether its end is of any consequence: it is not when it is not recorded, and neither shown nor held by anybody else.
    fn leaves_something(&self) -> bool {
        self.0.is_recorded || Arc::strong_count(&self.0) > 1
    }

    /// The activity, to be kept by what belongs to it.
    pub fn share(&self) -> Arc<Activity> {
        Arc::clone(&self.0)
    }

    /// Since when it runs.
    pub fn elapsed(&self) -> Duration {
        self.0.started_at.elapsed()
    }
}

impl Deref for OwnedActivity {
    type Target = Arc<Activity>;

    fn deref(&self) -> &Arc<Activity> {
        &self.0
    }
}

impl Drop for OwnedActivity {
    fn drop(&mut self) {
        if self.leaves_something() {
            self.0.end(Ending {
                kind: EndingKind::ClientLeft,
                ..Ending::default()
            });
        }
        local::recycle(&mut self.0);
    }
}
