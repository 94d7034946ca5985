//! Corrections of mruby where memory ends while it works. Found by tests/faults.rs, which makes each allocation fail.
//! Their rule: what could not be made is not there, and what was made for it is given back.

pub const CORRECTIONS: &[super::Correction] = &[
    // The compiler cannot run out of memory: where it did, it leaked, left an exception behind, or used what it had not got. It
    // asks for room first, by the size of the source, and what it then allocates is not refused (shim/vm.c). So does `eval`.
    (
        "include/mruby/gc.h",
        "  mrb_bool out_of_memory :1;\n",
        "  uint32_t exempt; /* what is allocated while it is not 0 must not be refused */\n  mrb_bool out_of_memory :1;\n",
    ),
    (
        "mrbgems/mruby-compiler/core/y.tab.c",
        "  parser_state *p;\n\n  p = mrb_parser_new(mrb);\n  if (!p) return NULL;\n  p->s = s;\n  p->send = s + len;\n\n  mrb_parser_parse(p, c);\n  return p;",
        "  parser_state *p;\n  void *room = mrb_malloc_simple(mrb, 128 * 1024 + 64 * len);\n\n  if (!room) return NULL;\n  mrb_free(mrb, room);\n  mrb->gc.exempt++;\n  p = mrb_parser_new(mrb);\n  if (p) {\n    p->s = s;\n    p->send = s + len;\n    mrb_parser_parse(p, c);\n  }\n  mrb->gc.exempt--;\n  return p;",
    ),
    (
        "mrbgems/mruby-compiler/core/codegen.c",
        "  return generate_code(mrb, p, VAL);",
        "  mrb->gc.exempt++;\n  struct RProc *proc = generate_code(mrb, p, VAL);\n  mrb->gc.exempt--;\n  return proc;",
    ),
    (
        "mrbgems/mruby-eval/src/eval.c",
        "  cxt = mrbc_context_new(mrb);\n  cxt->lineno = (uint16_t)line;",
        "  mrb->gc.exempt++;\n  cxt = mrbc_context_new(mrb);\n  cxt->lineno = (uint16_t)line;",
    ),
    (
        "mrbgems/mruby-eval/src/eval.c",
        "  p = mrb_parse_nstring(mrb, s, len, cxt);\n\n  /* only occur when memory ran out */\n  if (!p) {\n    mrbc_context_free(mrb, cxt);\n    mrb_raise(mrb, E_RUNTIME_ERROR, \"Failed to create parser state (out of memory)\");\n  }",
        "  mrb->gc.exempt--;\n  p = mrb_parse_nstring(mrb, s, len, cxt);\n\n  if (!p) {\n    mrbc_context_free(mrb, cxt);\n    mrb_exc_raise(mrb, mrb_obj_value(mrb->nomem_err));\n  }",
    ),
    (
        "mrbgems/mruby-eval/src/eval.c",
        "    if (file) {\n      str = mrb_format(mrb, \"file",
        "    mrb->gc.exempt++;\n    if (file) {\n      str = mrb_format(mrb, \"file",
    ),
    (
        "mrbgems/mruby-eval/src/eval.c",
        "    mrb_parser_free(p);\n    mrb_exc_raise(mrb, mrb_exc_new_str(mrb, E_SYNTAX_ERROR, str));",
        "    mrb->gc.exempt--;\n    mrb_parser_free(p);\n    mrb_exc_raise(mrb, mrb_exc_new_str(mrb, E_SYNTAX_ERROR, str));",
    ),
    (
        "mrbgems/mruby-eval/src/eval.c",
        "    mrb_raise(mrb, E_SCRIPT_ERROR, \"codegen error\");\n  }\n",
        "    mrb_raise(mrb, E_SCRIPT_ERROR, \"codegen error\");\n  }\n  mrb_parser_free(p);\n  mrbc_context_free(mrb, cxt);\n",
    ),
    (
        "mrbgems/mruby-eval/src/eval.c",
        "  /* mrb_codedump_all(mrb, proc); */\n\n  mrb_parser_free(p);\n  mrbc_context_free(mrb, cxt);\n\n  return proc;",
        "  /* mrb_codedump_all(mrb, proc); */\n\n  return proc;",
    ),
    // A fibre has all that it needs or nothing. One that memory ended for in between was freed as if it had its calls, and could be
    // resumed by who still had it.
    (
        "mrbgems/mruby-fiber/src/fiber.c",
        "  c = (struct mrb_context*)mrb_malloc(mrb, sizeof(struct mrb_context));\n  *c = mrb_context_zero;\n  f->cxt = c;\n\n  /* initialize VM stack */\n  slen = FIBER_STACK_INIT_SIZE;\n  if (p->body.irep->nregs > slen) {\n    slen += p->body.irep->nregs;\n  }\n  c->stbase = (mrb_value *)mrb_malloc(mrb, slen*sizeof(mrb_value));\n  c->stend = c->stbase + slen;\n",
        "  /* initialize VM stack */\n  slen = FIBER_STACK_INIT_SIZE;\n  if (p->body.irep->nregs > slen) {\n    slen += p->body.irep->nregs;\n  }\n  c = (struct mrb_context*)mrb_malloc_simple(mrb, sizeof(struct mrb_context));\n  mrb_value *stack = (mrb_value *)mrb_malloc_simple(mrb, slen*sizeof(mrb_value));\n  mrb_callinfo *calls = (mrb_callinfo *)mrb_malloc_simple(mrb, FIBER_CI_INIT_SIZE * sizeof(mrb_callinfo));\n  if (!c || !stack || !calls) {\n    mrb_free(mrb, c);\n    mrb_free(mrb, stack);\n    mrb_free(mrb, calls);\n    mrb_exc_raise(mrb, mrb_obj_value(mrb->nomem_err));\n  }\n  *c = mrb_context_zero;\n  f->cxt = c;\n  c->stbase = stack;\n  c->stend = c->stbase + slen;\n",
    ),
    (
        "mrbgems/mruby-fiber/src/fiber.c",
        "  c->cibase = (mrb_callinfo *)mrb_calloc(mrb, FIBER_CI_INIT_SIZE, sizeof(mrb_callinfo));\n",
        "  static const mrb_callinfo no_call = { 0 };\n  for (size_t i = 0; i < FIBER_CI_INIT_SIZE; i++) calls[i] = no_call;\n  c->cibase = calls;\n",
    ),
    // A VM for whose gems there is no memory is not opened. It was closed there, and the process ended. What is wrong is the caller's to tell.
    (
        "lib/mruby/gem.rb",
        "            f.puts %Q[    mrb_print_error(mrb);]\n            f.puts %Q[    mrb_close(mrb);]\n            f.puts %Q[    exit(EXIT_FAILURE);]\n",
        "            f.puts %Q[    mrb_exc_raise(mrb, mrb_obj_value(mrb->exc));]\n",
    ),
    (
        "src/error.c",
        "    if (mrb->exc) {\n      mrb_print_error(mrb);\n      mrb->exc = NULL;\n    }\n    else {\n      mrb_core_init_printabort();\n    }\n",
        "    mrb->exc = NULL;\n",
    ),
    // A copy of a Hash has both of its tables or neither; a new one has its entries before its index is made.
    (
        "src/hash.c",
        "    hash_entry *ea = ea_dup(mrb, ht_ea(orig_h), ea_capa);\n    hash_table *ht = ht_dup(mrb, orig_h);\n",
        "    hash_table *ht = ht_dup(mrb, orig_h);\n    hash_entry *ea = (hash_entry*)mrb_malloc_simple(mrb, sizeof(hash_entry) * ea_capa);\n    if (!ea) {\n      mrb_free(mrb, ht);\n      mrb_exc_raise(mrb, mrb_obj_value(mrb->nomem_err));\n    }\n    memcpy(ea, ht_ea(orig_h), sizeof(hash_entry) * ea_capa);\n",
    ),
    (
        "src/hash.c",
        "    if (size <= AR_MAX_SIZE) {\n      ar_init(h, 0, ea, size, 0);\n    }\n    else {\n      ht_init(mrb, h, 0, ea, size, NULL, ib_bit_for(size));\n    }\n    return mrb_obj_value(h);",
        "    ar_init(h, 0, ea, size, 0);\n    if (size > AR_MAX_SIZE) {\n      ht_init(mrb, h, 0, ea, size, NULL, ib_bit_for(size));\n    }\n    return mrb_obj_value(h);",
    ),
    // A copy of instance variables belongs to its object while it is filled.
    (
        "src/variable.c",
        "    mrb_write_barrier(mrb, (struct RBasic*)d);\n    d->iv = iv_copy(mrb, s->iv);\n",
        "    iv_tbl *from = s->iv;\n    if (from->alloc > 0 && from->size > 0) {\n      d->iv = iv_new(mrb);\n      for (int i=0; i<from->alloc; i++) {\n        mrb_sym key = ((mrb_sym*)&from->ptr[from->alloc])[i];\n        if (IV_KEY_P(key)) iv_put(mrb, d->iv, key, from->ptr[i]);\n      }\n    }\n    mrb_write_barrier(mrb, (struct RBasic*)d);\n",
    ),
    // What a binding's variables live in belongs to its proc while it is filled.
    (
        "mrbgems/mruby-binding-core/src/binding-core.c",
        "  irep->ilen = sizeof(iseq_dummy) / sizeof(iseq_dummy[0]);\n",
        "  irep->ilen = sizeof(iseq_dummy) / sizeof(iseq_dummy[0]);\n  lvspace->body.irep = irep;\n",
    ),
    // The tables with which lists of methods are made belong to nobody. They are made when there is room for much more than they are, and
    // then not refused.
    (
        "mrbgems/mruby-metaprog/src/metaprog.c",
        "  mrb_value ary;\n  struct RClass *oldklass;\n  khash_t(st) *set = kh_init(st, mrb);\n\n  if (!recur) {\n    if (klass->flags",
        "  mrb_value ary;\n  struct RClass *oldklass;\n  mrb_free(mrb, mrb_malloc(mrb, 256 * 1024));\n  mrb->gc.exempt++;\n  khash_t(st) *set = kh_init(st, mrb);\n\n  if (!recur) {\n    if (klass->flags",
    ),
    (
        "mrbgems/mruby-metaprog/src/metaprog.c",
        "  kh_destroy(st, mrb, set);\n\n  return ary;\n}\n\nstatic mrb_value\nmrb_obj_methods(",
        "  kh_destroy(st, mrb, set);\n  mrb->gc.exempt--;\n\n  return ary;\n}\n\nstatic mrb_value\nmrb_obj_methods(",
    ),
    // Numbers on the way to a big integer belong to nobody. Each is small (src/limits.rs), a result is made when there is room for more
    // than it needs, and what it then needs is not refused.
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "    x->p=(mp_limb*)mrb_realloc(mrb, x->p, size*sizeof(mp_limb));",
        "    mrb->gc.exempt++;\n    x->p=(mp_limb*)mrb_realloc(mrb, x->p, size*sizeof(mp_limb));\n    mrb->gc.exempt--;",
    ),
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "  mp_limb *t = (mp_limb*)mrb_malloc(mrb, xlen*sizeof(mp_limb));",
        "  mrb->gc.exempt++;\n  mp_limb *t = (mp_limb*)mrb_malloc(mrb, xlen*sizeof(mp_limb));\n  mrb->gc.exempt--;",
    ),
    // The same where the methods of one object are listed.
    (
        "mrbgems/mruby-metaprog/src/metaprog.c",
        "  struct RClass *klass;\n  khash_t(st) *set = kh_init(st, mrb);\n  khash_t(st) *undef = (recur",
        "  struct RClass *klass;\n  mrb_free(mrb, mrb_malloc(mrb, 256 * 1024));\n  mrb->gc.exempt++;\n  khash_t(st) *set = kh_init(st, mrb);\n  khash_t(st) *undef = (recur",
    ),
    (
        "mrbgems/mruby-metaprog/src/metaprog.c",
        "  kh_destroy(st, mrb, set);\n  if (undef) kh_destroy(st, mrb, undef);\n",
        "  kh_destroy(st, mrb, set);\n  if (undef) kh_destroy(st, mrb, undef);\n  mrb->gc.exempt--;\n",
    ),
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "  struct RBigint *b = MRB_OBJ_ALLOC(mrb, MRB_TT_BIGINT, mrb->integer_class);\n  mpz_init(mrb, &b->mp);",
        "  mrb_free(mrb, mrb_malloc(mrb, 64 * 1024));\n  struct RBigint *b = MRB_OBJ_ALLOC(mrb, MRB_TT_BIGINT, mrb->integer_class);\n  mpz_init(mrb, &b->mp);",
    ),
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "  struct RBigint *b = MRB_OBJ_ALLOC(mrb, MRB_TT_BIGINT, mrb->integer_class);\n  mpz_init_set_int(mrb, &b->mp, x);",
        "  mrb_free(mrb, mrb_malloc(mrb, 64 * 1024));\n  struct RBigint *b = MRB_OBJ_ALLOC(mrb, MRB_TT_BIGINT, mrb->integer_class);\n  mpz_init_set_int(mrb, &b->mp, x);",
    ),
];
