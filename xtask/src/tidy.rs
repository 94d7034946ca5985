//! `cargo xtask tidy`: what a machine can check of the house rules. Not a formatter and not clippy.
//! Rule: a rule is a pure function from the tree to findings, one file per group, with a test for what it takes and what it refuses.

mod builder;
mod circles;
mod edges;
mod files;
mod heads;
mod invariants;
mod kinds;
mod leftovers;
mod lengths;
mod links;
mod map;
mod markdown;
mod names;
mod paths;
mod raises;
mod readme;
mod service;
mod signatures;
mod types;
mod unsafety;
mod wording;

use crate::Verdict;
use crate::tree::Tree;
use std::fmt;
use std::io;
use std::path::Path;

/// One complaint about one line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    pub path: String,
    pub line: usize,
    pub message: String,
}

impl Finding {
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: &[Rule] = &[
    builder::findings,
    circles::findings,
    edges::findings,
    files::findings,
    heads::findings,
    invariants::findings,
    kinds::findings,
    leftovers::findings,
    lengths::findings,
    links::findings,
    map::findings,
    names::findings,
    paths::findings,
    raises::findings,
    readme::findings,
    service::findings,
    signatures::findings,
    types::findings,
    unsafety::findings,
    wording::findings,
];

/// Prints every finding in the project below `root` as `path:line: message`.
pub fn run(root: &Path) -> io::Result<Verdict> {
    let tree = Tree::read(root)?;
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(&tree)).collect();
    findings.sort();
    findings.dedup();
    for finding in &findings {
        println!("{finding}");
    }
    println!(
        "tidy: {} files, {} findings",
        tree.files().count(),
        findings.len()
    );
    Ok(if findings.is_empty() {
        Verdict::Clean
    } else {
        Verdict::Failed
    })
}

/// Prints the circles of files inside each crate, for the list of those that are known.
pub fn show_circles(root: &Path) -> io::Result<Verdict> {
    for line in circles::describe(&Tree::read(root)?) {
        println!("{line}");
    }
    Ok(Verdict::Clean)
}

/// Writes the list of source files anew.
pub fn write_files(root: &Path) -> io::Result<Verdict> {
    std::fs::write(root.join(files::LIST), files::list(&Tree::read(root)?))?;
    Ok(Verdict::Clean)
}

/// Asserts that `rule` says exactly `expected` about these files, in any order.
#[cfg(test)]
fn assert_findings(rule: Rule, files: &[(&str, &str)], expected: &[&str]) {
    let mut found: Vec<String> = rule(&Tree::of(files))
        .iter()
        .map(Finding::to_string)
        .collect();
    let mut expected: Vec<String> = expected.iter().map(|&line| line.to_owned()).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}
