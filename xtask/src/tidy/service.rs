//! The calls of the key-value service: one that the server's table, the client or the documents forgot. Not what a call does.
//! Rule: each `rpc` of the protocol has its name in the table of calls, in a file of the client, and in backticks in the documents. That the
//! server does each of them is the compiler's matter.

use super::Finding;
use crate::lexer::code;
use crate::tree::Tree;

const PROTOCOL: &str = "crates/rpc/proto/tkrzw_rpc.proto";
const CALLS: &str = "crates/rpc/src/method.rs";
const CLIENT: &str = "crates/rpc/src/client/";
const DOCUMENT: &str = "docs/kv.md";

/// Calls that our client does not make, with the reason.
const NOT_CALLED: &[(&str, &str)] = &[
    (
        "ShouldBeRebuilt",
        "a database that writes tidies up by itself",
    ),
    ("Replicate", "the server refuses it"),
    ("ChangeMaster", "the server refuses it"),
];

pub fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let Some(protocol) = tree.file(PROTOCOL) else {
        return findings;
    };
    let text = |path: &str| tree.file(path).map_or("", |file| file.text.as_str());
    let names = |path: &str, call: &str| {
        let literal = format!("\"{call}\"");
        code(text(path)).iter().any(|token| token.text == literal)
    };
    for (index, line) in protocol.text.lines().enumerate() {
        let rest = line.trim().strip_prefix("rpc ");
        let Some((call, _)) = rest.and_then(|rest| rest.split_once('(')) else {
            continue;
        };
        let mut missing = |place: &str| {
            let message = format!("the call {call} is missing in {place}");
            findings.push(Finding::new(PROTOCOL, index + 1, message));
        };
        if !names(CALLS, call) {
            missing(CALLS);
        }
        let mut client = tree.rust().filter(|file| file.path.starts_with(CLIENT));
        let is_called = client.any(|file| names(&file.path, call));
        if !is_called && !NOT_CALLED.iter().any(|(name, _)| *name == call) {
            missing(CLIENT);
        }
        if !text(DOCUMENT).contains(&format!("`{call}`")) {
            missing(DOCUMENT);
        }
    }
    findings
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
