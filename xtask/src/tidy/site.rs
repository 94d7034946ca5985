//! The tables of contents of the documentation. That their links lead somewhere is the matter of `links`.
//! Rule: every page below `docs/` is in the table of its language, once, and so is the README, where the site begins; no page is there in two languages,
//! which would have one place on the site.

use std::collections::BTreeMap;

use super::Findings;
use crate::site::{ENGLISH, JAPANESE, pages_of};
use crate::tree::Tree;

pub fn findings(tree: &Tree, found: &mut Findings) {
    for language in [&ENGLISH, &JAPANESE] {
        if !tree.has(language.summary) {
            continue;
        }
        let mut listed: BTreeMap<String, usize> = BTreeMap::new();
        for path in pages_of(tree, language.summary) {
            *listed.entry(path).or_default() += 1;
        }
        for file in tree
            .files()
            .filter(|file| is_page(file.path, language.code))
        {
            if !listed.contains_key(file.path) {
                let message = format!("this page is not in {}", language.summary);
                found.add(file.path, 1, message);
            }
        }
        let mut places: BTreeMap<String, &str> = BTreeMap::new();
        for path in listed.keys() {
            if let Some(other) = places.insert(language.place(path), path) {
                let message = format!("{other} and {path} have one place on the site");
                found.add(language.summary, 1, message);
            }
        }
        for (path, _) in listed.iter().filter(|(_, count)| **count > 1) {
            found.add(language.summary, 1, format!("{path} is listed twice"));
        }
    }
}

fn is_page(path: &str, language: &str) -> bool {
    let is_japanese = path.starts_with("docs/ja/") || path == "README.ja.md";
    let is_there = path.starts_with("docs/") || matches!(path, "README.md" | "README.ja.md");
    is_there
        && path.ends_with(".md")
        && !path.ends_with("/SUMMARY.md")
        && is_japanese == (language == JAPANESE.code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_that_no_table_of_contents_has_is_refused() {
        super::super::assert_findings(
            findings,
            &[
                ("README.md", ""),
                (
                    "docs/SUMMARY.md",
                    "[r](../README.md) [a](a.md) [b](b/c.md) [again](a.md)",
                ),
                ("docs/a.md", ""),
                ("docs/b/c.md", ""),
                ("docs/b/d.md", ""),
                ("docs/ja/SUMMARY.md", "[a](a.md)"),
                ("docs/ja/a.md", ""),
                ("README.ja.md", ""),
            ],
            &[
                "README.ja.md:1: this page is not in docs/ja/SUMMARY.md",
                "docs/SUMMARY.md:1: docs/a.md is listed twice",
                "docs/b/d.md:1: this page is not in docs/SUMMARY.md",
            ],
        );
    }

    #[test]
    fn page_in_two_languages_is_refused() {
        super::super::assert_findings(
            findings,
            &[
                ("README.md", ""),
                ("README.ja.md", ""),
                ("docs/SUMMARY.md", "[r](../README.md)"),
                (
                    "docs/ja/SUMMARY.md",
                    "[r](../../README.ja.md) [e](../../README.md)",
                ),
            ],
            &["docs/ja/SUMMARY.md:1: README.ja.md and README.md have one place on the site"],
        );
    }

    #[test]
    fn language_without_a_table_has_no_pages_to_list() {
        super::super::assert_findings(findings, &[("docs/ja/a.md", ""), ("README.ja.md", "")], &[]);
    }
}
