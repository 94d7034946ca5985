//! Signatures that make callers guess: `f(true)` tells a reader nothing, and `get_` nothing more than the name without it.
//! It looks at signatures, so a `bool` behind a type alias passes.
//! Rule: a public function takes an enum where it would take a bool; no function is called `get_…`, but where a protocol says so.

use syn::{FnArg, Type};

use super::Findings;
use crate::tree::Tree;

/// Names of a service's calls, and the file that has them.
const GIVEN: &[(&str, &str)] = &[
    ("crates/rpc/src/server/calls.rs", "get_multi"),
    ("crates/rpc/src/server/calls.rs", "get_file_size"),
];

pub fn findings(tree: &Tree, found: &mut Findings) {
    for file in tree.rust() {
        let source = file.source();
        for item in source.items.iter().filter(|item| item.keyword == "fn") {
            let name = item.name;
            if name.starts_with("get_") && !GIVEN.contains(&(file.path, name)) {
                let message = format!("fn {name}: leave out `get_`");
                found.add(file.path, item.line, message);
            }
            if item.visibility.is_empty() {
                continue;
            }
            let signature = source.signature(item);
            if signature.is_some_and(|signature| signature.inputs.iter().any(is_bool)) {
                let message = format!(
                    "pub fn {name} takes a bool: callers read better with an enum of two names"
                );
                found.add(file.path, item.line, message);
            }
        }
    }
}

fn is_bool(argument: &FnArg) -> bool {
    matches!(argument, FnArg::Typed(it) if matches!(&*it.ty, Type::Path(it) if it.path.is_ident("bool")))
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
