//! Reads Markdown as far as the rules need it: fenced blocks, sections and prose. It renders nothing.
//! Rule: a fence ends at a line of the same character, at least as long, with nothing behind it.

/// A fenced block: the line of its opening fence, and everything between the fences.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    pub line: usize,
    pub text: String,
}

enum Line<'a> {
    Prose(&'a str),
    FenceOpen,
    Code(&'a str),
    FenceClose,
}

/// The lines outside fenced blocks, with `code spans` taken out; lines count from 1.
pub fn prose(text: &str) -> Vec<(usize, String)> {
    lines(text)
        .into_iter()
        .enumerate()
        .filter_map(|(index, line)| match line {
            Line::Prose(text) => Some((index + 1, without_code_spans(text))),
            _ => None,
        })
        .collect()
}

/// The fenced blocks in order.
pub fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for (index, line) in lines(text).into_iter().enumerate() {
        match (line, blocks.last_mut()) {
            (Line::FenceOpen, _) => blocks.push(Block {
                line: index + 1,
                text: String::new(),
            }),
            (Line::Code(text), Some(block)) => {
                block.text.push_str(text);
                block.text.push('\n');
            }
            _ => {}
        }
    }
    blocks
}

/// The lines of the second-level headings.
pub fn sections(text: &str) -> Vec<usize> {
    prose(text)
        .into_iter()
        .filter(|(_, line)| line.starts_with("## "))
        .map(|(number, _)| number)
        .collect()
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let mut open: Option<&str> = None;
    let mut lines = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim_start();
        lines.push(match open {
            None => match fence(trimmed) {
                Some(marker) => {
                    open = Some(marker);
                    Line::FenceOpen
                }
                None => Line::Prose(line),
            },
            Some(marker)
                if trimmed.starts_with(marker)
                    && fence(trimmed).is_some_and(|end| end == trimmed.trim_end()) =>
            {
                open = None;
                Line::FenceClose
            }
            Some(_) => Line::Code(line),
        });
    }
    lines
}

/// The run of three or more backticks or tildes that `line` begins with.
fn fence(line: &str) -> Option<&str> {
    let character = line
        .chars()
        .next()
        .filter(|character| matches!(character, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(character).len();
    (length >= 3).then(|| &line[..length])
}

/// A span ends at a run of as many backticks as began it; a run without its twin is plain text.
fn without_code_spans(line: &str) -> String {
    let mut kept = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        let run = rest[at..].len() - rest[at..].trim_start_matches('`').len();
        let (before, span) = (&rest[..at], &rest[at + run..]);
        kept.push_str(before);
        match closing(span, run) {
            Some(end) => rest = &span[end..],
            None => {
                kept.push_str(&rest[at..at + run]);
                rest = span;
            }
        }
    }
    kept.push_str(rest);
    kept
}

/// Where the run of exactly `run` backticks in `span` ends.
fn closing(span: &str, run: usize) -> Option<usize> {
    let mut at = 0;
    while let Some(found) = span[at..].find('`') {
        let start = at + found;
        let length = span[start..].len() - span[start..].trim_start_matches('`').len();
        at = start + length;
        if length == run {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(usize, &str)]) {
        let expected: Vec<(usize, String)> = expected
            .iter()
            .map(|&(line, text)| (line, text.to_owned()))
            .collect();
        assert_eq!(prose(text), expected);
    }

    #[test]
    fn prose_is_what_stands_outside_fences_and_spans() {
        check(
            "a\n```sh\nb\n```\nc `d` e ``f ` g`` h",
            &[(1, "a"), (5, "c  e  h")],
        );
    }

    #[test]
    fn a_longer_fence_holds_a_shorter_one() {
        check("~~~~\n~~~\n~~~~\na", &[(4, "a")]);
    }

    #[test]
    fn a_lone_backtick_is_text() {
        check("a ` b", &[(1, "a ` b")]);
    }

    #[test]
    fn blocks_keep_their_text_and_line() {
        let expected = [Block {
            line: 2,
            text: "x\n\ny\n".to_owned(),
        }];
        assert_eq!(blocks("a\n```\nx\n\ny\n```\n"), expected);
    }

    #[test]
    fn sections_are_second_level_headings() {
        assert_eq!(sections("# a\n## b\n### c\n```\n## d\n```\n## e\n"), [2, 7]);
    }
}
