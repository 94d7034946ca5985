//! The checkout as the rules see it: paths and texts in memory. No rule opens a file itself.
//! It does not ask git: a fresh archive and a checkout of another user are read in the same way.
//! Rule: what cargo and set-up built (`target`, marked directories), `.git`, the root's `data`, what fuzzing leaves and generated code are not looked at.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::{fs, io};

use crate::source::Source;

/// A file bigger than this is listed but not read; no text of ours comes near.
const TEXT_BYTES_MAX: u64 = 4 << 20;

/// The paths and texts of the project, of which a [`Tree`] is made. A path is relative to the root, with `/` between its parts; a text is
/// empty when the file is not UTF-8 or exceeds [`TEXT_BYTES_MAX`].
pub struct Texts(Vec<(String, String)>);

impl Texts {
    /// Reads the project below `root`.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut texts = Vec::new();
        walk(root, "", &mut texts)?;
        Ok(Self(texts))
    }

    pub fn tree(&self) -> Tree<'_> {
        Tree::new(self.0.iter().map(|(path, text)| (&**path, &**text)))
    }
}

/// One file of the project.
pub struct File<'t> {
    pub path: &'t str,
    pub text: &'t str,
    source: OnceCell<Source<'t>>,
}

impl<'t> File<'t> {
    /// The last part of the path.
    pub fn name(&self) -> &'t str {
        self.path.rsplit('/').next().unwrap_or(self.path)
    }

    /// The name's last extension without its dot, or nothing.
    pub fn extension(&self) -> &'t str {
        let name = self.name().rsplit_once('.');
        name.map_or("", |(stem, end)| if stem.is_empty() { "" } else { end })
    }

    /// Whether the file is Rust.
    pub fn is_rust(&self) -> bool {
        self.extension() == "rs"
    }

    /// Whether the file holds tests only: under a `tests` directory, or a `tests.rs` beside what it tests.
    pub fn is_test(&self) -> bool {
        self.path.split('/').any(|part| part == "tests") || self.name() == "tests.rs"
    }

    /// The file's tokens and items, cut when a rule asks for the first time.
    pub fn source(&self) -> &Source<'t> {
        self.source.get_or_init(|| Source::of(self.text))
    }
}

/// Every file of the project.
pub struct Tree<'t> {
    files: BTreeMap<&'t str, File<'t>>,
    directories: BTreeSet<&'t str>,
}

impl<'t> Tree<'t> {
    /// A tree of these paths and texts.
    pub fn new(files: impl IntoIterator<Item = (&'t str, &'t str)>) -> Self {
        let file = |(path, text)| {
            let source = OnceCell::new();
            (path, File { path, text, source })
        };
        let files: BTreeMap<_, _> = files.into_iter().map(file).collect();
        let parents = |path: &&'t str| {
            let path = *path;
            path.match_indices('/').map(move |(at, _)| &path[..at])
        };
        let directories = files.keys().flat_map(parents).chain([""]).collect();
        Self { files, directories }
    }

    /// All files in the order of their paths.
    pub fn files(&self) -> impl Iterator<Item = &File<'t>> {
        self.files.values()
    }

    /// The Rust files in the order of their paths.
    pub fn rust(&self) -> impl Iterator<Item = &File<'t>> {
        self.files().filter(|file| file.is_rust())
    }

    /// The Rust files whose paths begin with `folder`.
    pub fn rust_below(&self, folder: &str) -> impl Iterator<Item = &File<'t>> {
        self.rust()
            .filter(move |file| file.path.starts_with(folder))
    }

    /// The file at `path`.
    pub fn file(&self, path: &str) -> Option<&File<'t>> {
        self.files.get(path)
    }

    /// The text of the file at `path`; empty without one.
    pub fn text(&self, path: &str) -> &'t str {
        self.file(path).map_or("", |file| file.text)
    }

    /// The lines of the list at `path` and where they stand, without blank ones and comments.
    pub fn list(&self, path: &str) -> BTreeMap<&'t str, usize> {
        let lines = self.text(path).lines().zip(1..);
        let is_entry = |line: &str| !line.is_empty() && !line.starts_with('#');
        lines.filter(|(line, _)| is_entry(line)).collect()
    }

    /// Whether a file or directory is at `path`; the root is the empty path.
    pub fn has(&self, path: &str) -> bool {
        self.directories.contains(path) || self.files.contains_key(path)
    }

    /// The folders of the product's crates, and of what is fuzzed.
    pub fn crates(&self) -> impl Iterator<Item = &'t str> {
        let is_crate = |path: &&str| {
            let name = path.strip_prefix("crates/");
            name.is_some_and(|name| !name.contains('/'))
        };
        let fuzz = self.has("fuzz/src").then_some("fuzz");
        self.directories
            .iter()
            .copied()
            .filter(is_crate)
            .chain(fuzz)
    }
}

/// Directories that building, running and fuzzing make, and two that tests compare with what they are made from. Cargo marks `target` with
/// CACHEDIR.TAG only when it is the first to write there.
const MADE: [&str; 8] = [
    "crates/mruby/generated",
    "crates/rpc/generated",
    "target",
    "data",
    "fuzz/found",
    "fuzz/programs/artifacts",
    "fuzz/programs/coverage",
    "fuzz/programs/target",
];

fn walk(directory: &Path, path: &str, texts: &mut Vec<(String, String)>) -> io::Result<()> {
    if directory.join("CACHEDIR.TAG").exists() {
        return Ok(());
    }
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let below = if path.is_empty() {
            name
        } else {
            format!("{path}/{name}")
        };
        let kind = entry.file_type()?;
        if kind.is_dir() {
            if !MADE.contains(&&*below) && !below.ends_with(".git") {
                walk(&entry.path(), &below, texts)?;
            }
        } else if kind.is_file() {
            // A file may vanish between the listing and here: an editor's swap file, another program's lock.
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            let text = if metadata.len() > TEXT_BYTES_MAX {
                Vec::new()
            } else {
                fs::read(entry.path()).unwrap_or_default()
            };
            texts.push((below, String::from_utf8(text).unwrap_or_default()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expected: (&str, &str)) {
        let tree = Tree::new([(path, "")]);
        let file = tree.file(path).unwrap();
        assert_eq!((file.name(), file.extension()), expected);
    }

    #[test]
    fn names_and_extensions_come_from_the_last_part() {
        check("a.b/c.rs", ("c.rs", "rs"));
        check(".ci/run", ("run", ""));
        check(".gitignore", (".gitignore", ""));
        check("README.ja.md", ("README.ja.md", "md"));
    }

    #[test]
    fn directories_are_those_of_the_files() {
        let tree = Tree::new([
            ("crates/http/src/lib.rs", ""),
            ("crates/db/Cargo.toml", ""),
            ("Makefile", ""),
        ]);
        assert_eq!(
            tree.crates().collect::<Vec<_>>(),
            ["crates/db", "crates/http"]
        );
        assert!(
            tree.has("crates/http/src")
                && tree.has("Makefile")
                && tree.has("")
                && !tree.has("crates/x")
        );
    }
}
