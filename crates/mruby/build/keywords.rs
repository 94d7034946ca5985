//! Corrections of how a method's keywords are passed on.

pub const CORRECTIONS: &[super::Correction] = &[
    // `super` without arguments passes on what the method's parameters are now. Of keywords it passed on what was left of those that the caller had given
    // when each parameter had taken its own out, which is nothing: the method above found its keywords missing, or had its defaults, and it had the very Hash
    // of `**rest`. (A later mruby mends it too.) The method's scope keeps the names of its keywords, and `super` puts a new Hash in the place of what was
    // left: the rest, and a keyword for each name.
    (
        "mrbgems/mruby-compiler/core/codegen.c",
        "  node *lv;\n\n  uint16_t sp;\n",
        "  node *lv;\n  node *keywords;               /* of a method's parameters */\n\n  uint16_t sp;\n",
    ),
    (
        "mrbgems/mruby-compiler/core/codegen.c",
        "      node *kwds = tail->cdr->car;\n      int kwrest = 0;\n",
        "      node *kwds = tail->cdr->car;\n      int kwrest = 0;\n\n      s->keywords = kwds;\n",
    ),
    (
        "mrbgems/mruby-compiler/core/codegen.c",
        "static int\nscope_body(codegen_scope *s, node *tree, int val)\n{\n",
        r"/* What ARGARY has put here: the arguments, the rest of the keywords, the block. The variables are those of `method`, `depth` scopes above. */
static void
gen_super_keywords(codegen_scope *s, codegen_scope *method, int depth)
{
  int rest = cursp()+1;
  int count = 0;
  node *one;

  push(); push(); push();
  genop_2(s, OP_HASH, cursp(), 0);
  push();
  gen_move(s, cursp(), rest, 1);
  push();
  pop_n(2);
  genop_1(s, OP_HASHCAT, cursp());
  push();
  for (one = method->keywords; one; one = one->cdr) {
    mrb_sym name = nsym(one->car->cdr->car);
    int variable = lv_idx(method, name);

    genop_2(s, OP_LOADSYM, cursp(), new_sym(s, name));
    push();
    if (depth == 0) {
      gen_move(s, cursp(), variable, 1);
    }
    else {
      genop_3(s, OP_GETUPVAR, cursp(), variable, depth-1);
    }
    push();
    count++;
  }
  if (count > 0) {
    pop_n(count*2);
    genop_2(s, OP_HASH, cursp(), count);
    pop();
    genop_1(s, OP_HASHCAT, cursp());
  }
  else {
    pop();
  }
  gen_move(s, rest, cursp(), 1);
  pop_n(3);
}

static int
scope_body(codegen_scope *s, node *tree, int val)
{
",
    ),
    (
        "mrbgems/mruby-compiler/core/codegen.c",
        "        if (ainfo & 0x1) {\n          n |= CALL_MAXARGS<<4;\n          push();\n        }\n",
        "        if (ainfo & 0x1) {\n          gen_super_keywords(s, s2, lv);\n          n |= CALL_MAXARGS<<4;\n          push();\n        }\n",
    ),
    // The names of a method's keywords, for errors and for `parameters`: its code takes one after the other by KARG, and asks for those that have a default by
    // KEY_P. `size` is how many bytes an instruction has.
    (
        "src/vm.c",
        "mrb_value\nmrb_yield_cont(mrb_state *mrb, mrb_value b, mrb_value self, mrb_int argc, const mrb_value *argv)\n{\n",
        r#"size_t
mrb_insn_read(const mrb_code *from, mrb_code *kind, uint32_t *first, uint16_t *second, uint16_t *third)
{
  const mrb_code *pc = from;
  uint32_t a = 0;
  uint16_t b = 0, c = 0;
  mrb_code insn = READ_B();

  switch (insn) {
  case OP_EXT1:
    insn = READ_B();
    switch (insn) {
#define OPCODE(i,x) case OP_ ## i: FETCH_ ## x ## _1 (); break;
#include "mruby/ops.h"
#undef OPCODE
    }
    break;
  case OP_EXT2:
    insn = READ_B();
    switch (insn) {
#define OPCODE(i,x) case OP_ ## i: FETCH_ ## x ## _2 (); break;
#include "mruby/ops.h"
#undef OPCODE
    }
    break;
  case OP_EXT3:
    insn = READ_B();
    switch (insn) {
#define OPCODE(i,x) case OP_ ## i: FETCH_ ## x ## _3 (); break;
#include "mruby/ops.h"
#undef OPCODE
    }
    break;
  default:
    switch (insn) {
#define OPCODE(i,x) case OP_ ## i: FETCH_ ## x (); break;
#include "mruby/ops.h"
#undef OPCODE
    }
  }
  *kind = insn;
  *first = a;
  *second = b;
  *third = c;
  return (size_t)(pc - from);
}

/* Whether a method's keyword has a default. */
mrb_bool
mrb_keyword_optional_p(const mrb_irep *irep, mrb_sym name)
{
  const mrb_code *pc = irep->iseq, *end = irep->iseq + irep->ilen;
  mrb_code insn;
  uint32_t a;
  uint16_t b, c;

  while (pc < end) {
    pc += mrb_insn_read(pc, &insn, &a, &b, &c);
    if (insn == OP_KEY_P && irep->syms[b] == name) return TRUE;
  }
  return FALSE;
}

/* "; known are a:, b:" */
static mrb_value
known_keywords(mrb_state *mrb, const mrb_irep *irep)
{
  const mrb_code *pc = irep->iseq, *end = irep->iseq + irep->ilen;
  mrb_value text = mrb_str_new_lit(mrb, "; known are ");
  int count = 0;
  mrb_code insn;
  uint32_t a;
  uint16_t b, c;

  while (pc < end) {
    pc += mrb_insn_read(pc, &insn, &a, &b, &c);
    if (insn != OP_KARG) continue;
    if (count++) mrb_str_cat_lit(mrb, text, ", ");
    mrb_str_cat_str(mrb, text, mrb_sym_str(mrb, irep->syms[b]));
    mrb_str_cat_lit(mrb, text, ":");
  }
  return count ? text : mrb_str_new_lit(mrb, "");
}

mrb_value
mrb_yield_cont(mrb_state *mrb, mrb_value b, mrb_value self, mrb_int argc, const mrb_value *argv)
{
"#,
    ),
    (
        "src/vm.c",
        "        RAISE_FORMAT(mrb, E_ARGUMENT_ERROR, \"unknown keyword: %v\", key1);",
        "        RAISE_FORMAT(mrb, E_ARGUMENT_ERROR, \"unknown keyword: %v%v\", key1, known_keywords(mrb, irep));",
    ),
    // `parameters` took keywords without a default for those with one.
    (
        "mrbgems/mruby-proc-ext/src/proc.c",
        "static mrb_value\nmrb_proc_lambda_p(mrb_state *mrb, mrb_value self)\n",
        "mrb_bool mrb_keyword_optional_p(const mrb_irep *irep, mrb_sym name);\n\nstatic mrb_value\nmrb_proc_lambda_p(mrb_state *mrb, mrb_value self)\n",
    ),
    (
        "mrbgems/mruby-proc-ext/src/proc.c",
        "      mrb_ary_push(mrb, a, sname);\n      if (i < max && irep->lv[i]) {",
        "      if (p->name == MRB_SYM(key) && i + 1 < irep->nlocals && irep->lv[i] && !mrb_keyword_optional_p(irep, irep->lv[i])) {\n        mrb_ary_push(mrb, a, mrb_symbol_value(mrb_intern_lit(mrb, \"keyreq\")));\n      }\n      else {\n        mrb_ary_push(mrb, a, sname);\n      }\n      if (i + 1 < irep->nlocals && irep->lv[i]) {",
    ),
    // Keywords have a variable for what is left of them before the block's, also without `**rest`.
    (
        "mrbgems/mruby-proc-ext/src/proc.c",
        "    if (p->size == 0 && p->name == MRB_SYM(block)) i++;",
        "    if (p->size == 0 && p->name == MRB_SYM(block)) i++;\n    if (p->size == 0 && p->name == MRB_SYM(keyrest) && MRB_ASPEC_KEY(aspec) > 0) i++;",
    ),
    // `instance_exec` handed keywords to its block as a Hash, which a block with keywords drops.
    (
        "mrbgems/mruby-object-ext/src/object.c",
        "  mrb_get_args(mrb, \"*&!\", &argv, &argc, &blk);\n  c = mrb_singleton_class_ptr(mrb, self);\n  if (mrb->c->ci->cci > 0) {",
        "  mrb_callinfo *ci = mrb->c->ci;\n  mrb_bool keywords = FALSE;\n  if (ci->nk == 15) {\n    mrb_value last = ci->stack[ci->n == 15 ? 2 : ci->n + 1];\n    keywords = mrb_hash_p(last) && !mrb_hash_empty_p(mrb, last);\n  }\n  mrb_get_args(mrb, \"*&!\", &argv, &argc, &blk);\n  c = mrb_singleton_class_ptr(mrb, self);\n  if (keywords && argc > 0) mrb->c->ci->nk = 15;\n  if (mrb->c->ci->cci > 0) {\n    mrb->c->ci->nk = 0;",
    ),
    (
        "src/vm.c",
        "  stack_extend_adjust(mrb, 4, &argv);\n  mrb->c->ci->stack[1] = mrb_ary_new_from_values(mrb, argc, argv);\n  mrb->c->ci->stack[2] = mrb_nil_value();\n  mrb->c->ci->stack[3] = mrb_nil_value();\n  ci->n = 15;\n  ci->nk = 0;\n  return exec_irep(mrb, self, p);",
        "  stack_extend_adjust(mrb, 4, &argv);\n  mrb_value keywords = mrb_nil_value();\n  if (ci->nk == 15 && argc > 0) {\n    keywords = argv[--argc];\n    mrb_gc_protect(mrb, keywords);\n  }\n  mrb->c->ci->stack[1] = mrb_ary_new_from_values(mrb, argc, argv);\n  mrb->c->ci->stack[2] = keywords;\n  mrb->c->ci->stack[3] = mrb_nil_value();\n  ci->n = 15;\n  ci->nk = mrb_nil_p(keywords) ? 0 : 15;\n  return exec_irep(mrb, self, p);",
    ),
];
