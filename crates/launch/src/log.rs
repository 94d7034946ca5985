//! What a program that serves writes to a terminal: its log, through the queue that never makes a worker wait, and errors.
//! Rule: `TSUMUGI_LOG` has the last word on what is shown.

use std::backtrace::Backtrace;
use std::io::IsTerminal as _;
use std::time::Duration;

use anyhow::{Context as _, Result};
use tracing_subscriber::EnvFilter;
use tsumugi_worker::{ERRORS, OUTPUT};

use crate::limits::LAST_LINES_MS_MAX;

/// Begins the log. `level` is what is shown unless `TSUMUGI_LOG` says otherwise.
pub fn begin_log(level: &str) {
    tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::try_from_env("TSUMUGI_LOG").unwrap_or_else(|_| level.into()))
        .with_writer(|| &ERRORS)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
}

/// Waits a moment for what is queued for the standard streams.
pub fn end_log() {
    for stream in [&OUTPUT, &ERRORS] {
        stream.drain(Duration::from_millis(LAST_LINES_MS_MAX));
    }
}

/// Keeps workers from waiting for who reads the standard streams, also when one panics.
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
pub fn story(error: &anyhow::Error) -> String {
    let mut story = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if story.contains(&cause) {
            continue;
        }
        if !story.is_empty() {
            story.push_str(": ");
        }
        story.push_str(&cause);
    }
    story
}
