//! The checkout as the rules see it: paths and texts in memory. No rule opens a file itself.
//! It does not ask git: a fresh archive and a checkout of another user are read in the same way.
//! Rule: what cargo and set-up built (`target`, marked directories), `.git`, the root's `data` and what fuzzing leaves are not part of the project.

use std::collections::BTreeSet;
use std::path::Path;
use std::{fs, io};

/// A file bigger than this is listed but not read; no text of ours comes near.
const TEXT_BYTES_MAX: u64 = 4 << 20;

/// One file. `path` is relative to the root, with `/` between its parts.
pub struct File {
    pub path: String,
    /// Empty when the file is not UTF-8 or exceeds [`TEXT_BYTES_MAX`].
    pub text: String,
}

impl File {
    /// The last part of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }

    /// The name's last extension without its dot, or nothing.
    pub fn extension(&self) -> &str {
        self.name().rsplit_once('.').map_or(
            "",
            |(stem, extension)| if stem.is_empty() { "" } else { extension },
        )
    }

    /// Whether the file is Rust.
    pub fn is_rust(&self) -> bool {
        self.extension() == "rs"
    }

    /// Whether the file holds tests only: under a `tests` directory, or a `tests.rs` beside what it tests.
    pub fn is_test(&self) -> bool {
        self.path.split('/').any(|part| part == "tests") || self.name() == "tests.rs"
    }
}

/// Every file of the project.
pub struct Tree {
    files: Vec<File>,
    directories: BTreeSet<String>,
}

impl Tree {
    /// Reads the project below `root`.
    pub fn read(root: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        walk(root, "", &mut files)?;
        Ok(Self::new(files))
    }

    /// A tree of these paths and texts.
    #[cfg(test)]
    pub fn of(files: &[(&str, &str)]) -> Self {
        Self::new(
            files
                .iter()
                .map(|&(path, text)| File {
                    path: path.to_owned(),
                    text: text.to_owned(),
                })
                .collect(),
        )
    }

    fn new(mut files: Vec<File>) -> Self {
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let mut directories = BTreeSet::from([String::new()]);
        for file in &files {
            directories.extend(
                file.path
                    .match_indices('/')
                    .map(|(at, _)| file.path[..at].to_owned()),
            );
        }
        Self { files, directories }
    }

    /// All files in the order of their paths.
    pub fn files(&self) -> impl Iterator<Item = &File> {
        self.files.iter()
    }

    /// The Rust files in the order of their paths.
    pub fn rust(&self) -> impl Iterator<Item = &File> {
        self.files().filter(|file| file.is_rust())
    }

    /// The file at `path`.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files
            .binary_search_by(|file| file.path.as_str().cmp(path))
            .ok()
            .map(|at| &self.files[at])
    }

    /// Whether a file or directory is at `path`; the root is the empty path.
    pub fn has(&self, path: &str) -> bool {
        self.directories.contains(path) || self.file(path).is_some()
    }

    /// The folders of the product's crates, and of what is fuzzed.
    pub fn crates(&self) -> impl Iterator<Item = String> {
        let crates = self.directories_in("crates");
        let fuzz = self.has("fuzz/src").then(|| "fuzz".to_owned());
        crates.map(|name| format!("crates/{name}")).chain(fuzz)
    }

    /// The names of the directories directly below `parent`.
    pub fn directories_in(&self, parent: &str) -> impl Iterator<Item = &str> {
        let prefix = format!("{parent}/");
        self.directories
            .iter()
            .filter_map(move |path| path.strip_prefix(&prefix).map(|_| &path[prefix.len()..]))
            .filter(|name| !name.contains('/'))
    }
}

/// Directories that building, running and fuzzing make. Cargo marks `target` with CACHEDIR.TAG only when it is the first to write there.
const MADE: [&str; 6] = [
    "target",
    "data",
    "fuzz/found",
    "fuzz/programs/artifacts",
    "fuzz/programs/coverage",
    "fuzz/programs/target",
];

fn walk(directory: &Path, path: &str, files: &mut Vec<File>) -> io::Result<()> {
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
                walk(&entry.path(), &below, files)?;
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
            files.push(File {
                path: below,
                text: String::from_utf8(text).unwrap_or_default(),
            });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expected: (&str, &str)) {
        let file = File {
            path: path.to_owned(),
            text: String::new(),
        };
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
        let tree = Tree::of(&[
            ("crates/http/src/lib.rs", ""),
            ("crates/db/Cargo.toml", ""),
            ("Makefile", ""),
        ]);
        assert_eq!(
            tree.directories_in("crates").collect::<Vec<_>>(),
            ["db", "http"]
        );
        assert!(
            tree.has("crates/http/src")
                && tree.has("Makefile")
                && tree.has("")
                && !tree.has("crates/x")
        );
    }
}
