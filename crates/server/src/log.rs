//! What a program that serves writes to a terminal: its log, through the queue that never makes a worker wait, and errors.
//! Rule: `TSUMUGI_LOG` has the last word on what is shown and `TSUMUGI_LOG_FORMAT` on its form; no event is longer than its limit, whatever a
//! client put into it.

use std::backtrace::Backtrace;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::{self, IsTerminal as _, Write};
use std::path::Path;
use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::LevelFilter;
use tsumugi_worker::{ERRORS, LogFormat, OUTPUT};

use crate::event_length::cut_middle;
use crate::limits::{LAST_LINES_MS_MAX, LOG_EVENT_BYTES_MAX};
use crate::log_json::JsonEvents;

/// Begins the log, on standard error or at the end of the file `path`. `level` is what is shown unless `TSUMUGI_LOG` says otherwise; the form is
/// that of `TSUMUGI_LOG_FORMAT`.
///
/// # Errors
/// When the file cannot be written, and for a form or a level that there is not.
pub fn begin_log(level: &str, path: Option<&Path>) -> Result<()> {
    let format = log_format(std::env::var_os("TSUMUGI_LOG_FORMAT").as_deref())?;
    if let Some(path) = path {
        let file = OpenOptions::new().create(true).append(true).open(path);
        let started = file.and_then(|file| ERRORS.start_to(file));
        started.with_context(|| format!("cannot write the log to {}", path.display()))?;
    }
    format.set();
    let filter = log_filter(std::env::var_os("TSUMUGI_LOG").as_deref(), level)?;
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

/// What is logged: `level`, unless something else is given.
fn log_filter(given: Option<&OsStr>, level: &str) -> Result<EnvFilter> {
    let Some(given) = given.filter(|given| !given.is_empty()) else {
        return Ok(EnvFilter::new(level));
    };
    let given = given.to_string_lossy();
    // A word alone would be a target, which is never meant: a mistyped level would end the log without a word.
    let is_known = |part: &str| part.contains('=') || part.parse::<LevelFilter>().is_ok();
    let parts = given
        .split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    let filter = EnvFilter::try_new(&*given).ok();
    filter.filter(|_| parts.into_iter().all(is_known)).with_context(|| {
        format!("TSUMUGI_LOG is {given:?}; there are error, warn, info, debug, off and TARGET=LEVEL, with commas between them")
    })
}

fn log_format(given: Option<&OsStr>) -> Result<LogFormat> {
    match given.map(OsStr::to_string_lossy).as_deref() {
        None | Some("" | "text") => Ok(LogFormat::Text),
        Some("json") => Ok(LogFormat::Json),
        Some(other) => bail!("TSUMUGI_LOG_FORMAT is {other:?}; there are text and json"),
    }
}

/// A folder whose files are shown by their paths in it, in each of the forms in which texts may have it.
static HIDDEN_FOLDER: OnceLock<Vec<String>> = OnceLock::new();

/// Has the log, and whatever goes through [`without_hidden_folder`], show files of this folder by their paths in it from now on: those of an
/// application that was unpacked for this process. The first one counts.
pub fn hide_folder(folder: &Path) {
    let _ = HIDDEN_FOLDER.set(forms(folder));
}

/// The folder as it is, and as it is written between quotation marks: by Rust, in JSON, and in JSON by Rust. They differ where its name has what is
/// escaped there.
fn forms(folder: &Path) -> Vec<String> {
    let inside = |quoted: &str| {
        let inside = quoted
            .strip_prefix('"')
            .and_then(|text| text.strip_suffix('"'));
        inside.unwrap_or(quoted).to_owned()
    };
    let plain = folder.join("").display().to_string();
    let debug = inside(&format!("{plain:?}"));
    let json = |text: &str| inside(&serde_json::Value::from(text).to_string());
    let mut forms = vec![json(&debug), debug, json(&plain), plain];
    // Equal ones are beside each other then, and the longest are replaced first.
    forms.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
    forms.dedup();
    forms
}

/// The text without the folder of [`hide_folder`], also where it is JSON.
pub fn without_hidden_folder(text: &str) -> Cow<'_, str> {
    match HIDDEN_FOLDER.get() {
        Some(forms) => without_folder(text, forms),
        None => Cow::Borrowed(text),
    }
}

fn without_folder<'t>(text: &'t str, forms: &[String]) -> Cow<'t, str> {
    let mut shown = Cow::Borrowed(text);
    for form in forms {
        if shown.contains(form) {
            shown = Cow::Owned(shown.replace(form, ""));
        }
    }
    shown
}

/// An event of the log, which is text, without the folder that is hidden.
fn shown_event(event: &[u8]) -> Cow<'_, [u8]> {
    match std::str::from_utf8(event).map(without_hidden_folder) {
        Ok(Cow::Owned(text)) => Cow::Owned(text.into_bytes()),
        Ok(Cow::Borrowed(_)) | Err(_) => Cow::Borrowed(event),
    }
}

/// Standard error as events in JSON are written to it, whole as they are.
struct JsonLogWriter;

impl Write for JsonLogWriter {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        // What is dropped is counted, and more cannot be done about it.
        let _ = ERRORS.write(&shown_event(event));
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
        let shown = shown_event(event);
        let _ = ERRORS.write(&cut_middle(&named(&shown), LOG_EVENT_BYTES_MAX));
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
        // The same number once.
        let expected = format!("line request_id={}\n", activity.id());
        assert_eq!(String::from_utf8(ids).unwrap(), expected);
        let parent = Some(activity.as_parent());
        let part = Activity::begin_named(ActivityKind::Job, "part".into(), parent);
        let ids = part.enter(|| named(b"line\n").into_owned());
        let expected = format!(
            "line request_id={} trace_id={}\n",
            part.id(),
            part.trace_id()
        );
        assert_eq!(String::from_utf8(ids).unwrap(), expected);
    }

    #[test]
    fn event_about_a_file_of_the_hidden_folder_shows_its_path_there() {
        let forms = forms(Path::new("/tmp/tsumugi-app-x"));
        let shown = |event| without_folder(event, &forms);
        assert_eq!(shown("a: /tmp/tsumugi-app-x/app.rb:8\n"), "a: app.rb:8\n");
        assert_eq!(shown("a: /tmp/other.rb:8\n"), "a: /tmp/other.rb:8\n");
    }

    #[test]
    fn hidden_folder_whose_name_is_escaped_is_hidden_in_quotation_marks_and_in_json_too() {
        let folder = Path::new("/tmp/a \"b\" \\c\u{7}/tsumugi-app-x");
        let forms = forms(folder);
        let file = folder.join("app.rb").display().to_string();
        let texts = [
            format!("{file}:8"),
            format!("{file:?}"),
            serde_json::json!({ "place": file }).to_string(),
            serde_json::json!({ "message": format!("no {file:?}") }).to_string(),
        ];
        for text in texts {
            let shown = without_folder(&text, &forms);
            assert!(
                shown.contains("app.rb") && !shown.contains("tmp"),
                "{shown}"
            );
        }
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

    #[test]
    fn level_of_the_log_that_there_is_not_is_refused_with_those_that_there_are() {
        let of = |text: &str| log_filter(Some(OsStr::new(text)), "info");
        for right in [
            "",
            "warn",
            "ERROR",
            "off",
            "info,tsumugi_db=debug",
            "h2=warn",
        ] {
            assert!(of(right).is_ok(), "{right}");
        }
        for wrong in ["verbose", "warning", "info,tsumugi_db", "h2=loud"] {
            let error = of(wrong).unwrap_err().to_string();
            assert!(error.contains("error, warn, info, debug"), "{error}");
        }
        assert_eq!(log_filter(None, "debug").unwrap().to_string(), "debug");
    }
}
