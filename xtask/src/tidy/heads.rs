//! File heads: a source file begins by saying what it is. Whether it says so well is for a reader to judge.
//! Rule: after a shebang and magic comments, the first line is a comment with words in it.

use super::Findings;
use crate::tree::{File, Tree};

/// Fewer characters than this cannot say what a file is.
const HEAD_CHARACTERS_MIN: usize = 10;

pub fn findings(tree: &Tree, found: &mut Findings) {
    for file in tree.files() {
        if let Some(markers) = markers(file) {
            check(file, markers, found);
        }
    }
}

fn check(file: &File, markers: &[&str], found: &mut Findings) {
    let lines = file.text.lines().zip(1..);
    let mut lines = lines.filter(|(line, _)| !line.trim().is_empty());
    let head = lines.find(|(line, number)| !is_shebang(*number, line) && !is_magic(line));
    let (line, number) = head.unwrap_or(("", 1));
    let said = markers.iter().find_map(|marker| line.strip_prefix(marker));
    // C comments like to open on a line of their own.
    let said = said.map(|words| {
        if words.trim().is_empty() {
            lines.next().map_or("", |(line, _)| line)
        } else {
            words
        }
    });
    let message = match said {
        None => format!(
            "begin the file with `{}` lines: what it is, what it is not, its rule",
            markers[0]
        ),
        Some(words) if words.trim().chars().count() < HEAD_CHARACTERS_MIN => {
            "the head says nothing: what is this file?".to_owned()
        }
        Some(_) => return,
    };
    found.add(file.path, number, message);
}

/// What a head begins with in this kind of file; `None` for a file that needs none.
fn markers(file: &File) -> Option<&'static [&'static str]> {
    match file.extension() {
        "rs" => Some(&["//!"]),
        "rb" | "sh" => Some(&["#"]),
        "c" | "h" => Some(&["/*", "//"]),
        "" if file.text.starts_with("#!")
            || file.name() == "Makefile"
            || file.name() == "Rakefile" =>
        {
            Some(&["#"])
        }
        _ => None,
    }
}

/// `#![…]` on the first line is an attribute.
fn is_shebang(number: usize, line: &str) -> bool {
    number == 1 && line.starts_with("#!") && !line.starts_with("#![")
}

/// Ruby reads these; they tell a person nothing.
fn is_magic(line: &str) -> bool {
    ["# frozen_string_literal:", "# encoding:", "# -*-"]
        .iter()
        .any(|magic| line.starts_with(magic))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expected: &[&str]) {
        super::super::assert_findings(findings, &[(path, text)], expected);
    }

    #[test]
    fn heads_are_taken_in_every_language() {
        check("a.rs", "//! Says what it is.\nfn a() {}\n", &[]);
        check(
            "a.rb",
            "# frozen_string_literal: true\n\n# Says what it is.\n",
            &[],
        );
        check("a.c", "/* Says what it is. */\n", &[]);
        check("a.h", "/*\n * Says what it is.\n */\n", &[]);
        check("run", "#!/bin/sh\n# Says what it is.\n", &[]);
        check("a.rs", "//! 紡ぎの読み取り器です。\n", &[]);
    }

    #[test]
    fn a_file_that_begins_with_code_is_refused() {
        let rust = "begin the file with `//!` lines: what it is, what it is not, its rule";
        let hash = "begin the file with `#` lines: what it is, what it is not, its rule";
        check("a.rs", "use std::fs;\n", &[&format!("a.rs:1: {rust}")]);
        check(
            "a.rs",
            "#![forbid(unsafe_code)]\n//! Too late to say.\n",
            &[&format!("a.rs:1: {rust}")],
        );
        check("a.rs", "", &[&format!("a.rs:1: {rust}")]);
        check("run", "#!/bin/sh\nset -e\n", &[&format!("run:2: {hash}")]);
        check("a.rb", "get(\"/\") { 1 }\n", &[&format!("a.rb:1: {hash}")]);
    }

    #[test]
    fn a_head_without_words_is_refused() {
        check(
            "a.rs",
            "//! db\n",
            &["a.rs:1: the head says nothing: what is this file?"],
        );
    }

    #[test]
    fn other_files_need_no_head() {
        check("LICENSE-MIT", "MIT License\n", &[]);
        check("a.css", "body {}\n", &[]);
    }
}
