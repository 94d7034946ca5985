//! Names of types that stand in several crates: a search for one finds the other. Looks at what other files can see, not at tests.
//! Rule: a name of a type stands in one crate. `known.txt` beside this says which do not yet; it only becomes shorter.

use std::collections::BTreeMap;

use super::{Findings, is_one_of};
use crate::tree::Tree;

const LIST: &str = "xtask/src/tidy/types/known.txt";

/// What every crate may call its own.
const COMMON_TO_ALL: &str =
    "Config Connection Error Options Pool Result Row Rows State Statement Transaction Value";

pub fn findings(tree: &Tree, found: &mut Findings) {
    let known = tree.list(LIST);
    // By name and crate: where it stands first.
    let mut places: BTreeMap<&str, BTreeMap<&str, (&str, usize)>> = BTreeMap::new();
    for file in tree.rust_below("crates/").filter(|file| !file.is_test()) {
        let parts: Vec<&str> = file.path.splitn(4, '/').collect();
        if parts[2] != "src" {
            continue;
        }
        let is_visible = |visibility| matches!(visibility, "pub" | "pub(crate)");
        for item in &file.source().items {
            if item.is_type() && is_visible(item.visibility) {
                let of_name = places.entry(item.name).or_default();
                of_name.entry(parts[1]).or_insert((file.path, item.line));
            }
        }
    }
    places.retain(|_, of_name| of_name.len() > 1);
    for (name, of_name) in &places {
        if is_one_of(COMMON_TO_ALL, name) || known.contains_key(name) {
            continue;
        }
        for (path, line) in of_name.values() {
            let others = of_name.values().map(|(other, _)| *other);
            let others: Vec<_> = others.filter(|other| other != path).collect();
            let others = others.join(", ");
            let message = format!(
                "the type `{name}` stands in {others} too: give one of them a name of its own"
            );
            found.add(path, *line, message);
        }
    }
    for (name, line) in known.iter().filter(|(name, _)| !places.contains_key(*name)) {
        let message = format!("`{name}` stands in one crate now: take it off the list");
        found.add(LIST, *line, message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], known: &str, expected: &[&str]) {
        let files = [files, &[(LIST, known)]].concat();
        super::super::assert_findings(findings, &files, expected);
    }

    #[test]
    fn a_name_in_one_crate_is_taken_wherever_it_stands_there() {
        check(
            &[
                ("crates/a/src/x.rs", "pub struct Lane;"),
                ("crates/a/src/y.rs", "pub(crate) enum Lane {}"),
            ],
            "",
            &[],
        );
        check(
            &[
                ("crates/a/src/x.rs", "pub struct Lane;"),
                ("crates/b/src/y.rs", "struct Lane; pub(super) struct Lane;"),
            ],
            "",
            &[],
        );
        check(
            &[
                ("crates/a/src/x.rs", "pub struct Lane;"),
                ("crates/b/tests/y.rs", "pub struct Lane;"),
            ],
            "",
            &[],
        );
        check(
            &[
                ("crates/a/src/x.rs", "pub enum Error {}"),
                ("crates/b/src/y.rs", "pub type Error = u8;"),
            ],
            "",
            &[],
        );
    }

    #[test]
    fn a_name_in_two_crates_is_refused_unless_it_is_listed() {
        let files = [
            ("crates/a/src/x.rs", "pub struct Lane;"),
            ("crates/b/src/y.rs", "\npub(crate) type Lane = u8;"),
        ];
        check(&files, "Lane\n", &[]);
        check(
            &files,
            "",
            &[
                "crates/a/src/x.rs:1: the type `Lane` stands in crates/b/src/y.rs too: give one of them a name of its own",
                "crates/b/src/y.rs:2: the type `Lane` stands in crates/a/src/x.rs too: give one of them a name of its own",
            ],
        );
    }

    #[test]
    fn a_listed_name_that_stands_in_one_crate_is_to_be_taken_off() {
        check(
            &[
                ("crates/a/src/x.rs", "pub struct Lane;"),
                ("crates/b/src/y.rs", ""),
            ],
            "Lane\n",
            &[
                "xtask/src/tidy/types/known.txt:1: `Lane` stands in one crate now: take it off the list",
            ],
        );
    }
}
