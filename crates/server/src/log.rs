//! What a program that serves writes to a terminal: its log, through the queue that never makes a worker wait, and errors.
//! Rule: `TSUMUGI_LOG` has the last word on what is shown and `TSUMUGI_LOG_FORMAT` on its form; no event is longer than its limit, whatever a
//! client put into it.

use std::backtrace::Backtrace;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{self, IsTerminal as _, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tracing_subscriber::EnvFilter;
use tsumugi_worker::{ERRORS, LogFormat, OUTPUT};

use crate::event_length::cut_middle;
use crate::limits::{LAST_LINES_MS_MAX, LOG_EVENT_BYTES_MAX};
use crate::log_json::JsonEvents;

/// Begins the log, on standard error or at the end of the file `path`. `level` is what is shown unless `TSUMUGI_LOG` says otherwise; the form is
/// that of `TSUMUGI_LOG_FORMAT`.
///
/// # Errors
/// When the file cannot be written, and for a form that there is not.
pub fn begin_log(level: &str, path: Option<&Path>) -> Result<()> {
    let format = log_format(std::env::var_os("TSUMUGI_LOG_FORMAT").as_deref())?;
    if let Some(path) = path {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let started = file.and_then(|file| ERRORS.start_to(file));
        started.with_context(|| format!("cannot write the log to {}", path.display()))?;
    }
    format.set();
    let filter = EnvFilter::try_from_env("TSUMUGI_LOG").unwrap_or_else(|_| level.into());
    let events = tracing_subscriber::fmt().with_env_filter(filter);
    match format {
        LogFormat::Text => events
            .with_writer(|| TextLogWriter)
            .with_ansi(path.is_none() && std::io::stderr().is_terminal())
            .init(),
        LogFormat::Json => events
            .event_format(JsonEvents)
            .with_writer(|| JsonLogWriter)
            .init(),
    }
    Ok(())
}

fn log_format(given: Option<&OsStr>) -> Result<LogFormat> {
    match given.map(OsStr::to_string_lossy).as_deref() {
        None | Some("" | "text") => Ok(LogFormat::Text),
        Some("json") => Ok(LogFormat::Json),
        Some(other) => bail!("TSUMUGI_LOG_FORMAT is {other:?}; there are text and json"),
    }
}

/// Standard error as events in JSON are written to it, whole as they are.
struct JsonLogWriter;

impl Write for JsonLogWriter {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        // What is dropped is counted, and more cannot be done about it.
        let _ = ERRORS.write(event);
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Standard error as events in text are written to it: one write for each event.
struct TextLogWriter;

impl Write for TextLogWriter {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        // What is dropped is counted, and more cannot be done about it.
        let _ = ERRORS.write(&cut_middle(&named(event), LOG_EVENT_BYTES_MAX));
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// An event with the names of the request that it is about, if there is one: by them its lines are found, whoever wrote them.
fn named(event: &[u8]) -> Cow<'_, [u8]> {
    let Some(ids) = tsumugi_trace::log_ids() else {
        return Cow::Borrowed(event);
    };
    let line = event.strip_suffix(b"\n").unwrap_or(event);
    let named = [line, format!(" {ids}\n").as_bytes()].concat();
    Cow::Owned(named)
}

/// Waits a moment for what is queued for the standard streams.
pub fn end_log() {
    for stream in [&OUTPUT, &ERRORS] {
        stream.drain(Duration::from_millis(LAST_LINES_MS_MAX));
    }
}

/// Keeps workers from waiting for the reader of the standard streams, also when one panics.
pub fn streams_apart() -> Result<()> {
    for stream in [&OUTPUT, &ERRORS] {
        stream.start().context("cannot start the log")?;
    }
    std::panic::set_hook(Box::new(|panic| {
        tracing::error!("{panic}\n{}", Backtrace::capture());
        // The process may be about to abort.
        ERRORS.drain(Duration::from_millis(LAST_LINES_MS_MAX));
    }));
    Ok(())
}

/// An error with its causes, each text once: some errors say their cause's text themselves.
pub fn story(error: &(dyn std::error::Error + 'static)) -> String {
    let mut story = error.to_string();
    for cause in std::iter::successors(error.source(), |cause| cause.source()) {
        let text = cause.to_string();
        if !story.contains(&text) {
            story.push_str(": ");
            story.push_str(&text);
        }
    }
    story
}

#[cfg(test)]
mod tests {
    use super::*;
    use tsumugi_trace::{Activity, ActivityKind};

    #[test]
    fn event_of_an_activity_ends_with_its_names() {
        assert_eq!(*named(b"line\n"), *b"line\n");
        let activity = Activity::begin_named(ActivityKind::Job, "thumbnail".into(), None);
        let ids = activity.enter(|| named(b"line\n").into_owned());
        let (request, trace) = (activity.id(), activity.trace_id());
        let expected = format!("line request_id={request} trace_id={trace}\n");
        assert_eq!(String::from_utf8(ids).unwrap(), expected);
    }

    #[test]
    fn form_of_the_log_that_there_is_not_is_refused_by_name() {
        let of = |text: &str| log_format(Some(OsStr::new(text)));
        assert_eq!(log_format(None).unwrap(), LogFormat::Text);
        assert_eq!(of("").unwrap(), LogFormat::Text);
        assert_eq!(of("json").unwrap(), LogFormat::Json);
        let refused = of("JSON").unwrap_err().to_string();
        assert_eq!(
            refused,
            r#"TSUMUGI_LOG_FORMAT is "JSON"; there are text and json"#
        );
    }
}
