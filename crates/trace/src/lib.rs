//! What is under way on each worker, what it waits for, and how that becomes traces. Knows no socket, no database and no language.
//! Rule: where nothing records and nobody watches, a span costs a look at the thread; what is beyond a limit is counted, and no worker waits.
//!
//! An [`Activity`] is a request, a job, a tick of a timer, a stream or a WebSocket. It is the current one of its thread while it is polled
//! ([`Activity::enter`]); what it waits for opens a [`Span`]. [`Tracer`] is the view of all workers from outside.

#![forbid(unsafe_code)]

mod activity;
mod context;
mod lane;
mod limits;
mod local;
mod record;
mod scope;
mod shown_activity;
mod span;
mod tracer;

pub use activity::{
    Activity, ActivityHold, ActivityKind, ActivityStart, Ending, EndingKind, OwnedActivity,
    RequestId, Subject,
};
pub use context::{SpanId, TraceId, TraceParent, trace_state};
pub use lane::TraceCounts;
pub use limits::{
    ACTIVITIES_SHOWN_MAX, SPAN_ATTRIBUTES_MAX, SPAN_NAME_BYTES_MAX, SPAN_TEXT_BYTES_MAX,
    TRACE_SPANS_MAX, TRACE_SPANS_OPEN_MAX, TRACES_KEPT_BYTES_MAX, TRACES_KEPT_FAILED_TICKS_MAX,
    TRACES_KEPT_MAX, TRACES_KEPT_SPANS_MAX, TRACES_KEPT_TICKS_MAX, TRACES_QUEUED_BYTES_MAX,
    TRACES_QUEUED_MAX, TRACES_TAKEN_BYTES_MAX, TRACESTATE_BYTES_MAX, TRACESTATE_MEMBERS_MAX,
};
pub use local::Outgoing;
pub use local::{LogIds, current, is_observed, log_ids, outgoing, source_location, within};
pub use record::{Attribute, FinishedActivity, FinishedSpan};
pub use scope::{ActivityScope, SpanScope, WaitScope, in_span, in_wait};
pub use shown_activity::{ShownActivity, cancelled};
pub use span::{Span, SpanKind, brief_span, span};
pub use tracer::{ActivityView, CancelReply, Sampling, TraceSettings, Tracer, WaitView};
