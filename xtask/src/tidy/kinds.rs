//! Kinds of columns in both faces: a kind of the table of `tsumugi_sql::schema` that a face or the documents forgot. What each database makes of
//! it the compiler asks for.
//! Rule: each kind has a function in Rust, a word in the prelude of Ruby and a place in the table of the documents.

use super::Findings;
use crate::source::Kind;
use crate::tree::Tree;

const TABLE: &str = "crates/sql/src/schema/kinds.rs";
const FUNCTIONS: &str = "crates/sql/src/schema/column.rs";
const PRELUDE: &str = "crates/ruby/prelude/schema.rb";
const DOCUMENT: &str = "docs/schema.md";

/// Functions of Rust that cannot have the word for their name.
const OTHER_NAMES: &[(&str, &str)] = &[("enum", "enumeration")];

pub fn findings(tree: &Tree, found: &mut Findings) {
    let Some(table) = tree.file(TABLE) else {
        return;
    };
    let is_there = |function: &String| {
        let file = tree.file(FUNCTIONS);
        file.is_some_and(|file| file.source().has(function))
    };
    let (prelude, document) = (tree.text(PRELUDE), tree.text(DOCUMENT));
    let source = table.source();
    for row in source.tokens.windows(4) {
        let [name, colon, word, comma] = row else {
            continue;
        };
        let is_row = name.kind == Kind::Word && word.kind == Kind::Literal;
        if !is_row || (colon.text, comma.text) != (":", ",") {
            continue;
        }
        let word = word.text.trim_matches('"');
        let function = OTHER_NAMES.iter().find(|(kind, _)| *kind == word);
        let function = function.map_or(word, |(_, function)| function);
        let mut missing = |message| found.add(TABLE, name.line, message);
        let is_function = [
            format!("fn {function}"),
            format!("{function} {} ;", name.text),
        ];
        if !is_function.iter().any(is_there) {
            missing(format!("`{function}` is no function of {FUNCTIONS}"));
        }
        if !has_method(prelude, word) {
            missing(format!("`{word}` is no word of {PRELUDE}"));
        }
        let places = [format!("`{word}`"), format!("`{word}(")];
        if !places.iter().any(|place| document.contains(place)) {
            missing(format!("`{word}` has no place in {DOCUMENT}"));
        }
    }
}

/// Whether the words for columns have this one: in the list of those without a size, or as a method.
fn has_method(prelude: &str, word: &str) -> bool {
    let columns = prelude.split_once("module Columns");
    let columns = columns.map_or("", |(_, rest)| rest.split("\n    end").next().unwrap_or(""));
    let in_list = columns.split_once("%i[").and_then(|(_, list)| {
        let (list, _) = list.split_once(']')?;
        list.split_whitespace().find(|listed| *listed == word)
    });
    in_list.is_some() || columns.contains(&format!("def {word}("))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROWS: &str = "kinds! { Uuid: \"uuid\", \"uuid_text\"; Enum: \"enum\", \"enum_text\"; }";
    const RUST: &str = "kinds! { uuid Uuid; } pub fn enumeration() {}";
    const RUBY: &str =
        "module Columns\n      %i[date uuid].each\n      def enum(name) = 1\n    end\n";
    const ROW: &str = "| `uuid` | text |\n| `enum(name, values)` | text |\n";

    fn check(rust: &str, ruby: &str, document: &str, expected: &[&str]) {
        let files = [
            (TABLE, ROWS),
            (FUNCTIONS, rust),
            (PRELUDE, ruby),
            (DOCUMENT, document),
        ];
        super::super::assert_findings(findings, &files, expected);
    }

    #[test]
    fn kind_of_both_faces_with_a_row_is_taken() {
        check(RUST, RUBY, ROW, &[]);
    }

    #[test]
    fn kind_that_a_face_or_the_documents_lack_is_named() {
        check(
            "pub fn enumeration() {}",
            RUBY,
            ROW,
            &[
                "crates/sql/src/schema/kinds.rs:1: `uuid` is no function of crates/sql/src/schema/column.rs",
            ],
        );
        check(
            RUST,
            "module Columns\n      %i[date].each\n      def enum(name) = 1\n    end\n def uuid() = 1",
            ROW,
            &[
                "crates/sql/src/schema/kinds.rs:1: `uuid` is no word of crates/ruby/prelude/schema.rb",
            ],
        );
        check(
            RUST,
            RUBY,
            "| `uuid` |",
            &["crates/sql/src/schema/kinds.rs:1: `enum` has no place in docs/schema.md"],
        );
    }
}
