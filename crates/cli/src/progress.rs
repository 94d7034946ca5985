//! How far long work of a command is: a bar on a terminal, nothing elsewhere. Decides nothing.

use std::borrow::Cow;
use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::limits::PROGRESS_MS;

const OF: &str = "{msg} {wide_bar} {human_pos} of {human_len}, {per_sec}, {eta} left";
const OF_BYTES: &str = "{msg} {wide_bar} {bytes} of {total_bytes}, {eta} left";
const SO_FAR: &str = "{msg} {spinner} {human_pos} records, {per_sec}";
const WAITING: &str = "{msg} {spinner} {elapsed}";

/// What is shown.
#[derive(Clone, Copy, Debug)]
pub enum Extent {
    /// So many records.
    Records(u64),
    /// So many bytes of a file.
    Bytes(u64),
    /// An unknown number of records.
    Unknown,
    /// One thing, done by another process.
    Once,
}

/// A bar on standard error when that is a terminal.
pub fn bar(extent: Extent, title: impl Into<Cow<'static, str>>) -> ProgressBar {
    let (length, template) = match extent {
        Extent::Records(records) => (Some(records), OF),
        Extent::Bytes(bytes) => (Some(bytes), OF_BYTES),
        Extent::Unknown => (None, SO_FAR),
        Extent::Once => (None, WAITING),
    };
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(length, target).with_message(title);
    // The templates are above; one that could not be read would leave the bar as it comes.
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(PROGRESS_MS));
    }
    bar
}
