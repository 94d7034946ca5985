//! A part of an activity: what it waits for now, from its beginning to its end. Knows no protocol.
//! Rule: a span that nobody wants is empty and costs nothing more than to have been asked for.

use std::sync::Arc;
use std::time::Instant;

use crate::activity::Activity;
use crate::context::{SpanId, TraceParent};
use crate::limits::{
    SPAN_ATTRIBUTES_MAX, SPAN_NAME_BYTES_MAX, SPAN_TEXT_BYTES_MAX, TRACE_SPANS_MAX,
    TRACE_SPANS_OPEN_MAX,
};
use crate::local::{self, within};
use crate::record::{Attribute, FinishedSpan};

/// What something waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// A statement.
    Sql,
    /// A call of a key-value store.
    Kv,
    /// A call to another server.
    Http,
    /// Time.
    Sleep,
    /// A lock, its own or that of a cluster.
    Lock,
    /// A message.
    Channel,
    /// The body of a request.
    Body,
    /// A place in a pool.
    Pool,
    /// The client, which is to take or to send something.
    Client,
    /// A template that is rendered.
    Template,
    /// A mail on its way.
    Mail,
    /// What the author has named.
    Named,
}

impl SpanKind {
    /// Whether something waits meanwhile. What an author has named holds what waits.
    pub(crate) fn is_wait(self) -> bool {
        self != SpanKind::Named
    }

    /// Its word, as pages and traces show it.
    pub fn as_str(self) -> &'static str {
        match self {
            SpanKind::Sql => "sql",
            SpanKind::Kv => "kv",
            SpanKind::Http => "http",
            SpanKind::Sleep => "sleep",
            SpanKind::Lock => "lock",
            SpanKind::Channel => "channel",
            SpanKind::Body => "body",
            SpanKind::Pool => "pool",
            SpanKind::Client => "client",
            SpanKind::Template => "template",
            SpanKind::Mail => "mail",
            SpanKind::Named => "span",
        }
    }
}

/// What is known of a span that is open.
#[derive(Debug)]
pub(crate) struct OpenSpan {
    pub id: SpanId,
    pub parent: SpanId,
    pub kind: SpanKind,
    pub name: Box<str>,
    pub place: Option<Arc<str>>,
    pub since: Instant,
    /// It becomes a part of the trace.
    pub is_kept: bool,
    pub error: Option<Box<str>>,
    pub attributes: Vec<(&'static str, Attribute)>,
}

/// A span that ends when this is dropped.
#[derive(Debug, Default)]
#[must_use = "a span lasts until it is dropped"]
pub struct Span(Option<LiveSpan>);

#[derive(Debug)]
struct LiveSpan {
    activity: Arc<Activity>,
    id: SpanId,
    is_kept: bool,
}

/// Begins a span of the current activity. `name` is cut at [`SPAN_NAME_BYTES_MAX`] bytes.
pub fn span(kind: SpanKind, name: &str) -> Span {
    match local::is_observed() {
        false => Span(None),
        true => Span::open(kind, name, true),
    }
}

/// Begins a span of the current activity for those who watch what it waits for now. No trace has it: what comes again and again for as long
/// as something is open, such as the messages of a WebSocket, would leave no room there.
pub fn brief_span(kind: SpanKind, name: &str) -> Span {
    match local::is_observed() {
        false => Span(None),
        true => Span::open(kind, name, false),
    }
}

impl Span {
    #[cold]
    fn open(kind: SpanKind, name: &str, mut is_kept: bool) -> Span {
        let Some((activity, parent, place)) = local::observed() else {
            return Span(None);
        };
        let id = local::span_id();
        {
            let mut state = activity.state();
            let is_full = activity.is_recorded && state.spans.len() >= TRACE_SPANS_MAX;
            let has_no_room = state.has_ended || state.open.len() >= TRACE_SPANS_OPEN_MAX;
            if is_kept && (is_full || has_no_room) {
                state.left_out += 1;
                // Who watches still sees it.
                is_kept = false;
            }
            if has_no_room || !is_kept && !activity.is_watched {
                return Span(None);
            }
            state.open.push(OpenSpan {
                id,
                parent,
                kind,
                name: cut(name).into(),
                place,
                since: Instant::now(),
                is_kept,
                error: None,
                attributes: Vec::new(),
            });
        }
        activity.show();
        Span(Some(LiveSpan {
            activity,
            id,
            is_kept,
        }))
    }

    /// What is in a trace, or will be.
    fn kept(&self) -> Option<&LiveSpan> {
        self.0.as_ref().filter(|live| live.is_kept)
    }

    /// Whether anybody wants to know more of it: what is costly to find out is not worth it otherwise.
    pub fn is_recorded(&self) -> bool {
        let live = self.kept();
        live.is_some_and(|live| live.activity.is_recorded)
    }

    /// Its name among the spans, unless it is empty.
    pub fn id(&self) -> Option<SpanId> {
        self.kept().map(|live| live.id)
    }

    /// The trace as another server is to be told, with this span as the parent.
    pub fn as_parent(&self) -> Option<TraceParent> {
        let live = self.kept()?;
        Some(TraceParent {
            span_id: live.id,
            ..live.activity.as_parent()
        })
    }

    /// Something is known of it. The last value under a name counts; beyond [`SPAN_ATTRIBUTES_MAX`] names it is left out.
    pub fn set(&self, name: &'static str, value: impl Into<Attribute>) {
        if let Some(live) = self.0.as_ref().filter(|_| self.is_recorded()) {
            live.set(name, value.into());
        }
    }

    /// It has failed. `text` holds no values of the application's data.
    pub fn fail(&self, text: &str) {
        if let Some(live) = self.0.as_ref().filter(|_| self.is_recorded()) {
            let text = cut_to(text, SPAN_TEXT_BYTES_MAX);
            live.update(|open| open.error = Some(text.into()));
        }
    }

    /// Runs this as a part of the span: spans that begin meanwhile are below it.
    pub fn enter<T>(&self, run: impl FnOnce() -> T) -> T {
        match &self.0 {
            None => run(),
            Some(live) => live.activity.enter(|| within(self.id(), None, run)),
        }
    }
}

impl LiveSpan {
    fn set(&self, name: &'static str, value: Attribute) {
        let value = match value {
            Attribute::Text(text) => Attribute::Text(cut_to(&text, SPAN_TEXT_BYTES_MAX).into()),
            other => other,
        };
        self.update(|open| {
            let has_room = open.attributes.len() < SPAN_ATTRIBUTES_MAX;
            let known = open.attributes.iter_mut().find(|(known, _)| *known == name);
            match known {
                Some((_, known)) => *known = value,
                None if has_room => {
                    open.attributes.push((name, value));
                }
                None => {}
            }
        });
    }

    fn update(&self, change: impl FnOnce(&mut OpenSpan)) {
        let mut state = self.activity.state();
        // Mostly the last one.
        if let Some(open) = state.open.iter_mut().rfind(|open| open.id == self.id) {
            change(open);
        }
    }
}

impl Drop for LiveSpan {
    fn drop(&mut self) {
        let mut state = self.activity.state();
        let Some(at) = state.open.iter().rposition(|open| open.id == self.id) else {
            return;
        };
        let open = state.open.remove(at);
        if !self.activity.is_recorded || !open.is_kept {
            return;
        }
        if state.spans.len() >= TRACE_SPANS_MAX {
            state.left_out += 1;
            return;
        }
        let started_at = self.activity.started_at();
        state.spans.push(FinishedSpan {
            id: open.id,
            parent: open.parent,
            kind: open.kind,
            name: open.name,
            place: open.place,
            after: open.since.saturating_duration_since(started_at),
            took: open.since.elapsed(),
            error: open.error,
            attributes: open.attributes,
        });
    }
}

/// A name of bounded length.
pub(crate) fn cut(text: &str) -> &str {
    cut_to(text, SPAN_NAME_BYTES_MAX)
}

fn cut_to(text: &str, bytes_max: usize) -> &str {
    let end = text.floor_char_boundary(bytes_max);
    text.get(..end).unwrap_or(text)
}
