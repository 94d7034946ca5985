//! Signatures that make callers guess: `f(true)` tells a reader nothing, and `get_` nothing more than the name without it.
//! It looks at tokens, so a `bool` behind a type alias passes.
//! Rule: a public function takes an enum where it would take a bool; no function is called `get_…`, but where a protocol says so.

use super::Finding;
use crate::lexer::{Kind, Token, after_group, code, reads};
use crate::tree::Tree;

/// Names that a generated trait gives, and the file that implements it.
const GIVEN: &[(&str, &str)] = &[
    ("crates/rpc/src/server/calls.rs", "get_multi"),
    ("crates/rpc/src/server/calls.rs", "get_file_size"),
];

pub fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.rust() {
        let tokens = code(&file.text);
        for (at, keyword) in tokens
            .iter()
            .enumerate()
            .filter(|(_, token)| token.is("fn"))
        {
            let Some(name) = tokens.get(at + 1).filter(|token| token.kind == Kind::Word) else {
                continue;
            };
            let is_given = GIVEN.contains(&(file.path.as_str(), name.text));
            if name.text.starts_with("get_") && !is_given {
                findings.push(Finding::new(
                    &file.path,
                    keyword.line,
                    format!("fn {}: leave out `get_`", name.text),
                ));
            }
            if is_public(&tokens, at) && has_bool(&tokens, at + 2) {
                let message = format!(
                    "pub fn {} takes a bool: callers read better with an enum of two names",
                    name.text
                );
                findings.push(Finding::new(&file.path, keyword.line, message));
            }
        }
    }
    findings
}

/// Whether `pub` or `pub(…)` stands before the `fn` at `at`, with only qualifiers between.
fn is_public(tokens: &[Token<'_>], at: usize) -> bool {
    let mut before = tokens[..at].iter().rev().skip_while(|token| {
        token.kind == Kind::Literal
            || ["const", "async", "unsafe", "extern"]
                .iter()
                .any(|qualifier| token.is(qualifier))
    });
    match before.next() {
        Some(token) if token.is(")") => before
            .find(|token| token.is("("))
            .and_then(|_| before.next())
            .is_some_and(|token| token.is("pub")),
        token => token.is_some_and(|token| token.is("pub")),
    }
}

/// Whether a parameter in the list after `at` (generics first) is a plain `bool`.
fn has_bool(tokens: &[Token<'_>], mut at: usize) -> bool {
    if reads(tokens, at, &["<"]) {
        at = after_generics(tokens, at);
    }
    if !reads(tokens, at, &["("]) {
        return false;
    }
    let list = &tokens[at + 1..after_group(tokens, at)];
    let mut depth = 0_usize;
    for (index, token) in list
        .iter()
        .enumerate()
        .filter(|(_, token)| token.kind == Kind::Punct)
    {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            ":" if depth == 0 && is_whole_type(list, index + 1) => return true,
            _ => {}
        }
    }
    false
}

/// Whether the type at `at` is `bool` and ends there.
fn is_whole_type(list: &[Token<'_>], at: usize) -> bool {
    reads(list, at, &["bool", ","]) || reads(list, at, &["bool", ")"])
}

/// The index after the `>` that closes the `<` at `open`; the arrow of a `Fn() -> T` bound closes nothing.
fn after_generics(tokens: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for at in open..tokens.len() {
        if tokens[at].is("<") {
            depth += 1;
        } else if tokens[at].is(">") && !tokens[at - 1].is("-") {
            depth -= 1;
        }
        if depth == 0 {
            return at + 1;
        }
    }
    tokens.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        super::super::assert_findings(findings, &[("a.rs", text)], expected);
    }

    #[test]
    fn bool_parameters_of_public_functions_are_refused() {
        let refused = "takes a bool: callers read better with an enum of two names";
        check(
            "pub fn f(a: u8, b: bool) {}",
            &[&format!("a.rs:1: pub fn f {refused}")],
        );
        check(
            "\npub(crate) async fn g<T: Fn(u8) -> u8>(\n  mut b: bool,\n) {}",
            &[&format!("a.rs:2: pub fn g {refused}")],
        );
    }

    #[test]
    fn private_functions_results_and_callbacks_are_taken() {
        check("fn f(a: bool) {}", &[]);
        check("pub fn f(a: u8) -> bool { g(a) }", &[]);
        check(
            "pub fn f(a: impl Fn(bool) -> bool, b: &[bool], c: Option<bool>) {}",
            &[],
        );
        check("pub struct A { b: bool }\nfn f(a: bool) {}", &[]);
    }

    #[test]
    fn a_get_prefix_is_refused() {
        check(
            "fn get_name() {}\nfn get() {}\nfn forget_me() {}",
            &["a.rs:1: fn get_name: leave out `get_`"],
        );
    }
}
