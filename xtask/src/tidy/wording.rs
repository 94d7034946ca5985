//! Names that are riddles: a function that begins with `what_` or `nobody_`, a type or module that only says what has happened to something.
//! Rust only: what Ruby code calls its methods is the API's business.
//! Rule: a type or module is a noun, a function says what it does, a test says subject, condition and outcome. `known.txt` beside this has the
//! names that break it; it only becomes shorter.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use crate::lexer::{Kind, code};
use crate::tree::Tree;

const LIST: &str = "xtask/src/tidy/wording/known.txt";

/// People and questions that no name begins with.
const RIDDLES: &[&str] = &[
    "anybody",
    "everybody",
    "nobody",
    "somebody",
    "what",
    "who",
    "whoever",
    "whom",
    "whose",
];

/// Words in `ed` that are terms of the field, or no participles.
const TERMS: &[&str] = &[
    "embedded",
    "feed",
    "need",
    "nested",
    "oversized",
    "quoted",
    "seed",
    "shared",
    "speed",
    "typed",
];

/// Participles that do not end in `ed`; those that are nouns or verbs as well (`read`, `set`, `bound`, `split`) are not here.
const PARTICIPLES: &[&str] = &[
    "asleep",
    "begun",
    "bent",
    "bought",
    "broken",
    "brought",
    "built",
    "caught",
    "chosen",
    "done",
    "drawn",
    "driven",
    "fallen",
    "felt",
    "forgotten",
    "fought",
    "found",
    "frozen",
    "given",
    "gone",
    "grown",
    "heard",
    "held",
    "hidden",
    "kept",
    "known",
    "laid",
    "left",
    "lent",
    "lost",
    "lying",
    "made",
    "meant",
    "met",
    "missing",
    "paid",
    "said",
    "seen",
    "sent",
    "shown",
    "shut",
    "slept",
    "sold",
    "sought",
    "spent",
    "spoken",
    "stolen",
    "stood",
    "struck",
    "stuck",
    "swept",
    "swollen",
    "taken",
    "taught",
    "thought",
    "thrown",
    "told",
    "torn",
    "understood",
    "unfit",
    "unread",
    "won",
    "woken",
    "worn",
    "written",
];

/// The keywords before the name of a type.
const TYPES: &[&str] = &["struct", "enum", "union", "trait", "type"];

/// The kind of a name, as the list writes it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Named {
    Function,
    Type,
    Module,
}

impl Named {
    fn word(self) -> &'static str {
        match self {
            Named::Function => "fn",
            Named::Type => "type",
            Named::Module => "mod",
        }
    }
}

pub fn findings(tree: &Tree) -> Vec<Finding> {
    let known: BTreeMap<&str, usize> = tree
        .file(LIST)
        .into_iter()
        .flat_map(|file| file.text.lines().enumerate())
        .filter(|(_, line)| !line.starts_with('#'))
        .map(|(index, line)| (line, index + 1))
        .collect();
    let mut met = BTreeSet::new();
    let mut findings = Vec::new();
    for file in tree.rust() {
        let stem = file.name().trim_end_matches(".rs");
        let mut names = vec![(Named::Module, stem, 1)];
        let tokens = code(&file.text);
        for pair in tokens.windows(2).filter(|pair| pair[1].kind == Kind::Word) {
            let named = match &pair[0] {
                word if word.is("fn") => Named::Function,
                word if word.is("mod") => Named::Module,
                word if TYPES.iter().any(|keyword| word.is(keyword)) => Named::Type,
                _ => continue,
            };
            names.push((named, pair[1].text, pair[1].line));
        }
        for (named, name, line) in names {
            let Some(message) = riddle(named, name) else {
                continue;
            };
            let entry = format!("{} {name}", named.word());
            if !known.contains_key(entry.as_str()) {
                findings.push(Finding::new(
                    &file.path,
                    line,
                    format!("{entry}: {message}"),
                ));
            }
            met.insert(entry);
        }
    }
    let over = known.iter().filter(|(entry, _)| !met.contains(**entry));
    findings.extend(over.map(|(entry, line)| {
        let message = format!("`{entry}` stands nowhere any more: take the line out");
        Finding::new(LIST, *line, message)
    }));
    findings
}

/// What is wrong with a name.
fn riddle(named: Named, name: &str) -> Option<String> {
    let words = words(name);
    let first = words.first()?.as_str();
    if RIDDLES.contains(&first) {
        let wanted = match named {
            Named::Function => "say subject, condition and outcome",
            Named::Type | Named::Module => "say what it is",
        };
        return Some(format!("{wanted}, not `{first}`"));
    }
    let participle =
        PARTICIPLES.contains(&first) || (first.ends_with("ed") && !TERMS.contains(&first));
    let is_alone = words.len() == 1 && named != Named::Function;
    (is_alone && participle).then(|| "say what it is, not what has happened to it".to_owned())
}

/// The words of `snake_case` and `CamelCase`, in small letters.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut begins = true;
    for character in name.trim_start_matches("r#").chars() {
        if character == '_' {
            begins = true;
            continue;
        }
        let small = character.to_lowercase();
        match words.last_mut() {
            Some(word) if !begins && !character.is_uppercase() => word.extend(small),
            _ => words.push(small.collect()),
        }
        begins = false;
    }
    words
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
