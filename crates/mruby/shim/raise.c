/*
 * `raise` without arguments in a rescue clause raises what was rescued; mruby's own raises an empty RuntimeError.
 * The exception is in a register of the frame that calls `raise`: the one that the clause begins by setting.
 */
#include "shim.h"
#include "limits.h"
#include <mruby/array.h>
#include <mruby/class.h>
#include <mruby/error.h>
#include <mruby/dump.h>
#include <mruby/irep.h>
#include <mruby/internal.h>
#include <mruby/opcode.h>
#include <mruby/proc.h>

#define vm_of(mrb) ((ts_vm *)(mrb)->ud)

/* What the innermost rescue clause around `ci`'s instruction rescued, or nil. */
static mrb_value rescued(mrb_state *mrb, const mrb_callinfo *ci) {
  if (ci < mrb->c->cibase || !ci->proc || MRB_PROC_CFUNC_P(ci->proc) || !ci->pc) return mrb_nil_value();
  const mrb_irep *irep = ci->proc->body.irep;
  const struct mrb_irep_catch_handler *handlers = mrb_irep_catch_handler_table(irep);
  if (!handlers || ci->pc < irep->iseq || ci->pc > irep->iseq + irep->ilen) return mrb_nil_value();
  uint32_t here = (uint32_t)(ci->pc - irep->iseq), begin = 0;
  mrb_value found = mrb_nil_value();
  for (uint16_t i = 0; i < irep->clen; i++) {
    uint32_t target = mrb_irep_catch_handler_unpack(handlers[i].target);
    if (handlers[i].type != MRB_CATCH_RESCUE || target >= here || target < begin) continue;
    const mrb_code *pc = irep->iseq + target;
    /* The jump before the clause, taken when nothing was raised, says where the clause ends. */
    if (target < 3 || pc[-3] != OP_JMP) continue;
    int64_t end = (int64_t)target + (int16_t)PEEK_S(pc - 2);
    if (here > end) continue;
    if (*pc != OP_EXCEPT || pc[1] >= irep->nregs) continue;
    mrb_value value = ci->stack[pc[1]];
    if (!mrb_exception_p(value)) continue;
    begin = target;
    found = value;
  }
  return found;
}

static mrb_value raise(mrb_state *mrb, mrb_value self) {
  if (mrb_get_argc(mrb) == 0) {
    mrb_value exception = rescued(mrb, mrb->c->ci - 1);
    if (!mrb_nil_p(exception)) mrb_exc_raise(mrb, exception);
    mrb_raise(mrb, mrb_exc_get_id(mrb, mrb_intern_lit(mrb, "RuntimeError")), "");
  }
  return vm_of(mrb)->kernel_raise(mrb, self);
}

void ts_reraise(mrb_state *mrb) {
  struct RClass *holder = mrb->kernel_module;
  mrb_method_t method = mrb_method_search_vm(mrb, &holder, mrb_intern_lit(mrb, "raise"));
  vm_of(mrb)->kernel_raise = MRB_METHOD_PROC_P(method) ? MRB_METHOD_PROC(method)->body.func : MRB_METHOD_FUNC(method);
  mrb_define_method(mrb, mrb->kernel_module, "raise", raise, MRB_ARGS_ANY());
}
