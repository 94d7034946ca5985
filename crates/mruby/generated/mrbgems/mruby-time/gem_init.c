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

mrb_DEFINE_SYMS_VAR(gem_mrblib_mruby_time_proc_syms_2, 1, (MRB_SYM(wday), ), const);
static const mrb_code gem_mrblib_mruby_time_proc_iseq_2[14] = {
0x34,0x00,0x00,0x00,0x2d,0x02,0x00,0x00,0x06,0x03,0x42,0x02,0x38,0x02,};
mrb_DEFINE_SYMS_VAR(gem_mrblib_mruby_time_proc_lv_2, 1, (0,), const);
static const mrb_irep gem_mrblib_mruby_time_proc_irep_2 = {
  2,5,0,
  MRB_IREP_STATIC,gem_mrblib_mruby_time_proc_iseq_2,
  NULL,gem_mrblib_mruby_time_proc_syms_2,NULL,
  gem_mrblib_mruby_time_proc_lv_2,
  NULL,					/* debug_info */
  14,0,1,0,0
};
mrb_DEFINE_SYMS_VAR(gem_mrblib_mruby_time_proc_syms_3, 1, (MRB_SYM(wday), ), const);
static const mrb_code gem_mrblib_mruby_time_proc_iseq_3[14] = {
0x34,0x00,0x00,0x00,0x2d,0x02,0x00,0x00,0x07,0x03,0x42,0x02,0x38,0x02,};
mrb_DEFINE_SYMS_VAR(gem_mrblib_mruby_time_proc_lv_3, 1, (0,), const);
static const mrb_irep gem_mrblib_mruby_time_proc_irep_3 = {
  2,5,0,
  MRB_IREP_STATIC,gem_mrblib_mruby_time_proc_iseq_3,
  NULL,gem_mrblib_mruby_time_proc_syms_3,NULL,
  gem_mrblib_mruby_time_proc_lv_3,
  NULL,					/* debug_info */
  14,0,1,0,0
};
mrb_DEFINE_SYMS_VAR(gem_mrblib_mruby_time_proc_syms_4, 1, (MRB_SYM(wday), ), const);
static const mrb_code gem_mrblib_mruby_time_proc_iseq_4[14] = {
0x34,0x00,0x00,0x00,0x2d,0x02,0x00,0x00,0x08,0x03,0x42,0x02,0x38,0x02,};
mrb_DEFINE_SYMS_VAR(gem_mrblib_mruby_time_proc_lv_4, 1, (0,), const);
static const mrb_irep gem_mrblib_mruby_time_proc_irep_4 = {
  2,5,0,
  MRB_IREP_STATIC,gem_mrblib_mruby_time_proc_iseq_4,
  NULL,gem_mrblib_mruby_time_proc_syms_4,NULL,
  gem_mrblib_mruby_time_proc_lv_4,
  NULL,					/* debug_info */
  14,0,1,0,0
};
mrb_DEFINE_SYMS_VAR(gem_mrblib_mruby_time_proc_syms_5, 1, (MRB_SYM(wday), ), const);
static const mrb_code gem_mrblib_mruby_time_proc_iseq_5[14] = {
0x34,0x00,0x00,0x00,0x2d,0x02,0x00,0x00,0x09,0x03,0x42,0x02,0x38,0x02,};
mrb_DEFINE_SYMS_VAR(gem_mrblib_mruby_time_proc_lv_5, 1, (0,), const);
static const mrb_irep gem_mrblib_mruby_time_proc_irep_5 = {
  2,5,0,
  MRB_IREP_STATIC,gem_mrblib_mruby_time_proc_iseq_5,
  NULL,gem_mrblib_mruby_time_proc_syms_5,NULL,
  gem_mrblib_mruby_time_proc_lv_5,
  NULL,					/* debug_info */
  14,0,1,0,0
};
mrb_DEFINE_SYMS_VAR(gem_mrblib_mruby_time_proc_syms_6, 1, (MRB_SYM(wday), ), const);
static const mrb_code gem_mrblib_mruby_time_proc_iseq_6[14] = {
0x34,0x00,0x00,0x00,0x2d,0x02,0x00,0x00,0x0a,0x03,0x42,0x02,0x38,0x02,};
mrb_DEFINE_SYMS_VAR(gem_mrblib_mruby_time_proc_lv_6, 1, (0,), const);
static const mrb_irep gem_mrblib_mruby_time_proc_irep_6 = {
  2,5,0,
  MRB_IREP_STATIC,gem_mrblib_mruby_time_proc_iseq_6,
  NULL,gem_mrblib_mruby_time_proc_syms_6,NULL,
  gem_mrblib_mruby_time_proc_lv_6,
  NULL,					/* debug_info */
  14,0,1,0,0
};
mrb_DEFINE_SYMS_VAR(gem_mrblib_mruby_time_proc_syms_7, 1, (MRB_SYM(wday), ), const);
static const mrb_code gem_mrblib_mruby_time_proc_iseq_7[14] = {
0x34,0x00,0x00,0x00,0x2d,0x02,0x00,0x00,0x0b,0x03,0x42,0x02,0x38,0x02,};
mrb_DEFINE_SYMS_VAR(gem_mrblib_mruby_time_proc_lv_7, 1, (0,), const);
static const mrb_irep gem_mrblib_mruby_time_proc_irep_7 = {
  2,5,0,
  MRB_IREP_STATIC,gem_mrblib_mruby_time_proc_iseq_7,
  NULL,gem_mrblib_mruby_time_proc_syms_7,NULL,
  gem_mrblib_mruby_time_proc_lv_7,
  NULL,					/* debug_info */
  14,0,1,0,0
};
mrb_DEFINE_SYMS_VAR(gem_mrblib_mruby_time_proc_syms_8, 1, (MRB_SYM(wday), ), const);
static const mrb_code gem_mrblib_mruby_time_proc_iseq_8[14] = {
0x34,0x00,0x00,0x00,0x2d,0x02,0x00,0x00,0x0c,0x03,0x42,0x02,0x38,0x02,};
mrb_DEFINE_SYMS_VAR(gem_mrblib_mruby_time_proc_lv_8, 1, (0,), const);
static const mrb_irep gem_mrblib_mruby_time_proc_irep_8 = {
  2,5,0,
  MRB_IREP_STATIC,gem_mrblib_mruby_time_proc_iseq_8,
  NULL,gem_mrblib_mruby_time_proc_syms_8,NULL,
  gem_mrblib_mruby_time_proc_lv_8,
  NULL,					/* debug_info */
  14,0,1,0,0
};
static const mrb_irep *gem_mrblib_mruby_time_proc_reps_1[7] = {
  &gem_mrblib_mruby_time_proc_irep_2,
  &gem_mrblib_mruby_time_proc_irep_3,
  &gem_mrblib_mruby_time_proc_irep_4,
  &gem_mrblib_mruby_time_proc_irep_5,
  &gem_mrblib_mruby_time_proc_irep_6,
  &gem_mrblib_mruby_time_proc_irep_7,
  &gem_mrblib_mruby_time_proc_irep_8,
};
mrb_DEFINE_SYMS_VAR(gem_mrblib_mruby_time_proc_syms_1, 7, (MRB_SYM_Q(sunday), MRB_SYM_Q(monday), MRB_SYM_Q(tuesday), MRB_SYM_Q(wednesday), MRB_SYM_Q(thursday), MRB_SYM_Q(friday), MRB_SYM_Q(saturday), ), const);
static const mrb_code gem_mrblib_mruby_time_proc_iseq_1[58] = {
0x63,0x01,0x58,0x02,0x00,0x5f,0x01,0x00,0x63,0x01,0x58,0x02,0x01,0x5f,0x01,0x01,0x63,0x01,0x58,0x02,
0x02,0x5f,0x01,0x02,0x63,0x01,0x58,0x02,0x03,0x5f,0x01,0x03,0x63,0x01,0x58,0x02,0x04,0x5f,0x01,0x04,
0x63,0x01,0x58,0x02,0x05,0x5f,0x01,0x05,0x63,0x01,0x58,0x02,0x06,0x5f,0x01,0x06,0x38,0x01,};
static const mrb_irep gem_mrblib_mruby_time_proc_irep_1 = {
  1,3,0,
  MRB_IREP_STATIC,gem_mrblib_mruby_time_proc_iseq_1,
  NULL,gem_mrblib_mruby_time_proc_syms_1,gem_mrblib_mruby_time_proc_reps_1,
  NULL,					/* lv */
  NULL,					/* debug_info */
  58,0,7,7,0
};
static const mrb_irep *gem_mrblib_mruby_time_proc_reps_0[1] = {
  &gem_mrblib_mruby_time_proc_irep_1,
};
mrb_DEFINE_SYMS_VAR(gem_mrblib_mruby_time_proc_syms_0, 1, (MRB_SYM(Time), ), const);
static const mrb_code gem_mrblib_mruby_time_proc_iseq_0[13] = {
0x11,0x01,0x11,0x02,0x5c,0x01,0x00,0x5e,0x01,0x00,0x38,0x01,0x69,};
static const mrb_irep gem_mrblib_mruby_time_proc_irep_0 = {
  1,3,0,
  MRB_IREP_STATIC,gem_mrblib_mruby_time_proc_iseq_0,
  NULL,gem_mrblib_mruby_time_proc_syms_0,gem_mrblib_mruby_time_proc_reps_0,
  NULL,					/* lv */
  NULL,					/* debug_info */
  13,0,1,1,0
};
static
const struct RProc gem_mrblib_mruby_time_proc[] = {{
NULL,NULL,MRB_TT_PROC,MRB_GC_RED,0,{&gem_mrblib_mruby_time_proc_irep_0},NULL,{NULL},
}};
static void
gem_mrblib_mruby_time_proc_init_syms(mrb_state *mrb)
{
}
void mrb_mruby_time_gem_init(mrb_state *mrb);
void mrb_mruby_time_gem_final(mrb_state *mrb);

void GENERATED_TMP_mrb_mruby_time_gem_init(mrb_state *mrb) {
  int ai = mrb_gc_arena_save(mrb);
  gem_mrblib_mruby_time_proc_init_syms(mrb);
  mrb_mruby_time_gem_init(mrb);
  mrb_load_proc(mrb, gem_mrblib_mruby_time_proc);
  if (mrb->exc) {
    mrb_exc_raise(mrb, mrb_obj_value(mrb->exc));
  }
  struct REnv *e = mrb_vm_ci_env(mrb->c->cibase);
  mrb_vm_ci_env_set(mrb->c->cibase, NULL);
  mrb_env_unshare(mrb, e, FALSE);
  mrb_gc_arena_restore(mrb, ai);
}

void GENERATED_TMP_mrb_mruby_time_gem_final(mrb_state *mrb) {
  mrb_mruby_time_gem_final(mrb);
}
