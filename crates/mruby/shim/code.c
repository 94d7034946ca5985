/*
 * The instructions of a method, as plain data: registers, literals, names of what is called. Reads what the compiler made and runs none of
 * it; what a name will mean is not known here. How much is read is for Rust to say (src/code.rs).
 */
#include "shim.h"
#include <mruby/class.h>
#include <mruby/debug.h>
#include <mruby/irep.h>
#include <mruby/opcode.h>
#include <mruby/proc.h>
#include <string.h>

/* build/keywords.rs adds it to src/vm.c. */
size_t mrb_insn_read(const mrb_code *from, mrb_code *kind, uint32_t *first, uint16_t *second, uint16_t *third);

static void name_of(mrb_state *mrb, const mrb_irep *irep, uint16_t index, ts_instruction *out) {
  mrb_int len = 0;
  out->text = mrb_sym_name_len(mrb, irep->syms[index], &len);
  out->len = out->text ? (size_t)len : 0;
}
static enum ts_step number_of(const mrb_irep *irep, uint16_t index, ts_instruction *out) {
  const mrb_pool_value *value = &irep->pool[index];
  switch (value->tt) {
  case IREP_TT_INT32: out->integer = value->u.i32; return TS_STEP_INTEGER;
  case IREP_TT_INT64: out->integer = value->u.i64; return TS_STEP_INTEGER;
  case IREP_TT_FLOAT: out->number = value->u.f; return TS_STEP_FLOAT;
  default: return TS_STEP_WRITE;
  }
}
static enum ts_step text_of(const mrb_irep *irep, uint16_t index, enum ts_step step, ts_instruction *out) {
  const mrb_pool_value *value = &irep->pool[index];
  if (value->tt & IREP_TT_NFLAG) return TS_STEP_WRITE;
  out->text = value->u.str;
  out->len = value->tt >> 2;
  return step;
}
static enum ts_step integer(int64_t value, ts_instruction *out) {
  out->integer = value;
  return TS_STEP_INTEGER;
}
/* `distance` is one of 16 bits with a sign, from behind the instruction. */
static enum ts_step jump(uint32_t behind, uint16_t distance, enum ts_step step, ts_instruction *out) {
  out->integer = (int64_t)behind + (int16_t)distance;
  return step;
}
static enum ts_step call(mrb_state *mrb, const mrb_irep *irep, mrb_code kind, uint16_t name, uint16_t counts, ts_instruction *out) {
  name_of(mrb, irep, name, out);
  out->second = counts & 15;
  out->third = (counts >> 4) & 15;
  out->integer = kind == OP_SSENDB || kind == OP_SENDB;
  return kind == OP_SSEND || kind == OP_SSENDB ? TS_STEP_OWN_CALL : TS_STEP_CALL;
}
static enum ts_step enter(uint32_t parameters, ts_instruction *out) {
  out->second = (parameters >> 18) & 31;
  out->third = (parameters & ~(uint32_t)0x7c0000) == 0;
  return TS_STEP_ENTER;
}

/* What an instruction does, as far as literals, names and registers go. `a`, `b` and `c` are its operands, `behind` is where the next one stands. */
static enum ts_step step_of(mrb_state *mrb, const mrb_irep *irep, mrb_code kind, uint32_t a, uint16_t b, uint16_t c, uint32_t behind, ts_instruction *out) {
  switch (kind) {
  case OP_MOVE: return TS_STEP_MOVE;
  case OP_LOADL: return number_of(irep, b, out);
  case OP_LOADI: case OP_LOADI16: return integer(kind == OP_LOADI ? (int64_t)b : (int16_t)b, out);
  case OP_LOADINEG: return integer(-(int64_t)b, out);
  case OP_LOADI32: return integer((int32_t)(((uint32_t)b << 16) + c), out);
  case OP_LOADI__1: case OP_LOADI_0: case OP_LOADI_1: case OP_LOADI_2: case OP_LOADI_3: case OP_LOADI_4: case OP_LOADI_5: case OP_LOADI_6:
  case OP_LOADI_7: return integer((int64_t)kind - OP_LOADI_0, out);
  case OP_LOADSYM: name_of(mrb, irep, b, out); return TS_STEP_SYMBOL;
  case OP_SYMBOL: return text_of(irep, b, TS_STEP_SYMBOL, out);
  case OP_STRING: return text_of(irep, b, TS_STEP_TEXT, out);
  case OP_LOADNIL: return TS_STEP_NIL;
  case OP_LOADSELF: return TS_STEP_SELF;
  case OP_LOADT: return TS_STEP_TRUE;
  case OP_LOADF: return TS_STEP_FALSE;
  case OP_GETCONST: name_of(mrb, irep, b, out); return TS_STEP_CONSTANT;
  case OP_GETMCNST: name_of(mrb, irep, b, out); return TS_STEP_MEMBER;
  case OP_GETUPVAR: return TS_STEP_UPVALUE;
  case OP_SETUPVAR: return TS_STEP_UPVALUE_SET;
  case OP_GETIDX: return TS_STEP_INDEX;
  case OP_JMP: case OP_JMPUW: return jump(behind, (uint16_t)a, TS_STEP_JUMP, out);
  case OP_JMPIF: case OP_JMPNOT: case OP_JMPNIL: return jump(behind, b, TS_STEP_BRANCH, out);
  case OP_SSEND: case OP_SSENDB: case OP_SEND: case OP_SENDB: return call(mrb, irep, kind, b, c, out);
  case OP_ARRAY: return TS_STEP_ARRAY;
  case OP_ARRAY2: return TS_STEP_ARRAY_OF;
  case OP_ARYPUSH: return TS_STEP_ARRAY_ADD;
  case OP_HASH: return TS_STEP_HASH;
  case OP_HASHADD: return TS_STEP_HASH_ADD;
  case OP_RANGE_INC: return TS_STEP_RANGE;
  case OP_RANGE_EXC: return TS_STEP_RANGE_BELOW;
  case OP_BLOCK: case OP_LAMBDA: return TS_STEP_BLOCK;
  case OP_ENTER: return enter(a, out);
  case OP_RETURN: case OP_BREAK: return TS_STEP_RETURN;
  case OP_RETURN_BLK: return TS_STEP_RETURN_OUT;
  case OP_RAISEIF: case OP_STOP: case OP_NOP: case OP_KEYEND: case OP_SETGV: case OP_SETSV:
  case OP_SETIV: case OP_SETCV: case OP_SETCONST: case OP_SETMCNST: case OP_ALIAS: case OP_UNDEF: case OP_ERR: case OP_DEBUG: return TS_STEP_NOTHING;
  case OP_GETGV: case OP_GETSV: case OP_GETIV: case OP_GETCV: case OP_EXCEPT: case OP_SUPER: case OP_KEY_P: case OP_KARG: case OP_BLKPUSH: case OP_ADD:
  case OP_ADDI: case OP_SUB: case OP_SUBI: case OP_MUL: case OP_DIV: case OP_EQ: case OP_LT: case OP_LE: case OP_GT: case OP_GE: case OP_ARYSPLAT:
  case OP_ARYCAT: case OP_AREF: case OP_INTERN: case OP_STRCAT: case OP_HASHCAT: case OP_METHOD: case OP_OCLASS: case OP_SCLASS:
  case OP_TCLASS: return TS_STEP_WRITE;
  default: return TS_STEP_OTHER;
  }
}

static void read_code(mrb_state *mrb, const mrb_irep *irep, void *reader) {
  const char *file = mrb_debug_get_filename(mrb, irep, 0);
  int is_own = file && strncmp(file, TS_OWN_FILE_PREFIX, sizeof TS_OWN_FILE_PREFIX - 1) == 0;
  if (!ts_host_code_begin(reader, irep->nregs, is_own)) return;
  const mrb_code *pc = irep->iseq, *end = irep->iseq + irep->ilen;
  while (pc < end) {
    mrb_code kind;
    uint32_t a;
    uint16_t b, c;
    uint32_t at = (uint32_t)(pc - irep->iseq);
    pc += mrb_insn_read(pc, &kind, &a, &b, &c);
    ts_instruction instruction = { .at = at, .first = a, .second = b, .third = c };
    instruction.step = step_of(mrb, irep, kind, a, b, c, (uint32_t)(pc - irep->iseq), &instruction);
    if (!ts_host_code_instruction(reader, &instruction)) break;
  }
  for (int i = 0; i < irep->rlen; i++) read_code(mrb, irep->reps[i], reader);
  ts_host_code_end(reader);
}

struct method { mrb_value class; uint32_t sym; void *reader; };
static mrb_value method_code_body(mrb_state *mrb, void *p) {
  struct method *m = p;
  struct RClass *class = mrb_class_ptr(m->class);
  mrb_method_t method = mrb_method_search_vm(mrb, &class, m->sym);
  if (MRB_METHOD_UNDEF_P(method) || MRB_METHOD_CFUNC_P(method)) return mrb_nil_value();
  read_code(mrb, MRB_METHOD_PROC(method)->body.irep, m->reader);
  return mrb_nil_value();
}
/* Shows `reader` the instructions of the method that objects of this class have under this name, and of the blocks in it; of one that is not
   written in Ruby, nothing. */
int ts_method_code(ts_vm *vm, mrb_value class, uint32_t sym, void *reader, mrb_value *out) {
  struct method m = { class, sym, reader };
  return protect(vm, method_code_body, &m, out);
}
