//! The query builder in both faces: a method of `tsumugi_sql::Query` that a face, the goldens or the documents forgot. Not whether the faces
//! mean the same; tests of both say that.
//! Rule: each method that answers the query changed is called by a native of Ruby, forwarded by the table of Rust and shown in a golden, and
//! each word of Ruby has a row in the table of the documents.

use super::{Findings, is_one_of};
use crate::source::{Kind, Source};
use crate::tree::Tree;

const QUERY: &str = "crates/sql/src/query.rs";
const NATIVES: &str = "crates/ruby/src/natives/query/";
const TABLE: &str = "crates/tsumugi/src/builder/table.rs";
const GOLDEN: &str = "crates/sql/tests/golden/";
const DOCUMENT: &str = "docs/queries.md";

/// Methods that only one face has. Ruby sets columns by the Hash of an update, Rust one by one (`set`) or by the record of an update (`set_all`);
/// `unfiltered` is a step of the faces' own; Rust names a source where it is made: `table("users as u")`.
const ONE_FACE: &str = "set set_all unfiltered alias";

/// Methods without a golden of their own: queries that count rows call `unordered`, and their goldens show it.
const WITHOUT_GOLDEN: &str = "unordered";

pub fn findings(tree: &Tree, found: &mut Findings) {
    let Some(query) = tree.file(QUERY) else {
        return;
    };
    let forwards = |name: &str| {
        let table = tree.file(TABLE);
        table.is_some_and(|table| table.source().has(&format!("{name} (")))
    };
    for (name, line) in methods(query.source()) {
        if is_one_of(ONE_FACE, name) {
            continue;
        }
        let call = format!(". {name} (");
        let is_called = |folder| tree.rust_below(folder).any(|file| file.source().has(&call));
        let mut missing = |what: String| found.add(QUERY, line, format!("Query::{name} {what}"));
        if !is_called(NATIVES) {
            missing(format!(
                "is missing in Ruby: no native below {NATIVES} calls it"
            ));
        }
        if !is_called(GOLDEN) && !is_one_of(WITHOUT_GOLDEN, name) {
            missing(format!("has no golden: no test below {GOLDEN} calls it"));
        }
        if !forwards(name) {
            missing(format!("is missing in Rust: {TABLE} does not forward it"));
        }
    }
    undocumented(tree, found);
}

/// Words of Ruby that answer another query and have no row in the documents.
fn undocumented(tree: &Tree, found: &mut Findings) {
    let rows = tree.text(DOCUMENT);
    for file in tree.rust_below(NATIVES) {
        let source = file.source();
        let words = source
            .find("derive (")
            .filter_map(|at| source.tokens.get(at + 2));
        for token in words.filter(|token| token.kind == Kind::Literal) {
            let word = token.text.trim_matches('"');
            let is_part = word.starts_with("__") || word.starts_with("or_where_");
            if !is_part && !rows.contains(&format!("| `{word}` |")) {
                let message = format!("`{word}` has no row in {DOCUMENT}");
                found.add(file.path, token.line, message);
            }
        }
    }
}

/// `pub fn NAME(self, …) -> Self`, with their lines.
fn methods<'t>(source: &Source<'t>) -> impl Iterator<Item = (&'t str, usize)> {
    let is_test = |at: &usize| source.test_modules().any(|module| module.contains(at));
    let methods = source.items.iter().filter(move |item| {
        let is_public = item.keyword == "fn" && item.visibility == "pub" && !is_test(&item.at);
        is_public
            && source.signature(item).is_some_and(|signature| {
                let takes_self = signature
                    .receiver()
                    .is_some_and(|it| it.reference.is_none());
                takes_self && is_path(&signature.output, "Self")
            })
    });
    methods.map(|item| (item.name, item.line))
}

fn is_path(output: &syn::ReturnType, name: &str) -> bool {
    matches!(output, syn::ReturnType::Type(_, result)
        if matches!(&**result, syn::Type::Path(path) if path.path.is_ident(name)))
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
