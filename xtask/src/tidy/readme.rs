//! The README in its two languages. Whether both say the same in words is for a reader who knows both.
//! Rule: as many sections and the same code blocks, whose comments alone are translated, so that neither falls behind the other.

use super::translations::without_comments;
use super::{Findings, markdown};
use crate::tree::Tree;

const ENGLISH: &str = "README.md";
const JAPANESE: &str = "README.ja.md";

pub fn findings(tree: &Tree, found: &mut Findings) {
    let (english, japanese) = match (tree.file(ENGLISH), tree.file(JAPANESE)) {
        (Some(english), Some(japanese)) => (english.text, japanese.text),
        (Some(_), None) => return found.add(ENGLISH, 1, format!("{JAPANESE} is missing")),
        (None, Some(_)) => return found.add(JAPANESE, 1, format!("{ENGLISH} is missing")),
        (None, None) => return,
    };
    let (english, japanese) = (markdown::read(english), markdown::read(japanese));
    let mut counts = |what, theirs: usize, ours: usize| {
        if theirs != ours {
            let message = format!("{ours} {what}, but {ENGLISH} has {theirs}");
            found.add(JAPANESE, 1, message);
        }
    };
    counts("sections", english.sections.len(), japanese.sections.len());
    counts("code blocks", english.blocks.len(), japanese.blocks.len());
    for (theirs, ours) in english.blocks.iter().zip(&japanese.blocks) {
        if without_comments(&theirs.text) != without_comments(&ours.text) {
            let place = format!("{ENGLISH}:{}", theirs.line);
            let message = format!("this code block differs from the one at {place}");
            found.add(JAPANESE, ours.line, message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(english: &str, japanese: &str, expected: &[&str]) {
        super::super::assert_findings(
            findings,
            &[(ENGLISH, english), (JAPANESE, japanese)],
            expected,
        );
    }

    #[test]
    fn prose_and_comments_may_differ_between_languages() {
        check(
            "## Use\na\n```sh\nmake run # all\n```\n",
            "## 使い方\nb\nc\n```sh\nmake run # 全部\n```\n",
            &[],
        );
    }

    #[test]
    fn missing_section_or_other_code_block_is_refused() {
        check(
            "## a\n## b\n",
            "## a\n",
            &["README.ja.md:1: 1 sections, but README.md has 2"],
        );
        check(
            "```\na\n```\n",
            "",
            &["README.ja.md:1: 0 code blocks, but README.md has 1"],
        );
        check(
            "```\na\n```\n",
            "x\n```\nb\n```\n",
            &["README.ja.md:2: this code block differs from the one at README.md:1"],
        );
    }

    #[test]
    fn one_language_alone_is_refused() {
        super::super::assert_findings(
            findings,
            &[(ENGLISH, "")],
            &["README.md:1: README.ja.md is missing"],
        );
        super::super::assert_findings(findings, &[], &[]);
    }
}
