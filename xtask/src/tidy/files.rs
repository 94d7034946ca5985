//! `docs/files.md`, the list of source files: every file with the first sentence of its head. `cargo xtask files` writes it.
//! Rule: the list is what the heads say today; a file that is missing, gone or described otherwise is a finding.

use super::Findings;
use crate::tree::{File, Tree};

/// Where the list stands.
pub const LIST: &str = "docs/files.md";

const INTRODUCTION: &str = "# Source files\n\n\
    Every source file with what it is, for searching by words; tests stand beside what they test. [ARCHITECTURE.md](../ARCHITECTURE.md) says how the crates\n\
    fit together. `cargo xtask files` writes this page from the heads of the files.\n";

/// Where sources stand that a change may begin in.
const ROOTS: [&str; 5] = [
    "crates/",
    "xtask/src/",
    "fuzz/src/",
    "scripts/",
    "bench-peers/src/",
];

pub fn findings(tree: &Tree, found: &mut Findings) {
    // Without a list there is nothing to be wrong; the link to it in ARCHITECTURE.md fails instead.
    let (Some(file), expected) = (tree.file(LIST), list(tree)) else {
        return;
    };
    if file.text != expected {
        let same = file.text.lines().zip(expected.lines());
        let same = same.take_while(|(found, expected)| found == expected);
        let message = "differs from the heads of the files: run `cargo xtask files`";
        found.add(LIST, same.count() + 1, message);
    }
}

/// The page.
pub fn list(tree: &Tree) -> String {
    let mut page = INTRODUCTION.to_owned();
    let mut section = "";
    for file in tree.files().filter(|file| is_listed(file)) {
        let of = section_of(file.path);
        if of != section {
            section = of;
            page.push_str(&format!("\n## {section}\n\n"));
        }
        let sentence = first_sentence(file.text);
        page.push_str(&format!("- `{}`: {sentence}\n", file.path));
    }
    page
}

fn is_listed(file: &File) -> bool {
    let is_source = matches!(file.extension(), "rs" | "rb" | "c" | "h" | "sh")
        || file.extension().is_empty() && file.text.starts_with("#!");
    is_source && !file.is_test() && ROOTS.iter().any(|root| file.path.starts_with(root))
}

/// `crates/NAME` of a crate's file, the first folder of any other.
fn section_of(path: &str) -> &str {
    let folders = if path.starts_with("crates/") { 2 } else { 1 };
    let end = path.match_indices('/').nth(folders - 1);
    end.map_or(path, |(at, _)| &path[..at])
}

/// The first sentence of the comment that a file begins with; the whole paragraph when it has no end.
fn first_sentence(text: &str) -> String {
    let lines = text.lines().skip_while(|line| {
        line.starts_with("#!") || line.starts_with("# frozen") || line.trim().is_empty()
    });
    let words = lines.map_while(|line| {
        let comment = ["//!", "/*", " *", "//", "#"]
            .iter()
            .find_map(|marker| line.strip_prefix(marker));
        comment.map(|words| words.trim_end_matches("*/").trim())
    });
    let mut sentence = String::new();
    for words in words.skip_while(|words| words.is_empty()) {
        if words.is_empty() || words.starts_with("Rule:") {
            break;
        }
        if !sentence.is_empty() {
            sentence.push(' ');
        }
        sentence.push_str(words);
    }
    if let Some((end, _)) = sentence
        .match_indices(". ")
        .find(|(at, _)| !sentence[..*at].ends_with("e.g") && !sentence[..*at].ends_with("i.e"))
    {
        sentence.truncate(end + 1);
    }
    without_rustdoc_links(&sentence)
}

/// The sentence with the text of each link that only rustdoc understands in its place.
fn without_rustdoc_links(sentence: &str) -> String {
    let mut plain = String::new();
    let mut rest = sentence;
    while let Some((before, target)) = rest.split_once("](") {
        let (Some(open), Some((target, behind))) = (before.rfind('['), target.split_once(')'))
        else {
            break;
        };
        if target.contains("::") {
            plain.push_str(&before[..open]);
            plain.push_str(&before[open + 1..]);
        } else {
            plain.push_str(&format!("{before}]({target})"));
        }
        rest = behind;
    }
    plain + rest
}

#[cfg(test)]
mod tests {
    use super::super::assert_findings;
    use super::*;

    const FILES: &[(&str, &str)] = &[
        (
            "crates/a/src/b.rs",
            "//! The b of [`a`](crate::a), which\n//! goes on. More.\n//! Rule: none.\n",
        ),
        ("crates/a/src/tests.rs", "//! Tests.\n"),
        ("crates/a/tests/c.rs", "//! More tests.\n"),
        ("scripts/d", "#!/bin/sh\n# Sets d up.\nset -e\n"),
        ("docs/e.rb", "# A sample.\n"),
    ];

    #[test]
    fn list_has_sources_by_crate_without_tests_each_with_its_first_sentence() {
        let list = list(&Tree::new(FILES.iter().copied()));
        assert_eq!(
            list[INTRODUCTION.len()..],
            *"\n## crates/a\n\n- `crates/a/src/b.rs`: The b of `a`, which goes on.\n\n## scripts\n\n- `scripts/d`: Sets d up.\n"
        );
    }

    #[test]
    fn list_that_differs_from_the_heads_is_found_at_its_line() {
        let right = list(&Tree::new(FILES.iter().copied()));
        let check = |text: &str, expected: &[&str]| {
            let files: Vec<_> = FILES.iter().copied().chain([(LIST, text)]).collect();
            assert_findings(findings, &files, expected);
        };
        check(&right, &[]);
        let finding = |line| {
            format!("{LIST}:{line}: differs from the heads of the files: run `cargo xtask files`")
        };
        check(&right.replace("goes on", "went on"), &[&finding(8)]);
        check(
            right.trim_end_matches("- `scripts/d`: Sets d up.\n"),
            &[&finding(12)],
        );
    }
}
