//! Names that say nothing. Files and Rust items only: what Ruby code calls its methods is the API's business.
//! Rule: a name neither is nor ends in a banned word; `CommonName` passes, `common` and `SessionManager` do not.

use super::{Findings, is_one_of};
use crate::source::Item;
use crate::tree::Tree;

const BANNED: &str = "util utils common helpers manager misc";

pub fn findings(tree: &Tree, found: &mut Findings) {
    for file in tree.files() {
        for part in file.path.split('/') {
            let stem = part.trim_start_matches('.').split('.').next();
            check(file.path, 1, part, stem.unwrap_or(part), found);
        }
    }
    for file in tree.rust() {
        let is_named = |item: &&Item| item.is_type() || item.keyword == "mod";
        for item in file.source().items.iter().filter(is_named) {
            check(file.path, item.line, item.name, item.name, found);
        }
    }
}

/// Whether `stem` is or ends in a banned word.
fn check(path: &str, line: usize, name: &str, stem: &str, found: &mut Findings) {
    let begins = |character: char| character.is_uppercase() || matches!(character, '_' | '-');
    let last = stem.rfind(begins).map_or(stem, |at| &stem[at..]);
    let words = [stem, last.trim_start_matches(['_', '-'])].map(str::to_lowercase);
    if let Some(word) = words.iter().find(|word| is_one_of(BANNED, word)) {
        let message = format!("`{name}`: name the thing it does, not `{word}`");
        found.add(path, line, message);
    }
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
