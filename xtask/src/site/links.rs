//! Links of a Markdown text, put elsewhere. It knows where a link stands, not where it should lead.
//! Rule: nothing but the targets of links is changed, and the brackets of those that lead nowhere.

use pulldown_cmark::{Event, Parser, Tag};

/// What becomes of a link.
pub enum Target {
    /// It leads here.
    Link(String),
    /// It leads nowhere: its text stays.
    Nothing,
}

/// The text with the targets that `target` says; it is asked for links within the repository only.
pub fn rewrite(text: &str, mut target: impl FnMut(&str) -> Target) -> String {
    let mut changes = Vec::new();
    for (event, range) in Parser::new(text).into_offset_iter() {
        let (Event::Start(Tag::Link { dest_url, .. }) | Event::Start(Tag::Image { dest_url, .. })) =
            event
        else {
            continue;
        };
        let is_outside = dest_url.contains(':') || dest_url.starts_with('#');
        let inner = format!("]({dest_url}");
        // A definition elsewhere has no target here.
        let found = text[range.clone()].rfind(&inner).filter(|_| !is_outside);
        let Some(at) = found.map(|at| range.start + at) else {
            continue;
        };
        match target(&dest_url) {
            Target::Link(link) => {
                changes.push((at + 2..at + inner.len(), link));
            }
            Target::Nothing => {
                let begin = if text[range.start..].starts_with('!') {
                    2
                } else {
                    1
                };
                changes.push((range.start..range.start + begin, String::new()));
                changes.push((at..range.end, String::new()));
            }
        }
    }
    changes.sort_by_key(|(range, _)| range.start);
    let mut whole = text.to_owned();
    for (range, link) in changes.into_iter().rev() {
        whole.replace_range(range, &link);
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        let found = rewrite(text, |link| match link.strip_prefix("gone") {
            Some(_) => Target::Nothing,
            None => Target::Link(format!("new/{link}")),
        });
        assert_eq!(found, expected);
    }

    #[test]
    fn targets_of_links_and_images_are_replaced() {
        check(
            "a [b](c.md#d) ![e](f.png \"t\")",
            "a [b](new/c.md#d) ![e](new/f.png \"t\")",
        );
        check("[![e](f.png)](g.md)", "[![e](new/f.png)](new/g.md)");
    }

    #[test]
    fn link_without_a_target_becomes_its_text() {
        check(
            "see [the `code`](gone.rs), [b](c.md)",
            "see the `code`, [b](new/c.md)",
        );
    }

    #[test]
    fn code_addresses_and_anchors_stay() {
        let text = "`[a](b)` [c](https://c.example) [d](#d)\n\n```\n[e](f)\n```\n";
        check(text, text);
    }
}
