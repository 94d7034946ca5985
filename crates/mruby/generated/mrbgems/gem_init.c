/*
 * This file contains a list of all
 * initializing methods which are
 * necessary to bootstrap all gems.
 *
 * IMPORTANT:
 *   This file was generated!
 *   All manual changes will get lost.
 */

#include <mruby.h>

void GENERATED_TMP_mrb_mruby_compar_ext_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_compar_ext_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_enum_ext_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_enum_ext_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_string_ext_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_string_ext_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_numeric_ext_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_numeric_ext_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_array_ext_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_array_ext_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_hash_ext_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_hash_ext_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_range_ext_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_range_ext_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_proc_ext_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_proc_ext_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_symbol_ext_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_symbol_ext_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_object_ext_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_object_ext_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_kernel_ext_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_kernel_ext_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_class_ext_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_class_ext_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_toplevel_ext_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_toplevel_ext_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_objectspace_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_objectspace_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_fiber_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_fiber_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_enumerator_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_enumerator_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_enum_lazy_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_enum_lazy_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_enum_chain_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_enum_chain_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_set_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_set_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_struct_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_struct_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_data_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_data_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_time_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_time_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_sprintf_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_sprintf_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_pack_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_pack_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_random_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_random_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_rational_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_rational_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_math_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_math_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_metaprog_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_metaprog_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_method_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_method_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_error_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_error_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_catch_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_catch_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_eval_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_eval_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_binding_core_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_binding_core_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_binding_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_binding_gem_final(mrb_state*);
void GENERATED_TMP_mrb_mruby_proc_binding_gem_init(mrb_state*);
void GENERATED_TMP_mrb_mruby_proc_binding_gem_final(mrb_state*);

static void
mrb_final_mrbgems(mrb_state *mrb) {
  GENERATED_TMP_mrb_mruby_proc_binding_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_binding_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_binding_core_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_eval_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_catch_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_error_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_method_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_metaprog_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_math_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_rational_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_random_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_pack_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_sprintf_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_time_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_data_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_struct_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_set_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_enum_chain_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_enum_lazy_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_enumerator_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_fiber_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_objectspace_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_toplevel_ext_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_class_ext_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_kernel_ext_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_object_ext_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_symbol_ext_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_proc_ext_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_range_ext_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_hash_ext_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_array_ext_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_numeric_ext_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_string_ext_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_enum_ext_gem_final(mrb);
  GENERATED_TMP_mrb_mruby_compar_ext_gem_final(mrb);
}

void
mrb_init_mrbgems(mrb_state *mrb) {
  GENERATED_TMP_mrb_mruby_compar_ext_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_enum_ext_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_string_ext_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_numeric_ext_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_array_ext_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_hash_ext_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_range_ext_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_proc_ext_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_symbol_ext_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_object_ext_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_kernel_ext_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_class_ext_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_toplevel_ext_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_objectspace_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_fiber_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_enumerator_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_enum_lazy_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_enum_chain_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_set_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_struct_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_data_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_time_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_sprintf_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_pack_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_random_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_rational_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_math_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_metaprog_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_method_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_error_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_catch_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_eval_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_binding_core_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_binding_gem_init(mrb);
  GENERATED_TMP_mrb_mruby_proc_binding_gem_init(mrb);
  mrb_state_atexit(mrb, mrb_final_mrbgems);
}
