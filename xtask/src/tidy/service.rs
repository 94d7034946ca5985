//! The calls of the key-value service: one that the server's table, the client or the documents forgot. Not what a call does.
//! Rule: each `rpc` of the protocol, and of our own service beside it, has its name in the table of calls, in a file of the client, and in backticks in the documents. That the
//! server does each of them is the compiler's matter.

use super::{Findings, is_one_of};
use crate::tree::Tree;

const PROTOCOL: &str = "crates/rpc/proto/tkrzw_rpc.proto";
const OWN: &str = "crates/rpc/proto/tsumugi_kv.proto";
const CALLS: &str = "crates/rpc/src/method.rs";
const CLIENT: &str = "crates/rpc/src/client/";
const DOCUMENT: &str = "docs/kv.md";

/// Calls that our client does not make: a database that writes tidies up by itself (`ShouldBeRebuilt`), and the server refuses the others.
const NOT_CALLED: &str = "ShouldBeRebuilt Replicate ChangeMaster";

pub fn findings(tree: &Tree, found: &mut Findings) {
    for file in [PROTOCOL, OWN] {
        for (line, number) in tree.text(file).lines().zip(1..) {
            let rest = line.trim().strip_prefix("rpc ");
            if let Some((call, _)) = rest.and_then(|rest| rest.split_once('(')) {
                look_for(tree, call, |place| {
                    let message = format!("the call {call} is missing in {place}");
                    found.add(file, number, message);
                });
            }
        }
    }
}

/// Reports each place that lacks a call.
fn look_for(tree: &Tree, call: &str, mut missing: impl FnMut(&str)) {
    let literal = format!("\"{call}\"");
    let is_named = |path| {
        tree.rust_below(path)
            .any(|file| file.source().has(&literal))
    };
    if !is_named(CALLS) {
        missing(CALLS);
    }
    if !is_named(CLIENT) && !is_one_of(NOT_CALLED, call) {
        missing(CLIENT);
    }
    if !tree.text(DOCUMENT).contains(&format!("`{call}`")) {
        missing(DOCUMENT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(calls: &str, client: &str, document: &str, expected: &[&str]) {
        let files = [
            (PROTOCOL, "service S {\n  rpc Get(A) returns (B);\n}"),
            (CALLS, calls),
            ("crates/rpc/src/client/words.rs", client),
            (DOCUMENT, document),
        ];
        super::super::assert_findings(findings, &files, expected);
    }

    #[test]
    fn call_of_our_own_service_is_looked_for_too() {
        let files = [(OWN, "service S {\n  rpc Watch(A) returns (stream B);\n}")];
        let missing = "crates/rpc/proto/tsumugi_kv.proto:2: the call Watch is missing in";
        let expected = [CALLS, CLIENT, DOCUMENT].map(|place| format!("{missing} {place}"));
        let expected: Vec<&str> = expected.iter().map(String::as_str).collect();
        super::super::assert_findings(findings, &files, &expected);
    }

    #[test]
    fn call_in_all_places_is_taken() {
        check("[\"Get\"]", "self.call(\"Get\", &a)", "a `Get` reads", &[]);
    }

    #[test]
    fn call_that_a_place_lacks_is_named() {
        let missing = "crates/rpc/proto/tkrzw_rpc.proto:2: the call Get is missing in";
        check(
            "// \"Get\"",
            "self.call(\"GetMulti\", &a)",
            "Get",
            &[
                &format!("{missing} crates/rpc/src/method.rs"),
                &format!("{missing} crates/rpc/src/client/"),
                &format!("{missing} docs/kv.md"),
            ],
        );
    }
}
