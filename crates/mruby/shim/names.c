/*
 * The names that a compiled program uses: constants, methods, globals, symbols, with their lines. Reads the instructions of the program and
 * of all that is inside it; runs none.
 */
#include "shim.h"
#include <mruby/debug.h>
#include <mruby/irep.h>
#include <mruby/opcode.h>
#include <mruby/proc.h>

/* build/keywords.rs adds it to src/vm.c. */
size_t mrb_insn_read(const mrb_code *from, mrb_code *kind, uint32_t *first, uint16_t *second, uint16_t *third);

/* Blocks inside of blocks; what is deeper is not looked at. */
#define DEPTH_MAX 200

static void name_used(mrb_state *mrb, void *names, enum ts_name_use use, mrb_sym sym, int32_t line) {
  mrb_int len = 0;
  const char *name = mrb_sym_name_len(mrb, sym, &len);
  if (name) ts_host_program_name(names, use, name, (size_t)len, line);
}

/* How an instruction uses the name that is its second operand; -1 when that is none. `arguments` is the third. */
static int use_of(mrb_code kind, uint16_t arguments) {
  switch (kind) {
  case OP_GETCONST: return TS_USE_CONSTANT;
  case OP_SETCONST: case OP_SETMCNST: case OP_CLASS: case OP_MODULE: return TS_USE_CONSTANT_DEFINED;
  case OP_SSEND: return arguments == 0 ? TS_USE_OWN_CALL : TS_USE_OWN_CALL_WITH;
  case OP_SSENDB: return TS_USE_OWN_CALL_WITH;
  case OP_SEND: case OP_SENDB: return TS_USE_CALL;
  case OP_DEF: return TS_USE_METHOD_DEFINED;
  case OP_GETGV: return TS_USE_GLOBAL;
  case OP_SETGV: return TS_USE_GLOBAL_SET;
  case OP_LOADSYM: return TS_USE_SYMBOL;
  default: return -1;
  }
}

static void program_names(mrb_state *mrb, const mrb_irep *irep, void *names, int depth) {
  const mrb_code *pc = irep->iseq, *end = irep->iseq + irep->ilen;
  while (pc < end) {
    mrb_code kind;
    uint32_t first;
    uint16_t second, third;
    uint32_t at = (uint32_t)(pc - irep->iseq);
    pc += mrb_insn_read(pc, &kind, &first, &second, &third);
    int32_t line = mrb_debug_get_line(mrb, irep, at);
    int use = use_of(kind, third);
    if (use >= 0) {
      name_used(mrb, names, (enum ts_name_use)use, irep->syms[second], line);
    } else if (kind == OP_ALIAS) {
      name_used(mrb, names, TS_USE_METHOD_DEFINED, irep->syms[first], line);
    } else if (kind == OP_STRING && !(irep->pool[second].tt & IREP_TT_NFLAG)) {
      ts_host_program_name(names, TS_USE_TEXT, irep->pool[second].u.str, irep->pool[second].tt >> 2, line);
    }
  }
  if (depth == DEPTH_MAX) return;
  for (int i = 0; i < irep->rlen; i++) program_names(mrb, irep->reps[i], names, depth + 1);
}

struct names { mrb_value program; void *names; };
static mrb_value program_names_body(mrb_state *mrb, void *p) {
  struct names *n = p;
  struct RProc *proc = mrb_proc_ptr(n->program);
  if (!MRB_PROC_CFUNC_P(proc)) program_names(mrb, proc->body.irep, n->names, 0);
  return mrb_nil_value();
}
/* Tells `names` of each name, in the order of the instructions. `program` is a Proc. */
int ts_program_names(ts_vm *vm, mrb_value program, void *names, mrb_value *out) {
  struct names n = { program, names };
  return protect(vm, program_names_body, &n, out);
}
