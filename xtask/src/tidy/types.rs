//! Names of types that stand in several crates: a search for one finds the other. Looks at what other files can see, not at tests.
//! Rule: a name of a type stands in one crate. [`SHARED`] says which do not yet; it only becomes shorter.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use crate::lexer::{Kind, code};
use crate::tree::Tree;

/// What every crate may call its own.
const COMMON_TO_ALL: &[&str] = &[
    "Config",
    "Connection",
    "Error",
    "Options",
    "Pool",
    "Result",
    "Row",
    "Rows",
    "State",
    "Statement",
    "Transaction",
    "Value",
];

/// Names that stand in more than one crate today.
const SHARED: &[&str] = &[
    "Access",
    "Answer",
    "Binding",
    "Cache",
    "Call",
    "Cancel",
    "Cause",
    "Check",
    "Client",
    "Column",
    "Columns",
    "Connector",
    "CopyFormats",
    "CopyIn",
    "CopyOut",
    "Date",
    "Description",
    "Direction",
    "EncodeError",
    "Encryption",
    "Event",
    "EventCount",
    "Events",
    "Field",
    "Format",
    "Header",
    "Host",
    "Isolation",
    "Item",
    "Kind",
    "Limit",
    "Limits",
    "Line",
    "Listener",
    "ListenerEvent",
    "Message",
    "Migration",
    "Misuse",
    "Names",
    "Outcome",
    "Parameters",
    "Part",
    "Parts",
    "Path",
    "Phase",
    "Plugin",
    "Program",
    "Progress",
    "Query",
    "Reader",
    "Refusal",
    "Reply",
    "Request",
    "Response",
    "Route",
    "RowRef",
    "RowStream",
    "Savepoint",
    "Scope",
    "Secret",
    "ServerError",
    "Session",
    "Settings",
    "Sign",
    "SqlState",
    "Step",
    "Table",
    "Time",
    "TimeTz",
    "Timer",
    "Timestamp",
    "TimestampTz",
    "Tls",
    "TransactionOptions",
    "Values",
    "Violation",
    "Wait",
    "Writer",
];

/// The keywords before a type's name.
const TYPES: &[&str] = &["struct", "enum", "union", "trait", "type"];

pub fn findings(tree: &Tree) -> Vec<Finding> {
    shared(tree, SHARED)
}

fn shared(tree: &Tree, known: &[&str]) -> Vec<Finding> {
    // By name: where it stands first in each crate.
    let mut places: BTreeMap<&str, BTreeMap<&str, (&str, usize)>> = BTreeMap::new();
    let mut crates = BTreeSet::new();
    for file in tree.rust().filter(|file| !file.is_test()) {
        let mut parts = file.path.split('/');
        let (Some("crates"), Some(name), Some("src")) = (parts.next(), parts.next(), parts.next())
        else {
            continue;
        };
        crates.insert(name);
        for (word, line) in visible(&file.text) {
            let of_name = places.entry(word).or_default();
            of_name.entry(name).or_insert((&file.path, line));
        }
    }
    let mut findings = Vec::new();
    for (word, of_name) in &places {
        if of_name.len() < 2 || COMMON_TO_ALL.contains(word) || known.contains(word) {
            continue;
        }
        for (path, line) in of_name.values() {
            let others: Vec<_> = of_name
                .values()
                .map(|(path, _)| *path)
                .filter(|other| other != path)
                .collect();
            let message = format!(
                "the type `{word}` stands in {} too: give one of them a name of its own",
                others.join(", ")
            );
            findings.push(Finding::new(path, *line, message));
        }
    }
    // A part of the project, as tests of other rules have, does not know all of them.
    if crates.len() > 1 {
        let over = known
            .iter()
            .filter(|word| places.get(**word).is_none_or(|of_name| of_name.len() < 2));
        findings.extend(over.map(|word| {
            Finding::new(
                "xtask/src/tidy/types.rs",
                1,
                format!("`{word}` stands in one crate now: take it off the list"),
            )
        }));
    }
    findings
}

/// Types of a file that are `pub` or `pub(crate)`, and their lines.
fn visible(text: &str) -> Vec<(&str, usize)> {
    let tokens = code(text);
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        if !token.is("pub") {
            continue;
        }
        let rest = &tokens[at + 1..];
        let rest = match rest {
            [open, scope, close, rest @ ..]
                if open.is("(") && scope.is("crate") && close.is(")") =>
            {
                rest
            }
            _ => rest,
        };
        if let [keyword, name, ..] = rest
            && TYPES.iter().any(|word| keyword.is(word))
            && name.kind == Kind::Word
        {
            found.push((name.text, name.line));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(files: &[(&str, &str)], known: &[&str], expected: &[&str]) {
        let found: Vec<_> = shared(&Tree::of(files), known)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_name_in_one_crate_is_taken_wherever_it_stands_there() {
        check(
            &[
                ("crates/a/src/x.rs", "pub struct Lane;"),
                ("crates/a/src/y.rs", "pub(crate) enum Lane {}"),
            ],
            &[],
            &[],
        );
        check(
            &[
                ("crates/a/src/x.rs", "pub struct Lane;"),
                ("crates/b/src/y.rs", "struct Lane; pub(super) struct Lane;"),
            ],
            &[],
            &[],
        );
        check(
            &[
                ("crates/a/src/x.rs", "pub struct Lane;"),
                ("crates/b/tests/y.rs", "pub struct Lane;"),
            ],
            &[],
            &[],
        );
        check(
            &[
                ("crates/a/src/x.rs", "pub enum Error {}"),
                ("crates/b/src/y.rs", "pub type Error = u8;"),
            ],
            &[],
            &[],
        );
    }

    #[test]
    fn a_name_in_two_crates_is_refused_unless_it_is_listed() {
        let files = [
            ("crates/a/src/x.rs", "pub struct Lane;"),
            ("crates/b/src/y.rs", "\npub(crate) type Lane = u8;"),
        ];
        check(&files, &["Lane"], &[]);
        check(
            &files,
            &[],
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
            &["Lane"],
            &["xtask/src/tidy/types.rs:1: `Lane` stands in one crate now: take it off the list"],
        );
    }
}
