//! `cargo xtask sbom TARGET TIME`: what is inside the executable of `make dist`, as CycloneDX: the crates that are linked, with their licences and the
//! checksums that Cargo.lock holds, the libraries in C that some of them bring, and which needs which. Not what only builds it.
//! Rule: nothing of the machine or of the moment is in it, so that it is the same wherever it is made; TIME is said by the caller.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write as _};
use std::path::Path;
use std::process::Command;

use crate::Verdict;
use serde_json::{Value, json};

/// What `make dist` builds.
const PACKAGE: &str = "tsumugi-cli";
const FEATURES: [&str; 3] = ["--no-default-features", "--features", "full,mimalloc"];

/// A library in C: the crate that it is part of, its name, its licence, and the file of which crate's folder says its version, after which words.
struct CarriedLibrary {
    carrier: &'static str,
    name: &'static str,
    license: &'static str,
    sources: &'static str,
    file: &'static str,
    before: &'static str,
}

const CARRIED: [CarriedLibrary; 3] = [
    CarriedLibrary {
        carrier: "tsumugi-mruby",
        name: "mruby",
        license: "MIT",
        sources: "mruby3-sys",
        file: "Cargo.toml",
        before: "version = \"",
    },
    CarriedLibrary {
        carrier: "libsqlite3-sys",
        name: "sqlite",
        license: "blessing",
        sources: "libsqlite3-sys",
        file: "sqlite3/sqlite3.h",
        before: "#define SQLITE_VERSION        \"",
    },
    CarriedLibrary {
        carrier: "libmimalloc-sys",
        name: "mimalloc",
        license: "MIT",
        sources: "libmimalloc-sys",
        file: "c_src/mimalloc/v3/include/mimalloc.h",
        before: "#define MI_MALLOC_VERSION ",
    },
];

/// The C library that comes with the Rust of rust-toolchain.toml for its musl targets, and whose headers the zig of scripts/dist-tools.txt has.
const MUSL_VERSION: &str = "1.2.5";

/// Prints the list for a target. `time` is a time of ISO 8601.
pub fn run(root: &Path, target: &str, time: &str) -> io::Result<Verdict> {
    let graph = CrateGraph::read(&cargo(root, &tree_words(target))?)?;
    let mut words = vec!["metadata", "--locked", "--format-version", "1"];
    words.extend(FEATURES);
    words.extend(["--manifest-path", "crates/cli/Cargo.toml"]);
    let metadata: Value = serde_json::from_str(&cargo(root, &words)?)?;
    let lock = std::fs::read_to_string(root.join("Cargo.lock"))?;
    let rust = std::fs::read_to_string(root.join("rust-toolchain.toml"))?;
    let rust = after(&rust, "channel = \"").ok_or_else(|| missing("the version of Rust"))?;
    let list = bill(&graph, &metadata, &checksums(&lock), rust, target, time)?;
    writeln!(io::stdout(), "{}", serde_json::to_string_pretty(&list)?)?;
    Ok(Verdict::Clean)
}

fn tree_words(target: &str) -> Vec<&str> {
    let mut words = vec!["tree", "--locked", "--package", PACKAGE, "--target", target];
    words.extend(FEATURES);
    // Macros run while it is built, as build scripts do.
    words.extend(["--edges", "normal,no-proc-macro"]);
    words.extend(["--prefix", "depth", "--format", " {p}"]);
    words
}

fn cargo(root: &Path, words: &[&str]) -> io::Result<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo).args(words).current_dir(root).output()?;
    let text = String::from_utf8_lossy(if output.status.success() {
        &output.stdout
    } else {
        &output.stderr
    });
    match output.status.success() {
        true => Ok(text.into_owned()),
        false => Err(io::Error::other(format!("cargo {}: {text}", words[0]))),
    }
}

fn missing(what: &str) -> io::Error {
    io::Error::other(format!("cannot find {what}"))
}

/// What stands behind some words, up to a quotation mark or a blank.
fn after<'t>(text: &'t str, before: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(before)?;
    rest.split(|c: char| c == '"' || c.is_whitespace()).next()
}

/// A crate: its name and its version.
type Crate = (String, String);

/// The crates that are linked, and which each names.
#[derive(Debug, Default, PartialEq, Eq)]
struct CrateGraph(BTreeMap<Crate, BTreeSet<Crate>>);

impl CrateGraph {
    /// Reads lines of `cargo tree`: a depth, a name, a version behind a `v`. What is below a crate stands behind its first line.
    fn read(tree: &str) -> io::Result<CrateGraph> {
        let mut graph = CrateGraph::default();
        let mut path: Vec<Crate> = Vec::new();
        for line in tree.lines() {
            let mut words = line.split(' ');
            let mut word = || {
                words
                    .next()
                    .ok_or_else(|| missing("a crate in cargo's tree"))
            };
            let depth: usize = word()?.parse().map_err(io::Error::other)?;
            let name = word()?.to_owned();
            let version = word()?.trim_start_matches('v').to_owned();
            path.truncate(depth);
            let found = (name, version);
            if let Some(above) = path.last() {
                let named = graph.0.entry(above.clone()).or_default();
                named.insert(found.clone());
            }
            graph.0.entry(found.clone()).or_default();
            path.push(found);
        }
        Ok(graph)
    }
}

/// The checksums of Cargo.lock.
fn checksums(lock: &str) -> BTreeMap<Crate, &str> {
    let packages = lock.split("[[package]]").skip(1);
    let entries = packages.filter_map(|text| {
        let name = after(text, "\nname = \"")?;
        let version = after(text, "\nversion = \"")?;
        let checksum = after(text, "\nchecksum = \"")?;
        Some(((name.to_owned(), version.to_owned()), checksum))
    });
    entries.collect()
}

fn reference((name, version): &Crate) -> String {
    format!("pkg:cargo/{name}@{version}")
}

fn generic(name: &str, version: &str) -> String {
    format!("pkg:generic/{name}@{version}")
}

fn bill(
    graph: &CrateGraph,
    metadata: &Value,
    checksums: &BTreeMap<Crate, &str>,
    rust: &str,
    target: &str,
    time: &str,
) -> io::Result<Value> {
    let packages = packages(metadata);
    let mut components = Vec::new();
    let mut needs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut program = Value::Null;
    for (found, named) in &graph.0 {
        let package = packages
            .get(found)
            .ok_or_else(|| missing(&reference(found)))?;
        let named = named.iter().map(reference);
        needs.entry(reference(found)).or_default().extend(named);
        let component = crate_component(found, package, checksums.get(found).copied());
        if found.0 == PACKAGE {
            program = component;
        } else {
            components.push(component);
        }
    }
    let mut add = |carrier: &str, name: &str, version: &str, license: &str| {
        let below = graph.0.keys().find(|(name, _)| name == carrier);
        let below = below.ok_or_else(|| missing(carrier))?;
        let own = generic(name, version);
        needs
            .entry(reference(below))
            .or_default()
            .insert(own.clone());
        needs.entry(own).or_default();
        components.push(generic_component(name, version, license));
        io::Result::Ok(())
    };
    for library in &CARRIED {
        let version = carried_version(library, &packages)?;
        add(library.carrier, library.name, &version, library.license)?;
    }
    add(PACKAGE, "musl", MUSL_VERSION, "MIT")?;
    add(PACKAGE, "rust-std", rust, "MIT OR Apache-2.0")?;
    let needs = needs.iter();
    let needs = needs.map(|(from, to)| json!({ "ref": from, "dependsOn": to }));
    program["type"] = json!("application");
    program["name"] = json!("tsumugi");
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": time,
            "component": program,
            "properties": [{ "name": "tsumugi:target", "value": target }],
        },
        "components": components,
        "dependencies": needs.collect::<Vec<_>>(),
    }))
}

/// What `cargo metadata` knows of each crate.
fn packages(metadata: &Value) -> BTreeMap<Crate, &Value> {
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let entries = packages.filter_map(|package| {
        let text = |key: &str| Some(package[key].as_str()?.to_owned());
        Some(((text("name")?, text("version")?), package))
    });
    entries.collect()
}

fn crate_component(found: &Crate, package: &Value, checksum: Option<&str>) -> Value {
    let mut component = json!({
        "type": "library",
        "bom-ref": reference(found),
        "name": found.0,
        "version": found.1,
        "purl": reference(found),
    });
    if let Some(license) = package["license"].as_str() {
        // An older way to say it, which SPDX has not.
        let license = license.replace(" / ", " OR ").replace('/', " OR ");
        component["licenses"] = json!([{ "expression": license }]);
    }
    if let Some(checksum) = checksum {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
    }
    if let Some(url) = package["repository"].as_str() {
        component["externalReferences"] = json!([{ "type": "vcs", "url": url }]);
    }
    component
}

fn generic_component(name: &str, version: &str, license: &str) -> Value {
    json!({
        "type": "library",
        "bom-ref": generic(name, version),
        "name": name,
        "version": version,
        "purl": generic(name, version),
        "licenses": [{ "expression": license }],
    })
}

fn carried_version(
    library: &CarriedLibrary,
    packages: &BTreeMap<Crate, &Value>,
) -> io::Result<String> {
    let sources = packages
        .iter()
        .find(|((name, _), _)| name == library.sources);
    let manifest = sources.and_then(|(_, package)| package["manifest_path"].as_str());
    let manifest = manifest.ok_or_else(|| missing(library.sources))?;
    let file = Path::new(manifest).with_file_name(library.file);
    let text = std::fs::read_to_string(&file)?;
    let version = after(&text, library.before);
    let version = version.ok_or_else(|| missing(&format!("a version in {}", file.display())))?;
    Ok(match version.parse::<u32>() {
        // Two digits each, as mimalloc writes it.
        Ok(number) => format!(
            "{}.{}.{}",
            number / 10_000,
            number / 100 % 100,
            number % 100
        ),
        Err(_) => version.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(name: &str, version: &str) -> Crate {
        (name.to_owned(), version.to_owned())
    }

    #[test]
    fn tree_says_which_crate_names_which() {
        let tree = "0 a v1.0.0 (/a)\n1 b v2.0.0\n2 c v3.0.0\n1 c v3.0.0 (*)\n";
        let graph = CrateGraph::read(tree).unwrap();
        let named = |name, version| graph.0[&found(name, version)].iter().collect::<Vec<_>>();
        assert_eq!(
            named("a", "1.0.0"),
            [&found("b", "2.0.0"), &found("c", "3.0.0")]
        );
        assert_eq!(named("b", "2.0.0"), [&found("c", "3.0.0")]);
        assert!(named("c", "3.0.0").is_empty());
    }

    #[test]
    fn checksum_is_that_of_its_version() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1\"\n\n[[package]]\nname = \"a\"\nversion = \"2\"\nchecksum = \"abc\"\n";
        let sums = checksums(lock);
        assert_eq!(sums.get(&found("a", "2")), Some(&"abc"));
        assert_eq!(sums.len(), 1);
    }

    #[test]
    fn older_form_of_a_licence_becomes_an_expression() {
        let package = json!({ "license": "MIT/Apache-2.0" });
        let component = crate_component(&found("a", "1"), &package, None);
        assert_eq!(component["licenses"][0]["expression"], "MIT OR Apache-2.0");
    }
}
