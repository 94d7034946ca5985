//! What each crate knows nothing of. Which crates of ours it may use is the matter of `edges`; this is about words of its own source.
//! Rule: every crate has one entry in [`INVARIANTS`]; none of its words stands in the crate's code, and the map says the same sentence.

use super::Finding;
use crate::lexer::{code, without_tests};
use crate::tree::Tree;

const MAP: &str = "ARCHITECTURE.md";

struct Invariant {
    folder: &'static str,
    /// As the map says it, in the row of the crate.
    sentence: &'static str,
    /// What would break it: a word is one word of code, a path its first two.
    words: &'static [&'static str],
}

/// Sockets of tokio and of the standard library.
const SOCKETS: [&str; 4] = ["TcpListener", "TcpStream", "UnixListener", "UnixStream"];

const INVARIANTS: &[Invariant] = &[
    Invariant {
        folder: "crates/cli",
        sentence: "serves nothing itself",
        words: &["hyper", "h2", "TcpListener", "UnixListener"],
    },
    Invariant {
        folder: "crates/ruby",
        sentence: "opens no socket",
        words: &SOCKETS,
    },
    Invariant {
        folder: "crates/tsumugi",
        sentence: "opens no socket",
        words: &SOCKETS,
    },
    Invariant {
        folder: "crates/server",
        sentence: "knows no language of applications",
        words: &["tsumugi_ruby", "tsumugi_mruby", "tsumugi"],
    },
    Invariant {
        folder: "crates/http",
        sentence: "knows no database and no language",
        words: &["tsumugi_db", "tsumugi_kv", "tsumugi_sql", "tsumugi_mruby"],
    },
    Invariant {
        folder: "crates/rpc",
        sentence: "listens on nothing and knows no engine",
        words: &["TcpListener", "UnixListener", "fjall"],
    },
    Invariant {
        folder: "crates/client",
        sentence: "listens on nothing",
        words: &["TcpListener", "UnixListener"],
    },
    Invariant {
        folder: "crates/db",
        sentence: "opens no socket",
        words: &SOCKETS,
    },
    Invariant {
        folder: "crates/pg",
        sentence: "knows no SQL of ours and no pool",
        words: &["tsumugi_sql", "tsumugi_db", "Pool"],
    },
    Invariant {
        folder: "crates/firebird",
        sentence: "knows no SQL of ours and no pool",
        words: &["tsumugi_sql", "tsumugi_db", "Pool"],
    },
    Invariant {
        folder: "crates/wire",
        sentence: "opens no socket and knows no protocol",
        words: &[
            "TcpListener",
            "TcpStream",
            "UnixListener",
            "UnixStream",
            "tsumugi_pg_proto",
            "tsumugi_firebird_proto",
        ],
    },
    Invariant {
        folder: "crates/allocator",
        sentence: "knows no crate of ours",
        words: &["tsumugi_worker", "tsumugi_mruby", "tsumugi_http"],
    },
    Invariant {
        folder: "crates/pg-proto",
        sentence: "knows no socket and no clock",
        words: &PURE,
    },
    Invariant {
        folder: "crates/firebird-proto",
        sentence: "knows no socket and no clock",
        words: &PURE,
    },
    Invariant {
        folder: "crates/values",
        sentence: "knows no database",
        words: &[
            "tsumugi_pg_proto",
            "tsumugi_firebird_proto",
            "tsumugi_sql",
            "rusqlite",
        ],
    },
    Invariant {
        folder: "crates/sql",
        sentence: "knows no connection and no clock",
        words: &PURE,
    },
    Invariant {
        folder: "crates/kv",
        sentence: "knows no socket and no event loop",
        words: &[
            "TcpListener",
            "TcpStream",
            "UnixListener",
            "UnixStream",
            "spawn_local",
            "LocalSet",
            "LocalRuntime",
        ],
    },
    Invariant {
        folder: "crates/worker",
        sentence: "knows no protocol",
        words: &["hyper", "h2", "rustls", "httparse"],
    },
    Invariant {
        folder: "crates/mruby",
        sentence: "knows no future",
        words: &["async", "await", "Future", "tokio"],
    },
    Invariant {
        folder: "crates/bench",
        sentence: "links no crate of the server",
        words: &["tsumugi_http", "tsumugi_worker", "tsumugi_db", "tsumugi_kv"],
    },
    Invariant {
        folder: "fuzz",
        sentence: "opens no socket",
        words: &SOCKETS,
    },
    Invariant {
        folder: "crates/testkit",
        sentence: "knows none of the crates it tests",
        words: &["tsumugi_db", "tsumugi_pg", "tsumugi_firebird", "tsumugi_kv"],
    },
];

/// What code that is a function of its arguments does not name.
const PURE: [&str; 9] = [
    "tokio",
    "Instant",
    "SystemTime",
    "TcpListener",
    "TcpStream",
    "UnixListener",
    "UnixStream",
    "async",
    "thread",
];

pub fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let map = tree.file(MAP);
    for folder in tree.crates() {
        let Some(invariant) = INVARIANTS.iter().find(|entry| entry.folder == folder) else {
            let message = format!("{folder} has no entry in the list of invariants");
            findings.push(Finding::new("xtask/src/tidy/invariants.rs", 1, message));
            continue;
        };
        let row = format!("`{folder}`");
        let said = |text: &str| {
            text.lines()
                .any(|line| line.contains(&row) && line.contains(invariant.sentence))
        };
        if map.is_some_and(|map| !said(&map.text)) {
            let sentence = invariant.sentence;
            let message = format!("the row of {folder} does not say \"{sentence}\"");
            findings.push(Finding::new(MAP, 1, message));
        }
        breaches(tree, invariant, &mut findings);
    }
    findings
}

fn breaches(tree: &Tree, invariant: &Invariant, findings: &mut Vec<Finding>) {
    let source = format!("{}/src/", invariant.folder);
    let files = tree.rust().filter(|file| file.path.starts_with(&source));
    for file in files.filter(|file| !file.is_test()) {
        for token in without_tests(&code(&file.text)) {
            if let Some(word) = invariant.words.iter().find(|word| token.is(word)) {
                let message = format!(
                    "{} {}, but names {word}",
                    invariant.folder, invariant.sentence
                );
                findings.push(Finding::new(&file.path, token.line, message));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = "| pure | `crates/sql` | queries | knows no connection and no clock |\n";

    fn check(path: &str, text: &str, map: &str, expected: &[&str]) {
        super::super::assert_findings(findings, &[(path, text), (MAP, map)], expected);
    }

    #[test]
    fn word_of_another_matter_is_refused_outside_of_tests() {
        let path = "crates/sql/src/page.rs";
        let refused = "crates/sql knows no connection and no clock, but names Instant";
        let line = format!("{path}:2: {refused}");
        check(path, "\nuse std::time::Instant;", ROW, &[&line]);
        check(path, "// Instant\nlet text = \"Instant\";", ROW, &[]);
        let test = "#[cfg(test)]\nmod tests { use std::time::Instant; }";
        check(path, test, ROW, &[]);
        check("crates/sql/src/page/tests.rs", "use tokio::x;", ROW, &[]);
    }

    #[test]
    fn crate_without_an_entry_is_refused() {
        let refused =
            "xtask/src/tidy/invariants.rs:1: crates/x has no entry in the list of invariants";
        check("crates/x/src/lib.rs", "", "", &[refused]);
    }

    #[test]
    fn map_that_says_something_else_is_refused() {
        let refused = "ARCHITECTURE.md:1: the row of crates/sql does not say \"knows no connection and no clock\"";
        let path = "crates/sql/src/lib.rs";
        check(
            path,
            "",
            "| `crates/sql` | knows everything |\n",
            &[refused],
        );
    }
}
