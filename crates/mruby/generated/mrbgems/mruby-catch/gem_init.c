/*
 * This file is loading the irep
 * Ruby GEM code.
 *
 * IMPORTANT:
 *   This file was generated!
 *   All manual changes will get lost.
 */
#include <stdlib.h>
#include <mruby.h>
#include <mruby/irep.h>
#include <mruby/debug.h>
#include <mruby/proc.h>
#include <mruby/presym.h>

#define mrb_BRACED(...) {__VA_ARGS__}
#define mrb_DEFINE_SYMS_VAR(name, len, syms, qualifier) \
  static qualifier mrb_sym name[len] = mrb_BRACED syms

static const mrb_pool_value gem_mrblib_mruby_catch_proc_pool_2[1] = {
{IREP_TT_STR|(15<<2), {"\x75\x6e\x63\x61\x75\x67\x68\x74\x20\x74\x68\x72\x6f\x77\x20"}},
};
mrb_DEFINE_SYMS_VAR(gem_mrblib_mruby_catch_proc_syms_2, 3, (MRB_IVSYM(tag), MRB_IVSYM(value), MRB_SYM(inspect), ), const);
static const mrb_code gem_mrblib_mruby_catch_proc_iseq_2[30] = {
0x34,0x08,0x00,0x00,0x1a,0x01,0x00,0x1a,0x02,0x01,0x51,0x05,0x00,0x01,0x06,0x01,0x2f,0x06,0x02,0x00,
0x52,0x05,0x01,0x06,0x03,0x32,0x04,0x01,0x38,0x04,};
mrb_DEFINE_SYMS_VAR(gem_mrblib_mruby_catch_proc_lv_2, 3, (MRB_SYM(tag), MRB_SYM(value), 0,), const);
static const mrb_irep gem_mrblib_mruby_catch_proc_irep_2 = {
  4,8,0,
  MRB_IREP_STATIC,gem_mrblib_mruby_catch_proc_iseq_2,
  gem_mrblib_mruby_catch_proc_pool_2,gem_mrblib_mruby_catch_proc_syms_2,NULL,
  gem_mrblib_mruby_catch_proc_lv_2,
  NULL,					/* debug_info */
  30,1,3,0,0
};
static const mrb_irep *gem_mrblib_mruby_catch_proc_reps_1[1] = {
  &gem_mrblib_mruby_catch_proc_irep_2,
};
mrb_DEFINE_SYMS_VAR(gem_mrblib_mruby_catch_proc_syms_1, 4, (MRB_SYM(tag), MRB_SYM(value), MRB_SYM(attr_reader), MRB_SYM(initialize), ), const);
static const mrb_code gem_mrblib_mruby_catch_proc_iseq_1[20] = {
0x10,0x02,0x00,0x10,0x03,0x01,0x2d,0x01,0x02,0x02,0x63,0x01,0x58,0x02,0x00,0x5f,0x01,0x03,0x38,0x01,};
static const mrb_irep gem_mrblib_mruby_catch_proc_irep_1 = {
  1,5,0,
  MRB_IREP_STATIC,gem_mrblib_mruby_catch_proc_iseq_1,
  NULL,gem_mrblib_mruby_catch_proc_syms_1,gem_mrblib_mruby_catch_proc_reps_1,
  NULL,					/* lv */
  NULL,					/* debug_info */
  20,0,4,1,0
};
static const mrb_irep *gem_mrblib_mruby_catch_proc_reps_0[1] = {
  &gem_mrblib_mruby_catch_proc_irep_1,
};
mrb_DEFINE_SYMS_VAR(gem_mrblib_mruby_catch_proc_syms_0, 2, (MRB_SYM(ArgumentError), MRB_SYM(UncaughtThrowError), ), const);
static const mrb_code gem_mrblib_mruby_catch_proc_iseq_0[14] = {
0x11,0x01,0x1d,0x02,0x00,0x5c,0x01,0x01,0x5e,0x01,0x00,0x38,0x01,0x69,};
static const mrb_irep gem_mrblib_mruby_catch_proc_irep_0 = {
  1,3,0,
  MRB_IREP_STATIC,gem_mrblib_mruby_catch_proc_iseq_0,
  NULL,gem_mrblib_mruby_catch_proc_syms_0,gem_mrblib_mruby_catch_proc_reps_0,
  NULL,					/* lv */
  NULL,					/* debug_info */
  14,0,2,1,0
};
static
const struct RProc gem_mrblib_mruby_catch_proc[] = {{
NULL,NULL,MRB_TT_PROC,MRB_GC_RED,0,{&gem_mrblib_mruby_catch_proc_irep_0},NULL,{NULL},
}};
static void
gem_mrblib_mruby_catch_proc_init_syms(mrb_state *mrb)
{
}
void mrb_mruby_catch_gem_init(mrb_state *mrb);
void mrb_mruby_catch_gem_final(mrb_state *mrb);

void GENERATED_TMP_mrb_mruby_catch_gem_init(mrb_state *mrb) {
  int ai = mrb_gc_arena_save(mrb);
  gem_mrblib_mruby_catch_proc_init_syms(mrb);
  mrb_mruby_catch_gem_init(mrb);
  mrb_load_proc(mrb, gem_mrblib_mruby_catch_proc);
  if (mrb->exc) {
    mrb_exc_raise(mrb, mrb_obj_value(mrb->exc));
  }
  struct REnv *e = mrb_vm_ci_env(mrb->c->cibase);
  mrb_vm_ci_env_set(mrb->c->cibase, NULL);
  mrb_env_unshare(mrb, e, FALSE);
  mrb_gc_arena_restore(mrb, ai);
}

void GENERATED_TMP_mrb_mruby_catch_gem_final(mrb_state *mrb) {
  mrb_mruby_catch_gem_final(mrb);
}
