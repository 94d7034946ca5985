//! The last traces and the spans of one, for the dashboard. Collects none: workers keep what they have recorded.
//! Rule: a trace is what this process knows of it, under its number; others may know more.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value, json};
use tsumugi_trace::{Attribute, FinishedActivity, FinishedSpan, TraceId};

use super::Dashboard;
use super::api::{ApiError, ApiQuery, ApiResult, list};
use crate::limits::{DASHBOARD_SPANS_MAX, DASHBOARD_TRACES_MAX};
use crate::unix_time::unix_ms;

/// `GET traces`: the latest first.
pub(super) fn view(dashboard: &Dashboard, _: &ApiQuery) -> ApiResult {
    let tracer = dashboard.tracer.as_ref();
    let kept = tracer.map_or_else(Vec::new, |tracer| tracer.kept());
    let mut answer = rows_of(&kept);
    let exporter = dashboard.exporter.as_ref();
    let figures = exporter.map(|exporter| exporter.figures());
    answer["exporter"] = json!({
        "endpoint": exporter.map(|exporter| exporter.endpoint()),
        "sent": figures.map_or(0, |figures| figures.sent),
        "dropped": tracer.map_or(0, |tracer| tracer.counts().dropped),
        "failed": figures.map_or(0, |figures| figures.failed),
    });
    Ok(answer)
}

fn rows_of(kept: &[Arc<FinishedActivity>]) -> Value {
    let traces = kept.iter().map(|activity| row(activity)).collect();
    list("traces", traces, DASHBOARD_TRACES_MAX)
}

fn row(activity: &FinishedActivity) -> Value {
    json!({
        "trace_id": activity.trace_id.to_string(),
        "kind": activity.kind.as_str(),
        "route": activity.name(),
        "at": unix_ms(activity.started_at),
        "took_ms": ms(activity.took),
        "status": activity.status,
        "spans": activity.spans.len() + 1,
    })
}

/// `GET trace`: all that is kept under a number.
pub(super) fn trace(dashboard: &Dashboard, query: &ApiQuery) -> ApiResult {
    let id = query.value("id").and_then(TraceId::parse);
    let id = id.ok_or_else(|| ApiError::bad_request("id is a trace: 32 hexadecimal digits"))?;
    let tracer = dashboard.tracer.as_ref();
    let mut parts = tracer.map_or_else(Vec::new, |tracer| tracer.kept());
    parts.retain(|activity| activity.trace_id == id);
    spans_of(&parts, id)
}

fn spans_of(parts: &[Arc<FinishedActivity>], id: TraceId) -> ApiResult {
    let begin = parts.iter().map(|activity| activity.started_at).min();
    let begin = begin.ok_or_else(|| ApiError::not_found("this trace is not kept any more"))?;
    let mut spans = Vec::new();
    for activity in parts.iter().rev() {
        spans.push(outer(activity, begin));
        let mut inner: Vec<&FinishedSpan> = activity.spans.iter().collect();
        inner.sort_by_key(|span| span.after);
        let since = microseconds(since(activity.started_at, begin));
        spans.extend(inner.into_iter().map(|span| shown(span, since)));
    }
    let mut answer = list("spans", spans, DASHBOARD_SPANS_MAX);
    answer["trace_id"] = json!(id.to_string());
    Ok(answer)
}

fn outer(activity: &FinishedActivity, begin: SystemTime) -> Value {
    let mut attributes = Map::new();
    attributes.insert("request_id".to_owned(), json!(activity.request_id));
    attributes.insert("path".to_owned(), json!(activity.path));
    if let Some(status) = activity.status {
        attributes.insert("status".to_owned(), json!(status));
    }
    if activity.left_out > 0 {
        attributes.insert("spans_left_out".to_owned(), json!(activity.left_out));
    }
    let failed = activity.has_failed().then(|| match activity.status {
        Some(status) => format!("answered {status}"),
        None => String::new(),
    });
    json!({
        "id": activity.span_id.to_string(),
        "parent": activity.parent.map(|parent| parent.to_string()),
        "kind": activity.kind.as_str(),
        "name": activity.name(),
        "at_us": microseconds(since(activity.started_at, begin)),
        "took_us": microseconds(activity.took),
        "place": null,
        "error": activity.error.as_deref().map(str::to_owned).or(failed),
        "attributes": attributes,
    })
}

fn shown(span: &FinishedSpan, since: u64) -> Value {
    let attributes = span.attributes.iter().map(|(name, value)| {
        let value = match value {
            Attribute::Text(text) => json!(text),
            Attribute::Number(number) => json!(number),
            Attribute::Flag(flag) => json!(flag),
        };
        ((*name).to_owned(), value)
    });
    json!({
        "id": span.id.to_string(),
        "parent": span.parent.to_string(),
        "kind": span.kind.as_str(),
        "name": span.name,
        "at_us": since.saturating_add(microseconds(span.after)),
        "took_us": microseconds(span.took),
        "place": span.place.as_deref(),
        "error": span.error,
        "attributes": attributes.collect::<Map<String, Value>>(),
    })
}

fn since(time: SystemTime, begin: SystemTime) -> Duration {
    time.duration_since(begin).unwrap_or_default()
}

fn microseconds(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

fn ms(time: Duration) -> f64 {
    time.as_micros() as f64 / 1_000.0
}

#[cfg(test)]
mod tests {
    use tsumugi_trace::{
        Activity, ActivityKind, Ending, Sampling, SpanKind, TRACE_SPANS_MAX, TraceParent,
        TraceSettings, Tracer, span,
    };

    use super::*;

    /// What a worker keeps of activities with so many spans each, all of one trace.
    fn kept(spans: impl Iterator<Item = usize>) -> Vec<Arc<FinishedActivity>> {
        let tracer = Tracer::new(TraceSettings {
            sampling: Sampling::Ratio(1.0),
            watches: false,
            keeps: true,
            sends: false,
        });
        tracer.attach(0);
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let parent = TraceParent::parse(parent.as_bytes());
        for count in spans {
            let activity = Activity::begin_named(ActivityKind::Job, "j".into(), parent);
            activity.enter(|| (0..count).for_each(|_| drop(span(SpanKind::Sleep, "s"))));
            activity.end(Ending::default());
        }
        tracer.kept()
    }

    #[test]
    fn one_trace_more_than_the_limit_is_left_out() {
        for (count, more) in [
            (DASHBOARD_TRACES_MAX, false),
            (DASHBOARD_TRACES_MAX + 1, true),
        ] {
            let answer = rows_of(&kept(std::iter::repeat_n(0, count)));
            assert_eq!(
                answer["traces"].as_array().unwrap().len(),
                DASHBOARD_TRACES_MAX
            );
            assert_eq!(answer["more"], more);
        }
    }

    #[test]
    fn one_span_more_than_the_limit_is_left_out() {
        for more in [0, 1] {
            // Each activity has a span of its own.
            let mut left = DASHBOARD_SPANS_MAX + more;
            let counts = std::iter::from_fn(|| {
                let own = left.checked_sub(1)?.min(TRACE_SPANS_MAX);
                left -= own + 1;
                Some(own)
            });
            let kept = kept(counts);
            let answer = spans_of(&kept, kept[0].trace_id).unwrap();
            assert_eq!(
                answer["spans"].as_array().unwrap().len(),
                DASHBOARD_SPANS_MAX
            );
            assert_eq!(answer["more"], more == 1);
        }
    }
}
