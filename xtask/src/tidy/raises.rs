//! No longjmp of mruby's crosses a Rust frame: what Rust calls in the shim either runs by `protect`, or cannot raise.
//! Rule: everything is taken for raising but what `cannot_raise.txt` names with its reason. What that says of functions of
//! mruby is compared with the compiled library by `crates/mruby/tests/raises.rs`.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::{Findings, is_one_of};
use crate::source::{Kind, Source};
use crate::tree::Tree;

const IMPORTS: &str = "crates/mruby/src/sys.rs";
const BINDING: &str = "crates/mruby/src/";
const SHIM: &str = "crates/mruby/shim/";
const LIST: &str = "crates/mruby/shim/cannot_raise.txt";
/// A function handed to one of these does not run unprotected there.
const TAKERS: &str = "protect __atomic_store_n";
/// Words before a parenthesis that are no calls.
const KEYWORDS: &str = "if for while switch return sizeof";

pub fn findings(tree: &Tree, found: &mut Findings) {
    let Some(imports) = tree.file(IMPORTS) else {
        return;
    };
    foreign_blocks(tree, found);
    let mut list = BTreeMap::new();
    for (line, number) in tree.list(LIST) {
        let (name, reason) = line.split_once(' ').unwrap_or((line, ""));
        if reason.trim().is_empty() {
            found.add(LIST, number, format!("{name}: why can it not raise?"));
        }
        list.insert(name, number);
    }
    let shim = Shim::read(tree);
    let mut walk = Walk {
        shim: &shim,
        list: &list,
        seen: BTreeSet::new(),
        used: BTreeSet::new(),
        found,
    };
    let imports = imports.source().items.iter();
    for item in imports.filter(|item| item.keyword == "fn") {
        let name = item.name;
        if let Some(function) = shim.find("", name) {
            walk.enter(name, function);
        } else {
            let message =
                format!("{name} is not defined in {SHIM}; Rust calls mruby through the shim only");
            walk.found.add(IMPORTS, item.line, message);
        }
    }
    for (name, line) in list.iter().filter(|(name, _)| !walk.used.contains(*name)) {
        let message = format!("{name}: no unprotected function calls it; remove it");
        walk.found.add(LIST, *line, message);
    }
}

/// Whether a file is a source of the shim.
pub fn is_shim(path: &str) -> bool {
    path.starts_with(SHIM) && (path.ends_with(".c") || path.ends_with(".h"))
}

/// Declarations of foreign functions anywhere but in `sys.rs`.
fn foreign_blocks(tree: &Tree, found: &mut Findings) {
    for file in tree.rust_below(BINDING).filter(|file| file.path != IMPORTS) {
        let source = file.source();
        for at in source.find("extern") {
            let next = source.tokens.get(at + 1);
            let is_literal = next.is_some_and(|token| token.kind == Kind::Literal);
            if is_literal && source.reads(at + 2, "{") {
                let message = format!("foreign functions are declared in {IMPORTS} only");
                found.add(file.path, source.tokens[at].line, message);
            }
        }
    }
}

/// A function of the shim.
struct Function<'t> {
    path: &'t str,
    source: &'t Source<'t>,
    body: Range<usize>,
}

/// All functions of the shim, by their names and files: static ones of two files may share a name.
struct Shim<'t>(BTreeMap<&'t str, Vec<Function<'t>>>);

impl<'t> Shim<'t> {
    fn read(tree: &'t Tree) -> Self {
        let mut functions = BTreeMap::<&str, Vec<Function<'_>>>::new();
        for file in tree.files().filter(|file| is_shim(file.path)) {
            let source = file.source();
            let mut at = 0;
            while let Some(token) = source.tokens.get(at) {
                at += 1;
                if token.kind != Kind::Word || !source.reads(at, "(") {
                    continue;
                }
                let start = source.tokens[at].after;
                if source.reads(start, "{") {
                    at = source.tokens[start].after;
                    let function = Function {
                        path: file.path,
                        source,
                        body: start..at,
                    };
                    functions.entry(token.text).or_default().push(function);
                }
            }
        }
        Shim(functions)
    }

    /// The function that `name` means in a file.
    fn find(&self, path: &str, name: &str) -> Option<&Function<'t>> {
        let all = self.0.get(name)?;
        let own = all.iter().find(|function| function.path == path);
        own.or_else(|| all.first())
    }
}

/// What is reached from Rust without protection.
struct Walk<'w, 't> {
    shim: &'w Shim<'t>,
    list: &'w BTreeMap<&'t str, usize>,
    seen: BTreeSet<(&'t str, &'t str)>,
    used: BTreeSet<&'t str>,
    found: &'w mut Findings,
}

impl<'t> Walk<'_, 't> {
    fn enter(&mut self, name: &'t str, function: &Function<'t>) {
        if !self.seen.insert((function.path, name)) {
            return;
        }
        let source = function.source;
        let mut at = function.body.start;
        while at < function.body.end {
            self.word(name, function, at);
            let is_taker = is_one_of(TAKERS, source.tokens[at].text) && !is_field(source, at);
            at += 1;
            if is_taker && source.reads(at, "(") {
                at = source.tokens[at].after;
            }
        }
    }

    /// A word in the body of the function `from`, which runs unprotected.
    fn word(&mut self, from: &'t str, within: &Function<'t>, at: usize) {
        let source = within.source;
        let token = &source.tokens[at];
        let name = token.text;
        let is_field = is_field(source, at);
        let is_plain = is_one_of(KEYWORDS, name) || name == from;
        if token.kind != Kind::Word || !is_field && is_plain {
            return;
        }
        // A field names no function of the shim: it is called through a pointer.
        let function = self.shim.find(within.path, name).filter(|_| !is_field);
        if self.list.contains_key(name) {
            self.used.insert(name);
        } else if let Some(function) = function {
            self.enter(name, function);
        } else if source.reads(at + 1, "(") {
            let message = format!(
                "{from} calls {name} below a Rust frame: run it by `protect`, or prove that it cannot raise and name it in {LIST}"
            );
            self.found.add(within.path, token.line, message);
        }
    }
}

/// Whether the word at `at` is a field, which may be called as a function is.
fn is_field(source: &Source, at: usize) -> bool {
    source.reads(at.saturating_sub(1), ".") || source.reads(at.saturating_sub(2), "- >")
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYS: &str = "unsafe extern \"C\" { pub fn ts_a(vm: *mut RawVm) -> c_int; }";
    const PROTECT: &str = "static inline int protect(ts_vm *vm) { *out = mrb_protect_error(vm); }";
    const KNOWN: &str = "# Names.\nmrb_protect_error it catches\n";

    fn check(shim: &str, list: &str, expected: &[&str]) {
        let files = [
            (IMPORTS, SYS),
            (LIST, &format!("{KNOWN}{list}")),
            ("crates/mruby/shim/shim.h", PROTECT),
            ("crates/mruby/shim/a.c", shim),
        ];
        super::super::assert_findings(findings, &files, expected);
    }

    #[test]
    fn function_that_runs_by_protect_may_raise() {
        check(
            "static mrb_value body(mrb_state *mrb) { return mrb_str_new(mrb); }
             int ts_a(ts_vm *vm) { struct a a = { 1 }; return protect(vm, body, &a, out); }",
            "",
            &[],
        );
    }

    #[test]
    fn a_function_that_is_not_listed_is_found_however_deep_it_is_called() {
        let message = "below a Rust frame: run it by `protect`, or prove that it cannot raise and name it in crates/mruby/shim/cannot_raise.txt";
        check(
            "int ts_a(ts_vm *vm) {\n protect(vm, ts_a, 0);\n return mrb_ary_push(vm->mrb); }",
            "",
            &[&format!(
                "crates/mruby/shim/a.c:3: ts_a calls mrb_ary_push {message}"
            )],
        );
        check(
            "static void deep(mrb_state *mrb) {\n mrb_gc(mrb); }
             static int inner(mrb_state *mrb) { deep(mrb); }
             int ts_a(ts_vm *vm) { protect(vm); return inner(vm->mrb); }",
            "",
            &[&format!(
                "crates/mruby/shim/a.c:2: deep calls mrb_gc {message}"
            )],
        );
        // A function that is handed on runs where it is handed to.
        check(
            "static int each(mrb_value v) {\n return mrb_inspect(v); }
             int ts_a(ts_vm *vm) { protect(vm); mrb_foreach(vm, each); }",
            "mrb_foreach walks\n",
            &[&format!(
                "crates/mruby/shim/a.c:2: each calls mrb_inspect {message}"
            )],
        );
        // A body that is protected here and called bare there.
        check(
            "static mrb_value body(mrb_state *mrb) {\n return mrb_str_new(mrb); }
             int ts_a(ts_vm *vm) { protect(vm, body, 0); body(vm->mrb); }",
            "",
            &[&format!(
                "crates/mruby/shim/a.c:2: body calls mrb_str_new {message}"
            )],
        );
    }

    #[test]
    fn a_field_is_no_function_of_its_name_but_may_be_called() {
        let inner = "static void hook(mrb_state *mrb) { mrb_raise(mrb); }";
        check(
            &format!(
                "{inner} int ts_a(ts_vm *vm) {{ protect(vm); vm->hook = 1; return vm.hook; }}"
            ),
            "",
            &[],
        );
        check(
            &format!("{inner} int ts_a(ts_vm *vm) {{ protect(vm); vm->hook(vm->mrb); }}"),
            "",
            &[
                "crates/mruby/shim/a.c:1: ts_a calls hook below a Rust frame: run it by `protect`, or prove that it cannot raise and name it in crates/mruby/shim/cannot_raise.txt",
            ],
        );
    }

    #[test]
    fn a_listed_function_is_taken_with_its_reason_and_while_it_is_used() {
        let shim = "int ts_a(ts_vm *vm) { protect(vm); return RARRAY_LEN(vm->v); }";
        check(shim, "RARRAY_LEN reads a field\n", &[]);
        check(
            shim,
            "RARRAY_LEN\n",
            &["crates/mruby/shim/cannot_raise.txt:3: RARRAY_LEN: why can it not raise?"],
        );
        check(
            shim,
            "RARRAY_LEN reads a field\nmrb_gone went\n",
            &[
                "crates/mruby/shim/cannot_raise.txt:4: mrb_gone: no unprotected function calls it; remove it",
            ],
        );
    }

    #[test]
    fn rust_reaches_mruby_through_the_shim_only() {
        check(
            "int ts_b(ts_vm *vm) { return protect(vm); }",
            "",
            &[
                "crates/mruby/shim/cannot_raise.txt:2: mrb_protect_error: no unprotected function calls it; remove it",
                "crates/mruby/src/sys.rs:1: ts_a is not defined in crates/mruby/shim/; Rust calls mruby through the shim only",
            ],
        );
        let files = [
            (IMPORTS, "unsafe extern \"C\" {}"),
            (
                "crates/mruby/src/vm.rs",
                "\nunsafe extern \"C\" { fn mrb_raise(); }\nextern \"C\" fn ours() {}",
            ),
        ];
        super::super::assert_findings(
            findings,
            &files,
            &[
                "crates/mruby/src/vm.rs:2: foreign functions are declared in crates/mruby/src/sys.rs only",
            ],
        );
    }
}
