//! Names that are riddles: a function that begins with `what_` or `nobody_`, a type or module that only says what has happened to something.
//! Rust only: what Ruby code calls its methods is the API's business.
//! Rule: a type or module is a noun, a function says what it does, a test says subject, condition and outcome. `known.txt` beside this has the
//! names that break it; it only becomes shorter.

use std::collections::BTreeSet;

use super::{Findings, is_one_of};
use crate::tree::Tree;

const LIST: &str = "xtask/src/tidy/wording/known.txt";

/// People and questions that no name begins with.
const RIDDLES: &str = "anybody everybody nobody somebody what who whoever whom whose";

/// Words in `ed` that are terms of the field, or no participles.
const TERMS: &str = "embedded feed need nested oversized quoted seed shared speed typed";

/// Participles that do not end in `ed`; those that are nouns or verbs as well (`read`, `set`, `bound`, `split`) are not here.
const PARTICIPLES: &str = "\
    asleep begun bent bought broken brought built caught chosen done drawn driven fallen felt forgotten fought found \
    frozen given gone grown heard held hidden kept known laid left lent lost lying made meant met missing paid said \
    seen sent shown shut slept sold sought spent spoken stolen stood struck stuck swept swollen taken taught thought \
    thrown told torn understood unfit unread won woken worn written";

pub fn findings(tree: &Tree, found: &mut Findings) {
    let known = tree.list(LIST);
    let mut met = BTreeSet::new();
    for file in tree.rust() {
        let stem = file.name().trim_end_matches(".rs");
        let items = file.source().items.iter().map(|item| {
            let kind = if item.is_type() { "type" } else { item.keyword };
            (kind, item.name, item.line)
        });
        for (kind, name, line) in items.chain([("mod", stem, 1)]) {
            if let Some(message) = riddle(kind, name) {
                let entry = format!("{kind} {name}");
                if !known.contains_key(&*entry) {
                    found.add(file.path, line, format!("{entry}: {message}"));
                }
                met.insert(entry);
            }
        }
    }
    for (entry, line) in known.iter().filter(|(entry, _)| !met.contains(**entry)) {
        let message = format!("`{entry}` stands nowhere any more: take the line out");
        found.add(LIST, *line, message);
    }
}

/// What is wrong with the name of a function, type or module.
fn riddle(kind: &str, name: &str) -> Option<String> {
    let is_function = match kind {
        "fn" => true,
        "type" | "mod" => false,
        _ => return None,
    };
    let name = name.trim_start_matches("r#").trim_matches('_');
    let begins = |(_, character): &(usize, char)| *character == '_' || character.is_uppercase();
    let next = name.char_indices().skip(1).find(begins);
    let first = next.map_or(name, |(at, _)| &name[..at]).to_lowercase();
    if is_one_of(RIDDLES, &first) {
        let wanted = if is_function {
            "say subject, condition and outcome"
        } else {
            "say what it is"
        };
        return Some(format!("{wanted}, not `{first}`"));
    }
    let is_participle =
        is_one_of(PARTICIPLES, &first) || first.ends_with("ed") && !is_one_of(TERMS, &first);
    (next.is_none() && !is_function && is_participle)
        .then(|| "say what it is, not what has happened to it".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, known: &str, expected: &[&str]) {
        super::super::assert_findings(findings, &[(path, text), (LIST, known)], expected);
    }

    #[test]
    fn nouns_verbs_and_outcomes_are_taken() {
        check(
            "crates/x/src/row_ref.rs",
            "struct RowRef; enum Feed {} type Shared = u8; mod typed; trait PreparedStatement {}\n\
             fn kept_alive() {} fn whole() {} fn savepoint_dropped_while_streaming_rolls_back() {}",
            "",
            &[],
        );
        check("a.rs", "// fn what_is\nlet a = \"struct Kept\";", "", &[]);
        check("a.rb", "def what_is; end", "", &[]);
    }

    #[test]
    fn function_that_begins_with_a_question_or_people_is_refused() {
        check(
            "a.rs",
            "fn what_goes() {}\nfn nobody_waits() {}",
            "",
            &[
                "a.rs:1: fn what_goes: say subject, condition and outcome, not `what`",
                "a.rs:2: fn nobody_waits: say subject, condition and outcome, not `nobody`",
            ],
        );
    }

    #[test]
    fn type_module_and_file_that_are_participles_are_refused() {
        let message = "say what it is, not what has happened to it";
        check(
            "crates/x/src/told.rs",
            "struct Kept;\nenum Refused {}\nmod asked;\ntype WhoAsks = u8;",
            "",
            &[
                &format!("crates/x/src/told.rs:1: mod told: {message}"),
                &format!("crates/x/src/told.rs:1: type Kept: {message}"),
                &format!("crates/x/src/told.rs:2: type Refused: {message}"),
                &format!("crates/x/src/told.rs:3: mod asked: {message}"),
                "crates/x/src/told.rs:4: type WhoAsks: say what it is, not `who`",
            ],
        );
    }

    #[test]
    fn name_of_the_list_is_taken_while_it_stands_somewhere() {
        check("a.rs", "struct Kept;", "# names\ntype Kept\n", &[]);
        check(
            "a.rs",
            "struct RowsRepr;",
            "# names\ntype Kept\n",
            &[
                "xtask/src/tidy/wording/known.txt:2: `type Kept` stands nowhere any more: take the line out",
            ],
        );
    }
}
