//! Activities and spans that are over, as they are kept and sent. Plain data.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use crate::activity::{ActivityKind, EndingKind};
use crate::context::{SpanId, TraceId};
use crate::span::SpanKind;

/// An activity that has ended, with its spans: a part of a trace.
#[derive(Clone, Debug)]
pub struct FinishedActivity {
    /// The sort of work.
    pub kind: ActivityKind,
    /// What logs call it.
    pub request_id: String,
    /// The trace.
    pub trace_id: TraceId,
    /// Its own span, to which those of `spans` lead.
    pub span_id: SpanId,
    /// The caller's span.
    pub parent: Option<SpanId>,
    /// What was carried with the trace.
    pub trace_state: Option<Box<str>>,
    /// The method of a request.
    pub method: Option<Box<str>>,
    /// The path of a request without its query, or a name.
    pub path: Box<str>,
    /// The pattern of the route.
    pub route: Option<Arc<str>>,
    /// When it began.
    pub started_at: SystemTime,
    /// How long it took.
    pub took: Duration,
    /// How it ended.
    pub ending: EndingKind,
    /// The status of a response.
    pub status: Option<u16>,
    /// What went wrong.
    pub error: Option<Box<str>>,
    /// Its spans, in the order in which they ended.
    pub spans: Vec<FinishedSpan>,
    /// Spans beyond a limit, which are not in `spans`.
    pub left_out: usize,
}

impl FinishedActivity {
    /// What it is called in lists: method and route, or else path.
    pub fn name(&self) -> String {
        let what = self.route.as_deref().unwrap_or(&self.path);
        match &self.method {
            // A path that no route has may be anything: a name has few values.
            Some(method) if self.route.is_none() => method.to_string(),
            Some(method) => format!("{method} {what}"),
            None => what.to_owned(),
        }
    }

    /// Whether the server is at fault for how it ended.
    pub fn has_failed(&self) -> bool {
        self.error.is_some() || self.status.is_some_and(|status| status >= 500)
    }

    /// About how many bytes of memory it takes.
    pub fn bytes(&self) -> usize {
        let texts = self.request_id.len()
            + self.path.len()
            + self.method.as_ref().map_or(0, |text| text.len())
            + self.error.as_ref().map_or(0, |text| text.len())
            + self.trace_state.as_ref().map_or(0, |text| text.len());
        let spans: usize = self.spans.iter().map(FinishedSpan::bytes).sum();
        size_of::<FinishedActivity>() + texts + spans
    }
}

/// A part of an activity that is over.
#[derive(Clone, Debug)]
pub struct FinishedSpan {
    /// Its name among the spans of the trace.
    pub id: SpanId,
    /// The span that it is a part of.
    pub parent: SpanId,
    /// What it waited for.
    pub kind: SpanKind,
    /// What exactly; the text of a statement, without values.
    pub name: Box<str>,
    /// `file:line` of the caller, where that is known.
    pub place: Option<Arc<str>>,
    /// When it began, after the activity did.
    pub after: Duration,
    /// How long it took.
    pub took: Duration,
    /// What went wrong.
    pub error: Option<Box<str>>,
    /// What else is known of it.
    pub attributes: Vec<(&'static str, Attribute)>,
}

impl FinishedSpan {
    fn bytes(&self) -> usize {
        let attributes = self.attributes.iter().map(|(_, value)| value.bytes());
        size_of::<FinishedSpan>()
            + self.name.len()
            + self.error.as_ref().map_or(0, |text| text.len())
            + attributes.sum::<usize>()
    }
}

/// What is known of a span under one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// A text.
    Text(Box<str>),
    /// A number.
    Number(i64),
    /// Yes or no.
    Flag(bool),
}

impl Attribute {
    fn bytes(&self) -> usize {
        let text = match self {
            Attribute::Text(text) => text.len(),
            Attribute::Number(_) | Attribute::Flag(_) => 0,
        };
        size_of::<(&str, Attribute)>() + text
    }
}

impl From<&str> for Attribute {
    fn from(text: &str) -> Attribute {
        Attribute::Text(text.into())
    }
}

impl From<bool> for Attribute {
    fn from(flag: bool) -> Attribute {
        Attribute::Flag(flag)
    }
}

impl From<usize> for Attribute {
    fn from(number: usize) -> Attribute {
        Attribute::Number(i64::try_from(number).unwrap_or(i64::MAX))
    }
}

impl From<i64> for Attribute {
    fn from(number: i64) -> Attribute {
        Attribute::Number(number)
    }
}

impl From<u16> for Attribute {
    fn from(number: u16) -> Attribute {
        Attribute::Number(number.into())
    }
}
