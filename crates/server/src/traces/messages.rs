//! The messages of OTLP that traces need, field by field as its public definition numbers them (`opentelemetry/proto/trace/v1/trace.proto`,
//! `collector/trace/v1/trace_service.proto`), and what is recorded as those. Sends nothing.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tsumugi_trace::{
    ActivityKind, Attribute, EndingKind, FinishedActivity, FinishedSpan, SpanKind,
};

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ExportRequest {
    #[prost(message, repeated, tag = "1")]
    pub(super) resource_spans: Vec<ResourceSpans>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ExportResponse {
    #[prost(message, optional, tag = "1")]
    pub(super) partial_success: Option<PartialSuccess>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct PartialSuccess {
    #[prost(int64, tag = "1")]
    pub(super) rejected_spans: i64,
    #[prost(string, tag = "2")]
    pub(super) error_message: String,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ResourceSpans {
    #[prost(message, optional, tag = "1")]
    resource: Option<Resource>,
    #[prost(message, repeated, tag = "2")]
    scope_spans: Vec<ScopeSpans>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Resource {
    #[prost(message, repeated, tag = "1")]
    attributes: Vec<KeyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct ScopeSpans {
    #[prost(message, optional, tag = "1")]
    scope: Option<Scope>,
    #[prost(message, repeated, tag = "2")]
    spans: Vec<Span>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Scope {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    version: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Span {
    #[prost(bytes = "vec", tag = "1")]
    trace_id: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    span_id: Vec<u8>,
    #[prost(string, tag = "3")]
    trace_state: String,
    #[prost(bytes = "vec", tag = "4")]
    parent_span_id: Vec<u8>,
    #[prost(string, tag = "5")]
    name: String,
    /// 1 within the process, 2 that of a server, 3 that of a client, 5 that of a consumer.
    #[prost(int32, tag = "6")]
    kind: i32,
    #[prost(fixed64, tag = "7")]
    start_time_unix_nano: u64,
    #[prost(fixed64, tag = "8")]
    end_time_unix_nano: u64,
    #[prost(message, repeated, tag = "9")]
    attributes: Vec<KeyValue>,
    #[prost(message, optional, tag = "15")]
    status: Option<Status>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Status {
    #[prost(string, tag = "2")]
    message: String,
    /// 2 is an error.
    #[prost(int32, tag = "3")]
    code: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct KeyValue {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(message, optional, tag = "2")]
    value: Option<AnyValue>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct AnyValue {
    #[prost(oneof = "AnyValueUnion", tags = "1, 2, 3")]
    value: Option<AnyValueUnion>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum AnyValueUnion {
    #[prost(string, tag = "1")]
    Text(String),
    #[prost(bool, tag = "2")]
    Flag(bool),
    #[prost(int64, tag = "3")]
    Number(i64),
}

fn pair(key: &str, value: AnyValueUnion) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(value) }),
    }
}

fn text(key: &str, value: &str) -> KeyValue {
    pair(key, AnyValueUnion::Text(value.to_owned()))
}

fn failed(message: &str) -> Status {
    Status {
        message: message.to_owned(),
        code: 2,
    }
}

/// A message with these activities, of a process of which this is known.
pub(super) fn export(
    activities: &[Arc<FinishedActivity>],
    resource: &[(String, String)],
) -> ExportRequest {
    let attributes = resource.iter().map(|(key, value)| text(key, value));
    let spans = activities.iter().flat_map(|activity| spans(activity));
    ExportRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(Resource {
                attributes: attributes.collect(),
            }),
            scope_spans: vec![ScopeSpans {
                scope: Some(Scope {
                    name: "tsumugi".to_owned(),
                    version: env!("CARGO_PKG_VERSION").to_owned(),
                }),
                spans: spans.collect(),
            }],
        }],
    }
}

/// How many spans these come to.
pub(super) fn span_count(activities: &[Arc<FinishedActivity>]) -> u64 {
    let counts = activities.iter().map(|activity| activity.spans.len() + 1);
    counts.sum::<usize>() as u64
}

/// The span of an activity, and those within it.
fn spans(activity: &FinishedActivity) -> impl Iterator<Item = Span> {
    let within = activity.spans.iter().map(|span| inner(activity, span));
    std::iter::once(outer(activity)).chain(within)
}

fn outer(activity: &FinishedActivity) -> Span {
    let is_request = matches!(
        activity.kind,
        ActivityKind::Request | ActivityKind::WebSocket
    );
    let mut attributes = vec![text("tsumugi.request_id", &activity.request_id)];
    if let Some(method) = &activity.method {
        attributes.push(text("http.request.method", method));
        attributes.push(text("url.path", &activity.path));
    }
    if let Some(route) = &activity.route {
        attributes.push(text("http.route", route));
    }
    if let Some(status) = activity.status {
        let status = AnyValueUnion::Number(status.into());
        attributes.push(pair("http.response.status_code", status));
    }
    match activity.ending {
        EndingKind::Complete => {}
        EndingKind::ClientLeft => attributes.push(text("tsumugi.ending", "client left")),
        EndingKind::Cancelled => attributes.push(text("tsumugi.ending", "cancelled")),
    }
    if activity.left_out > 0 {
        let left_out = i64::try_from(activity.left_out).unwrap_or(i64::MAX);
        attributes.push(pair(
            "tsumugi.spans_left_out",
            AnyValueUnion::Number(left_out),
        ));
    }
    let error = activity.error.as_deref().unwrap_or_default();
    Span {
        trace_id: activity.trace_id.to_bytes().to_vec(),
        span_id: activity.span_id.to_bytes().to_vec(),
        trace_state: activity
            .trace_state
            .as_deref()
            .unwrap_or_default()
            .to_owned(),
        parent_span_id: activity
            .parent
            .map_or(Vec::new(), |parent| parent.to_bytes().to_vec()),
        name: activity.name(),
        kind: match (is_request, activity.kind) {
            (true, _) => 2,
            (false, ActivityKind::Job) => 5,
            (false, _) => 1,
        },
        start_time_unix_nano: nanoseconds(activity.started_at),
        end_time_unix_nano: nanoseconds(activity.started_at + activity.took),
        attributes,
        status: activity.has_failed().then(|| failed(error)),
    }
}

fn inner(activity: &FinishedActivity, span: &FinishedSpan) -> Span {
    let started_at = activity.started_at + span.after;
    let mut attributes: Vec<KeyValue> = span
        .attributes
        .iter()
        .map(|(key, value)| {
            let value = match value {
                Attribute::Text(text) => AnyValueUnion::Text(text.to_string()),
                Attribute::Number(number) => AnyValueUnion::Number(*number),
                Attribute::Flag(flag) => AnyValueUnion::Flag(*flag),
            };
            pair(key, value)
        })
        .collect();
    attributes.push(text("tsumugi.kind", span.kind.as_str()));
    if span.kind == SpanKind::Sql {
        attributes.push(text("db.query.text", &span.name));
    }
    if let Some(place) = &span.place {
        let (file, line) = place.rsplit_once(':').unwrap_or((place, ""));
        attributes.push(text("code.file.path", file));
        if let Ok(line) = line.parse() {
            attributes.push(pair("code.line.number", AnyValueUnion::Number(line)));
        }
    }
    Span {
        trace_id: activity.trace_id.to_bytes().to_vec(),
        span_id: span.id.to_bytes().to_vec(),
        trace_state: String::new(),
        parent_span_id: span.parent.to_bytes().to_vec(),
        name: span.name.to_string(),
        kind: match span.kind {
            SpanKind::Sql | SpanKind::Kv | SpanKind::Http | SpanKind::Mail => 3,
            _ => 1,
        },
        start_time_unix_nano: nanoseconds(started_at),
        end_time_unix_nano: nanoseconds(started_at + span.took),
        attributes,
        status: span.error.as_deref().map(failed),
    }
}

fn nanoseconds(time: SystemTime) -> u64 {
    let since: Duration = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}
