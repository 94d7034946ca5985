//! Lengths of files and functions. Counts lines as an editor shows them, comments and blank lines included.
//! Rule: a file is counted without its inline test modules; a file of tests has a wider limit; a function is counted wherever it is.

use super::Findings;
use crate::source::Source;
use crate::tree::Tree;

const FILE_LINES_MAX: usize = 600;
const TEST_FILE_LINES_MAX: usize = 1500;
const FUNCTION_LINES_MAX: usize = 70;

pub fn findings(tree: &Tree, found: &mut Findings) {
    let is_source = |extension| matches!(extension, "rs" | "rb" | "c" | "h" | "sh");
    for file in tree.files().filter(|file| is_source(file.extension())) {
        let limit = if file.is_test() {
            TEST_FILE_LINES_MAX
        } else {
            FILE_LINES_MAX
        };
        let mut lines = file.text.lines().count();
        if file.is_rust() {
            lines -= test_lines(file.source());
            long_functions(file.path, file.source(), found);
        }
        if lines > limit {
            let message = format!("{lines} lines without tests, at most {limit}; split the file");
            found.add(file.path, limit + 1, message);
        }
    }
}

/// How many lines the inline modules of tests take.
fn test_lines(source: &Source) -> usize {
    let line = |at: usize| source.tokens[at].line;
    let modules = source.test_modules();
    modules
        .map(|module| line(module.end - 1) + 1 - line(module.start))
        .sum()
}

/// Functions over the limit, from `fn` to the closing brace.
fn long_functions(path: &str, source: &Source, found: &mut Findings) {
    for function in source.items.iter().filter(|item| item.keyword == "fn") {
        // A declaration has no body.
        let body = source
            .end_of_signature(function.at)
            .map(|at| source.tokens[at]);
        let Some(body) = body.filter(|body| body.text == "{") else {
            continue;
        };
        let lines = source.tokens[body.after - 1].line + 1 - function.line;
        if lines > FUNCTION_LINES_MAX {
            let name = function.name;
            let message = format!(
                "fn {name} has {lines} lines, at most {FUNCTION_LINES_MAX}; split it by what it does"
            );
            found.add(path, function.line, message);
        }
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
