//! Work left undone: ignored tests, placeholder macros, debug prints, and comments that promise later work.
//! Not about words in strings: a task board may well show them.
//! Rule: what is not done is not in the tree.

use super::{Findings, markdown};
use crate::tree::{File, Tree};

const MACROS: &[&str] = &["todo", "unimplemented", "dbg"];
const PROMISES: &[&str] = &["TODO", "FIXME", "XXX"];

pub fn findings(tree: &Tree, found: &mut Findings) {
    for file in tree.files() {
        match file.extension() {
            "rs" => rust(file, found),
            "rb" | "sh" | "toml" | "yml" | "yaml" => comments(file, &["#"], found),
            "c" | "h" | "js" | "css" => comments(file, &["//", "/*", " *"], found),
            "" if file.text.starts_with('#') => comments(file, &["#"], found),
            "md" => {
                for (line, text) in markdown::read(file.text).prose {
                    promise(file, line, &text, found);
                }
            }
            _ => {}
        }
    }
}

fn rust(file: &File, found: &mut Findings) {
    let source = file.source();
    for (line, text) in &source.comments {
        for (number, text) in (*line..).zip(text.lines()) {
            promise(file, number, text, found);
        }
    }
    let tokens = &source.tokens;
    for at in source.find("# [") {
        let attribute = &tokens[at + 2..tokens[at + 1].after];
        let is_conditional = attribute[0].text == "cfg_attr";
        let depth = if is_conditional { attribute.len() } else { 1 };
        if attribute
            .iter()
            .take(depth)
            .any(|word| word.text == "ignore")
        {
            let message = "an ignored test tests nothing: repair it or delete it";
            found.add(file.path, tokens[at].line, message);
        }
    }
    for name in MACROS {
        for at in source.find(&format!("{name} !")) {
            let message = format!("{name}! must not stay in the tree");
            found.add(file.path, tokens[at].line, message);
        }
    }
}

/// Looks behind the first comment marker of each line.
fn comments(file: &File, markers: &[&str], found: &mut Findings) {
    for (index, line) in file.text.lines().enumerate() {
        if let Some(at) = markers.iter().filter_map(|marker| line.find(marker)).min() {
            promise(file, index + 1, &line[at..], found);
        }
    }
}

fn promise(file: &File, line: usize, text: &str, found: &mut Findings) {
    let mut words = text.split(|character: char| !character.is_alphanumeric() && character != '_');
    if let Some(word) = words.find(|word| PROMISES.contains(word)) {
        let message = format!("{word} promises later work: do it, or say what is left out");
        found.add(file.path, line, message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expected: &[&str]) {
        super::super::assert_findings(findings, &[(path, text)], expected);
    }

    #[test]
    fn ignored_tests_are_refused() {
        let refused = "an ignored test tests nothing: repair it or delete it";
        check(
            "a.rs",
            "#[test]\n#[ignore = \"slow\"]\nfn a() {}",
            &[&format!("a.rs:2: {refused}")],
        );
        check(
            "a.rs",
            "#[cfg_attr(miri, ignore)]\nfn a() {}",
            &[&format!("a.rs:1: {refused}")],
        );
        check("a.rs", "#[derive(ignore)] struct A; let ignore = 1;", &[]);
    }

    #[test]
    fn placeholder_macros_are_refused() {
        check(
            "a.rs",
            "fn a() { todo!() }\nfn b() { dbg!(1); }",
            &[
                "a.rs:1: todo! must not stay in the tree",
                "a.rs:2: dbg! must not stay in the tree",
            ],
        );
        check("a.rs", "let todo = \"dbg!\"; assert!(!todo);", &[]);
    }

    #[test]
    fn todo_in_a_comment_or_prose_is_refused() {
        let refused = "TODO promises later work: do it, or say what is left out";
        check("a.rs", "/* a\n TODO b */", &[&format!("a.rs:2: {refused}")]);
        check("a.rb", "x = 1 # TODO: y", &[&format!("a.rb:1: {refused}")]);
        check(
            "Makefile",
            "# a\na: # TODO",
            &[&format!("Makefile:2: {refused}")],
        );
        check("a.md", "The TODO list.", &[&format!("a.md:1: {refused}")]);
    }

    #[test]
    fn todo_in_code_or_spans_passes() {
        check("a.rs", "let a = \"TODO\"; // a todo list", &[]);
        check(
            "a.sh",
            "# a\nmktemp /tmp/a.XXXXXX # XXXXXX is replaced",
            &[],
        );
        check("a.md", "No `TODO`.\n```\n# TODO\n```\n", &[]);
    }
}
