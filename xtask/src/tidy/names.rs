//! Names that say nothing. Files and Rust items only: what Ruby code calls its methods is the API's business.
//! Rule: a name neither is nor ends in a banned word; `CommonName` passes, `common` and `SessionManager` do not.

use super::Finding;
use crate::lexer::{Kind, code};
use crate::tree::Tree;

const BANNED: &[&str] = &["util", "utils", "common", "helpers", "manager", "misc"];

/// The keywords before an item's name.
const ITEMS: &[&str] = &["mod", "struct", "enum", "union", "trait", "type"];

pub fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files() {
        for part in file.path.split('/') {
            let stem = part
                .trim_start_matches('.')
                .split('.')
                .next()
                .unwrap_or(part);
            findings.extend(banned(stem).map(|word| {
                Finding::new(
                    &file.path,
                    1,
                    format!("`{part}`: name the thing it does, not `{word}`"),
                )
            }));
        }
    }
    for file in tree.rust() {
        for pair in code(&file.text).windows(2) {
            if !ITEMS.iter().any(|item| pair[0].is(item)) || pair[1].kind != Kind::Word {
                continue;
            }
            let name = pair[1].text;
            findings.extend(banned(name).map(|word| {
                Finding::new(
                    &file.path,
                    pair[1].line,
                    format!("`{name}`: name the thing it does, not `{word}`"),
                )
            }));
        }
    }
    findings
}

/// The banned word that `name` is or ends in.
fn banned(name: &str) -> Option<&'static str> {
    let last = name
        .char_indices()
        .rfind(|(_, character)| character.is_uppercase() || matches!(character, '_' | '-'));
    let end = last
        .map_or(name, |(at, _)| name[at..].trim_start_matches(['_', '-']))
        .to_lowercase();
    BANNED
        .iter()
        .copied()
        .find(|word| *word == end || *word == name.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expected: &[&str]) {
        super::super::assert_findings(findings, &[(path, text)], expected);
    }

    #[test]
    fn name_without_a_banned_word_passes() {
        check(
            "crates/x/src/pool.rs",
            "struct CommonName; mod utilisation; enum Command {} type UTILITY = u8;",
            &[],
        );
        check("a.rb", "helpers do\nend\n", &[]);
        check("a.rs", "// struct Utils\nlet a = \"mod util\";", &[]);
    }

    #[test]
    fn banned_items_are_refused() {
        check(
            "a.rs",
            "mod util;\nstruct SessionManager;\ntrait HttpHelpers {}",
            &[
                "a.rs:1: `util`: name the thing it does, not `util`",
                "a.rs:2: `SessionManager`: name the thing it does, not `manager`",
                "a.rs:3: `HttpHelpers`: name the thing it does, not `helpers`",
            ],
        );
    }

    #[test]
    fn banned_files_and_directories_are_refused() {
        check(
            "tests/common/mod.rs",
            "",
            &["tests/common/mod.rs:1: `common`: name the thing it does, not `common`"],
        );
        check(
            "a/test-utils.rb",
            "",
            &["a/test-utils.rb:1: `test-utils.rb`: name the thing it does, not `utils`"],
        );
    }
}
