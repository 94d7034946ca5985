//! Circles of files inside a crate: files that use items of each other, so that none can be read first. Circles of crates are cargo's matter.
//! Rule: files of a crate form no circle but those in [`KNOWN`], each with its reason; the list only becomes shorter.
//! `cargo xtask circles` shows each circle and the names that tie it.

mod imports;
mod known;

use std::collections::{BTreeMap, BTreeSet};

use self::imports::{Arrows, arrows};
use self::known::{Circle, KNOWN};
use super::Finding;
use crate::tree::Tree;

const LIST: &str = "xtask/src/tidy/circles/known.rs";

pub fn findings(tree: &Tree) -> Vec<Finding> {
    check(tree, KNOWN)
}

/// Each circle of the project as lines: its entry of [`KNOWN`], then what ties it.
pub fn describe(tree: &Tree) -> Vec<String> {
    let mut lines = Vec::new();
    for folder in crates(tree) {
        let source = format!("{folder}/src/");
        let arrows = arrows(tree, &source);
        for circle in circles(&arrows) {
            let reason = KNOWN
                .iter()
                .filter(|known| known.name == folder)
                .max_by_key(|known| shared(known, &circle, &source))
                .filter(|known| shared(known, &circle, &source) > 0)
                .map_or("", |known| known.reason);
            let entry = entry(&folder, &circle);
            lines.push(format!("Circle {{ {entry}, reason: {reason:?} }},"));
            for (from, to, names) in ties(&arrows, &circle) {
                lines.push(format!("    // {from} -> {to}: {names}"));
            }
        }
    }
    lines
}

fn check(tree: &Tree, known: &[Circle]) -> Vec<Finding> {
    let mut findings = Vec::new();
    let folders = crates(tree);
    for folder in &folders {
        let source = format!("{folder}/src/");
        let arrows = arrows(tree, &source);
        let of_crate: Vec<&Circle> = known.iter().filter(|entry| entry.name == folder).collect();
        let circles = circles(&arrows);
        for circle in &circles {
            if !of_crate.iter().any(|entry| covers(entry, circle, &source)) {
                findings.push(refused(&arrows, circle));
            }
        }
        for entry in of_crate {
            let left: Vec<_> = circles
                .iter()
                .filter(|circle| covers(entry, circle, &source))
                .collect();
            let files: usize = left.iter().map(|circle| circle.len()).sum();
            if left.len() != 1 || files != entry.files.len() {
                findings.push(over(folder, entry, &left));
            }
        }
    }
    for entry in known.iter().filter(|entry| entry.reason.is_empty()) {
        let files = entry.files.join(", ");
        let message = format!("{}: why are {files} not apart?", entry.name);
        findings.push(Finding::new(LIST, 1, message));
    }
    // A part of the project, as tests of other rules have, has not all crates.
    if folders.len() > 1 {
        let gone = known.iter().filter(|entry| !folders.contains(entry.name));
        findings.extend(gone.map(|entry| over(entry.name, entry, &[])));
    }
    findings
}

/// The folders of the crates.
fn crates(tree: &Tree) -> BTreeSet<String> {
    tree.rust()
        .filter_map(|file| file.path.split_once("/src/"))
        .map(|(folder, _)| folder.to_owned())
        .filter(|folder| !folder.starts_with("bench-peers"))
        .collect()
}

/// Whether all files of `circle` are in the entry.
fn covers(entry: &Circle, circle: &BTreeSet<&str>, source: &str) -> bool {
    shared(entry, circle, source) == circle.len()
}

/// How many files of `circle` are in the entry.
fn shared(entry: &Circle, circle: &BTreeSet<&str>, source: &str) -> usize {
    let below = circle.iter().filter_map(|path| path.strip_prefix(source));
    below.filter(|path| entry.files.contains(path)).count()
}

fn refused(arrows: &Arrows, circle: &BTreeSet<&str>) -> Finding {
    let mut message = "a new circle of files: ".to_owned();
    let ties: Vec<String> = ties(arrows, circle)
        .map(|(from, to, names)| format!("{from} -> {to} ({names})"))
        .collect();
    message.push_str(&ties.join("; "));
    message.push_str(". Take out one arrow: what both need belongs below both");
    Finding::new(circle.first().copied().unwrap_or_default(), 1, message)
}

fn over(folder: &str, entry: &Circle, left: &[&BTreeSet<&str>]) -> Finding {
    let files = entry.files.join(", ");
    let message = if left.is_empty() {
        format!("{folder}: {files} are no circle any more: take the entry off the list")
    } else {
        let rest: Vec<String> = left
            .iter()
            .map(|circle| self::entry(folder, circle))
            .collect();
        let rest = rest.join("; ");
        format!("{folder}: the circle of {files} has become smaller, write {rest}")
    };
    Finding::new(LIST, 1, message)
}

/// The beginning of a circle's entry, as the list has it.
fn entry(folder: &str, circle: &BTreeSet<&str>) -> String {
    let source = format!("{folder}/src/");
    let files: Vec<&str> = circle
        .iter()
        .map(|path| path.strip_prefix(&source).unwrap_or(path))
        .collect();
    format!("name: {folder:?}, files: &{files:?}")
}

/// The arrows inside of a circle with their names.
fn ties<'a>(
    arrows: &'a Arrows,
    circle: &'a BTreeSet<&str>,
) -> impl Iterator<Item = (&'a str, &'a str, String)> {
    circle.iter().flat_map(move |from| {
        let targets = arrows.get(*from).into_iter().flatten();
        targets
            .filter(|(to, _)| circle.contains(to.as_str()))
            .map(|(to, names)| {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                (*from, to.as_str(), names.join(", "))
            })
    })
}

/// The strongly connected components of more than one file, by Tarjan.
fn circles(arrows: &Arrows) -> Vec<BTreeSet<&str>> {
    let mut search = Search {
        arrows,
        numbers: BTreeMap::new(),
        lowest: BTreeMap::new(),
        stack: Vec::new(),
        circles: Vec::new(),
    };
    for file in arrows.keys() {
        if !search.numbers.contains_key(file.as_str()) {
            search.visit(file);
        }
    }
    search.circles.sort();
    search.circles
}

struct Search<'a> {
    arrows: &'a Arrows,
    /// By file, when it was reached.
    numbers: BTreeMap<&'a str, usize>,
    /// By file, the lowest number that it reaches among those on the stack.
    lowest: BTreeMap<&'a str, usize>,
    stack: Vec<&'a str>,
    circles: Vec<BTreeSet<&'a str>>,
}

impl<'a> Search<'a> {
    fn visit(&mut self, file: &'a str) {
        let number = self.numbers.len();
        self.numbers.insert(file, number);
        self.stack.push(file);
        let mut lowest = number;
        for to in self.arrows.get(file).into_iter().flat_map(BTreeMap::keys) {
            match self.numbers.get(to.as_str()) {
                None => {
                    self.visit(to);
                    lowest = lowest.min(self.lowest[to.as_str()]);
                }
                Some(&reached) if self.stack.contains(&to.as_str()) => lowest = lowest.min(reached),
                Some(_) => {}
            }
        }
        self.lowest.insert(file, lowest);
        if lowest == number {
            let from = self.stack.iter().position(|other| *other == file);
            let circle: BTreeSet<&str> = self.stack.drain(from.unwrap_or(0)..).collect();
            if circle.len() > 1 {
                self.circles.push(circle);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: (&str, &str) = ("crates/x/src/a.rs", "use crate::b::B; pub struct A;");
    const B: (&str, &str) = ("crates/x/src/b.rs", "use crate::c::C; pub struct B;");
    const C: (&str, &str) = ("crates/x/src/c.rs", "use crate::a::A; pub struct C;");
    /// Without the arrow to `a.rs`.
    const LOWEST: (&str, &str) = ("crates/x/src/c.rs", "pub struct C;");
    const OTHER_CRATE: (&str, &str) = ("crates/y/src/lib.rs", "");

    const ALL: Circle = Circle {
        name: "crates/x",
        files: &["a.rs", "b.rs", "c.rs"],
        reason: "a test",
    };

    fn check(files: &[(&str, &str)], known: &[Circle], expected: &[&str]) {
        let found: Vec<_> = super::check(&Tree::of(files), known)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn files_in_order_are_taken() {
        check(&[A, B, LOWEST], &[], &[]);
    }

    #[test]
    fn new_circle_is_refused_with_the_names_that_tie_it() {
        check(
            &[A, B, C],
            &[],
            &[
                "crates/x/src/a.rs:1: a new circle of files: crates/x/src/a.rs -> crates/x/src/b.rs (B); \
                 crates/x/src/b.rs -> crates/x/src/c.rs (C); crates/x/src/c.rs -> crates/x/src/a.rs (A). \
                 Take out one arrow: what both need belongs below both",
            ],
        );
    }

    #[test]
    fn circle_that_is_listed_is_taken() {
        check(&[A, B, C], &[ALL], &[]);
    }

    #[test]
    fn entry_without_a_reason_is_refused() {
        let entry = Circle { reason: "", ..ALL };
        check(
            &[A, B, C],
            &[entry],
            &["xtask/src/tidy/circles/known.rs:1: crates/x: why are a.rs, b.rs, c.rs not apart?"],
        );
    }

    #[test]
    fn circle_that_grew_beyond_its_entry_is_refused() {
        let entry = Circle {
            files: &["a.rs", "b.rs"],
            ..ALL
        };
        let found = super::check(&Tree::of(&[A, B, C]), &[entry]);
        let paths: Vec<_> = found.iter().map(|finding| &*finding.path).collect();
        assert_eq!(paths, ["crates/x/src/a.rs", LIST]);
    }

    #[test]
    fn entry_without_a_circle_is_to_be_taken_off() {
        let gone = "xtask/src/tidy/circles/known.rs:1: crates/x: a.rs, b.rs, c.rs are no circle any more: take the entry off the list";
        check(&[A, B, LOWEST], &[ALL], &[gone]);
        check(&[OTHER_CRATE, ("crates/z/src/lib.rs", "")], &[ALL], &[gone]);
    }

    #[test]
    fn entry_larger_than_its_circle_is_to_become_shorter() {
        check(
            &[
                A,
                ("crates/x/src/b.rs", "use crate::a::A; pub struct B;"),
                LOWEST,
            ],
            &[ALL],
            &[
                "xtask/src/tidy/circles/known.rs:1: crates/x: the circle of a.rs, b.rs, c.rs has become smaller, write \
                 name: \"crates/x\", files: &[\"a.rs\", \"b.rs\"]",
            ],
        );
    }

    #[test]
    fn two_circles_that_share_no_file_are_two() {
        check(
            &[
                A,
                ("crates/x/src/b.rs", "use crate::a::A; pub struct B;"),
                ("crates/x/src/c.rs", "use crate::d::D; pub struct C;"),
                (
                    "crates/x/src/d.rs",
                    "use crate::c::C; use crate::a::A; pub struct D;",
                ),
            ],
            &[ALL],
            &[
                "crates/x/src/c.rs:1: a new circle of files: crates/x/src/c.rs -> crates/x/src/d.rs (D); \
                 crates/x/src/d.rs -> crates/x/src/c.rs (C). Take out one arrow: what both need belongs below both",
                "xtask/src/tidy/circles/known.rs:1: crates/x: the circle of a.rs, b.rs, c.rs has become smaller, write \
                 name: \"crates/x\", files: &[\"a.rs\", \"b.rs\"]",
            ],
        );
    }
}
