//! Errors that nobody handled, grouped by where they were raised, as each worker keeps them. Logs none: that is done where one ends.
//! Rule: a worker keeps its own, so an error takes a lock that only the admin thread shares; groups, texts and frames have limits.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use serde_json::{Value, json};

use super::text::{cut, cut_to};
use crate::limits::{DASHBOARD_ERRORS_MAX, DASHBOARD_FRAMES_MAX, DASHBOARD_MESSAGE_CHARACTERS_MAX};
use crate::log::without_hidden_folder;
use crate::unix_time::unix_ms;

/// An error that ended a request, or something else that the application ran.
#[derive(Clone, Debug, Default)]
pub struct ErrorReport {
    /// Where it was raised, as `file:line`; found in `backtrace` or `message` when this is none.
    pub place: Option<String>,
    /// Its class, or its type.
    pub class: String,
    /// What it says.
    pub message: String,
    /// Frames, the innermost first.
    pub backtrace: Vec<String>,
    /// What was run, as the log calls it: a request, a job, a timer.
    pub subject: String,
}

/// The errors of one worker.
#[derive(Debug, Default)]
pub(crate) struct ErrorSink(Mutex<Groups>);

#[derive(Debug, Default)]
pub(super) struct Groups {
    /// The group that was added to last is the last.
    pub(super) groups: VecDeque<ErrorGroup>,
    /// Whether one had to go.
    pub(super) cut: bool,
}

#[derive(Clone, Debug)]
pub(super) struct ErrorGroup {
    last: ErrorReport,
    /// The route of the last, or what else was run.
    route: String,
    trace_id: Option<String>,
    count: u64,
    first_at: u64,
    pub(super) last_at: u64,
}

thread_local! {
    static SINK: RefCell<Option<Arc<ErrorSink>>> = const { RefCell::new(None) };
}

/// Keeps the errors of this thread from now on.
pub(crate) fn follow_errors(sink: &Arc<ErrorSink>) {
    SINK.set(Some(Arc::clone(sink)));
}

/// Leaves an error for the dashboard, if there is one. Whether and how it is logged is the caller's business.
pub fn report_error(report: impl FnOnce() -> ErrorReport) {
    let sink = SINK.with_borrow(Option::clone);
    if let Some(sink) = sink {
        let activity = tsumugi_trace::current();
        let activity = activity.as_ref();
        let route = activity.and_then(|activity| {
            let (method, route) = (activity.subject().method()?, activity.route()?);
            Some(format!("{method} {route}"))
        });
        let trace_id = activity.map(|activity| activity.trace_id().to_string());
        sink.add(report(), (route, trace_id), unix_ms(SystemTime::now()));
    }
}

impl ErrorSink {
    pub(super) fn groups(&self) -> MutexGuard<'_, Groups> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(
        &self,
        mut report: ErrorReport,
        (route, trace_id): (Option<String>, Option<String>),
        now: u64,
    ) {
        report.tidy();
        let mut group = ErrorGroup {
            route: route.unwrap_or_else(|| report.subject.clone()),
            last: report,
            trace_id,
            count: 1,
            first_at: now,
            last_at: now,
        };
        let mut all = self.groups();
        let known = all.groups.iter().position(|known| known.is_same(&group));
        if let Some(known) = known.and_then(|place| all.groups.remove(place)) {
            (group.count, group.first_at) = (known.count + 1, known.first_at);
        }
        if all.groups.len() >= DASHBOARD_ERRORS_MAX {
            all.groups.pop_front();
            all.cut = true;
        }
        all.groups.push_back(group);
    }
}

impl ErrorGroup {
    /// Whether both are the same error. Where it was raised is not always known; then it is what was run.
    fn is_same(&self, other: &ErrorGroup) -> bool {
        let (own, others) = (&self.last, &other.last);
        let is_placed = own.place.is_some() || self.route == other.route;
        own.place == others.place && own.class == others.class && is_placed
    }
}

impl ErrorReport {
    /// Finds its place and brings its texts within their limits.
    fn tidy(&mut self) {
        // Before anything is cut or looked for: what is left of a path would not be known as one.
        let texts = [&mut self.message].into_iter().chain(&mut self.backtrace);
        for text in texts.chain(&mut self.place) {
            if let Cow::Owned(shown) = without_hidden_folder(text) {
                *text = shown;
            }
        }
        let in_backtrace = || self.backtrace.iter().find_map(|frame| place_in(frame));
        let place = self.place.take();
        self.place = place
            .or_else(in_backtrace)
            .or_else(|| place_in(&self.message));
        self.class = cut(&self.class);
        self.subject = cut(&self.subject);
        self.message = cut_to(&self.message, DASHBOARD_MESSAGE_CHARACTERS_MAX);
        self.backtrace.truncate(DASHBOARD_FRAMES_MAX);
        self.backtrace
            .iter_mut()
            .for_each(|frame| *frame = cut(frame));
    }
}

/// The first `file:line` in a text.
pub(super) fn place_in(text: &str) -> Option<String> {
    const KINDS: [&str; 4] = [".rb:", ".erb:", ".rs:", ".sql:"];
    let ends = KINDS.iter().filter_map(|kind| {
        let found = text.match_indices(kind);
        let with_line = found.filter_map(|(at, kind)| {
            let line = at + kind.len();
            let digits = text
                .get(line..)?
                .bytes()
                .take_while(u8::is_ascii_digit)
                .count();
            (digits > 0).then_some((at, line + digits))
        });
        with_line.min()
    });
    let (at, end) = ends.min()?;
    let is_around = |c: char| c.is_whitespace() || "\"'`(<[".contains(c);
    let begin = text.get(..at)?.rfind(is_around).map_or(0, |at| {
        at + text
            .get(at..)
            .and_then(|rest| rest.chars().next())
            .map_or(1, char::len_utf8)
    });
    text.get(begin..end).map(cut)
}

/// Adds the errors of another worker.
pub(super) fn merge(all: &mut Vec<ErrorGroup>, group: ErrorGroup) {
    let Some(known) = all.iter_mut().find(|known| known.is_same(&group)) else {
        all.push(group);
        return;
    };
    let (count, first_at) = (
        known.count + group.count,
        known.first_at.min(group.first_at),
    );
    if known.last_at < group.last_at {
        *known = group;
    }
    (known.count, known.first_at) = (count, first_at);
}

/// An error as the dashboard has it.
pub(super) fn shown(group: &ErrorGroup) -> Value {
    let last = &group.last;
    json!({
        "place": last.place,
        "class": last.class,
        "message": last.message,
        "count": group.count,
        "first_at": group.first_at,
        "last_at": group.last_at,
        "route": group.route,
        "trace_id": group.trace_id,
        "backtrace": last.backtrace,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(place: &str, message: &str) -> ErrorReport {
        ErrorReport {
            class: "RuntimeError".to_owned(),
            message: message.to_owned(),
            backtrace: vec![format!("{place}:in 'call'")],
            ..ErrorReport::default()
        }
    }

    #[test]
    fn errors_of_one_place_are_counted_together_with_the_last_message() {
        let sink = ErrorSink::default();
        sink.add(report("app.rb:3", "first"), (None, None), 10);
        sink.add(report("app.rb:4", "other"), (None, None), 20);
        sink.add(report("app.rb:3", "second"), (None, None), 30);
        let all = sink.groups();
        let seen: Vec<_> = all.groups.iter().map(shown).collect();
        assert_eq!(seen.len(), 2);
        assert_eq!(seen[1]["place"], "app.rb:3");
        assert_eq!(seen[1]["count"], 2);
        assert_eq!(seen[1]["message"], "second");
        assert_eq!(
            (&seen[1]["first_at"], &seen[1]["last_at"]),
            (&json!(10), &json!(30))
        );
    }

    #[test]
    fn errors_without_a_place_are_told_apart_by_their_routes() {
        let sink = ErrorSink::default();
        for (route, subject) in [
            (Some("GET /a/:id"), "GET /a/1"),
            (Some("GET /a/:id"), "GET /a/2"),
            (None, "GET /b"),
        ] {
            let report = ErrorReport {
                class: "Db".to_owned(),
                subject: subject.to_owned(),
                ..ErrorReport::default()
            };
            sink.add(report, (route.map(str::to_owned), None), 1);
        }
        let all = sink.groups();
        let seen = all
            .groups
            .iter()
            .map(|group| (group.route.as_str(), group.count));
        assert_eq!(seen.collect::<Vec<_>>(), [("GET /a/:id", 2), ("GET /b", 1)]);
    }

    #[test]
    fn one_place_more_than_the_limit_takes_the_place_of_the_oldest() {
        let sink = ErrorSink::default();
        for n in 0..=DASHBOARD_ERRORS_MAX {
            sink.add(
                report(&format!("app.rb:{}", n + 1), "x"),
                (None, None),
                n as u64,
            );
        }
        let all = sink.groups();
        assert_eq!(all.groups.len(), DASHBOARD_ERRORS_MAX);
        assert!(all.cut);
        assert_eq!(all.groups[0].last.place.as_deref(), Some("app.rb:2"));
    }

    #[test]
    fn message_and_frames_beyond_their_limits_are_cut() {
        let sink = ErrorSink::default();
        let mut long = report(
            "app.rb:1",
            &"x".repeat(DASHBOARD_MESSAGE_CHARACTERS_MAX + 1),
        );
        long.backtrace = vec!["app.rb:1:in 'x'".to_owned(); DASHBOARD_FRAMES_MAX + 1];
        sink.add(long, (None, None), 0);
        let all = sink.groups();
        let last = &all.groups[0].last;
        assert_eq!(
            last.message.chars().count(),
            DASHBOARD_MESSAGE_CHARACTERS_MAX + 1
        );
        assert!(last.message.ends_with('…'));
        assert_eq!(last.backtrace.len(), DASHBOARD_FRAMES_MAX);
    }

    #[test]
    fn place_is_the_first_file_with_a_line() {
        for (text, expected) in [
            ("app.rb:12:in 'get'", Some("app.rb:12")),
            (
                "undefined method 'x' (app/a.rb:3) and b.rb:4",
                Some("app/a.rb:3"),
            ),
            ("at src/main.rs:5:10", Some("src/main.rs:5")),
            ("views/show.erb:2: oops", Some("views/show.erb:2")),
            ("GET /x.rb: failed", None),
            ("nothing", None),
            ("日本 読.rb:7", Some("読.rb:7")),
        ] {
            assert_eq!(place_in(text).as_deref(), expected, "{text}");
        }
    }
}
