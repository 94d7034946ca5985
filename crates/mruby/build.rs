//! Builds mruby with our own configuration, and the C shim, as static libraries.
//! The sources are those carried by the package `mruby3-sys`, found with `cargo metadata`; nothing of that crate's
//! own build is used. Needs `ruby` and a C compiler.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;
use std::{env, fs};

#[path = "build/arena.rs"]
mod arena;
#[path = "build/bounds.rs"]
mod bounds;
#[path = "build/collector.rs"]
mod collector;
#[path = "build/costs.rs"]
mod costs;
#[path = "build/hashes.rs"]
mod hashes;
#[path = "build/keywords.rs"]
mod keywords;
#[path = "build/memory.rs"]
mod memory;
#[path = "build/numbers.rs"]
mod numbers;
#[path = "build/syntax.rs"]
mod syntax;
#[path = "build/times.rs"]
mod times;
#[path = "build/types.rs"]
mod types;
#[path = "build/walks.rs"]
mod walks;

const SOURCE_PACKAGE: &str = "mruby3-sys";
const SHIM: [&str; 8] = [
    "shim/value.c",
    "shim/vm.c",
    "shim/guard.c",
    "shim/frames.c",
    "shim/names.c",
    "shim/code.c",
    "shim/number.c",
    "shim/raise.c",
];

/// A place of mruby 3.2 that is wrong for us: file, text as it stands (exactly once), text as it should be.
type Correction = (&'static str, &'static str, &'static str);

/// All of them, in the order in which they are made.
const CORRECTED: [&[Correction]; 13] = [
    CORRECTIONS,
    bounds::CORRECTIONS,
    arena::CORRECTIONS,
    memory::CORRECTIONS,
    numbers::CORRECTIONS,
    times::CORRECTIONS,
    types::CORRECTIONS,
    walks::CORRECTIONS,
    collector::CORRECTIONS,
    hashes::CORRECTIONS,
    costs::CORRECTIONS,
    keywords::CORRECTIONS,
    syntax::CORRECTIONS,
];

const CORRECTIONS: &[Correction] = &[
    // In generational mode, a full collection that finds a major one half done first finishes it. That leaves every live
    // object black, but for those that were written to during its sweep (a fibre that parked, say): they are gray and in a
    // list. The list was then emptied though nothing had been painted white again, so the collection that followed passed
    // these objects by and freed what they alone refer to. Now all are painted white in this case too.
    (
        "src/gc.c",
        "  else {\n    /* Sweep the dead objects, then reset all the live objects\n     * (including all the old objects, of course) to white. */\n    gc->generational = FALSE;\n    prepare_incremental_sweep(mrb, gc);\n    incremental_gc_finish(mrb, gc);\n  }\n  gc->generational = origin_mode;",
        "  gc->generational = FALSE;\n  prepare_incremental_sweep(mrb, gc);\n  incremental_gc_finish(mrb, gc);\n  gc->generational = origin_mode;",
    ),
    // A fibre that ends leaves its outermost variables on its stack, where a block may still use them. What it wrote there
    // after the collector had seen them was never shown to the collector again, in either mode: nothing scans the stack
    // of a fibre that has ended. (One that parks is painted gray.) It ends with an exception or with a value.
    (
        "src/vm.c",
        "            c->status = MRB_FIBER_TERMINATED;\n            mrb->c = c->prev;\n            if (!mrb->c) mrb->c = mrb->root_c;",
        "            if (CI_ENV(c->cibase)) mrb_write_barrier(mrb, (struct RBasic*)CI_ENV(c->cibase));\n            c->status = MRB_FIBER_TERMINATED;\n            mrb->c = c->prev;\n            if (!mrb->c) mrb->c = mrb->root_c;",
    ),
    (
        "src/vm.c",
        "            c->status = MRB_FIBER_TERMINATED;\n            mrb->c = c->prev;\n            mrb->c->status = MRB_FIBER_RUNNING;",
        "            if (CI_ENV(c->cibase)) mrb_write_barrier(mrb, (struct RBasic*)CI_ENV(c->cibase));\n            c->status = MRB_FIBER_TERMINATED;\n            mrb->c = c->prev;\n            mrb->c->status = MRB_FIBER_RUNNING;",
    ),
    // A fibre that the host resumes is resumed by nobody else: shim/vm.c marks it.
    (
        "include/mruby/internal.h",
        "#ifdef MRUBY_PROC_H\n",
        "#define MRB_FL_FIBER_OF_HOST 1\n\n#ifdef MRUBY_PROC_H\n",
    ),
    (
        "mrbgems/mruby-fiber/src/fiber.c",
        "#include <mruby/error.h>\n",
        "#include <mruby/error.h>\n#include <mruby/internal.h>\n",
    ),
    (
        "mrbgems/mruby-fiber/src/fiber.c",
        "    return fiber_error(mrb, \"attempt to resume the current fiber\");\n  }\n",
        "    return fiber_error(mrb, \"attempt to resume the current fiber\");\n  }\n  if (mrb->c != mrb->root_c && (fiber_ptr(self)->flags & MRB_FL_FIBER_OF_HOST)) {\n    return fiber_error(mrb, \"the fibre of a handler is resumed by what it waits for\");\n  }\n",
    ),
    // What a VM raises when its stack ends was one error for all: it kept the backtrace of the first, and what was done to it. Now each
    // is its own; the one that is made beforehand for want of memory cannot be changed (shim/vm.c).
    (
        "src/error.c",
        "mrb_exc_raise(mrb_state *mrb, mrb_value exc)\n{\n",
        "mrb_exc_raise(mrb_state *mrb, mrb_value exc)\n{\n  if (mrb->stack_err && mrb_ptr(exc) == mrb->stack_err) {\n    exc = mrb_exc_new_str(mrb, mrb->stack_err->c, mrb_str_new_lit(mrb, \"stack level too deep\"));\n  }\n",
    ),
    (
        "src/error.c",
        "set_backtrace(mrb_state *mrb, mrb_value exc, mrb_value backtrace)\n{\n",
        "set_backtrace(mrb_state *mrb, mrb_value exc, mrb_value backtrace)\n{\n  mrb_check_frozen(mrb, mrb_ptr(exc));\n",
    ),
    // A call keeps the block that it was given, to mark it as an orphan when it returns. The collector did not know that, so
    // every return had to ask whether the block was still there, by a walk over all pages of the heap. Now it is kept.
    (
        "src/gc.c",
        "      mrb_gc_mark(mrb, (struct RBasic*)ci->proc);\n      mrb_gc_mark(mrb, (struct RBasic*)ci->u.target_class);",
        "      mrb_gc_mark(mrb, (struct RBasic*)ci->proc);\n      mrb_gc_mark(mrb, (struct RBasic*)ci->blk);\n      mrb_gc_mark(mrb, (struct RBasic*)ci->u.target_class);",
    ),
    (
        "src/vm.c",
        "  if (b && !mrb_object_dead_p(mrb, (struct RBasic*)b) && b->tt == MRB_TT_PROC &&\n      !MRB_PROC_STRICT_P(b)",
        "  if (b && !MRB_PROC_STRICT_P(b)",
    ),
    // A search whose worst case is not the product of both lengths: native code cannot be interrupted.
    (
        "src/string.c",
        "  return mrb_memsearch_qs((const unsigned char *)x0, m, (const unsigned char *)y0, n);",
        "  const char *found = (const char *)memmem(y0, (size_t)n, x0, (size_t)m);\n  return found ? (mrb_int)(found - (const char *)y0) : -1;",
    ),
    // The same for characters. In valid UTF-8 a match begins where a character does.
    (
        "src/string.c",
        "  return str_index_str_by_char_search(mrb, p, pend, s, slen, off);",
        "  const char *found = (const char *)memmem(p, (size_t)(pend - p), s, (size_t)slen);\n  if (!found) return -1;\n  for (; p < found; off++) p += mrb_utf8len(p, pend);\n  return p == found ? off : -1;",
    ),
    // Replacing took numbers of characters for numbers of bytes: `"日本".sub("本", "x")` was "\xe6x".
    (
        "mrblib/string.rb",
        "    pattern, replace = *args\n    plen = pattern.length\n",
        "    pattern, replace = *args\n    plen = pattern.bytesize\n",
    ),
    (
        "mrblib/string.rb",
        "        result << self.byteslice(offset, 1)\n        offset += 1\n      end\n    end\n    result << self.byteslice(offset..-1) if offset < length\n",
        "        char = self.byteslice(offset, 4)[0].to_s\n        result << char\n        offset += char.empty? ? 1 : char.bytesize\n      end\n    end\n    result << self.byteslice(offset..-1) if offset < bytesize\n",
    ),
    (
        "mrblib/string.rb",
        "    found = self.index(pattern)\n    return self.dup unless found\n    result << self.byteslice(0, found)\n    offset = found + pattern.length\n",
        "    found = self.byteindex(pattern)\n    return self.dup unless found\n    result << self.byteslice(0, found)\n    offset = found + pattern.bytesize\n",
    ),
    (
        "mrblib/string.rb",
        "      self.__sub_replace(replace, pattern, found)\n    end\n    result << self.byteslice(offset..-1) if offset < length\n",
        "      self.__sub_replace(replace, pattern, found)\n    end\n    result << self.byteslice(offset..-1) if offset < bytesize\n",
    ),
    // The rescued exception keeps its register through the rescue clause, where shim/raise.c finds it.
    (
        "mrbgems/mruby-compiler/core/codegen.c",
        "          pop();\n          if (n3->cdr->car) {\n            gen_assignment(s, n3->cdr->car, NULL, exc, NOVAL);\n          }\n          if (n3->cdr->cdr->car) {\n            codegen(s, n3->cdr->cdr->car, val);\n            if (val) pop();\n          }\n",
        "          if (n3->cdr->car) {\n            gen_assignment(s, n3->cdr->car, NULL, exc, NOVAL);\n          }\n          if (n3->cdr->cdr->car) {\n            codegen(s, n3->cdr->cdr->car, val);\n            if (val) {\n              pop();\n              gen_move(s, exc, cursp(), 0);\n            }\n          }\n          pop();\n",
    ),
    // A call without a receiver that is given a block stands on the line of its word (of its first argument, which begins there), not
    // on the line where its block ends: routes and timers are named by it, and so are frames of a backtrace.
    (
        "mrbgems/mruby-compiler/core/codegen.c",
        "  int skip = 0, n = 0, nk = 0, noop = no_optimize(s), noself = 0, blk = 0, sp_save = cursp();\n\n  if (!tree->car) {\n",
        "  int skip = 0, n = 0, nk = 0, noop = no_optimize(s), noself = 0, blk = 0, sp_save = cursp();\n  node *called = tree->cdr->cdr->car;\n  uint16_t lineno = s->lineno;\n\n  if (called && called->car && called->car->lineno < lineno) lineno = called->car->lineno;\n  if (!tree->car) {\n",
    ),
    (
        "mrbgems/mruby-compiler/core/codegen.c",
        "  else if (noself){\n    genop_3(s, blk ? OP_SSENDB",
        "  else if (noself){\n    if (blk) s->lineno = lineno;\n    genop_3(s, blk ? OP_SSENDB",
    ),
    // A method with required parameters only refused `f(key: 1)`, whose keywords are a Hash to it.
    (
        "src/vm.c",
        "      if ((a & ~0x7c0001) == 0 && argc < 15 && MRB_PROC_STRICT_P(proc)) {\n        if (argc != m1) {",
        "      if ((a & ~0x7c0001) == 0 && argc < 15 && ci->nk == 0 && MRB_PROC_STRICT_P(proc)) {\n        if (argc != m1) {",
    ),
    // `return` in a block inside a lambda (or a method made by define_method) leaves that lambda. Where the lambda was
    // made does not matter: its surroundings may be long over, as those of a handler are.
    (
        "src/vm.c",
        "            if (MRB_PROC_ENV_P(dst)) {\n              struct REnv *e = MRB_PROC_ENV(dst);\n\n              if (!MRB_ENV_ONSTACK_P(e)",
        "            if (MRB_PROC_ENV_P(dst) && !MRB_PROC_STRICT_P(dst)) {\n              struct REnv *e = MRB_PROC_ENV(dst);\n\n              if (!MRB_ENV_ONSTACK_P(e)",
    ),
    // A table of constants was filled to the last place before it grew: what was not in it was looked for in all of it.
    (
        "src/variable.c",
        "    else if (key == IV_EMPTY) {\n      t->size++;\n      keys[pos] = sym;",
        "    else if (key == IV_EMPTY) {\n      if (t->alloc > 8 && t->size >= t->alloc / 4 * 3) {\n        iv_rehash(mrb, t);\n        iv_put(mrb, t, sym, val);\n        return;\n      }\n      t->size++;\n      keys[pos] = sym;",
    ),
    // CVE-2025-7207: a scope must have as many registers as it has variables. See SECURITY.md.
    (
        "mrbgems/mruby-compiler/core/codegen.c",
        "  s->nlocals = s->sp;",
        "  s->nlocals = s->nregs = s->sp;",
    ),
    // The error names the receiver that has no such method in CRuby's words: most of the time it is nil.
    (
        "src/class.c",
        "  mrb_no_method_error(mrb, name, args, \"undefined method '%n'\", name);",
        "  if (!mrb_test(self) || mrb_true_p(self)) {\n    mrb_no_method_error(mrb, name, args, \"undefined method '%n' for %Y\", name, self);\n  }\n  if (mrb_class_p(self) || mrb_module_p(self)) {\n    mrb_no_method_error(mrb, name, args, \"undefined method '%n' for %s %C\", name, mrb_class_p(self) ? \"class\" : \"module\", mrb_class_ptr(self));\n  }\n  mrb_no_method_error(mrb, name, args, \"undefined method '%n' for an instance of %T\", name, self);",
    ),
];

/// What other versions have and known defects are in, by file: SECURITY.md says of these that they are not here.
const ABSENT: &[(&str, &str)] = &[
    ("mrbgems/mruby-array-ext/src/array.c", "ary_fill_exec"),
    ("src/array.c", "sort_cmp"),
    ("mrbgems/mruby-compiler/core/codegen.c", "NODE_PAT_PIN"),
    ("mrbgems/mruby-compiler/core/parse.y", "prism"),
];

fn main() {
    for input in [
        "build.rs",
        "build",
        "build_config.rb",
        "defines.txt",
        "shim",
    ] {
        println!("cargo:rerun-if-changed={input}");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let cross = CrossTools::of_target();
    let here =
        PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"));
    let source = out.join("source");
    let original = mruby_source(&here);
    copy(&original, &source, &corrected(&original));
    keep_generated(&source);
    for (file, name) in ABSENT {
        let text = fs::read_to_string(source.join(file)).expect("mruby's sources are text");
        assert!(
            !text.contains(name),
            "{file} of mruby has {name}: look into SECURITY.md, which says it has not"
        );
    }
    let build = out.join(format!(
        "build-{:016x}",
        configuration(&here, cross.as_ref())
    ));
    build_mruby(&source, &here, &build, cross.as_ref());
    // The names of the two in build_config.rb.
    let library = build.join(if cross.is_some() { "target" } else { "host" });
    build_shim(&source, &library);
    println!(
        "cargo:rustc-link-search=native={}",
        library.join("lib").display()
    );
    println!("cargo:rustc-link-lib=static=mruby");
    println!("cargo:rustc-link-lib=m");
}

/// What compiles for the target, where that is another one than the machine that builds: a line of a shell each.
#[derive(Hash)]
struct CrossTools {
    compiler: String,
    archiver: String,
}

impl CrossTools {
    fn of_target() -> Option<CrossTools> {
        let variable = |name| env::var(name).expect("cargo sets it");
        if variable("TARGET") == variable("HOST") {
            return None;
        }
        let mut tools = cc::Build::new();
        tools.opt_level(3).warnings(false);
        let archiver = tools.get_archiver();
        Some(CrossTools {
            compiler: line(&tools.get_compiler().to_command()),
            archiver: line(&archiver),
        })
    }
}

/// A command as a shell reads it.
fn line(command: &Command) -> String {
    let words = [command.get_program()]
        .into_iter()
        .chain(command.get_args());
    let quoted = words.map(|word| format!("'{}'", word.to_string_lossy().replace('\'', "'\\''")));
    quoted.collect::<Vec<_>>().join(" ")
}

/// A number for what the build is made of: minirake sees neither that a define has changed, nor that its own library has, nor
/// that Ruby's core has another symbol, by which the numbers of all change; and it leaves objects of C files that have changed as they are until
/// it is run again.
fn configuration(here: &Path, cross: Option<&CrossTools>) -> u64 {
    let mut hasher = DefaultHasher::new();
    cross.hash(&mut hasher);
    for file in ["build_config.rb", "defines.txt"] {
        fs::read(here.join(file))
            .expect("stands beside build.rs")
            .hash(&mut hasher);
    }
    for (file, _, right) in CORRECTED.into_iter().flatten() {
        (file, right).hash(&mut hasher);
    }
    hasher.finish()
}

/// The folder with mruby's sources inside the unpacked package. Downloads the package when it is not here yet.
fn mruby_source(here: &Path) -> PathBuf {
    let metadata = ["--offline", "--locked"]
        .iter()
        .find_map(|&mode| metadata(here, mode));
    let metadata = metadata.unwrap_or_else(|| {
        panic!("`cargo metadata` failed: cannot find the sources of {SOURCE_PACKAGE}; run `cargo fetch` and build again")
    });
    let manifest = metadata["packages"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|package| package["name"] == SOURCE_PACKAGE)
        .and_then(|package| package["manifest_path"].as_str())
        .unwrap_or_else(|| panic!("{SOURCE_PACKAGE} is not among the workspace's packages"));
    Path::new(manifest).with_file_name("mruby")
}

fn metadata(here: &Path, mode: &str) -> Option<serde_json::Value> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1", mode])
        .current_dir(here)
        .output()
        .ok()?;
    output
        .status
        .success()
        .then(|| serde_json::from_slice(&output.stdout).ok())?
}

/// The files that have corrections, as they should be, by their paths in the package.
fn corrected(original: &Path) -> BTreeMap<PathBuf, String> {
    let mut texts = BTreeMap::<PathBuf, String>::new();
    for (file, wrong, right) in CORRECTED.into_iter().flatten() {
        let path = original.join(file);
        let text = texts
            .entry(path)
            .or_insert_with_key(|path| fs::read_to_string(path).expect("mruby's sources are text"));
        assert_eq!(
            text.matches(wrong).count(),
            1,
            "{file} of mruby is not as this correction expects: {wrong}"
        );
        *text = text.replace(wrong, right);
    }
    texts
}

/// Copies a folder, with the corrections; files that are the same stay as they are, so that nothing is built again.
fn copy(from: &Path, to: &Path, corrected: &BTreeMap<PathBuf, String>) {
    fs::create_dir_all(to).expect("OUT_DIR is writable");
    for entry in fs::read_dir(from)
        .expect("the package is unpacked")
        .flatten()
    {
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to, corrected);
            continue;
        }
        let content = match corrected.get(&from) {
            Some(text) => text.clone().into_bytes(),
            None => fs::read(&from).expect("the package is unpacked"),
        };
        if fs::read(&to).is_ok_and(|present| present == content) {
            continue;
        }
        fs::write(&to, content).expect("OUT_DIR is writable");
    }
}

/// Gives what the parser is generated from times before the parser's. When it looked newer, after an interrupted copy or a copy of the
/// whole build folder without times, mruby's build would generate the parser again, by tools that are not needed here.
fn keep_generated(source: &Path) {
    for file in ["keywords", "lex.def", "parse.y"] {
        let path = source.join("mrbgems/mruby-compiler/core").join(file);
        fs::File::options()
            .write(true)
            .open(path)
            .and_then(|file| file.set_modified(SystemTime::UNIX_EPOCH))
            .expect("OUT_DIR is writable");
    }
}

fn build_mruby(source: &Path, here: &Path, build: &Path, cross: Option<&CrossTools>) {
    let log = build.with_extension("log");
    let mut ruby = Command::new("ruby");
    if let Some(tools) = cross {
        ruby.env("TSUMUGI_TARGET_CC", &tools.compiler);
        ruby.env("TSUMUGI_TARGET_AR", &tools.archiver);
    }
    let output = ruby
        .arg("minirake")
        .arg("--multitask")
        .arg(format!(
            "-j{}",
            env::var("NUM_JOBS").unwrap_or_else(|_| "2".into())
        ))
        .current_dir(source)
        .env("MRUBY_CONFIG", here.join("build_config.rb"))
        .env("MRUBY_BUILD_DIR", build)
        .env_remove("CFLAGS")
        .output()
        .unwrap_or_else(|e| {
            panic!("cannot run `ruby` ({e}); it builds mruby: install it (`make setup` does)")
        });
    fs::write(&log, [output.stdout, output.stderr].concat()).expect("OUT_DIR is writable");
    assert!(
        output.status.success(),
        "building mruby failed; its output is in {}",
        log.display()
    );
}

/// `library` is the folder of mruby's library and of the headers that were made with it.
fn build_shim(source: &Path, library: &Path) {
    let mut shim = cc::Build::new();
    shim.files(SHIM)
        .std("gnu11")
        .opt_level(2)
        .warnings(true)
        .extra_warnings(true);
    shim.flag("-fno-strict-aliasing")
        .flag("-Wno-unused-parameter");
    shim.flag(format!("-isystem{}", source.join("include").display()));
    shim.flag(format!("-isystem{}", library.join("include").display()));
    let defines = fs::read_to_string("defines.txt").expect("defines.txt stands beside build.rs");
    for define in defines
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
    {
        let (name, value) = define
            .split_once('=')
            .map_or((define, None), |(name, value)| (name, Some(value)));
        shim.define(name, value);
    }
    // What the gems bigint and rational define for the build they are in.
    shim.define("MRB_USE_BIGINT", None)
        .define("MRB_USE_RATIONAL", None);
    shim.compile("tsumugi_mruby_shim");
}
