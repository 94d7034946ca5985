//! The query builder in both faces: a method of `tsumugi_sql::Query` that a face, the goldens or the documents forgot. Not whether the faces
//! mean the same; tests of both say that.
//! Rule: each method that answers the query changed is called by a native of Ruby, forwarded by the table of Rust and shown in a golden, and
//! each word of Ruby has a row in the table of the documents.

use super::Finding;
use crate::lexer::{Kind, Token, code, reads, without_tests};
use crate::tree::Tree;

const QUERY: &str = "crates/sql/src/query.rs";
const NATIVES: &str = "crates/ruby/src/natives/query/";
const TABLE: &str = "crates/tsumugi/src/builder/table.rs";
const GOLDEN: &str = "crates/sql/tests/golden/";
const DOCUMENT: &str = "docs/queries.md";

/// Methods that only one face has, with the reason.
const ONE_FACE: &[(&str, &str)] = &[
    ("set", "Ruby sets columns by the Hash of an update"),
    (
        "set_all",
        "Rust sets columns one by one, or by the record of an update",
    ),
    ("unfiltered", "a step of the faces' own, no word of theirs"),
    (
        "alias",
        "Rust names a source where it is made: `table(\"users as u\")`",
    ),
];

/// Methods without a golden of their own, with the reason.
const WITHOUT_GOLDEN: &[(&str, &str)] = &[(
    "unordered",
    "queries that count rows call it: their goldens show it",
)];

pub fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Some(query) = tree.file(QUERY) else {
        return findings;
    };
    let below = |folder: &str| -> Vec<Vec<Token<'_>>> {
        let files = tree.rust().filter(|file| file.path.starts_with(folder));
        files.map(|file| code(&file.text)).collect()
    };
    let (natives, goldens) = (below(NATIVES), below(GOLDEN));
    let table = tree.file(TABLE).map(|file| code(&file.text));
    for (name, line) in methods(&code(&query.text)) {
        if ONE_FACE.iter().any(|(method, _)| *method == name) {
            continue;
        }
        let called = |tokens: &Vec<Token<'_>>| {
            (0..tokens.len()).any(|at| reads(tokens, at, &[".", &name, "("]))
        };
        if !natives.iter().any(called) {
            let message =
                format!("Query::{name} is missing in Ruby: no native below {NATIVES} calls it");
            findings.push(Finding::new(QUERY, line, message));
        }
        let has_golden =
            goldens.iter().any(called) || WITHOUT_GOLDEN.iter().any(|(method, _)| *method == name);
        if !has_golden {
            let message = format!("Query::{name} has no golden: no test below {GOLDEN} calls it");
            findings.push(Finding::new(QUERY, line, message));
        }
        let forwarded =
            |tokens: &Vec<Token<'_>>| (0..tokens.len()).any(|at| reads(tokens, at, &[&name, "("]));
        if !table.as_ref().is_some_and(forwarded) {
            let message = format!("Query::{name} is missing in Rust: {TABLE} does not forward it");
            findings.push(Finding::new(QUERY, line, message));
        }
    }
    undocumented(tree, &mut findings);
    findings
}

/// Words of Ruby that answer another query and have no row in the documents.
fn undocumented(tree: &Tree, findings: &mut Vec<Finding>) {
    let rows = tree.file(DOCUMENT).map_or("", |file| file.text.as_str());
    for file in tree.rust().filter(|file| file.path.starts_with(NATIVES)) {
        let tokens = code(&file.text);
        for (at, token) in tokens.iter().enumerate() {
            if token.kind != Kind::Literal
                || !reads(&tokens, at.saturating_sub(2), &["derive", "("])
            {
                continue;
            }
            let word = token.text.trim_matches('"');
            let row = format!("| `{word}` |");
            let is_part = word.starts_with("__") || word.starts_with("or_where_");
            if !is_part && !rows.contains(&row) {
                let message = format!("`{word}` has no row in {DOCUMENT}");
                findings.push(Finding::new(&file.path, token.line, message));
            }
        }
    }
}

/// `pub fn NAME(self, …) -> Self`, with their lines.
fn methods(tokens: &[Token<'_>]) -> Vec<(String, usize)> {
    let tokens: Vec<Token<'_>> = without_tests(tokens).copied().collect();
    let mut methods = Vec::new();
    for at in 0..tokens.len() {
        let Some(name) = tokens
            .get(at + 2)
            .filter(|_| reads(&tokens, at, &["pub", "fn"]))
        else {
            continue;
        };
        let head: Vec<&Token<'_>> = tokens[at + 3..]
            .iter()
            .take_while(|token| !token.is("{"))
            .collect();
        let takes_self = head
            .windows(2)
            .any(|pair| pair[0].is("(") && pair[1].is("self"));
        if takes_self && head.last().is_some_and(|last| last.is("Self")) {
            methods.push((name.text.to_owned(), name.line));
        }
    }
    methods
}

#[cfg(test)]
mod tests {
    use super::*;

    const METHOD: &str = "impl Query { pub fn limit(self, rows: u64) -> Self { self } }";
    const NATIVE: &str = "methods.derive(\"limit\", |_, _, query| Ok(query.limit(1)))?;";
    const FORWARD: &str = "builds! { limit(rows: u64); }";
    const ROW: &str = "| `limit` | `limit(10)` |";
    const TEST: &str = "golden(\"pages\", table(\"users\").limit(10));";

    fn check(native: &str, forward: &str, rows: &str, expected: &[&str]) {
        check_with(TEST, native, forward, rows, expected);
    }

    fn check_with(golden: &str, native: &str, forward: &str, rows: &str, expected: &[&str]) {
        let files = [
            (QUERY, METHOD),
            ("crates/sql/tests/golden/pages.rs", golden),
            ("crates/ruby/src/natives/query/building.rs", native),
            (TABLE, forward),
            (DOCUMENT, rows),
        ];
        super::super::assert_findings(findings, &files, expected);
    }

    #[test]
    fn method_of_both_faces_with_a_row_is_taken() {
        check(NATIVE, FORWARD, ROW, &[]);
    }

    #[test]
    fn method_that_a_face_lacks_is_named() {
        check(
            "",
            FORWARD,
            ROW,
            &[
                "crates/sql/src/query.rs:1: Query::limit is missing in Ruby: no native below crates/ruby/src/natives/query/ calls it",
            ],
        );
        check(
            NATIVE,
            "",
            ROW,
            &[
                "crates/sql/src/query.rs:1: Query::limit is missing in Rust: crates/tsumugi/src/builder/table.rs does not forward it",
            ],
        );
    }

    #[test]
    fn method_without_a_golden_is_named() {
        check_with(
            "",
            NATIVE,
            FORWARD,
            ROW,
            &[
                "crates/sql/src/query.rs:1: Query::limit has no golden: no test below crates/sql/tests/golden/ calls it",
            ],
        );
    }

    #[test]
    fn word_without_a_row_is_named() {
        check(
            NATIVE,
            FORWARD,
            "",
            &["crates/ruby/src/natives/query/building.rs:1: `limit` has no row in docs/queries.md"],
        );
    }
}
