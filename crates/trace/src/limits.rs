//! Every bound of this crate, by name. Knows no text of an error. Rule: what is beyond a bound is cut or counted, and nobody waits for it.

/// Spans that one activity keeps; those beyond are counted.
pub const TRACE_SPANS_MAX: usize = 512;

/// Spans of one activity that are open at a time; those beyond are counted.
pub const TRACE_SPANS_OPEN_MAX: usize = 128;

/// Bytes of the name of a span, such as the text of a statement; what is behind is cut off.
pub const SPAN_NAME_BYTES_MAX: usize = 256;

/// Attributes of one span; those beyond are left out.
pub const SPAN_ATTRIBUTES_MAX: usize = 16;

/// Bytes of one attribute or of an error's text; what is behind is cut off.
pub const SPAN_TEXT_BYTES_MAX: usize = 512;

/// Bytes of a `tracestate`; a longer one is not carried (W3C Trace Context section 3.3.1.5 asks for 512).
pub const TRACESTATE_BYTES_MAX: usize = 512;

/// Members of a `tracestate`; one with more is not carried.
pub const TRACESTATE_MEMBERS_MAX: usize = 32;

/// Finished activities of one worker that wait to be sent; those beyond are dropped and counted.
pub const TRACES_QUEUED_MAX: usize = 1_024;

/// Bytes of the activities of one worker that wait to be sent; those beyond are dropped and counted.
pub const TRACES_QUEUED_BYTES_MAX: usize = 4 << 20;

/// Bytes of the activities that are taken at a time, but for one that is larger: collectors take messages of some megabytes.
pub const TRACES_TAKEN_BYTES_MAX: usize = 2 << 20;

/// Finished activities that one worker keeps in memory; the oldest give way.
pub const TRACES_KEPT_MAX: usize = 256;

/// Ticks of one timer that one worker keeps in memory, so that a timer of each second leaves room for requests; the oldest give way. Those that
/// have failed are counted apart.
pub const TRACES_KEPT_TICKS_MAX: usize = 4;

/// Ticks of one timer that have failed and that one worker keeps in memory beside the others, which would push them out; the oldest give way.
pub const TRACES_KEPT_FAILED_TICKS_MAX: usize = 4;

/// Spans of the activities that one worker keeps; the oldest activities give way.
pub const TRACES_KEPT_SPANS_MAX: usize = 8_192;

/// Bytes of the activities that one worker keeps; the oldest give way.
pub const TRACES_KEPT_BYTES_MAX: usize = 4 << 20;

/// Activities of one worker that are shown at a time.
pub const ACTIVITIES_SHOWN_MAX: usize = 1_000;

/// Activities whose memory one worker keeps for the next.
pub const ACTIVITIES_SPARE_MAX: usize = 64;

/// New traces per second and worker, where no ratio is given and nothing collects them.
pub const TRACES_PER_SECOND: f64 = 10.0;

/// New traces that may come at once then.
pub const TRACES_AT_ONCE: f64 = 20.0;
