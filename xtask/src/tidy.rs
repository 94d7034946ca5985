//! `cargo xtask tidy`: what a machine can check of the house rules. Not a formatter and not clippy.
//! Rule: a rule is a pure function from the tree to findings, one file per group, with a test for what it takes and what it
//! refuses. Here they run, and what they find is sorted, printed and counted.

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
pub(crate) mod markdown;
mod names;
mod paths;
mod raises;
mod readme;
mod reference;
mod service;
mod signatures;
mod site;
mod translations;
mod types;
mod unsafety;
mod wording;

pub(crate) use links::resolve;

use crate::Verdict;
use crate::reference::PAGES;
use crate::tree::{Texts, Tree};
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// Complaints, each about one line, in the order of paths and lines, and each once.
#[derive(Default)]
pub struct Findings(BTreeSet<(String, usize, String)>);

impl Findings {
    fn add(&mut self, path: &str, line: usize, message: impl Into<String>) {
        self.0.insert((path.to_owned(), line, message.into()));
    }

    fn lines(&self) -> Vec<String> {
        let line = |(path, line, message): &_| format!("{path}:{line}: {message}");
        self.0.iter().map(line).collect()
    }
}

type Rule = fn(&Tree, &mut Findings);

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
    reference::findings,
    service::findings,
    signatures::findings,
    site::findings,
    translations::findings,
    types::findings,
    unsafety::findings,
    wording::findings,
    unreadable,
];

/// Prints every finding in the project below `root` as `path:line: message`.
pub fn run(root: &Path) -> io::Result<Verdict> {
    let texts = Texts::read(root)?;
    let tree = texts.tree();
    let mut found = Findings::default();
    for rule in RULES {
        rule(&tree, &mut found);
    }
    let lines = found.lines();
    for line in &lines {
        println!("{line}");
    }
    let files = tree.files().count();
    println!("tidy: {files} files, {} findings", lines.len());
    Ok(Verdict::of(lines.is_empty()))
}

/// Prints the circles of files inside each crate, for the list of those that are known.
pub fn show_circles(root: &Path) -> io::Result<Verdict> {
    for line in circles::describe(&Texts::read(root)?.tree()) {
        println!("{line}");
    }
    Ok(Verdict::Clean)
}

/// Writes the list of source files anew.
pub fn write_files(root: &Path) -> io::Result<Verdict> {
    let page = files::list(&Texts::read(root)?.tree());
    std::fs::write(root.join(files::LIST), page)?;
    Ok(Verdict::Clean)
}

/// Writes the pages of the reference anew.
pub fn write_reference(root: &Path) -> io::Result<Verdict> {
    let texts = Texts::read(root)?;
    let tree = texts.tree();
    for page in PAGES {
        let path = root.join(page.path);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(path, (page.text)(&tree))?;
    }
    Ok(Verdict::Clean)
}

/// What cannot be cut into tokens no other rule sees.
fn unreadable(tree: &Tree, found: &mut Findings) {
    let is_cut = |path: &str| path.ends_with(".rs") || raises::is_shim(path);
    for file in tree.files().filter(|file| is_cut(file.path)) {
        if let Some((line, error)) = &file.source().error {
            found.add(file.path, *line, format!("cannot be read: {error}"));
        }
    }
}

/// Whether `word` is one of `words`, which have white space between them.
fn is_one_of(words: &str, word: &str) -> bool {
    words.split_whitespace().any(|other| other == word)
}

/// Asserts that `rule` says exactly `expected` about these files, in any order.
#[cfg(test)]
fn assert_findings(rule: Rule, files: &[(&str, &str)], expected: &[&str]) {
    let mut found = Findings::default();
    rule(&Tree::new(files.iter().copied()), &mut found);
    let mut found = found.lines();
    let mut expected: Vec<String> = expected.iter().map(|&line| line.to_owned()).collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[cfg(test)]
mod tests {
    #[test]
    fn source_that_cannot_be_cut_is_refused() {
        super::assert_findings(
            super::unreadable,
            &[("a.rs", "fn a() {}\n}"), ("a.rb", "}")],
            &["a.rs:2: cannot be read: cannot parse string into token stream"],
        );
    }
}
