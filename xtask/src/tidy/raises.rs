//! No longjmp of mruby's crosses a Rust frame: what Rust calls in the shim either runs by `protect`, or cannot raise.
//! Rule: everything is taken for raising but what `cannot_raise.txt` names with its reason. What that says of functions of
//! mruby is compared with the compiled library by `crates/mruby/tests/raises.rs`.

use std::collections::{BTreeMap, BTreeSet};

use super::Finding;
use crate::lexer::{Kind, Token, after_group, code, reads};
use crate::tree::{File, Tree};

const IMPORTS: &str = "crates/mruby/src/sys.rs";
const BINDING: &str = "crates/mruby/src/";
const SHIM: &str = "crates/mruby/shim/";
const LIST: &str = "crates/mruby/shim/cannot_raise.txt";
/// A function handed to one of these does not run unprotected there.
const TAKERS: [&str; 2] = ["protect", "__atomic_store_n"];
/// Words before a parenthesis that are no calls.
const KEYWORDS: [&str; 6] = ["if", "for", "while", "switch", "return", "sizeof"];

pub fn findings(tree: &Tree) -> Vec<Finding> {
    let Some(imports) = tree.file(IMPORTS) else {
        return Vec::new();
    };
    let mut findings = foreign_blocks(tree);
    let list = read_list(tree, &mut findings);
    let shim = Shim::read(tree);
    let mut walk = Walk {
        shim: &shim,
        list: &list,
        seen: BTreeSet::new(),
        used: BTreeSet::new(),
        findings,
    };
    for (name, line) in imported(imports) {
        match shim.find("", name) {
            Some(function) => walk.enter(name, function),
            None => walk.findings.push(Finding::new(
                IMPORTS,
                line,
                format!("{name} is not defined in {SHIM}; Rust calls mruby through the shim only"),
            )),
        }
    }
    let unused = list.iter().filter(|(name, _)| !walk.used.contains(**name));
    let unused = unused.map(|(name, line)| {
        Finding::new(
            LIST,
            *line,
            format!("{name}: no unprotected function calls it; remove it"),
        )
    });
    walk.findings.into_iter().chain(unused).collect()
}

/// Declarations of foreign functions anywhere but in `sys.rs`.
fn foreign_blocks(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let files = tree.rust().filter(|file| file.path.starts_with(BINDING));
    for file in files.filter(|file| file.path != IMPORTS) {
        let tokens = code(&file.text);
        for (at, token) in tokens.iter().enumerate() {
            let literal = tokens.get(at + 1).is_some_and(|t| t.kind == Kind::Literal);
            if token.is("extern") && literal && reads(&tokens, at + 2, &["{"]) {
                let message = format!("foreign functions are declared in {IMPORTS} only");
                findings.push(Finding::new(&file.path, token.line, message));
            }
        }
    }
    findings
}

/// The names that cannot raise, with their lines.
fn read_list<'t>(tree: &'t Tree, findings: &mut Vec<Finding>) -> BTreeMap<&'t str, usize> {
    let text = tree.file(LIST).map_or("", |file| file.text.as_str());
    let mut list = BTreeMap::new();
    for (index, line) in text.lines().enumerate() {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let (name, reason) = line.split_once(' ').unwrap_or((line, ""));
        if reason.trim().is_empty() {
            findings.push(Finding::new(
                LIST,
                index + 1,
                format!("{name}: why can it not raise?"),
            ));
        }
        list.insert(name, index + 1);
    }
    list
}

/// The functions that `sys.rs` declares.
fn imported(file: &File) -> Vec<(&str, usize)> {
    let tokens = code(&file.text);
    let names = tokens.windows(2).filter(|pair| pair[0].is("fn"));
    let names = names.filter(|pair| pair[1].kind == Kind::Word);
    names.map(|pair| (pair[1].text, pair[1].line)).collect()
}

/// A function of the shim.
struct Function<'t> {
    path: &'t str,
    body: Vec<Token<'t>>,
}

/// All functions of the shim, by their names and files: static ones of two files may share a name.
struct Shim<'t>(BTreeMap<&'t str, Vec<Function<'t>>>);

impl<'t> Shim<'t> {
    fn read(tree: &'t Tree) -> Self {
        let mut functions = BTreeMap::<&str, Vec<Function<'_>>>::new();
        let sources = tree
            .files()
            .filter(|file| file.path.starts_with(SHIM) && matches!(file.extension(), "c" | "h"));
        for file in sources {
            let tokens = code(&file.text);
            let mut at = 0;
            while at < tokens.len() {
                let parameters = at + 1;
                if tokens[at].kind == Kind::Word && reads(&tokens, parameters, &["("]) {
                    let body = after_group(&tokens, parameters);
                    if reads(&tokens, body, &["{"]) {
                        let end = after_group(&tokens, body);
                        let function = Function {
                            path: &file.path,
                            body: tokens[body..end].to_vec(),
                        };
                        functions.entry(tokens[at].text).or_default().push(function);
                        at = end;
                        continue;
                    }
                }
                at += 1;
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
    findings: Vec<Finding>,
}

impl<'w, 't> Walk<'w, 't> {
    fn enter(&mut self, name: &'t str, function: &'w Function<'t>)
    where
        't: 'w,
    {
        if !self.seen.insert((function.path, name)) {
            return;
        }
        let tokens = &function.body;
        let mut at = 0;
        while at < tokens.len() {
            let token = tokens[at];
            let called = reads(tokens, at + 1, &["("]);
            if is_field(tokens, at) {
                self.field(name, function, token, called);
                at += 1;
                continue;
            }
            if called && TAKERS.contains(&token.text) {
                self.name(name, function, token, called);
                at = after_group(tokens, at + 1);
                continue;
            }
            self.name(name, function, token, called);
            at += 1;
        }
    }

    /// A word in the body of a function that runs unprotected.
    fn name(&mut self, from: &'t str, within: &'w Function<'t>, token: Token<'t>, called: bool) {
        if token.kind != Kind::Word || KEYWORDS.contains(&token.text) || token.text == from {
            return;
        }
        if let Some((known, _)) = self.list.get_key_value(token.text) {
            self.used.insert(known);
        } else if let Some(function) = self.shim.find(within.path, token.text) {
            self.enter(token.text, function);
        } else {
            self.field(from, within, token, called);
        }
    }

    /// A word that names no function of the shim: it is called through a pointer, or is none of ours.
    fn field(&mut self, from: &'t str, within: &'w Function<'t>, token: Token<'t>, called: bool) {
        if let Some((known, _)) = self.list.get_key_value(token.text) {
            self.used.insert(known);
        } else if called {
            self.findings.push(Finding::new(
                within.path,
                token.line,
                format!(
                    "{from} calls {} below a Rust frame: run it by `protect`, or prove that it cannot raise and name it in {LIST}",
                    token.text
                ),
            ));
        }
    }
}

/// Whether the word at `at` is a field, which may be called as a function is.
fn is_field(tokens: &[Token<'_>], at: usize) -> bool {
    let before = |words: &[&str]| {
        let start = at.checked_sub(words.len());
        start.is_some_and(|start| reads(tokens, start, words))
    };
    before(&["."]) || before(&["-", ">"])
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
