//! Reads Markdown as far as the rules need it: blocks of code, sections, links and prose. pulldown-cmark knows the syntax; this knows the lines.
//! Rule: what stands in a block or span of code is no prose and holds no link.

use std::collections::{BTreeMap, BTreeSet};

use pulldown_cmark::{CodeBlockKind, Event, HeadingLevel, Parser, Tag, TagEnd};

/// A block of code: the line of its fence or its first, the words behind the fence, and everything inside.
#[derive(Debug, PartialEq, Eq)]
pub struct Block {
    pub line: usize,
    pub language: String,
    pub text: String,
}

/// What a text consists of, with the lines, which count from 1.
#[derive(Default)]
pub struct Document {
    /// The words outside of code by their lines; comments and tags of HTML are here too.
    pub prose: BTreeMap<usize, String>,
    pub blocks: Vec<Block>,
    /// The second-level headings.
    pub sections: Vec<usize>,
    /// The levels of all headings in order, each with its line.
    pub headings: Vec<(usize, HeadingLevel)>,
    /// What stands behind `#` in links to the headings.
    pub anchors: BTreeSet<String>,
    /// Where links, images and definitions of links point to.
    pub links: Vec<(usize, String)>,
}

pub fn read(text: &str) -> Document {
    let lines: Vec<usize> = text.match_indices('\n').map(|(at, _)| at).collect();
    let line = |at: usize| lines.partition_point(|end| *end < at) + 1;
    let mut document = Document::default();
    let parser = Parser::new(text);
    let definitions = parser.reference_definitions().iter();
    let definitions = definitions.map(|(_, it)| (line(it.span.start), it.dest.to_string()));
    document.links.extend(definitions);
    let mut is_code = false;
    let mut heading = String::new();
    for (event, range) in parser.into_offset_iter() {
        let line = line(range.start);
        match event {
            Event::Start(Tag::CodeBlock(kind)) => {
                is_code = true;
                document.blocks.push(Block::begin(line, kind));
            }
            Event::End(TagEnd::CodeBlock) => is_code = false,
            Event::Text(text) if is_code => {
                if let Some(block) = document.blocks.last_mut() {
                    block.text.push_str(&text);
                }
            }
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => {
                heading.push_str(&text);
                document.prose.entry(line).or_default().push_str(&text);
            }
            Event::Code(text) => heading.push_str(&text),
            Event::Start(Tag::Heading { level, .. }) => {
                heading.clear();
                document.headings.push((line, level));
                if level == HeadingLevel::H2 {
                    document.sections.push(line);
                }
            }
            Event::End(TagEnd::Heading(_)) => document.add_anchor(&heading),
            Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                document.links.push((line, dest_url.to_string()));
            }
            _ => {}
        }
    }
    document
}

impl Block {
    fn begin(line: usize, kind: CodeBlockKind) -> Block {
        let language = match kind {
            CodeBlockKind::Fenced(words) => words.to_string(),
            CodeBlockKind::Indented => String::new(),
        };
        let text = String::new();
        Block {
            line,
            language,
            text,
        }
    }
}

impl Document {
    /// As forges and mdBook name a heading: small letters, digits, `_` and `-`, with `-` for white space, and a number where the name is there already.
    fn add_anchor(&mut self, heading: &str) {
        let plain = heading
            .trim()
            .chars()
            .filter_map(|character| match character {
                ' ' => Some('-'),
                '-' | '_' => Some(character),
                _ => character.is_alphanumeric().then_some(character),
            });
        let name: String = plain.collect::<String>().to_lowercase();
        let numbered = (1..).map(|number| format!("{name}-{number}"));
        let mut names = std::iter::once(name.clone()).chain(numbered);
        let free = names.find(|name| !self.anchors.contains(name));
        self.anchors.extend(free);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(usize, &str)]) {
        let expected: Vec<(usize, String)> = expected
            .iter()
            .map(|&(line, text)| (line, text.to_owned()))
            .collect();
        assert_eq!(Vec::from_iter(read(text).prose), expected);
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
            language: "ruby app.rb".to_owned(),
            text: "x\n\ny\n".to_owned(),
        }];
        assert_eq!(read("a\n```ruby app.rb\nx\n\ny\n```\n").blocks, expected);
    }

    #[test]
    fn sections_are_second_level_headings() {
        let text = "# a\n## b\n### c\n```\n## d\n```\n## e\n";
        assert_eq!(read(text).sections, [2, 7]);
    }
}
