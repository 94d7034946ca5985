//! Circles of files inside a crate: files that use items of each other, so that none can be read first. Circles of crates are cargo's matter.
//! Rule: files of a crate form no circle but those in `known.txt` beside this, each with its reason; the list only becomes shorter.
//! `cargo xtask circles` shows each circle and the names that tie it.

mod imports;

use std::collections::{BTreeMap, BTreeSet};

use self::imports::{Arrows, arrows};
use super::Findings;
use crate::tree::Tree;

const LIST: &str = "xtask/src/tidy/circles/known.txt";

/// A circle that may stay.
struct Entry<'t> {
    line: usize,
    /// The folder of the crate.
    folder: &'t str,
    /// The files of the circle, below the crate's `src/`.
    files: BTreeSet<&'t str>,
    /// Why they are not apart.
    reason: &'t str,
}

impl Entry<'_> {
    /// How many files of a circle of its crate are in the entry.
    fn shared(&self, circle: &BTreeSet<&str>) -> usize {
        let source = format!("{}/src/", self.folder);
        let below = circle.iter().filter_map(|path| path.strip_prefix(&source));
        below.filter(|path| self.files.contains(path)).count()
    }
}

/// Reads `FOLDER: FILE FILE`, each with a reason in a line that is indented.
fn known<'t>(tree: &Tree<'t>) -> Vec<Entry<'t>> {
    let mut known: Vec<Entry> = Vec::new();
    for (text, line) in tree.text(LIST).lines().zip(1..) {
        if let (Some(reason), Some(last)) = (text.strip_prefix("    "), known.last_mut()) {
            last.reason = reason;
        } else if let Some((folder, files)) =
            text.split_once(": ").filter(|_| !text.starts_with('#'))
        {
            known.push(Entry {
                line,
                folder,
                files: files.split(' ').collect(),
                reason: "",
            });
        }
    }
    known
}

pub fn findings(tree: &Tree, found: &mut Findings) {
    let known = known(tree);
    let mut left: BTreeMap<usize, Vec<String>> = BTreeMap::new();
    for folder in crates(tree) {
        let arrows = arrows(tree, &format!("{folder}/src/"));
        for circle in circles(&arrows) {
            let mut of_crate = known.iter().filter(|entry| entry.folder == folder);
            match of_crate.find(|entry| entry.shared(&circle) == circle.len()) {
                Some(entry) if circle.len() == entry.files.len() => {
                    left.insert(entry.line, Vec::new());
                }
                Some(entry) => {
                    let rest = self::entry(folder, &circle);
                    left.entry(entry.line).or_default().push(rest);
                }
                None => {
                    let ties = ties(&arrows, &circle);
                    let ties = ties.map(|(from, to, names)| format!("{from} -> {to} ({names})"));
                    let ties = ties.collect::<Vec<_>>().join("; ");
                    let message = format!(
                        "a new circle of files: {ties}. Take out one arrow: what both need belongs below both"
                    );
                    found.add(circle.first().copied().unwrap_or_default(), 1, message);
                }
            }
        }
    }
    for entry in known {
        let files: Vec<&str> = entry.files.into_iter().collect();
        let (folder, files) = (entry.folder, files.join(", "));
        if entry.reason.is_empty() {
            found.add(
                LIST,
                entry.line,
                format!("{folder}: why are {files} not apart?"),
            );
        }
        let message = match left.get(&entry.line) {
            None => {
                format!("{folder}: {files} are no circle any more: take the entry off the list")
            }
            Some(rest) if rest.is_empty() => continue,
            Some(rest) => format!(
                "{folder}: the circle of {files} has become smaller, write {}",
                rest.join("; ")
            ),
        };
        found.add(LIST, entry.line, message);
    }
}

/// Each circle of the project as lines: its entry of the list, then what ties it.
pub fn describe(tree: &Tree) -> Vec<String> {
    let known = known(tree);
    let mut lines = Vec::new();
    for folder in crates(tree) {
        let arrows = arrows(tree, &format!("{folder}/src/"));
        for circle in circles(&arrows) {
            let of_crate = known.iter().filter(|entry| entry.folder == folder);
            let nearest = of_crate.max_by_key(|entry| entry.shared(&circle));
            let nearest = nearest.filter(|entry| entry.shared(&circle) > 0);
            lines.push(entry(folder, &circle));
            lines.push(format!("    {}", nearest.map_or("", |entry| entry.reason)));
            for (from, to, names) in ties(&arrows, &circle) {
                lines.push(format!("# {from} -> {to}: {names}"));
            }
        }
    }
    lines
}

/// The folders of the crates.
fn crates<'t>(tree: &Tree<'t>) -> BTreeSet<&'t str> {
    let folders = tree.rust().filter_map(|file| file.path.split_once("/src/"));
    let folders = folders.map(|(folder, _)| folder);
    folders
        .filter(|folder| !folder.starts_with("bench-peers"))
        .collect()
}

/// A circle's entry, as the list has it.
fn entry(folder: &str, circle: &BTreeSet<&str>) -> String {
    let files = circle
        .iter()
        .map(|path| &path[folder.len() + "/src/".len()..]);
    format!("{folder}: {}", files.collect::<Vec<_>>().join(" "))
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

/// The largest sets of more than one file that all reach each other.
fn circles(arrows: &Arrows) -> BTreeSet<BTreeSet<&str>> {
    let files = arrows.keys().map(String::as_str);
    let reached: BTreeMap<_, _> = files.map(|from| (from, reached(arrows, from))).collect();
    let leads = |from: &str, to: &str| reached.get(from).is_some_and(|all| all.contains(to));
    let mut circles = BTreeSet::new();
    for (from, all) in &reached {
        let circle = all.iter().copied().filter(|to| leads(to, from));
        circles.insert(circle.collect());
    }
    circles.retain(|circle: &BTreeSet<&str>| circle.len() > 1);
    circles
}

/// The files that `from` leads to, over others too.
fn reached<'a>(arrows: &'a Arrows, from: &'a str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from];
    while let Some(file) = next.pop() {
        let targets = arrows.get(file).into_iter().flat_map(BTreeMap::keys);
        next.extend(targets.map(String::as_str).filter(|to| reached.insert(*to)));
    }
    reached
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

    const ALL: &str = "# known\ncrates/x: a.rs b.rs c.rs\n    a test\n";

    fn check(files: &[(&str, &str)], known: &str, expected: &[&str]) {
        let files = [files, &[(LIST, known)]].concat();
        super::super::assert_findings(findings, &files, expected);
    }

    #[test]
    fn files_in_order_are_taken() {
        check(&[A, B, LOWEST], "", &[]);
    }

    #[test]
    fn new_circle_is_refused_with_the_names_that_tie_it() {
        check(
            &[A, B, C],
            "",
            &[
                "crates/x/src/a.rs:1: a new circle of files: crates/x/src/a.rs -> crates/x/src/b.rs (B); \
                 crates/x/src/b.rs -> crates/x/src/c.rs (C); crates/x/src/c.rs -> crates/x/src/a.rs (A). \
                 Take out one arrow: what both need belongs below both",
            ],
        );
    }

    #[test]
    fn circle_that_is_listed_is_taken() {
        check(&[A, B, C], ALL, &[]);
    }

    #[test]
    fn entry_without_a_reason_is_refused() {
        let entry = "#\ncrates/x: a.rs b.rs c.rs\n";
        check(
            &[A, B, C],
            entry,
            &["xtask/src/tidy/circles/known.txt:2: crates/x: why are a.rs, b.rs, c.rs not apart?"],
        );
    }

    #[test]
    fn circle_that_grew_beyond_its_entry_is_refused() {
        let entry = "crates/x: a.rs b.rs\n    a test\n";
        let mut found = Findings::default();
        findings(&Tree::new([A, B, C, (LIST, entry)]), &mut found);
        let paths: Vec<_> = found.0.iter().map(|(path, ..)| &**path).collect();
        assert_eq!(paths, ["crates/x/src/a.rs", LIST]);
    }

    #[test]
    fn entry_without_a_circle_is_to_be_taken_off() {
        let gone = "xtask/src/tidy/circles/known.txt:2: crates/x: a.rs, b.rs, c.rs are no circle any more: take the entry off the list";
        check(&[A, B, LOWEST], ALL, &[gone]);
        check(&[OTHER_CRATE, ("crates/z/src/lib.rs", "")], ALL, &[gone]);
    }

    #[test]
    fn entry_larger_than_its_circle_is_to_become_shorter() {
        check(
            &[
                A,
                ("crates/x/src/b.rs", "use crate::a::A; pub struct B;"),
                LOWEST,
            ],
            ALL,
            &[
                "xtask/src/tidy/circles/known.txt:2: crates/x: the circle of a.rs, b.rs, c.rs has become smaller, write \
                 crates/x: a.rs b.rs",
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
            ALL,
            &[
                "crates/x/src/c.rs:1: a new circle of files: crates/x/src/c.rs -> crates/x/src/d.rs (D); \
                 crates/x/src/d.rs -> crates/x/src/c.rs (C). Take out one arrow: what both need belongs below both",
                "xtask/src/tidy/circles/known.txt:2: crates/x: the circle of a.rs, b.rs, c.rs has become smaller, write \
                 crates/x: a.rs b.rs",
            ],
        );
    }
}
