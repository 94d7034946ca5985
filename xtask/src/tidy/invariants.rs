//! What each crate knows nothing of. Which crates of ours it may use is the matter of `edges`; this is about words of its own source.
//! Rule: every crate has one entry in [`INVARIANTS`]; none of its words stands in the crate's code, and the map says the same sentence.

use super::{Findings, is_one_of};
use crate::tree::Tree;

const MAP: &str = "ARCHITECTURE.md";

/// The folder of a crate; what its row of the map says; the words that would break it, each one word of code.
const INVARIANTS: &str = "\
crates/cli: serves nothing itself: hyper h2 TcpListener UnixListener
crates/ruby: opens no socket: SOCKETS
crates/tsumugi: opens no socket: SOCKETS
crates/server: knows no language of applications: tsumugi_ruby tsumugi_mruby tsumugi
crates/http: knows no database and no language: tsumugi_db tsumugi_kv tsumugi_sql tsumugi_mruby
crates/rpc: listens on nothing and knows no engine: TcpListener UnixListener fjall
crates/client: listens on nothing: TcpListener UnixListener
crates/acme: listens on nothing: TcpListener UnixListener
crates/mail: listens on nothing: TcpListener UnixListener
crates/stores: knows no language and keeps no records itself: tsumugi_ruby tsumugi_mruby fjall
crates/cluster: never asks for the time of day: SystemTime UtcDateTime OffsetDateTime
crates/jobs: opens no socket: SOCKETS
crates/db: opens no socket: SOCKETS
crates/pg: knows no SQL of ours and no pool: tsumugi_sql tsumugi_db Pool
crates/firebird: knows no SQL of ours and no pool: tsumugi_sql tsumugi_db Pool
crates/wire: opens no socket and knows no protocol: SOCKETS tsumugi_pg_proto tsumugi_firebird_proto
crates/allocator: knows no crate of ours: tsumugi_worker tsumugi_mruby tsumugi_http
crates/pg-proto: knows no socket and no clock: PURE
crates/firebird-proto: knows no socket and no clock: PURE
crates/trace: opens no socket and knows no database and no language: SOCKETS tsumugi_db tsumugi_kv tsumugi_sql tsumugi_mruby tsumugi_ruby
crates/shapes: reads no request and no JSON: tsumugi_http serde_json http tokio
crates/values: knows no database: tsumugi_pg_proto tsumugi_firebird_proto tsumugi_sql rusqlite
crates/sql: knows no connection and no clock: PURE
crates/kv: knows no socket and no event loop: SOCKETS spawn_local LocalSet LocalRuntime
crates/worker: knows no protocol: hyper h2 rustls httparse
crates/mruby: knows no future: async await Future tokio
crates/bench: links no crate of the server: tsumugi_http tsumugi_worker tsumugi_db tsumugi_kv
fuzz: opens no socket: SOCKETS
crates/testkit: knows none of the crates it tests: tsumugi_db tsumugi_pg tsumugi_firebird tsumugi_kv";

/// Sockets of tokio and of the standard library.
const SOCKETS: &str = "TcpListener TcpStream UnixListener UnixStream";

/// What code that is a function of its arguments does not name, beside sockets.
const PURE: &str = "tokio Instant SystemTime async thread";

pub fn findings(tree: &Tree, found: &mut Findings) {
    for folder in tree.crates() {
        let mut entries = INVARIANTS.lines().map(|line| line.split(": "));
        let entry = entries.find_map(|mut parts| {
            let is_row = parts.next() == Some(folder);
            is_row.then_some((parts.next()?, parts.next()?))
        });
        let Some((sentence, words)) = entry else {
            let message = format!("{folder} has no entry in the list of invariants");
            found.add("xtask/src/tidy/invariants.rs", 1, message);
            continue;
        };
        let row = format!("`{folder}`");
        let is_said = |line: &str| line.contains(&row) && line.contains(sentence);
        if tree.has(MAP) && !tree.text(MAP).lines().any(is_said) {
            let message = format!("the row of {folder} does not say \"{sentence}\"");
            found.add(MAP, 1, message);
        }
        let words = words
            .replace("PURE", &format!("SOCKETS {PURE}"))
            .replace("SOCKETS", SOCKETS);
        let source = format!("{folder}/src/");
        for file in tree.rust_below(&source).filter(|file| !file.is_test()) {
            for token in file.source().without_test_modules() {
                if is_one_of(&words, token.text) {
                    let message = format!("{folder} {sentence}, but names {}", token.text);
                    found.add(file.path, token.line, message);
                }
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
