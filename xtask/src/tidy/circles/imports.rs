//! Which file of a crate uses items of which other: what `use` imports, and paths in code that begin with `crate`, `super` or an imported name.
//! Not methods: a call on a value names no path. Not tests.
//! Rule: an arrow leads to the file that defines the item, however often it is exported again. `mod`, `pub use` and a call of `child::f` are
//! no arrows: a file is made of its children. A file that imports items of a child is tied to it.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::lexer::{Kind, Token, after_group, code, reads};
use crate::tree::Tree;

/// By file, the files whose items it uses and the names of those items. All paths are from the project's root.
pub type Arrows = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

/// The keywords before an item's name.
const ITEMS: &[&str] = &[
    "fn", "struct", "enum", "union", "trait", "type", "const", "static", "mod",
];

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
    files: BTreeMap<Module, Source>,
}

#[derive(Default)]
struct Source {
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
            files.insert(module_of(below), Source::of(&file.path, &file.text));
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

impl Source {
    fn of(path: &str, text: &str) -> Self {
        let tokens = code(text);
        let (tokens, tests) = without_tests(&tokens);
        let inline = inline_modules(&tokens);
        let mut file = Source {
            path: path.to_owned(),
            defined: defined(&tokens),
            tests,
            ..Source::default()
        };
        let mut paths = Vec::new();
        let mut at = 0;
        while at < tokens.len() {
            // How many modules within the file are around.
            let depth = inline.iter().filter(|module| module.contains(&at)).count();
            if tokens[at].is("use") {
                let is_export = is_export(&tokens, at);
                let (leaves, end) = leaves(&tokens, at + 1);
                for leaf in leaves {
                    file.import(leaf, depth, is_export);
                }
                at = end;
                continue;
            }
            let (segments, end) = path_at(&tokens, at);
            if segments.len() > 1 {
                paths.extend(outside(segments, depth));
            }
            at = end.max(at + 1);
        }
        let starts =
            |first: &str| matches!(first, "crate" | "super") || file.imported.contains_key(first);
        paths.retain(|path| path.first().is_some_and(|first| starts(first)));
        file.uses.extend(paths);
        file
    }

    fn import(&mut self, leaf: Leaf, depth: usize, is_export: bool) {
        let Some(segments) = outside(leaf.segments, depth) else {
            return;
        };
        match leaf.name {
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

/// `tokens` without what stands under `#[cfg(test)]`, and the names of the modules there that are files.
fn without_tests<'s>(tokens: &[Token<'s>]) -> (Vec<Token<'s>>, Vec<String>) {
    let (mut kept, mut files) = (Vec::new(), Vec::new());
    let mut at = 0;
    while at < tokens.len() {
        if !reads(tokens, at, &["#", "[", "cfg", "(", "test", ")", "]"]) {
            kept.push(tokens[at]);
            at += 1;
            continue;
        }
        at += 7;
        // To the end of the item: its block, or the semicolon or comma before one.
        while at < tokens.len() {
            if reads(tokens, at, &["mod"]) && reads(tokens, at + 2, &[";"]) {
                files.push(tokens[at + 1].text.to_owned());
            }
            match tokens[at].text {
                "(" | "[" => at = after_group(tokens, at),
                "{" => {
                    at = after_group(tokens, at);
                    // `use a::{b, c};`
                    at += usize::from(reads(tokens, at, &[";"]));
                    break;
                }
                ";" | "," => {
                    at += 1;
                    break;
                }
                _ => at += 1,
            }
        }
    }
    (kept, files)
}

/// The groups of `mod name { … }`.
fn inline_modules(tokens: &[Token<'_>]) -> Vec<Range<usize>> {
    (0..tokens.len())
        .filter(|&at| reads(tokens, at, &["mod"]) && reads(tokens, at + 2, &["{"]))
        .map(|at| at + 2..after_group(tokens, at + 2))
        .collect()
}

/// The names of items outside of all braces.
fn defined(tokens: &[Token<'_>]) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens[at].is("{") {
            at = after_group(tokens, at);
            continue;
        }
        if reads(tokens, at, &["macro_rules", "!"]) {
            names.extend(tokens.get(at + 2).map(|name| name.text.to_owned()));
        }
        let is_item = ITEMS.iter().any(|item| tokens[at].is(item));
        // `mod a;` is a file, which paths find by themselves.
        let is_file = reads(tokens, at, &["mod"]) && reads(tokens, at + 2, &[";"]);
        if is_item
            && !is_file
            && let Some(name) = tokens.get(at + 1).filter(|name| name.kind == Kind::Word)
        {
            names.insert(name.text.to_owned());
        }
        at += 1;
    }
    names
}

/// Whether `pub` or `pub(…)` stands before `at`.
fn is_export(tokens: &[Token<'_>], at: usize) -> bool {
    let mut before = tokens[..at].iter().rev();
    match before.next() {
        Some(token) if token.is(")") => before
            .find(|token| token.is("("))
            .and_then(|_| before.next())
            .is_some_and(|token| token.is("pub")),
        token => token.is_some_and(|token| token.is("pub")),
    }
}

/// One path of a `use`; without a name it takes all that is there.
struct Leaf {
    segments: Module,
    name: Option<String>,
}

/// The paths of a `use` whose tree begins at `at`, and the index after its semicolon.
fn leaves(tokens: &[Token<'_>], at: usize) -> (Vec<Leaf>, usize) {
    let end = (at..tokens.len()).find(|&at| tokens[at].is(";"));
    let end = end.unwrap_or(tokens.len());
    let mut leaves = Vec::new();
    branches(&tokens[at..end], &Module::new(), &mut leaves);
    (leaves, end + 1)
}

fn branches(tokens: &[Token<'_>], before: &Module, leaves: &mut Vec<Leaf>) {
    let mut segments = before.clone();
    let mut at = 0;
    while at < tokens.len() {
        match tokens[at].text {
            "{" => {
                let end = after_group(tokens, at);
                let inner = &tokens[at + 1..end - 1];
                let mut from = 0;
                let mut to = 0;
                while to <= inner.len() {
                    if to == inner.len() || inner[to].is(",") {
                        if from < to {
                            branches(&inner[from..to], &segments, leaves);
                        }
                        to += 1;
                        from = to;
                    } else if inner[to].is("{") {
                        to = after_group(inner, to);
                    } else {
                        to += 1;
                    }
                }
                return;
            }
            "*" => {
                let name = None;
                leaves.push(Leaf { segments, name });
                return;
            }
            "as" => {
                let name = tokens.get(at + 1).map(|name| name.text.to_owned());
                leaves.push(Leaf { segments, name });
                return;
            }
            ":" => {}
            word => segments.push(word.to_owned()),
        }
        at += 1;
    }
    let named = segments.iter().rev().find(|segment| *segment != "self");
    let name = named.cloned();
    leaves.push(Leaf { segments, name });
}

/// The path `a::b::c` that begins at `at`, and the index after it. A path behind `.` or `::` is the rest of something else.
fn path_at(tokens: &[Token<'_>], mut at: usize) -> (Module, usize) {
    let mut segments = Module::new();
    let is_rest = at > 0 && (tokens[at - 1].is(".") || tokens[at - 1].is(":"));
    // `a: b::c` is a type behind one colon.
    let is_rest = is_rest && !(at > 1 && tokens[at - 1].is(":") && !tokens[at - 2].is(":"));
    if is_rest {
        return (segments, at);
    }
    while let Some(word) = tokens.get(at).filter(|token| token.kind == Kind::Word) {
        segments.push(word.text.to_owned());
        at += 1;
        let goes_on = reads(tokens, at, &[":", ":"])
            && tokens
                .get(at + 2)
                .is_some_and(|next| next.kind == Kind::Word);
        if !goes_on {
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
        for (from, targets) in arrows(&Tree::of(&files), "crates/x/src/") {
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
}
