//! Where `unsafe` may be: in the VM binding and the allocator, nowhere else. Whether it is sound there is for their proofs and valgrind.
//! Rule: every other crate's root forbids it, so that the compiler refuses what this rule would only report.

use super::Findings;
use crate::tree::{File, Tree};

/// The crates that may.
const EXEMPT: [&str; 2] = ["crates/mruby/", "crates/allocator/"];

pub fn findings(tree: &Tree, found: &mut Findings) {
    let is_exempt = |file: &File| EXEMPT.iter().any(|exempt| file.path.starts_with(exempt));
    for file in tree.rust().filter(|file| !is_exempt(file)) {
        let source = file.source();
        for at in source.find("unsafe") {
            let exempt = EXEMPT.join(" and ");
            let message = format!("unsafe belongs in {exempt} only; look for a safe wrapper");
            found.add(file.path, source.tokens[at].line, message);
        }
        if is_root(file) && !source.has("# ! [ forbid ( unsafe_code") {
            let message = "the crate's root must say #![forbid(unsafe_code)]";
            found.add(file.path, 1, message);
        }
    }
}

/// `lib.rs` and `main.rs` of a crate. The fuzzer's programs are none: their macro expands to what they would forbid.
fn is_root(file: &File) -> bool {
    file.path.ends_with("/src/lib.rs") || file.path.ends_with("/src/main.rs")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, text: &str, expected: &[&str]) {
        super::super::assert_findings(findings, &[(path, text)], expected);
    }

    #[test]
    fn unsafe_is_taken_in_the_binding_and_the_allocator_only() {
        check("crates/allocator/src/lib.rs", "unsafe { a() }", &[]);
        check("crates/mruby/src/vm.rs", "unsafe { a() }", &[]);
        check(
            "crates/db/src/row.rs",
            "\nunsafe { a() }",
            &[
                "crates/db/src/row.rs:2: unsafe belongs in crates/mruby/ and crates/allocator/ only; look for a safe wrapper",
            ],
        );
        check(
            "crates/db/src/row.rs",
            "// unsafe\nlet a = \"unsafe\";",
            &[],
        );
    }

    #[test]
    fn roots_forbid_unsafe() {
        check(
            "crates/db/src/lib.rs",
            "//! A.\n#![forbid(unsafe_code)]",
            &[],
        );
        check(
            "crates/db/src/lib.rs",
            "// #![forbid(unsafe_code)]",
            &["crates/db/src/lib.rs:1: the crate's root must say #![forbid(unsafe_code)]"],
        );
        check("crates/mruby/src/lib.rs", "//! A.", &[]);
    }
}
