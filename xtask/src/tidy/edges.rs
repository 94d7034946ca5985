//! Crate edges: which crate of ours may depend on which. Not about crates from elsewhere; cargo-deny sees those.
//! Rule: every crate has a row in [`ALLOWED`], and a row names rows above it only, so no arrow points upward. A crate may name itself, to give
//! its tests its features. Features of [`BESIDE`] are switched on for tests and examples only.

use super::{Findings, is_one_of};
use crate::tree::{File, Tree};

/// Lower layers first. A crate may name those in its row, in any kind of dependency.
const ALLOWED: &str = "\
tsumugi-allocator:
tsumugi-testkit:
tsumugi-worker:
tsumugi-mruby:
tsumugi-values:
tsumugi-shapes: tsumugi-values
tsumugi-trace: tsumugi-testkit
tsumugi-pg-proto: tsumugi-testkit tsumugi-values
tsumugi-firebird-proto: tsumugi-values
tsumugi-kv: tsumugi-testkit
tsumugi-sql: tsumugi-testkit tsumugi-values
tsumugi-wire:
tsumugi-pg: tsumugi-allocator tsumugi-wire tsumugi-pg-proto tsumugi-testkit
tsumugi-firebird: tsumugi-wire tsumugi-firebird-proto tsumugi-testkit
tsumugi-db: tsumugi-trace tsumugi-firebird tsumugi-firebird-proto tsumugi-testkit tsumugi-pg tsumugi-pg-proto tsumugi-sql tsumugi-values
tsumugi-cluster: tsumugi-trace tsumugi-db tsumugi-testkit
tsumugi-jobs: tsumugi-trace tsumugi-db tsumugi-testkit
tsumugi-http: tsumugi-trace tsumugi-allocator tsumugi-worker tsumugi-testkit
tsumugi-client: tsumugi-trace tsumugi-worker tsumugi-http
tsumugi-acme: tsumugi-http
tsumugi-mail: tsumugi-trace tsumugi-worker tsumugi-http tsumugi-client tsumugi-testkit
tsumugi-rpc: tsumugi-allocator tsumugi-worker tsumugi-http tsumugi-kv tsumugi-testkit
tsumugi-stores: tsumugi-trace tsumugi-worker tsumugi-wire tsumugi-http tsumugi-kv tsumugi-rpc tsumugi-cluster tsumugi-testkit
tsumugi-server: tsumugi-acme tsumugi-shapes tsumugi-rpc tsumugi-trace tsumugi-stores tsumugi-worker tsumugi-db tsumugi-http tsumugi-kv tsumugi-values tsumugi-cluster tsumugi-jobs tsumugi-testkit
tsumugi-ruby: tsumugi-shapes tsumugi-trace tsumugi-stores tsumugi-allocator tsumugi-client tsumugi-mail tsumugi-worker tsumugi-mruby tsumugi-db tsumugi-server tsumugi-http tsumugi-kv tsumugi-rpc tsumugi-sql tsumugi-testkit tsumugi-cluster tsumugi-jobs
tsumugi-bench:
tsumugi: tsumugi-client tsumugi-mail tsumugi-shapes tsumugi-trace tsumugi-stores tsumugi-allocator tsumugi-worker tsumugi-db tsumugi-testkit tsumugi-server tsumugi-kv tsumugi-ruby tsumugi-sql tsumugi-http tsumugi-cluster tsumugi-jobs
tsumugi-cli: tsumugi-trace tsumugi-stores tsumugi-allocator tsumugi tsumugi-bench tsumugi-worker tsumugi-mruby tsumugi-db tsumugi-server tsumugi-http tsumugi-kv tsumugi-jobs tsumugi-rpc tsumugi-testkit tsumugi-ruby
tsumugi-fuzz: tsumugi-trace tsumugi-firebird-proto tsumugi-http tsumugi-kv tsumugi-pg-proto tsumugi-testkit tsumugi-rpc tsumugi-sql
xtask:";

/// Features for programs that have no server: the server does not build them.
const BESIDE: [(&str, &str); 3] = [
    ("tsumugi-pg", "blocking"),
    ("tsumugi-pg", "typed"),
    ("tsumugi-pg-proto", "typed"),
];

/// Not in the workspace; nothing of ours may depend on what is there.
const OUTSIDE: [&str; 2] = ["bench-peers/", "fuzz/programs/"];

pub fn findings(tree: &Tree, found: &mut Findings) {
    let is_outside = |path: &str| OUTSIDE.iter().any(|folder| path.starts_with(folder));
    for file in tree.files().filter(|file| file.name() == "Cargo.toml") {
        if !is_outside(file.path) {
            check(file, found);
        }
    }
}

/// The rows: a crate, and those that it may name.
fn rows() -> impl Iterator<Item = (&'static str, &'static str)> {
    ALLOWED.lines().filter_map(|row| row.split_once(':'))
}

/// Reads line by line: cargo itself has already refused what is not TOML.
fn check(file: &File, found: &mut Findings) {
    let mut package = None;
    let mut dependencies = Vec::new();
    let mut table = "";
    for (line, number) in file.text.lines().map(str::trim).zip(1..) {
        if let Some(header) = line.strip_prefix('[') {
            table = header.split(']').next().unwrap_or(header);
            // `[target.'cfg(unix)'.dependencies.NAME]` is one.
            if let Some((_, name)) = table.rsplit_once("dependencies.")
                && !table.starts_with("workspace.")
            {
                dependencies.push((number, name.trim_matches('"')));
            }
            continue;
        }
        let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) else {
            continue;
        };
        let key = key.trim();
        let name = key.split('.').next().unwrap_or(key).trim_matches('"');
        if !table.contains("dev-dependencies") && table != "features" {
            for (_, feature) in BESIDE.iter().filter(|(beside, _)| *beside == name) {
                if value.contains(&format!("\"{feature}\"")) {
                    let message = format!(
                        "the server must not build {name}/{feature}: only dev-dependencies may"
                    );
                    found.add(file.path, number, message);
                }
            }
        }
        if table == "package" && key == "name" {
            package = Some((number, string(value).unwrap_or_default()));
        }
        if table.ends_with("dependencies") && !table.starts_with("workspace.") {
            dependencies.push((number, name));
            // `db = { package = "tsumugi-db", … }` hides the real name in the value.
            let package = value.split_once("package");
            let package = package.and_then(|(_, package)| string(package));
            dependencies.extend(package.map(|name| (number, name)));
        }
    }
    let Some((line, name)) = package else {
        return;
    };
    let Some((_, allowed)) = rows().find(|(row, _)| *row == name) else {
        let message = format!("crate {name} has no row in the list of allowed edges");
        return found.add(file.path, line, message);
    };
    for (line, dependency) in dependencies {
        let is_ours = dependency.starts_with("tsumugi") || dependency == "xtask";
        if is_ours && dependency != name && !is_one_of(allowed, dependency) {
            let message = format!("{name} must not depend on {dependency}");
            found.add(file.path, line, message);
        }
    }
}

/// The first quoted string in `value`.
fn string(value: &str) -> Option<&str> {
    value.split('"').nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(manifest: &str, expected: &[&str]) {
        super::super::assert_findings(findings, &[("crates/x/Cargo.toml", manifest)], expected);
    }

    #[test]
    fn a_listed_edge_is_taken() {
        check(
            "[package]\nname = \"tsumugi-http\"\n[dependencies]\ntsumugi-worker.workspace = true\nhyper = \"1\"\n",
            &[],
        );
    }

    #[test]
    fn an_upward_edge_is_refused_in_every_kind_of_dependency() {
        let refused = "tsumugi-worker must not depend on tsumugi-http";
        for (text, line) in [
            ("[dependencies]\ntsumugi-http.workspace = true", 4),
            ("[dev-dependencies]\ntsumugi-http = { workspace = true }", 4),
            ("[build-dependencies.tsumugi-http]\npath = \"../http\"", 3),
            (
                "[target.'cfg(unix)'.dependencies]\nweb = { package = \"tsumugi-http\", path = \"../http\" }",
                4,
            ),
        ] {
            let manifest = format!("[package]\nname = \"tsumugi-worker\"\n{text}\n");
            check(
                &manifest,
                &[&format!("crates/x/Cargo.toml:{line}: {refused}")],
            );
        }
    }

    #[test]
    fn a_crate_without_a_row_is_refused() {
        let expected =
            "crates/x/Cargo.toml:2: crate tsumugi-x has no row in the list of allowed edges";
        check("[package]\nname = \"tsumugi-x\"\n", &[expected]);
    }

    #[test]
    fn crate_that_names_itself_is_taken() {
        let manifest = "[package]\nname = \"tsumugi-pg\"\n[features]\ntyped = [\"tsumugi-pg-proto/typed\"]\n\
            [dev-dependencies]\ntsumugi-pg = { path = \".\", features = [\"blocking\"] }\n";
        check(manifest, &[]);
    }

    #[test]
    fn feature_beside_the_server_is_refused_outside_of_dev_dependencies() {
        let line = "tsumugi-pg = { workspace = true, features = [\"blocking\", \"typed\"] }";
        let crate_line = "[package]\nname = \"tsumugi-db\"\n";
        let refused = |line, feature| {
            format!(
                "crates/x/Cargo.toml:{line}: the server must not build tsumugi-pg/{feature}: only dev-dependencies may"
            )
        };
        let both = |line| [refused(line, "blocking"), refused(line, "typed")];
        for (manifest, line) in [
            (format!("{crate_line}[dependencies]\n{line}\n"), 4),
            (format!("[workspace.dependencies]\n{line}\n"), 2),
        ] {
            check(&manifest, &both(line).each_ref().map(|line| &**line));
        }
        check(&format!("{crate_line}[dev-dependencies]\n{line}\n"), &[]);
    }

    #[test]
    fn the_workspace_table_is_no_edge() {
        check(
            "[workspace.dependencies]\ntsumugi-http = { path = \"crates/http\" }\n",
            &[],
        );
    }

    #[test]
    fn rows_name_rows_above_them_only() {
        let mut above = String::new();
        for (name, allowed) in rows() {
            let mut allowed = allowed.split_whitespace();
            assert!(
                allowed.all(|row| is_one_of(&above, row)),
                "{name} names a row below it"
            );
            above = format!("{above} {name}");
        }
    }
}
