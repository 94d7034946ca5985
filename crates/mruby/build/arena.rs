//! Corrections of mruby's arena, the table of what native code protects, and of `mrb_protect_error`.
//! Their rule: protecting a value and leaving a protected call cannot raise, so that both may be done below a Rust frame.

pub const CORRECTIONS: &[super::Correction] = &[
    // The arena grows beyond the limit of the VM's memory, as a Vec of Rust's would: a refusal would raise wherever a value is
    // protected, and a collection would run there. shim/vm.c looks at the flag; the bytes are counted.
    (
        "include/mruby/gc.h",
        "  mrb_bool out_of_memory :1;\n",
        "  mrb_bool out_of_memory :1;\n  mrb_bool arena_resized :1;           /* the allocation that runs is the arena's */\n",
    ),
    (
        "src/gc.c",
        "static void\ngc_protect(mrb_state *mrb, mrb_gc *gc, struct RBasic *p)\n{",
        "static void\narena_resize(mrb_state *mrb, mrb_gc *gc, int capa)\n{\n  struct RBasic **arena;\n\n  gc->arena_resized = TRUE;\n  arena = (struct RBasic**)(mrb->allocf)(mrb, gc->arena, sizeof(struct RBasic*)*capa, mrb->allocf_ud);\n  gc->arena_resized = FALSE;\n  if (!arena) abort();\n  gc->arena = arena;\n  gc->arena_capa = capa;\n}\n\nstatic void\ngc_protect(mrb_state *mrb, mrb_gc *gc, struct RBasic *p)\n{",
    ),
    (
        "src/gc.c",
        "    /* extend arena */\n    int newcapa = gc->arena_capa * 3 / 2;\n    gc->arena = (struct RBasic**)mrb_realloc(mrb, gc->arena, sizeof(struct RBasic*)*newcapa);\n    gc->arena_capa = newcapa;\n",
        "    arena_resize(mrb, gc, gc->arena_capa + gc->arena_capa / 2);\n",
    ),
    (
        "src/gc.c",
        "#ifdef MRB_GC_STRESS\n#include <stdlib.h>\n#endif\n",
        "#include <stdlib.h>\n",
    ),
    // An exception that is raised stays in the arena. It was taken out when it stood at the top, where it may be an outer
    // scope's: what was protected next took its place, and the outer scope's exception was collected.
    (
        "src/error.c",
        "    if (mrb->gc.arena_idx > 0 &&\n        (struct RBasic*)mrb->exc == mrb->gc.arena[mrb->gc.arena_idx-1]) {\n      mrb->gc.arena_idx--;\n    }\n",
        "",
    ),
    // A frame is left without raising where memory for the variables of its closures is missing: they are nil then. Only who
    // can be interrupted there raises.
    (
        "src/vm.c",
        "    MRB_ENV_SET_BIDX(e, 0);\n    if (!noraise) {\n      mrb_exc_raise(mrb, mrb_obj_value(mrb->nomem_err));\n    }\n    return FALSE;\n",
        "    MRB_ENV_SET_BIDX(e, 0);\n    return FALSE;\n",
    ),
    (
        "src/vm.c",
        "      mrb_env_unshare(mrb, e, FALSE);\n",
        "      if (!mrb_env_unshare(mrb, e, FALSE)) mrb_exc_raise(mrb, mrb_obj_value(mrb->nomem_err));\n",
    ),
    (
        "src/vm.c",
        "static inline mrb_callinfo*\ncipop(mrb_state *mrb)\n{",
        "static inline mrb_bool\nci_leave(mrb_state *mrb)\n{",
    ),
    (
        "src/vm.c",
        "  if (env && !mrb_env_unshare(mrb, env, TRUE)) {\n    c->ci--; // exceptions are handled at the method caller; see #3087\n    mrb_exc_raise(mrb, mrb_obj_value(mrb->nomem_err));\n  }\n  c->ci--;\n  return c->ci;\n}\n",
        "  mrb_bool whole = !env || mrb_env_unshare(mrb, env, TRUE);\n  c->ci--;\n  return whole;\n}\n\nstatic inline mrb_callinfo*\ncipop(mrb_state *mrb)\n{\n  if (!ci_leave(mrb)) mrb_exc_raise(mrb, mrb_obj_value(mrb->nomem_err)); // handled at the method caller; see #3087\n  return mrb->c->ci;\n}\n",
    ),
    // What was raised is protected before frames are left, which may collect.
    (
        "src/vm.c",
        "    result = mrb_obj_value(mrb->exc);\n    mrb->exc = NULL;\n    if (error) { *error = TRUE; }\n    if (mrb->c == c) {\n      while (c->ci - c->cibase > ci_index) {\n        cipop(mrb);\n      }\n    }",
        "    result = mrb_obj_value(mrb->exc);\n    mrb_gc_protect(mrb, result);\n    mrb->exc = NULL;\n    if (error) { *error = TRUE; }\n    if (mrb->c == c) {\n      while (c->ci - c->cibase > ci_index) {\n        if (!ci_leave(mrb)) result = mrb_obj_value(mrb->nomem_err);\n      }\n    }",
    ),
    (
        "src/vm.c",
        "      while (c->ci > c->cibase && c->ci->cci == CINFO_DIRECT) {\n        cipop(mrb);\n      }\n    }\n  }\n  MRB_END_EXC(&c_jmp);\n\n  mrb_gc_arena_restore(mrb, ai);\n  mrb_gc_protect(mrb, result);",
        "      while (c->ci > c->cibase && c->ci->cci == CINFO_DIRECT) {\n        if (!ci_leave(mrb)) result = mrb_obj_value(mrb->nomem_err);\n      }\n    }\n  }\n  MRB_END_EXC(&c_jmp);\n\n  mrb_gc_arena_restore(mrb, ai);\n  mrb_gc_protect(mrb, result);",
    ),
    // The same where the arena shrinks.
    (
        "src/vm.c",
        "      gc->arena = (struct RBasic**)mrb_realloc(mrb, gc->arena, sizeof(struct RBasic*)*capa);\n      gc->arena_capa = capa;\n",
        "      struct RBasic **arena = (struct RBasic**)(mrb->allocf)(mrb, gc->arena, sizeof(struct RBasic*)*capa, mrb->allocf_ud);\n      if (arena) {\n        gc->arena = arena;\n        gc->arena_capa = capa;\n      }\n",
    ),
    // A frame that native code called is left towards that code: what is raised while it is left goes there as well. It went to the
    // loop that runs the frame, which took it for an error of the frame below and ended with the exception as its result.
    (
        "src/vm.c",
        "            ci = cipop(mrb);\n            if (ci[1].cci == CINFO_SKIP && prev_jmp) {",
        "            if (ci->cci == CINFO_SKIP && prev_jmp) mrb->jmp = prev_jmp;\n            ci = cipop(mrb);\n            if (ci[1].cci == CINFO_SKIP && prev_jmp) {",
    ),
    (
        "src/vm.c",
        "        acc = ci->cci;\n        ci = cipop(mrb);\n",
        "        acc = ci->cci;\n        if (acc == CINFO_SKIP || acc == CINFO_DIRECT) mrb->jmp = prev_jmp;\n        ci = cipop(mrb);\n",
    ),
    (
        "src/vm.c",
        "          if (ci->cci > CINFO_NONE) {\n            ci = cipop(mrb);",
        "          if (ci->cci > CINFO_NONE) {\n            mrb->jmp = prev_jmp;\n            ci = cipop(mrb);",
    ),
];
