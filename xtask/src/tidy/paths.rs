//! Paths that documents name in backticks. Not links: those are the matter of `links`.
//! Rule: a path that begins with a folder of the project's root leads to a file or directory that is there.

use super::Findings;
use crate::tree::Tree;

/// Folders of the root that documents speak of.
const ROOTS: &[&str] = &[
    "crates/",
    "xtask/",
    "scripts/",
    "deploy/",
    "docs/",
    "examples/",
    "fuzz/",
    "bench-peers/",
];

pub fn findings(tree: &Tree, found: &mut Findings) {
    let is_history = |path: &str| path == "CHANGELOG.md";
    let documents = tree.files().filter(|file| file.extension() == "md");
    for file in documents.filter(|file| !is_history(file.path)) {
        for (line, number) in file.text.lines().zip(1..) {
            let spans = line.split('`').skip(1).step_by(2);
            for path in spans.filter(|span| is_path(span)) {
                let mut paths = expanded(path).into_iter();
                if let Some(path) = paths.find(|path| !tree.has(path.trim_end_matches('/'))) {
                    found.add(file.path, number, format!("there is no {path}"));
                }
            }
        }
    }
}

/// Whether a span of code is a path of the project: commands and patterns are not.
fn is_path(span: &str) -> bool {
    let plain =
        |character: char| character.is_ascii_alphanumeric() || "/._-{},".contains(character);
    ROOTS.iter().any(|root| span.starts_with(root)) && span.chars().all(plain)
}

/// `a/{b,c}.rs` is `a/b.rs` and `a/c.rs`.
fn expanded(path: &str) -> Vec<String> {
    let Some((before, rest)) = path.split_once('{') else {
        return vec![path.to_owned()];
    };
    let Some((choices, after)) = rest.split_once('}') else {
        return vec![path.to_owned()];
    };
    choices
        .split(',')
        .map(|choice| format!("{before}{choice}{after}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let files = [
            ("ARCHITECTURE.md", text),
            ("crates/kv/src/lib.rs", ""),
            ("crates/kv/src/spec.rs", ""),
        ];
        super::super::assert_findings(findings, &files, expected);
    }

    #[test]
    fn path_that_is_there_is_taken() {
        check(
            "`crates/kv`, `crates/kv/src/` and `crates/kv/src/{lib,spec}.rs`\n",
            &[],
        );
        check("`cargo test crates/x`, `src/gone.rs`, crates/gone\n", &[]);
    }

    #[test]
    fn path_that_is_gone_is_named() {
        check(
            "\n`crates/kv/src/{lib,gone}.rs`\n",
            &["ARCHITECTURE.md:2: there is no crates/kv/src/gone.rs"],
        );
        check(
            "`crates/gone/`\n",
            &["ARCHITECTURE.md:1: there is no crates/gone/"],
        );
    }

    #[test]
    fn history_may_name_files_that_are_gone() {
        super::super::assert_findings(findings, &[("CHANGELOG.md", "`crates/gone`\n")], &[]);
    }
}
