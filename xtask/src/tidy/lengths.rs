//! Lengths of files and functions. Counts lines as an editor shows them, comments and blank lines included.
//! Rule: a file is counted without its inline test modules; a file of tests has a wider limit; a function is counted wherever it is.

use std::ops::Range;

use super::Finding;
use crate::lexer::{Kind, Token, after_group, code, test_modules};
use crate::tree::{File, Tree};

const FILE_LINES_MAX: usize = 600;
const TEST_FILE_LINES_MAX: usize = 1500;
const FUNCTION_LINES_MAX: usize = 70;

pub fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree
        .files()
        .filter(|file| matches!(file.extension(), "rs" | "rb" | "c" | "h" | "sh"))
    {
        let tokens = if file.is_rust() {
            code(&file.text)
        } else {
            Vec::new()
        };
        findings.extend(long_file(file, &tokens));
        findings.extend(long_functions(&tokens).map(|(line, name, lines)| {
            Finding::new(&file.path, line, format!("fn {name} has {lines} lines, at most {FUNCTION_LINES_MAX}; split it by what it does"))
        }));
    }
    findings
}

fn long_file(file: &File, tokens: &[Token<'_>]) -> Option<Finding> {
    let limit = if file.is_test() {
        TEST_FILE_LINES_MAX
    } else {
        FILE_LINES_MAX
    };
    let lines = file.text.lines().count() - test_lines(tokens);
    (lines > limit).then(|| {
        Finding::new(
            &file.path,
            limit + 1,
            format!("{lines} lines without tests, at most {limit}; split the file"),
        )
    })
}

/// How many lines the inline modules of tests take.
fn test_lines(tokens: &[Token<'_>]) -> usize {
    let lines = |module: Range<usize>| tokens[module.end - 1].line + 1 - tokens[module.start].line;
    test_modules(tokens).into_iter().map(lines).sum()
}

/// Functions over the limit: line, name, lines from `fn` to the closing brace.
fn long_functions<'a>(tokens: &[Token<'a>]) -> impl Iterator<Item = (usize, &'a str, usize)> {
    tokens
        .iter()
        .enumerate()
        .filter(|(_, token)| token.is("fn"))
        .filter_map(move |(at, keyword)| {
            let name = tokens
                .get(at + 1)
                .filter(|token| token.kind == Kind::Word)?;
            let open = body(tokens, at + 2)?;
            let lines = tokens[after_group(tokens, open) - 1].last_line() + 1 - keyword.line;
            (lines > FUNCTION_LINES_MAX).then_some((keyword.line, name.text, lines))
        })
}

/// The brace that opens the body of the function whose signature goes on at `at`; a declaration has none.
fn body(tokens: &[Token<'_>], mut at: usize) -> Option<usize> {
    loop {
        let token = tokens.get(at)?;
        if token.is("{") {
            return Some(at);
        }
        if token.is(";") || token.is("}") {
            return None;
        }
        // Array lengths in a signature may hold `;` and `{`.
        at = if token.is("(") || token.is("[") {
            after_group(tokens, at)
        } else {
            at + 1
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expected: &[&str]) {
        super::super::assert_findings(findings, &[(path, text)], expected);
    }

    fn function(lines: usize) -> String {
        format!(
            "fn f(a: [u8; 2]) {{\n{}}}\n",
            "    g('{', \"}\"); // {\n".repeat(lines - 2)
        )
    }

    #[test]
    fn a_function_may_fill_its_limit() {
        check("a.rs", &function(70), &[]);
        check(
            "a.rs",
            &function(71),
            &["a.rs:1: fn f has 71 lines, at most 70; split it by what it does"],
        );
    }

    #[test]
    fn declarations_and_pointers_have_no_body() {
        check(
            "a.rs",
            &format!(
                "trait T {{ fn f(&self); }}\ntype F = fn(u8);\n{}",
                "\n".repeat(100)
            ),
            &[],
        );
    }

    #[test]
    fn a_file_may_fill_its_limit() {
        check("a.rb", &"#\n".repeat(600), &[]);
        check(
            "a.rb",
            &"#\n".repeat(601),
            &["a.rb:601: 601 lines without tests, at most 600; split the file"],
        );
    }

    #[test]
    fn inline_tests_do_not_count() {
        let tests = format!(
            "#[cfg(test)]\n#[allow(dead_code)]\nmod tests {{\n{}}}\n",
            "// a\n".repeat(400)
        );
        check("a.rs", &format!("{}{tests}", "//\n".repeat(600)), &[]);
        check(
            "a.rs",
            &format!("{}{tests}//\n", "//\n".repeat(600)),
            &["a.rs:601: 601 lines without tests, at most 600; split the file"],
        );
    }

    #[test]
    fn files_of_tests_have_a_wider_limit() {
        check("crates/x/tests/wire.rs", &"//\n".repeat(1500), &[]);
        let expected =
            "crates/x/tests/wire.rs:1501: 1501 lines without tests, at most 1500; split the file";
        check("crates/x/tests/wire.rs", &"//\n".repeat(1501), &[expected]);
    }
}
