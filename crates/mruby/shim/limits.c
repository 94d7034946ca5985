/*
 * Size limits on work the instruction hook cannot see: one native call that runs for seconds or asks for gigabytes.
 * Strings and arrays are limited at build time (defines.txt); this file limits big integers.
 */
#include "shim.h"
#include "limits.h"
#include <mruby/class.h>
#include <mruby/error.h>
#include <mruby/internal.h>
#include <mruby/proc.h>
#include <mruby/string.h>

#define vm_of(mrb) ((ts_vm *)(mrb)->ud)

static uint64_t bits_of(mrb_value v) {
  if (mrb_bigint_p(v)) return 8 * (uint64_t)mrb_bint_memsize(v);
  if (!mrb_integer_p(v)) return 0;
  int64_t i = mrb_integer(v);
  uint64_t magnitude = i < 0 ? (uint64_t)0 - (uint64_t)i : (uint64_t)i;
  return magnitude ? 64 - (uint64_t)__builtin_clzll(magnitude) : 0;
}

static void check_bits(mrb_state *mrb, uint64_t bits) {
  if (bits > INTEGER_BITS_MAX)
    mrb_raise(mrb, mrb_exc_get_id(mrb, mrb_intern_lit(mrb, "RangeError")),
              "the result is too large: integers are limited to 262144 bits");
}

static mrb_value power(mrb_state *mrb, mrb_value self) {
  mrb_value exponent = mrb_get_arg1(mrb);
  if (mrb_integer_p(exponent) && mrb_integer(exponent) > 1) {
    uint64_t bits = bits_of(self);
    if (bits > 1) {
      uint64_t n = (uint64_t)mrb_integer(exponent);
      check_bits(mrb, n > INTEGER_BITS_MAX ? n : bits * n - n);
    }
  }
  return vm_of(mrb)->integer_power(mrb, self);
}

static mrb_value multiply(mrb_state *mrb, mrb_value self) {
  mrb_value other = mrb_get_arg1(mrb);
  if (mrb_bigint_p(self) || mrb_bigint_p(other)) check_bits(mrb, bits_of(self) + bits_of(other));
  return vm_of(mrb)->integer_multiply(mrb, self);
}

static mrb_value shift_left(mrb_state *mrb, mrb_value self) {
  mrb_value width = mrb_get_arg1(mrb);
  if (mrb_integer_p(width) && mrb_integer(width) > 0)
    check_bits(mrb, bits_of(self) ? bits_of(self) + (uint64_t)mrb_integer(width) : 0);
  return vm_of(mrb)->integer_shift_left(mrb, self);
}

static mrb_value string_to_i(mrb_state *mrb, mrb_value self) {
  if (RSTRING_LEN(self) > INTEGER_DIGITS_MAX)
    mrb_raise(mrb, mrb_exc_get_id(mrb, mrb_intern_lit(mrb, "RangeError")),
              "the string is too long for an integer: at most 65536 digits");
  return vm_of(mrb)->string_to_i(mrb, self);
}

static mrb_func_t replace(mrb_state *mrb, struct RClass *class, const char *name, mrb_func_t with, mrb_aspec arity) {
  struct RClass *holder = class;
  mrb_method_t method = mrb_method_search_vm(mrb, &holder, mrb_intern_cstr(mrb, name));
  mrb_func_t original = MRB_METHOD_PROC_P(method) ? MRB_METHOD_PROC(method)->body.func : MRB_METHOD_FUNC(method);
  mrb_define_method(mrb, class, name, with, arity);
  return original;
}

void ts_limit_integers(mrb_state *mrb) {
  ts_vm *vm = vm_of(mrb);
  vm->integer_power = replace(mrb, mrb->integer_class, "**", power, MRB_ARGS_REQ(1));
  vm->integer_multiply = replace(mrb, mrb->integer_class, "*", multiply, MRB_ARGS_REQ(1));
  vm->integer_shift_left = replace(mrb, mrb->integer_class, "<<", shift_left, MRB_ARGS_REQ(1));
  vm->string_to_i = replace(mrb, mrb->string_class, "to_i", string_to_i, MRB_ARGS_OPT(1));
}
