//! What is wrong for us in mruby's sources, and what stands there instead. Changes no file.
//! Rule: a correction says why it is made, and its text is in the file exactly once.

#[path = "arena.rs"]
mod arena;
#[path = "bounds.rs"]
mod bounds;
#[path = "collector.rs"]
mod collector;
#[path = "costs.rs"]
mod costs;
#[path = "dispatch.rs"]
mod dispatch;
#[path = "hashes.rs"]
mod hashes;
#[path = "keywords.rs"]
mod keywords;
#[path = "memory.rs"]
mod memory;
#[path = "numbers.rs"]
mod numbers;
#[path = "syntax.rs"]
mod syntax;
#[path = "times.rs"]
mod times;
#[path = "types.rs"]
mod types;
#[path = "walks.rs"]
mod walks;

/// A place of mruby 3.2 that is wrong for us: file, text as it stands (exactly once), text as it should be.
pub type Correction = (&'static str, &'static str, &'static str);

/// All of them, in the order in which they are made.
pub const ALL: [&[Correction]; 14] = [
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
    dispatch::CORRECTIONS,
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
