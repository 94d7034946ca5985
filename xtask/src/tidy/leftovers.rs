//! Work left undone: ignored tests, placeholder macros, debug prints, and comments that promise later work.
//! Not about words in strings: a task board may well show them.
//! Rule: what is not done is not in the tree.

use super::{Finding, markdown};
use crate::lexer::{Kind, after_group, lex, reads};
use crate::tree::{File, Tree};

const MACROS: &[&str] = &["todo", "unimplemented", "dbg"];
const PROMISES: &[&str] = &["TODO", "FIXME", "XXX"];

pub fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files() {
        match file.extension() {
            "rs" => rust(file, &mut findings),
            "rb" | "sh" | "toml" | "yml" | "yaml" => comments(file, &["#"], &mut findings),
            "c" | "h" | "js" | "css" => comments(file, &["//", "/*", " *"], &mut findings),
            "" if file.text.starts_with('#') => comments(file, &["#"], &mut findings),
            "md" => {
                for (line, text) in markdown::prose(&file.text) {
                    promise(file, line, &text, &mut findings);
                }
            }
            _ => {}
        }
    }
    findings
}

fn rust(file: &File, findings: &mut Vec<Finding>) {
    let (comments, code): (Vec<_>, Vec<_>) = lex(&file.text)
        .into_iter()
        .partition(|token| token.kind == Kind::Comment);
    for comment in comments {
        for (index, text) in comment.text.lines().enumerate() {
            promise(file, comment.line + index, text, findings);
        }
    }
    for (at, token) in code.iter().enumerate() {
        if reads(&code, at, &["#", "["]) {
            let attribute = &code[at + 2..after_group(&code, at + 1)];
            let conditional = attribute.first().is_some_and(|word| word.is("cfg_attr"));
            let depth = if conditional { attribute.len() } else { 1 };
            if attribute.iter().take(depth).any(|word| word.is("ignore")) {
                findings.push(Finding::new(
                    &file.path,
                    token.line,
                    "an ignored test tests nothing: repair it or delete it",
                ));
            }
        }
        if let Some(name) = MACROS.iter().find(|name| reads(&code, at, &[name, "!"])) {
            findings.push(Finding::new(
                &file.path,
                token.line,
                format!("{name}! must not stay in the tree"),
            ));
        }
    }
}

/// Looks behind the first comment marker of each line.
fn comments(file: &File, markers: &[&str], findings: &mut Vec<Finding>) {
    for (index, line) in file.text.lines().enumerate() {
        if let Some(at) = markers.iter().filter_map(|marker| line.find(marker)).min() {
            promise(file, index + 1, &line[at..], findings);
        }
    }
}

fn promise(file: &File, line: usize, text: &str, findings: &mut Vec<Finding>) {
    let mut words = text.split(|character: char| !character.is_alphanumeric() && character != '_');
    if let Some(word) = words.find(|word| PROMISES.contains(word)) {
        findings.push(Finding::new(
            &file.path,
            line,
            format!("{word} promises later work: do it, or say what is left out"),
        ));
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
