//! The Japanese documentation beside the English one: a page of it translates the page of `docs` that has its name. Whether both say the same
//! in words is for a reader who knows both, and the READMEs have a rule of their own.
//! Rule: both have the same headings by their levels and the same samples, whose comments alone are translated. `missing.txt` beside this has the pages
//! that are not translated yet; it only becomes shorter.

use super::{Findings, markdown};
use crate::tree::Tree;

const LIST: &str = "xtask/src/tidy/translations/missing.txt";
const ENGLISH: &str = "docs/";
const JAPANESE: &str = "docs/ja/";

/// What is made of the sources stays as they are.
const GENERATED: &[&str] = &["docs/files.md", "docs/reference/"];

pub fn findings(tree: &Tree, found: &mut Findings) {
    if !tree.has(LIST) {
        return;
    }
    let listed = tree.list(LIST);
    for file in tree.files().filter(|file| file.extension() == "md") {
        let path = file.path;
        if let Some(name) = path.strip_prefix(JAPANESE) {
            let english = format!("{ENGLISH}{name}");
            match tree.file(&english) {
                Some(english) => compare(english.path, english.text, path, file.text, found),
                None => found.add(
                    path,
                    1,
                    format!("there is no {english} of which this is a translation"),
                ),
            }
        } else if let Some(name) = path.strip_prefix(ENGLISH)
            && !GENERATED
                .iter()
                .any(|generated| path.starts_with(generated))
        {
            let japanese = format!("{JAPANESE}{name}");
            if !tree.has(&japanese) && !listed.contains_key(path) {
                found.add(path, 1, format!("there is no {japanese}"));
            }
        }
    }
    for (path, line) in listed {
        let name = path.strip_prefix(ENGLISH).unwrap_or(path);
        if !tree.has(path) || tree.has(&format!("{JAPANESE}{name}")) {
            let message = format!("{path} is translated or gone: take the line out");
            found.add(LIST, line, message);
        }
    }
}

fn compare(theirs: &str, english: &str, ours: &str, japanese: &str, found: &mut Findings) {
    let (english, japanese) = (markdown::read(english), markdown::read(japanese));
    // A table of contents has links, no samples, and its headings are parts.
    let levels = |document: &markdown::Document| -> Vec<_> {
        document.headings.iter().map(|(_, level)| *level).collect()
    };
    if levels(&english) != levels(&japanese) {
        let same = english.headings.iter().zip(&japanese.headings);
        let same = same.take_while(|(one, other)| one.1 == other.1).count();
        let line = |headings: &[(usize, _)]| headings.get(same).map_or(0, |(line, _)| *line);
        let place = line(&english.headings);
        let message = format!("the headings differ from here on from those of {theirs}:{place}");
        found.add(ours, line(&japanese.headings).max(1), message);
    }
    let (their_blocks, our_blocks) = (english.blocks.len(), japanese.blocks.len());
    if their_blocks != our_blocks {
        let message = format!("{our_blocks} samples, but {theirs} has {their_blocks}");
        found.add(ours, 1, message);
        return;
    }
    for (theirs_block, ours_block) in english.blocks.iter().zip(&japanese.blocks) {
        let is_same = theirs_block.language == ours_block.language
            && without_comments(&theirs_block.text) == without_comments(&ours_block.text);
        if !is_same {
            let message = format!("this sample differs from {theirs}:{}", theirs_block.line);
            found.add(ours, ours_block.line, message);
        }
    }
}

/// The lines without what stands behind `#` or `//` at their beginning or after a space.
pub fn without_comments(text: &str) -> Vec<&str> {
    let code = |line| {
        let comments = ["# ", "// "].into_iter().flat_map(|mark| {
            let at: Vec<usize> = str::match_indices(line, mark).map(|(at, _)| at).collect();
            at
        });
        let is_comment = |at: &usize| line[..*at].chars().last().is_none_or(char::is_whitespace);
        let end = comments.filter(is_comment).min().unwrap_or(line.len());
        line[..end].trim_end()
    };
    text.lines().map(code).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(english: &str, japanese: &str, expected: &[&str]) {
        let files = [
            ("docs/a.md", english),
            ("docs/ja/a.md", japanese),
            (LIST, ""),
        ];
        super::super::assert_findings(findings, &files, expected);
    }

    #[test]
    fn prose_headings_and_comments_may_be_in_another_language() {
        check(
            "# Title\n## One\n```ruby\nget(\"/\") # all\n# more\n```\n",
            "# 題\n## 一\n```ruby\nget(\"/\")  # 全部\n# もっと\n```\n",
            &[],
        );
    }

    #[test]
    fn other_headings_and_samples_are_refused() {
        check(
            "# T\n\n## One\n\n### Two\n",
            "# T\n\n## One\n\n## Two\n",
            &["docs/ja/a.md:5: the headings differ from here on from those of docs/a.md:5"],
        );
        check(
            "```ruby\na\n```\n",
            "x\n\n```ruby\nb\n```\n",
            &["docs/ja/a.md:3: this sample differs from docs/a.md:1"],
        );
        check(
            "```ruby\na\n```\n",
            "```sh\na\n```\n",
            &["docs/ja/a.md:1: this sample differs from docs/a.md:1"],
        );
        check(
            "```\na\n```\n",
            "",
            &["docs/ja/a.md:1: 0 samples, but docs/a.md has 1"],
        );
    }

    #[test]
    fn page_without_translation_is_in_the_list_until_it_has_one() {
        let check = |japanese: &[&str], list: &str, expected: &[&str]| {
            let pages = japanese.iter().map(|path| (*path, ""));
            let files: Vec<_> = pages
                .chain([
                    ("docs/a.md", ""),
                    ("docs/files.md", ""),
                    ("docs/reference/b.md", ""),
                    (LIST, list),
                ])
                .collect();
            super::super::assert_findings(findings, &files, expected);
        };
        check(&[], "# Pages\ndocs/a.md\n", &[]);
        check(&[], "", &["docs/a.md:1: there is no docs/ja/a.md"]);
        let message = "is translated or gone: take the line out";
        let expected = format!("{LIST}:1: docs/a.md {message}");
        check(&["docs/ja/a.md"], "docs/a.md\n", &[&expected]);
        let expected = format!("{LIST}:2: docs/b.md {message}");
        check(&[], "docs/a.md\ndocs/b.md\n", &[&expected]);
        check(
            &["docs/ja/a.md", "docs/ja/c.md"],
            "",
            &["docs/ja/c.md:1: there is no docs/c.md of which this is a translation"],
        );
    }
}
