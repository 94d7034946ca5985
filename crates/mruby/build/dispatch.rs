//! Corrections of how the VM goes from one instruction to the next. What Ruby sees stays the same.

pub const CORRECTIONS: &[super::Correction] = &[
    // The hook was asked for before every instruction, in code that stood behind each of them. Now an instruction is found by a table, and
    // to arm the hook is to change the table: in the other one every instruction leads to the hook first.
    (
        "include/mruby.h",
        "  void (*code_fetch_hook)(struct mrb_state* mrb, const struct mrb_irep *irep, const mrb_code *pc, mrb_value *regs);\n",
        "  void (*code_fetch_hook)(struct mrb_state* mrb, const struct mrb_irep *irep, const mrb_code *pc, mrb_value *regs);\n  const void *const *dispatch; /* one of the following; any thread may change it */\n  const void *const *dispatch_plain;\n  const void *const *dispatch_hooked; /* code_fetch_hook runs before each instruction */\n",
    ),
    // The place of an instruction is written down for what may raise, call or look for it; the simplest do nothing of the kind.
    (
        "src/vm.c",
        "#define CASE(insn,ops) L_ ## insn: pc++; FETCH_ ## ops (); mrb->c->ci->pc = pc; L_ ## insn ## _BODY:\n#define NEXT insn=BYTECODE_DECODER(*pc); CODE_FETCH_HOOK(mrb, irep, pc, regs); goto *optable[insn]\n",
        "#define ONLY_MOVES(insn) (((insn) <= OP_LOADF && (insn) != OP_LOADL) || ((insn) >= OP_JMP && (insn) <= OP_JMPNIL))\n#define CASE(insn,ops) L_ ## insn: pc++; FETCH_ ## ops (); if (!ONLY_MOVES(insn)) mrb->c->ci->pc = pc; L_ ## insn ## _BODY:\n#define NEXT insn=*pc; goto *__atomic_load_n(&mrb->dispatch, __ATOMIC_RELAXED)[insn]\n",
    ),
    // `setjmp` in the function of the instructions kept what they work with out of registers. What it is called for has a function of its own now.
    // (With Clang that was most of what a program in Ruby took.)
    (
        "src/vm.c",
        "MRB_API mrb_value\nmrb_vm_exec(mrb_state *mrb, const struct RProc *proc, const mrb_code *pc)\n{\n  /* mrb_assert(MRB_PROC_CFUNC_P(proc)) */\n",
        "static mrb_value __attribute__((noinline))\nvm_loop(mrb_state *mrb, const struct RProc *proc, const mrb_code *pc, int ai, struct mrb_jmpbuf *prev_jmp, mrb_bool exc_catched)\n{\n  /* mrb_assert(MRB_PROC_CFUNC_P(proc)) */\n",
    ),
    // After an exception what runs may be a native, which has no instructions.
    (
        "src/vm.c",
        "  const mrb_irep *irep = proc->body.irep;\n  const mrb_pool_value *pool = irep->pool;\n  const mrb_sym *syms = irep->syms;\n  mrb_code insn;\n  int ai = mrb_gc_arena_save(mrb);\n  struct mrb_jmpbuf *prev_jmp = mrb->jmp;\n  struct mrb_jmpbuf c_jmp;\n  uint32_t a;\n",
        "  const mrb_irep *irep = proc ? proc->body.irep : NULL;\n  const mrb_pool_value *pool = irep ? irep->pool : NULL;\n  const mrb_sym *syms = irep ? irep->syms : NULL;\n  mrb_code insn;\n  uint32_t a;\n",
    ),
    (
        "src/vm.c",
        "#endif\n\n  mrb_bool exc_catched = FALSE;\nRETRY_TRY_BLOCK:\n\n  MRB_TRY(&c_jmp) {\n\n  if (exc_catched) {\n    exc_catched = FALSE;\n",
        "  static const void * const hooked[] = {\n#define OPCODE(x,_) &&L_HOOKED,\n#include \"mruby/ops.h\"\n#undef OPCODE\n  };\n#endif\n\n  if (!mrb->dispatch) {\n    mrb->dispatch_plain = optable;\n    mrb->dispatch_hooked = hooked;\n    mrb->dispatch = optable;\n  }\n\n  if (exc_catched) {\n",
    ),
    (
        "src/vm.c",
        "  mrb->jmp = &c_jmp;\n  CI_PROC_SET(mrb->c->ci, proc);\n\n  INIT_DISPATCH {\n",
        "  CI_PROC_SET(mrb->c->ci, proc);\n\n  INIT_DISPATCH {\n  L_HOOKED:\n    CODE_FETCH_HOOK(mrb, irep, pc, regs);\n    goto *optable[insn];\n\n",
    ),
    (
        "src/vm.c",
        "  END_DISPATCH;\n#undef regs\n  }\n  MRB_CATCH(&c_jmp) {\n",
        "  END_DISPATCH;\n#undef regs\n}\n\nMRB_API mrb_value\nmrb_vm_exec(mrb_state *mrb, const struct RProc *proc, const mrb_code *pc)\n{\n  int ai = mrb_gc_arena_save(mrb);\n  struct mrb_jmpbuf *prev_jmp = mrb->jmp;\n  struct mrb_jmpbuf c_jmp;\n  /* where it goes on after an exception */\n  const struct RProc *volatile from_proc = proc;\n  const mrb_code *volatile from_pc = pc;\n  volatile mrb_bool exc_catched = FALSE;\n\nRETRY_TRY_BLOCK:\n  MRB_TRY(&c_jmp) {\n    mrb->jmp = &c_jmp;\n    return vm_loop(mrb, from_proc, from_pc, ai, prev_jmp, exc_catched);\n  }\n  MRB_CATCH(&c_jmp) {\n",
    ),
    (
        "src/vm.c",
        "    exc_catched = TRUE;\n    pc = ci->pc;\n    goto RETRY_TRY_BLOCK;\n",
        "    exc_catched = TRUE;\n    from_proc = ci->proc && !MRB_PROC_CFUNC_P(ci->proc) ? ci->proc : NULL;\n    from_pc = ci->pc;\n    goto RETRY_TRY_BLOCK;\n",
    ),
    // A call of up to 14 arguments without keywords is the usual one.
    (
        "src/vm.c",
        "      mrb_int bidx = a + mrb_bidx(n,nk);\n\n      if (nk == CALL_MAXARGS) {\n        mrb_ensure_hash_type(mrb, regs[a+(n==CALL_MAXARGS?1:n)+1]);\n",
        "      mrb_int bidx = a + (c < CALL_MAXARGS ? c + 1 : mrb_bidx(n,nk));\n\n      if (c < CALL_MAXARGS) {\n        /* nothing to be packed */\n      }\n      else if (nk == CALL_MAXARGS) {\n        mrb_ensure_hash_type(mrb, regs[a+(n==CALL_MAXARGS?1:n)+1]);\n",
    ),
    (
        "src/vm.c",
        "      mrb_int new_bidx = a+mrb_bidx(n, nk);\n      if (insn == OP_SEND) {\n",
        "      mrb_int new_bidx = c < CALL_MAXARGS ? bidx : a+mrb_bidx(n, nk);\n      if (insn == OP_SEND) {\n",
    ),
];
