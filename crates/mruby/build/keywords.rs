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
];
