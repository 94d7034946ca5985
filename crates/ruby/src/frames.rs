//! Backtraces as their readers want them: the author's own frames first, and few enough to read.
//! Frames of the product's own Ruby and of native code are left out, unless there is nothing else.

use tsumugi_mruby::ExceptionReport;

use crate::limits::FRAMES_SHOWN_MAX;

/// Where the product's own Ruby says it comes from.
const OWN_FILES: &str = "tsumugi/";
/// Where code without a file says it comes from.
const NO_FILE: &str = "(unknown)";
/// Methods that the author's blocks, templates and files run as, and what those begin with that the author did not name.
const OWN_METHODS: [&str; 2] = ["run_program", "instance_exec"];
const OWN_METHODS_BEGIN: &str = "__";

/// The frame without the name of a method that is none of the author's.
fn without_own_method(frame: &str) -> &str {
    match frame.rsplit_once(":in ") {
        Some((place, name))
            if name.starts_with(OWN_METHODS_BEGIN) || OWN_METHODS.contains(&name) =>
        {
            place
        }
        _ => frame,
    }
}

/// Whether a frame, or a file, is the author's.
pub(crate) fn is_authors(frame: &str) -> bool {
    !frame.starts_with(OWN_FILES) && !frame.starts_with(NO_FILE)
}

/// Is any of the frames the author's?
pub(crate) fn has_authors(report: &ExceptionReport) -> bool {
    report.backtrace.iter().any(|frame| is_authors(frame))
}

/// The frames to show, innermost first. When there are too many, those in the middle become one line.
pub(crate) fn shown(report: &ExceptionReport) -> Vec<String> {
    let authors = report.backtrace.iter().filter(|frame| is_authors(frame));
    let mut frames: Vec<String> = authors.cloned().collect();
    if frames.is_empty() {
        frames.clone_from(&report.backtrace);
    }
    for frame in &mut frames {
        frame.truncate(without_own_method(frame).len());
    }
    if let Some(left_out) = frames.len().checked_sub(FRAMES_SHOWN_MAX + 1) {
        let half = FRAMES_SHOWN_MAX / 2;
        let gap = format!("… {} frames more …", left_out + 1);
        frames.splice(half..half + left_out + 1, [gap]);
    }
    frames
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(frames: &[&str], expected: &[&str]) {
        let report = ExceptionReport {
            class: "RuntimeError".into(),
            message: "x".into(),
            backtrace: frames.iter().map(|&frame| frame.into()).collect(),
        };
        assert_eq!(shown(&report), expected);
    }

    #[test]
    fn frames_of_the_author_are_shown_alone() {
        check(
            &[
                "tsumugi/core.rb:70:in await",
                "app.rb:3:in slow",
                "app.rb:5:in __run",
                "tsumugi/core.rb:57",
            ],
            &["app.rb:3:in slow", "app.rb:5"],
        );
    }

    #[test]
    fn methods_that_the_author_did_not_name_are_left_out() {
        check(
            &[
                "views/notes/index.erb:3:in __view_0",
                "app.rb:3:in __perform",
                "app.rb:4:in __before_1",
                "app.rb:5:in instance_exec",
                "app.rb:6:in total",
            ],
            &[
                "views/notes/index.erb:3",
                "app.rb:3",
                "app.rb:4",
                "app.rb:5",
                "app.rb:6:in total",
            ],
        );
    }

    #[test]
    fn frames_of_the_product_are_shown_when_there_are_no_others() {
        check(&["tsumugi/core.rb:57"], &["tsumugi/core.rb:57"]);
        check(&[], &[]);
    }

    #[test]
    fn one_frame_more_than_the_limit_shortens_the_middle() {
        let frames: Vec<String> = (0..=FRAMES_SHOWN_MAX)
            .map(|i| format!("app.rb:{i}"))
            .collect();
        let frames: Vec<&str> = frames.iter().map(String::as_str).collect();
        let (full, half) = (&frames[..FRAMES_SHOWN_MAX], FRAMES_SHOWN_MAX / 2);
        check(full, full);
        let expected = [&frames[..half], &["… 1 frames more …"], &frames[half + 1..]].concat();
        check(&frames, &expected);
    }
}
