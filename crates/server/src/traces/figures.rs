//! What became of traces, as figures. Counts nothing.

use tsumugi_http::exposition::Exposition;
use tsumugi_trace::Tracer;

/// What became of the spans that were recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExporterFigures {
    /// Spans that the collector has taken.
    pub sent: u64,
    /// Spans that were sent, and not taken.
    pub failed: u64,
}

/// Writes the figures of traces.
pub(crate) fn write_figures(
    tracer: &Tracer,
    exporter: Option<ExporterFigures>,
    text: &mut Exposition,
) {
    let counts = tracer.counts();
    text.single(
        "tsumugi_traces_recorded_total",
        "Requests, jobs and ticks whose spans were recorded.",
        counts.recorded,
    );
    text.single(
        "tsumugi_trace_spans_left_out_total",
        "Spans beyond the limit of one request.",
        counts.spans_left_out,
    );
    let Some(figures) = exporter else { return };
    text.single(
        "tsumugi_traces_dropped_total",
        "Recorded requests, jobs and ticks that were not sent, because the collector is slow.",
        counts.dropped,
    );
    text.single(
        "tsumugi_trace_spans_sent_total",
        "Spans that the collector has taken.",
        figures.sent,
    );
    text.single(
        "tsumugi_trace_spans_failed_total",
        "Spans that were sent to the collector and not taken.",
        figures.failed,
    );
}
