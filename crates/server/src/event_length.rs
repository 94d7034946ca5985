//! A text of the log with its middle left out, in any form of the log. Rule: no character is cut, and what is left out is said.

use std::borrow::Cow;

use crate::limits::LOG_EVENT_BYTES_MAX;

/// An event, or a text of one, with its middle left out when it has more bytes than `most`: the end has the frames of an error and the fields.
pub(crate) fn cut_middle(event: &[u8], most: usize) -> Cow<'_, [u8]> {
    if event.len() <= most {
        return Cow::Borrowed(event);
    }
    // Not inside of a character.
    let is_boundary = |at: &usize| event.get(*at).is_none_or(|byte| byte & 0xc0 != 0x80);
    let head = most / 2;
    let head = (0..=head).rev().find(is_boundary).unwrap_or(head);
    let tail = event.len() - most / 4;
    let tail = (tail..event.len()).find(is_boundary).unwrap_or(tail);
    let note = format!(
        " … {} bytes left out (log_event_bytes_max is {LOG_EVENT_BYTES_MAX}) … ",
        tail - head
    );
    Cow::Owned([&event[..head], note.as_bytes(), &event[tail..]].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_of_one_byte_more_than_the_limit_loses_its_middle_and_says_so() {
        let fits = "x".repeat(LOG_EVENT_BYTES_MAX);
        assert_eq!(
            *cut_middle(fits.as_bytes(), LOG_EVENT_BYTES_MAX),
            *fits.as_bytes()
        );
        let event = format!("begin{}end", "日".repeat(16 << 20));
        for event in [
            event.as_str(),
            &format!("begin{}", "x".repeat(LOG_EVENT_BYTES_MAX - 4)),
        ] {
            let text =
                String::from_utf8(cut_middle(event.as_bytes(), LOG_EVENT_BYTES_MAX).into_owned())
                    .unwrap();
            assert!(text.len() <= LOG_EVENT_BYTES_MAX, "{}", text.len());
            assert!(text.starts_with("begin") && text.ends_with(&event[event.len() - 3..]));
            let (head, rest) = text.split_once(" … ").unwrap();
            let (note, tail) = rest.split_once(" … ").unwrap();
            let left_out = event.len() - head.len() - tail.len();
            assert!(
                note.starts_with(&format!("{left_out} bytes left out")),
                "{note}"
            );
        }
    }
}
