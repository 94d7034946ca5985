//! Which file of a crate uses items of which other: what `use` imports, and paths in code that begin with `crate`, `super` or an imported name.
//! Not methods: a call on a value names no path. Not tests.
//! Rule: an arrow leads to the file that defines the item, however often it is exported again. `mod`, `pub use` and a call of `child::f` are
//! no arrows: a file is made of its children. A file that imports items of a child is tied to it.

use std::collections::{BTreeMap, BTreeSet};

use syn::{ItemUse, UseTree};

use crate::source::{Item, Kind, Source};
use crate::tree::{File, Tree};

/// By file, the files whose items it uses and the names of those items. All paths are from the project's root.
pub type Arrows = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// Re-exports that are followed one after another at most; a circle of them does not compile.
const REEXPORTS_MAX: usize = 16;

/// The arrows of the crate whose source is below `source`, such as `crates/sql/src/`.
pub fn arrows(tree: &Tree, source: &str) -> Arrows {
    let sources = Sources::read(tree, source);
    let mut arrows = Arrows::new();
    for (module, file) in &sources.files {
        for path in &file.uses {
            let target = sources.resolve(module, path);
            // A module that is only imported ties nothing; the paths that begin with its name do.
            if let Some(Target {
                module: target,
                item: Some(item),
            }) = target
                && target != *module
            {
                let target = &sources.files[&target].path;
                let names = arrows.entry(file.path.clone()).or_default();
                names.entry(target.clone()).or_default().insert(item);
            }
        }
    }
    arrows
}

type Module = Vec<String>;

/// The files of a crate by their modules; the crate's root is the empty path.
struct Sources {
    files: BTreeMap<Module, Uses>,
}

#[derive(Default)]
struct Uses {
    path: String,
    /// Names of items at the top of the file.
    defined: BTreeSet<String>,
    /// By name, the path that it was imported from.
    imported: BTreeMap<String, Module>,
    /// Modules of which every name is imported.
    globs: Vec<Module>,
    /// Paths that the file uses.
    uses: Vec<Module>,
    /// Modules under `#[cfg(test)]` that are files.
    tests: Vec<String>,
}

/// Where a path leads: to an item of the module's file, or, without one, to the module itself.
struct Target {
    module: Module,
    item: Option<String>,
}

impl Sources {
    fn read(tree: &Tree, source: &str) -> Self {
        let mut files = BTreeMap::new();
        for file in tree.rust().filter(|file| !file.is_test()) {
            let Some(below) = file.path.strip_prefix(source) else {
                continue;
            };
            // A program beside a library is a crate of its own and imports the library by name.
            let is_program = below == "main.rs" && tree.has(&format!("{source}lib.rs"));
            if is_program || below.starts_with("bin/") {
                continue;
            }
            files.insert(module_of(below), Uses::of(file));
        }
        let tests: Vec<Module> = files
            .iter()
            .flat_map(|(module, file)| file.tests.iter().map(|name| child(module, name)))
            .collect();
        files.retain(|module, _| !tests.iter().any(|test| module.starts_with(test)));
        Self { files }
    }

    /// Where `segments` lead when they are read in `module`; nothing for paths of other crates.
    fn resolve(&self, module: &Module, segments: &[String]) -> Option<Target> {
        self.follow(module, segments, REEXPORTS_MAX)
    }

    fn follow(&self, module: &Module, segments: &[String], left: usize) -> Option<Target> {
        let (first, mut rest) = segments.split_first()?;
        let mut at = match first.as_str() {
            "crate" => Module::new(),
            "self" => module.clone(),
            "super" => parent(module)?,
            name => {
                rest = segments;
                let is_child = self.files.contains_key(&child(module, name));
                let is_imported = self.files[module].imported.contains_key(name);
                (is_child || is_imported).then(|| module.clone())?
            }
        };
        while let Some((name, after)) = rest.split_first() {
            if name == "super" {
                at = parent(&at)?;
            } else if name == "self" {
                // `use a::{self}`.
            } else if self.files.contains_key(&child(&at, name)) {
                at.push(name.clone());
            } else {
                return self.item(&at, name, after, left);
            }
            rest = after;
        }
        let item = None;
        let known = self.files.contains_key(&at);
        known.then_some(Target { module: at, item })
    }

    /// Where the item `name` of `module` comes from; `after` are the segments behind it.
    fn item(&self, module: &Module, name: &str, after: &[String], left: usize) -> Option<Target> {
        let file = self.files.get(module)?;
        let here = || {
            Some(Target {
                module: module.clone(),
                item: Some(name.to_owned()),
            })
        };
        if file.defined.contains(name) || left == 0 {
            return here();
        }
        if let Some(imported) = file.imported.get(name) {
            // What it imports from another crate is no file of this one.
            let target = self.follow(module, imported, left - 1)?;
            if target.item.is_some() || after.is_empty() {
                return Some(target);
            }
            let path: Module = [vec!["self".to_owned()], after.to_vec()].concat();
            return self.follow(&target.module, &path, left - 1);
        }
        let sources = file.globs.iter().filter_map(|glob| {
            let target = self.follow(module, glob, left - 1)?;
            let source = self.files.get(&target.module)?;
            let known = source.defined.contains(name) || source.imported.contains_key(name);
            known.then(|| self.item(&target.module, name, after, left - 1))?
        });
        sources.into_iter().next().or_else(here)
    }
}

impl Uses {
    fn of(file: &File) -> Self {
        let source = file.source();
        let test = |at: usize| source.tests.iter().find(|test| test.contains(&at));
        let is_file = |item: &&Item| item.keyword == "mod" && !item.is_inline_module;
        let items = || source.items.iter();
        let inline = items().filter(|item| item.is_inline_module);
        let inline: Vec<_> = inline
            .map(|item| item.at..source.tokens[item.at + 2].after)
            .collect();
        // `mod a;` is a file, which paths find by themselves.
        let defined =
            items().filter(|item| item.depth == 0 && !is_file(item) && test(item.at).is_none());
        let tests = items().filter(|item| is_file(item) && test(item.at).is_some());
        let mut uses = Uses {
            path: file.path.to_owned(),
            defined: defined.map(|item| item.name.to_owned()).collect(),
            tests: tests.map(|item| item.name.to_owned()).collect(),
            ..Uses::default()
        };
        let mut paths = Vec::new();
        let mut at = 0;
        while at < source.tokens.len() {
            if let Some(test) = test(at) {
                at = test.end;
                continue;
            }
            // How many modules within the file are around.
            let depth = inline.iter().filter(|module| module.contains(&at)).count();
            if let Some((import, end)) = import_at(source, at) {
                let is_export = !source.visibility(at).is_empty();
                uses.import(&import.tree, &Module::new(), depth, is_export);
                at = end;
                continue;
            }
            let (segments, end) = path_at(source, at);
            if segments.len() > 1 {
                paths.extend(outside(segments, depth));
            }
            at = end.max(at + 1);
        }
        let starts =
            |first: &str| matches!(first, "crate" | "super") || uses.imported.contains_key(first);
        paths.retain(|path| path.first().is_some_and(|first| starts(first)));
        uses.uses.extend(paths);
        uses
    }

    /// Takes each path of a `use` below the segments `before`.
    fn import(&mut self, tree: &UseTree, before: &Module, depth: usize, is_export: bool) {
        let (name, segments) = match tree {
            UseTree::Path(path) => {
                let before = child(before, &path.ident.to_string());
                return self.import(&path.tree, &before, depth, is_export);
            }
            UseTree::Group(group) => {
                for tree in &group.items {
                    self.import(tree, before, depth, is_export);
                }
                return;
            }
            UseTree::Glob(_) => (None, before.clone()),
            UseTree::Name(name) => {
                let segments = child(before, &name.ident.to_string());
                let name = segments.iter().rev().find(|segment| *segment != "self");
                (name.cloned(), segments)
            }
            UseTree::Rename(name) => {
                let segments = child(before, &name.ident.to_string());
                (Some(name.rename.to_string()), segments)
            }
        };
        let Some(segments) = outside(segments, depth) else {
            return;
        };
        match name {
            None => self.globs.push(segments.clone()),
            Some(name) => {
                self.imported.insert(name, segments.clone());
            }
        }
        if !is_export {
            self.uses.push(segments);
        }
    }
}

/// `a/b.rs` and `a/b/mod.rs` are the module `a::b`.
fn module_of(below: &str) -> Module {
    let path = below.strip_suffix(".rs").unwrap_or(below);
    let mut parts: Module = path.split('/').map(str::to_owned).collect();
    if matches!(path, "lib" | "main") || parts.last().is_some_and(|last| last == "mod") {
        parts.pop();
    }
    parts
}

fn child(module: &Module, name: &str) -> Module {
    let mut path = module.clone();
    path.push(name.to_owned());
    path
}

fn parent(module: &Module) -> Option<Module> {
    let (_, parent) = module.split_last()?;
    Some(parent.to_vec())
}

/// A path as the file itself would write it: `super` in a module within the file is the file. Nothing when the path stays in such a module.
fn outside(mut segments: Module, depth: usize) -> Option<Module> {
    for _ in 0..depth {
        match segments.first().map(String::as_str) {
            Some("super") => {
                segments.remove(0);
            }
            Some("crate") => return Some(segments),
            _ => return None,
        }
    }
    if depth > 0 && segments.first().is_some_and(|first| first != "super") {
        segments.insert(0, "self".to_owned());
    }
    (!segments.is_empty()).then_some(segments)
}

/// The import at `at`, and the index after its semicolon.
fn import_at(source: &Source, at: usize) -> Option<(ItemUse, usize)> {
    let mut tokens = source.tokens[at..].iter();
    tokens.next().filter(|token| token.text == "use")?;
    let end = at + 2 + tokens.position(|token| token.text == ";")?;
    Some((source.parse(at..end)?, end))
}

/// The path `a::b::c` that begins at `at`, and the index after it. A path behind `.` or `::` is the rest of something else.
fn path_at(source: &Source, mut at: usize) -> (Module, usize) {
    let mut segments = Module::new();
    // `a: b::c` is a type behind one colon.
    let is_rest = at > 0 && source.reads(at - 1, ".") || at > 1 && source.reads(at - 2, ": :");
    let tokens = &source.tokens;
    let word = |at: usize| tokens.get(at).filter(|token| token.kind == Kind::Word);
    while let Some(token) = word(at).filter(|_| !is_rest) {
        segments.push(token.text.to_owned());
        at += 1;
        if !source.reads(at, ": :") || word(at + 2).is_none() {
            break;
        }
        at += 2;
    }
    (segments, at)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files are below crates/x/src/. Expected lines are `from -> to: names`.
    fn check(files: &[(&str, &str)], expected: &[&str]) {
        let files: Vec<(String, &str)> = files
            .iter()
            .map(|(path, text)| (format!("crates/x/src/{path}"), *text))
            .collect();
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, *text)).collect();
        let short = |path: &str| path.replace("crates/x/src/", "");
        let mut lines = Vec::new();
        for (from, targets) in arrows(&Tree::new(files), "crates/x/src/") {
            for (to, names) in targets {
                let names: Vec<String> = names.into_iter().collect();
                lines.push(format!(
                    "{} -> {}: {}",
                    short(&from),
                    short(&to),
                    names.join(" ")
                ));
            }
        }
        assert_eq!(lines, expected);
    }

    #[test]
    fn paths_from_the_root_and_from_the_parent_are_arrows() {
        check(
            &[
                ("lib.rs", "mod a; mod b;"),
                ("a.rs", "use crate::b::c::C; struct A;"),
                (
                    "b/mod.rs",
                    "mod c; use c::C; fn b() { let x: super::a::A; }",
                ),
                (
                    "b/c.rs",
                    "use super::super::a::{self, A as Other}; struct C; fn f() {}",
                ),
            ],
            &[
                "a.rs -> b/c.rs: C",
                "b/c.rs -> a.rs: A",
                "b/mod.rs -> a.rs: A",
                "b/mod.rs -> b/c.rs: C",
            ],
        );
    }

    #[test]
    fn modules_exports_and_calls_of_children_are_no_arrows() {
        check(
            &[
                (
                    "lib.rs",
                    "mod a; pub use a::A; pub(crate) use self::a::B; fn f() { a::g(); }",
                ),
                ("a.rs", "pub struct A; pub struct B; pub fn g() {}"),
            ],
            &[],
        );
    }

    #[test]
    fn exported_item_is_an_arrow_to_the_file_that_defines_it() {
        check(
            &[
                ("lib.rs", "mod a; mod b; pub use a::*; pub use b::C as D;"),
                ("a.rs", "pub struct A; use crate::D;"),
                ("b.rs", "pub struct C; fn f() -> crate::A { crate::f() }"),
            ],
            &["a.rs -> b.rs: C", "b.rs -> a.rs: A", "b.rs -> lib.rs: f"],
        );
    }

    #[test]
    fn imported_module_ties_by_the_paths_through_it() {
        check(
            &[
                ("lib.rs", "mod a; mod b; mod limits;"),
                (
                    "a.rs",
                    "use crate::{b, limits}; fn f() { b::g(limits::MAX) }",
                ),
                ("b.rs", "use crate::limits; pub fn g() {}"),
                ("limits.rs", "pub const MAX: u8 = 1;"),
            ],
            &["a.rs -> b.rs: g", "a.rs -> limits.rs: MAX"],
        );
    }

    #[test]
    fn tests_and_other_crates_are_no_arrows() {
        check(
            &[
                ("lib.rs", "mod a; #[cfg(test)] mod model; fn f() {}"),
                (
                    "a.rs",
                    "use std::fmt; use other::a::A; #[cfg(test)] use crate::{f, g};\n#[cfg(test)] mod tests { use crate::f; }\nfn f() { x.crate_f::<u8>() }",
                ),
                ("model.rs", "use crate::a::A;"),
                ("a/tests.rs", "use crate::f;"),
            ],
            &[],
        );
    }

    #[test]
    fn parent_of_a_module_within_a_file_is_the_file() {
        check(
            &[
                ("lib.rs", "mod a;\nfn f() {}"),
                (
                    "a.rs",
                    "mod inner { use super::X; use super::super::f; }\nstruct X;",
                ),
            ],
            &["a.rs -> lib.rs: f"],
        );
    }

    #[test]
    fn imports_before_documentation_and_in_macros_are_arrows() {
        check(
            &[
                ("lib.rs", "mod a; mod b; mod c;"),
                (
                    "a.rs",
                    "use crate::b::B;\n/// A.\nstruct A;\nmacro_rules! m { () => { use $crate::c::C; } }",
                ),
                ("b.rs", "pub struct B;"),
                ("c.rs", "pub struct C;"),
            ],
            &["a.rs -> b.rs: B", "a.rs -> c.rs: C"],
        );
    }
}
