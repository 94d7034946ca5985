//! The README in its two languages. Whether both say the same in words is for a reader who knows both.
//! Rule: as many sections and the same code blocks, so that neither falls behind the other.

use super::{Finding, markdown};
use crate::tree::Tree;

const ENGLISH: &str = "README.md";
const JAPANESE: &str = "README.ja.md";

pub fn findings(tree: &Tree) -> Vec<Finding> {
    let (english, japanese) = match (tree.file(ENGLISH), tree.file(JAPANESE)) {
        (Some(english), Some(japanese)) => (&english.text, &japanese.text),
        (Some(_), None) => return vec![Finding::new(ENGLISH, 1, format!("{JAPANESE} is missing"))],
        (None, Some(_)) => return vec![Finding::new(JAPANESE, 1, format!("{ENGLISH} is missing"))],
        (None, None) => return Vec::new(),
    };
    let mut findings = Vec::new();
    let sections = (
        markdown::sections(english).len(),
        markdown::sections(japanese).len(),
    );
    if sections.0 != sections.1 {
        findings.push(Finding::new(
            JAPANESE,
            1,
            format!("{} sections, but {ENGLISH} has {}", sections.1, sections.0),
        ));
    }
    let (english, japanese) = (markdown::blocks(english), markdown::blocks(japanese));
    if english.len() != japanese.len() {
        findings.push(Finding::new(
            JAPANESE,
            1,
            format!(
                "{} code blocks, but {ENGLISH} has {}",
                japanese.len(),
                english.len()
            ),
        ));
    }
    for (theirs, ours) in english
        .iter()
        .zip(&japanese)
        .filter(|(theirs, ours)| theirs.text != ours.text)
    {
        findings.push(Finding::new(
            JAPANESE,
            ours.line,
            format!(
                "this code block differs from the one at {ENGLISH}:{}",
                theirs.line
            ),
        ));
    }
    findings
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
    fn prose_may_differ_between_languages() {
        check(
            "## Use\na\n```sh\nmake run\n```\n",
            "## 使い方\nb\nc\n```sh\nmake run\n```\n",
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
