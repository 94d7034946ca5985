//! How far a table is: a bar on a terminal, nothing elsewhere. Decides nothing.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::limits::PROGRESS_MS;

const TEMPLATE: &str = "{msg} {wide_bar:.cyan/dim} {pos} of {len} runs, {eta} left";

/// A bar on standard error when that is a terminal.
pub fn bar(title: String, runs: u64) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(runs), target).with_message(title);
    // The template is above; one that could not be read would leave the bar as it comes.
    if let Ok(style) = ProgressStyle::with_template(TEMPLATE) {
        bar.set_style(style);
    }
    if !bar.is_hidden() {
        bar.enable_steady_tick(Duration::from_millis(PROGRESS_MS));
    }
    bar
}
