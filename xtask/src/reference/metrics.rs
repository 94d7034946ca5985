//! The page of what `/metrics` has: each family with its kind, its labels and its help, from the texts in the sources that write them. It reads
//! tokens: a name, and the help that stands beside it.
//! Rule: a name without a help, or one that the table of labels does not know, is on the page as such, which a test of the documents refuses.

use std::collections::BTreeMap;

use super::cell;
use crate::source::{Kind, Source, Token};
use crate::tree::Tree;

const INTRODUCTION: &str = "# Metrics\n\n\
    What `/metrics` of `--admin` answers, in the text format of Prometheus. A counter only grows, a gauge goes up and down, a histogram has `_bucket`, `_sum`\n\
    and `_count`. Times are in seconds, sizes in bytes. A family without a value, as of an engine that is not used, is left out. `cargo xtask reference`\n\
    writes this page from the sources.\n";

/// The parts of the page: the heading, and what the names begin with. The first that fits has the name.
const PARTS: &[(&str, &[&str])] = &[
    (
        "Requests",
        &["tsumugi_http_", "tsumugi_request_", "tsumugi_access_log_"],
    ),
    ("Databases", &["tsumugi_database_"]),
    ("Key-value stores", &["tsumugi_kv_"]),
    ("The key-value service", &["tsumugi_rpc_"]),
    ("Jobs", &["tsumugi_jobs"]),
    ("Traces", &["tsumugi_trace"]),
    ("Ruby", &["tsumugi_vm_", "tsumugi_ruby_"]),
    ("The process and its workers", &["tsumugi_"]),
];

/// The labels of families, by what their names begin with: the first that fits counts.
const LABELS: &[(&str, &str)] = &[
    ("tsumugi_build_info", "`version`"),
    ("tsumugi_acme_orders_total", "`outcome`"),
    ("tsumugi_tls_certificate_end_seconds", ""),
    ("tsumugi_http_requests_total", "`method`, `status`"),
    ("tsumugi_http_request_duration_seconds", ""),
    ("tsumugi_http_requests_in_flight", "`worker`"),
    ("tsumugi_http_response_body_bytes_total", ""),
    (
        "tsumugi_database_",
        "`database`; `worker` where each has a pool of its own; `role` with replicas",
    ),
    (
        "tsumugi_kv_",
        "`store`; `database`, its place in the list, of `tsumugi kv`",
    ),
    ("tsumugi_rpc_calls_total", "`method`"),
    ("tsumugi_rpc_statuses_total", "`status`"),
    ("tsumugi_rpc_refused_total", "`code`"),
    ("tsumugi_rpc_calls_active", "`worker`"),
    ("tsumugi_rpc_inbound_bytes", "`worker`"),
    ("tsumugi_rpc_outbound_bytes", "`worker`"),
    ("tsumugi_rpc_", ""),
    ("tsumugi_jobs", "`queue`, `state`"),
    ("tsumugi_trace", ""),
    ("tsumugi_output_dropped_total", "`stream`"),
    ("tsumugi_access_log_dropped_total", ""),
    ("tsumugi_offload_", ""),
    ("tsumugi_connections_", "`worker`"),
    ("tsumugi_accept_errors_total", "`worker`"),
    ("tsumugi_worker_", "`worker`"),
    ("tsumugi_vm_", "`worker`"),
    ("tsumugi_ruby_requests", "`worker`"),
    ("tsumugi_request_bodies_", "`worker`"),
];

/// The crates that write figures.
const CRATES: [&str; 4] = ["http", "kv", "rpc", "server"];

pub fn page(tree: &Tree) -> String {
    let mut families = BTreeMap::new();
    for name in CRATES {
        for file in tree.rust_below(&format!("crates/{name}/src/")) {
            if !file.is_test() {
                families.extend(families_of(file.source()));
            }
        }
    }
    let mut page = INTRODUCTION.to_owned();
    for (at, (heading, beginnings)) in PARTS.iter().enumerate() {
        let is_of = |name: &str, part: &[&str]| part.iter().any(|it| name.starts_with(it));
        let earlier = |name: &str| PARTS[..at].iter().any(|(_, part)| is_of(name, part));
        let rows: Vec<_> = families
            .iter()
            .filter(|(name, _)| is_of(name, beginnings) && !earlier(name))
            .collect();
        if rows.is_empty() {
            continue;
        }
        page.push_str(&format!(
            "\n## {heading}\n\n| name | kind | labels | |\n| --- | --- | --- | --- |\n"
        ));
        for (name, help) in rows {
            let labels = LABELS.iter().find(|(of, _)| name.starts_with(of));
            let labels = labels.map_or("unknown labels", |(_, labels)| labels);
            let help = cell(help);
            page.push_str(&format!(
                "| `{name}` | {} | {labels} | {help} |\n",
                kind(name)
            ));
        }
    }
    page
}

/// As the writer of the text has it: what only grows is called a total, and only durations have histograms.
fn kind(name: &str) -> &'static str {
    if name.ends_with("_total") {
        "counter"
    } else if name.ends_with("_duration_seconds") {
        "histogram"
    } else {
        "gauge"
    }
}

/// The names of families in a file with their help.
fn families_of(source: &Source) -> Vec<(String, String)> {
    let tokens: Vec<_> = source.without_test_modules().copied().collect();
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let name = text(token).filter(|text| is_name(text));
        let Some(name) = name else {
            continue;
        };
        // `target: "tsumugi_db"` of a line of the log, and the constants of tables and cookies.
        let before: Vec<&str> = tokens[..at]
            .iter()
            .rev()
            .take(2)
            .map(|it| it.text)
            .collect();
        let is_bound = before.first() == Some(&"=") && before.get(1) == Some(&"name");
        let is_argument = matches!(before.first(), Some(&"("));
        if is_bound || is_argument {
            let help = help_of(&tokens, at).unwrap_or("no help");
            found.push((name.to_owned(), help.to_owned()));
        }
    }
    found
}

fn is_name(text: &str) -> bool {
    let plain = |character: char| character.is_ascii_lowercase() || character == '_';
    text.starts_with("tsumugi_") && text.chars().all(plain)
}

/// The sentence that stands beside the name at `at`: right behind it, bound before it (`let help = "…"; text.single("name", help, …)`), or in what
/// follows where the name was bound.
fn help_of<'t>(tokens: &[Token<'t>], at: usize) -> Option<&'t str> {
    let is_bound_before = tokens.get(at + 2).is_some_and(|token| token.text == "help");
    let sentence =
        |token: &Token<'t>| text(token).filter(|text| text.contains(' ') || text.ends_with('.'));
    if is_bound_before {
        return tokens[..at].iter().rev().find_map(sentence);
    }
    tokens[at..].iter().find_map(sentence)
}

/// What stands between the quotes of a plain string.
fn text<'t>(token: &Token<'t>) -> Option<&'t str> {
    let inner = token.text.strip_prefix('"')?.strip_suffix('"')?;
    (token.kind == Kind::Literal).then_some(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[(&str, &str)]) {
        let found = families_of(&Source::of(text));
        let found: Vec<_> = found.iter().map(|(a, b)| (&**a, &**b)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn help_is_found_beside_the_name_before_it_and_behind_a_binding() {
        check(
            "const A: &[B] = &[(\"tsumugi_a_total\", \"All of a.\", |of| of.a)];",
            &[("tsumugi_a_total", "All of a.")],
        );
        check(
            "fn f() { let help = \"Of b.\"; text.single(\"tsumugi_b\", help, 1); }",
            &[("tsumugi_b", "Of b.")],
        );
        check(
            "fn f() { let name = \"tsumugi_c\"; if x { y(\"z\"); } text.family(name, \"Of c.\"); }",
            &[("tsumugi_c", "Of c.")],
        );
    }

    #[test]
    fn targets_of_the_log_and_other_names_are_none() {
        check(
            "const T: &str = \"tsumugi_jobs\"; fn f() { info!(target: \"tsumugi_db\", \"it is so\"); }\n\
             #[cfg(test)]\nmod tests { fn f() { a(\"tsumugi_t\", \"A test.\"); } }",
            &[],
        );
    }

    #[test]
    fn page_has_each_family_once_with_its_kind_and_labels() {
        let text = "fn f() { a(\"tsumugi_kv_reads_total\", \"Reads | all.\"); a(\"tsumugi_odd\", \"Odd one.\"); }";
        let page = page(&Tree::new([("crates/kv/src/metrics.rs", text)]));
        let labels = "`store`; `database`, its place in the list, of `tsumugi kv`";
        assert!(
            page.contains(&format!(
                "\n## Key-value stores\n\n| name | kind | labels | |\n| --- | --- | --- | --- |\n\
             | `tsumugi_kv_reads_total` | counter | {labels} | Reads \\| all. |\n"
            )),
            "{page}"
        );
        assert!(page.contains("| `tsumugi_odd` | gauge | unknown labels | Odd one. |"));
    }
}
