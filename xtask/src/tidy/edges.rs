//! Crate edges: which crate of ours may depend on which. Not about crates from elsewhere; cargo-deny sees those.
//! Rule: every crate has a row in [`ALLOWED`], and a row names rows above it only, so no arrow points upward. A crate may name itself, to give
//! its tests its features. Features of [`BESIDE`] are switched on for tests and examples only.

use super::Finding;
use crate::tree::Tree;

/// Lower layers first. A crate may name those in its row, in any kind of dependency.
const ALLOWED: &[(&str, &[&str])] = &[
    ("tsumugi-allocator", &[]),
    ("tsumugi-testkit", &[]),
    ("tsumugi-worker", &[]),
    ("tsumugi-mruby", &[]),
    ("tsumugi-values", &[]),
    ("tsumugi-pg-proto", &["tsumugi-testkit", "tsumugi-values"]),
    ("tsumugi-firebird-proto", &["tsumugi-values"]),
    ("tsumugi-kv", &["tsumugi-testkit"]),
    ("tsumugi-sql", &["tsumugi-testkit", "tsumugi-values"]),
    ("tsumugi-wire", &[]),
    (
        "tsumugi-pg",
        &[
            "tsumugi-allocator",
            "tsumugi-wire",
            "tsumugi-pg-proto",
            "tsumugi-testkit",
        ],
    ),
    (
        "tsumugi-firebird",
        &["tsumugi-wire", "tsumugi-firebird-proto", "tsumugi-testkit"],
    ),
    (
        "tsumugi-db",
        &[
            "tsumugi-firebird",
            "tsumugi-firebird-proto",
            "tsumugi-testkit",
            "tsumugi-pg",
            "tsumugi-pg-proto",
            "tsumugi-sql",
            "tsumugi-values",
        ],
    ),
    (
        "tsumugi-http",
        &["tsumugi-allocator", "tsumugi-worker", "tsumugi-testkit"],
    ),
    ("tsumugi-client", &["tsumugi-worker", "tsumugi-http"]),
    (
        "tsumugi-rpc",
        &[
            "tsumugi-allocator",
            "tsumugi-worker",
            "tsumugi-http",
            "tsumugi-kv",
            "tsumugi-testkit",
        ],
    ),
    (
        "tsumugi-server",
        &[
            "tsumugi-worker",
            "tsumugi-db",
            "tsumugi-http",
            "tsumugi-kv",
            "tsumugi-values",
        ],
    ),
    (
        "tsumugi-ruby",
        &[
            "tsumugi-allocator",
            "tsumugi-client",
            "tsumugi-worker",
            "tsumugi-mruby",
            "tsumugi-db",
            "tsumugi-server",
            "tsumugi-http",
            "tsumugi-kv",
            "tsumugi-rpc",
            "tsumugi-sql",
            "tsumugi-testkit",
        ],
    ),
    ("tsumugi-bench", &[]),
    (
        "tsumugi",
        &[
            "tsumugi-allocator",
            "tsumugi-worker",
            "tsumugi-db",
            "tsumugi-testkit",
            "tsumugi-server",
            "tsumugi-kv",
            "tsumugi-ruby",
            "tsumugi-sql",
            "tsumugi-http",
        ],
    ),
    (
        "tsumugi-cli",
        &[
            "tsumugi-allocator",
            "tsumugi",
            "tsumugi-bench",
            "tsumugi-worker",
            "tsumugi-mruby",
            "tsumugi-db",
            "tsumugi-server",
            "tsumugi-http",
            "tsumugi-kv",
            "tsumugi-rpc",
            "tsumugi-testkit",
            "tsumugi-ruby",
        ],
    ),
    (
        "tsumugi-fuzz",
        &[
            "tsumugi-firebird-proto",
            "tsumugi-http",
            "tsumugi-kv",
            "tsumugi-pg-proto",
            "tsumugi-testkit",
            "tsumugi-rpc",
            "tsumugi-sql",
        ],
    ),
    ("xtask", &[]),
];

/// Features for programs that have no server: the server does not build them.
const BESIDE: &[(&str, &[&str])] = &[
    ("tsumugi-pg", &["blocking", "typed"]),
    ("tsumugi-pg-proto", &["typed"]),
];

/// Not in the workspace; nothing of ours may depend on what is there.
const OUTSIDE: &[&str] = &["bench-peers/", "fuzz/programs/"];

pub fn findings(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.files().filter(|file| {
        file.name() == "Cargo.toml" && !OUTSIDE.iter().any(|folder| file.path.starts_with(folder))
    }) {
        let manifest = Manifest::parse(&file.text);
        findings.extend(manifest.features.iter().map(|(line, feature)| {
            let message = format!("the server must not build {feature}: only dev-dependencies may");
            Finding::new(&file.path, *line, message)
        }));
        let Some((line, name)) = manifest.package else {
            continue;
        };
        let Some((_, allowed)) = ALLOWED.iter().find(|(row, _)| *row == name) else {
            findings.push(Finding::new(
                &file.path,
                line,
                format!("crate {name} has no row in the list of allowed edges"),
            ));
            continue;
        };
        for (line, dependency) in manifest.dependencies {
            let ours = dependency.starts_with("tsumugi") || dependency == "xtask";
            if ours && dependency != name && !allowed.contains(&dependency.as_str()) {
                findings.push(Finding::new(
                    &file.path,
                    line,
                    format!("{name} must not depend on {dependency}"),
                ));
            }
        }
    }
    findings
}

/// What the rule needs of a manifest, each with its line.
#[derive(Default)]
struct Manifest {
    package: Option<(usize, String)>,
    dependencies: Vec<(usize, String)>,
    /// Those of [`BESIDE`] that are switched on outside of tests and examples.
    features: Vec<(usize, String)>,
}

/// Which table a manifest's line is in.
enum Section {
    Package,
    Dependencies,
    Features,
    Other,
}

impl Manifest {
    /// Reads line by line: cargo itself has already refused what is not TOML.
    fn parse(text: &str) -> Self {
        let mut manifest = Self::default();
        let mut section = Section::Other;
        let mut is_for_tests = false;
        for (index, line) in text.lines().enumerate() {
            let (number, line) = (index + 1, line.trim());
            if let Some(header) = line.strip_prefix('[') {
                let header = header.split(']').next().unwrap_or(header);
                is_for_tests = header.contains("dev-dependencies");
                section = manifest.enter(number, header);
                continue;
            }
            let Some((key, value)) = line.split_once('=').filter(|_| !line.starts_with('#')) else {
                continue;
            };
            let key = key.trim();
            let name = key.split('.').next().unwrap_or(key).trim_matches('"');
            if !is_for_tests && !matches!(section, Section::Features) {
                let switched = switched_on(name, value).map(|feature| (number, feature));
                manifest.features.extend(switched);
            }
            match section {
                Section::Package if key == "name" => {
                    manifest.package = Some((number, string(value).unwrap_or_default().to_owned()));
                }
                Section::Dependencies => {
                    manifest.dependencies.push((number, name.to_owned()));
                    // `db = { package = "tsumugi-db", … }` hides the real name in the value.
                    let renamed = value
                        .split_once("package")
                        .and_then(|(_, package)| string(package));
                    manifest
                        .dependencies
                        .extend(renamed.map(|name| (number, name.to_owned())));
                }
                _ => {}
            }
        }
        manifest
    }

    /// `[dependencies]` lists crates; `[target.'cfg(unix)'.dependencies.NAME]` is one.
    fn enter(&mut self, number: usize, header: &str) -> Section {
        if header == "features" {
            return Section::Features;
        }
        if header == "package" {
            return Section::Package;
        }
        if header.starts_with("workspace.") {
            return Section::Other;
        }
        if header.ends_with("dependencies") {
            return Section::Dependencies;
        }
        if let Some((_, name)) = header.rsplit_once("dependencies.") {
            self.dependencies
                .push((number, name.trim_matches('"').to_owned()));
        }
        Section::Other
    }
}

/// The features of [`BESIDE`] that a line of a manifest switches on.
fn switched_on<'a>(name: &'a str, value: &'a str) -> impl Iterator<Item = String> + 'a {
    let of_crate = BESIDE
        .iter()
        .filter(move |(crate_name, _)| *crate_name == name);
    let features = of_crate.flat_map(|(_, features)| features.iter());
    let is_on = move |feature: &&&str| value.contains(&format!("\"{feature}\""));
    features
        .filter(is_on)
        .map(move |feature| format!("{name}/{feature}"))
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
        for (at, (name, allowed)) in ALLOWED.iter().enumerate() {
            let above: Vec<&str> = ALLOWED[..at].iter().map(|(row, _)| *row).collect();
            assert!(
                allowed.iter().all(|row| above.contains(row)),
                "{name} names a row below it"
            );
        }
    }
}
