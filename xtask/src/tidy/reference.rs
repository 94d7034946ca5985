//! The pages of `docs/reference` that are made of the sources. The page of commands is compared by a test, which runs the program.
//! Rule: each says what the sources say today; one that is missing or says something else is a finding.

use super::Findings;
use crate::reference::{PAGES, crates_without_limits};
use crate::tree::Tree;

/// Without these there is nothing to make pages of.
const SOURCES: &str = "crates/ruby/sig/tsumugi.rbs";

pub fn findings(tree: &Tree, found: &mut Findings) {
    if !tree.has(SOURCES) {
        return;
    }
    for page in PAGES {
        let (text, expected) = (tree.text(page.path), (page.text)(tree));
        if text != expected {
            let same = text.lines().zip(expected.lines());
            let same = same.take_while(|(found, expected)| found == expected);
            let message = "differs from the sources: run `cargo xtask reference`";
            found.add(page.path, same.count() + 1, message);
        }
    }
    for name in crates_without_limits(tree) {
        let path = format!("crates/{name}/src/limits.rs");
        let message = "its limits are on no page: name the crate in BUILT_IN or LEFT_OUT of xtask/src/reference/limits.rs";
        found.add(&path, 1, message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RBS: &str = "class DB\n  # Rows.\n  def query: (String sql) -> untyped\nend\n";

    #[test]
    fn pages_that_differ_from_the_sources_are_found_at_their_line() {
        let sources = Tree::new([(SOURCES, RBS)]);
        let texts: Vec<String> = PAGES.iter().map(|page| (page.text)(&sources)).collect();
        let check = |change: &dyn Fn(&str) -> String, expected: &[&str]| {
            let changed: Vec<String> = texts.iter().map(|text| change(text)).collect();
            let paths = PAGES.iter().map(|page| page.path);
            let pages = paths.zip(changed.iter().map(|text| &**text));
            let files: Vec<_> = pages.chain([(SOURCES, RBS)]).collect();
            super::super::assert_findings(findings, &files, expected);
        };
        check(&str::to_owned, &[]);
        let line = texts[2].lines().position(|line| line.contains("Rows."));
        let message = "differs from the sources: run `cargo xtask reference`";
        let expected = format!("docs/reference/ruby.md:{}: {message}", line.unwrap() + 1);
        check(&|text| text.replace("Rows.", "Lines."), &[&expected]);
    }

    #[test]
    fn limits_on_no_page_are_a_finding() {
        let limits = ("crates/new/src/limits.rs", "//! Limits.\n");
        let sources = Tree::new([(SOURCES, RBS), limits]);
        let texts: Vec<String> = PAGES.iter().map(|page| (page.text)(&sources)).collect();
        let paths = PAGES.iter().map(|page| page.path);
        let pages = paths.zip(texts.iter().map(|text| &**text));
        let files: Vec<_> = pages.chain([(SOURCES, RBS), limits]).collect();
        let expected = "crates/new/src/limits.rs:1: its limits are on no page: name the crate in BUILT_IN or LEFT_OUT of xtask/src/reference/limits.rs";
        super::super::assert_findings(findings, &files, &[expected]);
    }

    #[test]
    fn tree_without_sources_has_no_pages() {
        super::super::assert_findings(findings, &[("a.rs", "")], &[]);
    }
}
