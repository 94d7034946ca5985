/*
 * The functions through which Rust reaches mruby. Everything here is C because mruby's interface is macros, inline
 * functions and longjmp; nothing here knows Tsumugi.
 *
 * Rule: a function that can raise runs its body by `protect` and returns a status (TS_OK or TS_RAISED with the exception
 * in *out), so that a longjmp never crosses a Rust frame. Every other function that Rust calls, outside of such a body,
 * calls only what cannot_raise.txt names; `cargo xtask tidy` refuses anything else. A native called from Ruby returns a
 * status too, and the trampoline raises or yields after Rust has returned.
 */
#ifndef TSUMUGI_SHIM_H
#define TSUMUGI_SHIM_H

#include <mruby.h>
#include <mruby/error.h>
#include <stddef.h>
#include <stdint.h>

enum ts_status { TS_OK = 0, TS_RAISED = 1, TS_YIELD = 2 };

/* Mirrored by `Kind` in src/value.rs. */
enum ts_kind {
  TS_NIL, TS_FALSE, TS_TRUE, TS_INTEGER, TS_FLOAT, TS_SYMBOL, TS_STRING, TS_ARRAY, TS_HASH, TS_PROC,
  TS_DATA, TS_EXCEPTION, TS_FIBER, TS_CLASS, TS_RANGE, TS_BIGINT, TS_OBJECT
};

/* How a program uses a name. Mirrored by `NameUse` in src/program_names.rs. */
enum ts_name_use {
  TS_USE_CONSTANT, TS_USE_CONSTANT_DEFINED, TS_USE_OWN_CALL, TS_USE_OWN_CALL_WITH, TS_USE_CALL, TS_USE_METHOD_DEFINED, TS_USE_GLOBAL,
  TS_USE_GLOBAL_SET, TS_USE_SYMBOL, TS_USE_TEXT
};

/* What an instruction does. Mirrored by `STEPS` in src/code.rs. */
enum ts_step {
  TS_STEP_OTHER, TS_STEP_NOTHING, TS_STEP_WRITE, TS_STEP_MOVE, TS_STEP_INTEGER, TS_STEP_FLOAT, TS_STEP_TEXT, TS_STEP_SYMBOL, TS_STEP_NIL,
  TS_STEP_TRUE, TS_STEP_FALSE, TS_STEP_SELF, TS_STEP_CONSTANT, TS_STEP_MEMBER, TS_STEP_UPVALUE, TS_STEP_UPVALUE_SET, TS_STEP_INDEX,
  TS_STEP_JUMP, TS_STEP_BRANCH, TS_STEP_OWN_CALL, TS_STEP_CALL, TS_STEP_ARRAY, TS_STEP_ARRAY_OF, TS_STEP_ARRAY_ADD, TS_STEP_HASH,
  TS_STEP_HASH_ADD, TS_STEP_RANGE, TS_STEP_RANGE_BELOW, TS_STEP_BLOCK, TS_STEP_ENTER, TS_STEP_RETURN, TS_STEP_RETURN_OUT
};

/* What the interrupt hook is asked to do. Mirrored by `interrupt.rs`. */
enum ts_interrupt { TS_INTERRUPT_REPORT = 1, TS_INTERRUPT_STOP = 2, TS_INTERRUPT_INSIST = 4 };

typedef struct ts_vm {
  mrb_state *mrb;
  void *host;              /* the Rust `Vm`'s inner state */
  mrb_value pump;          /* `f.resume(v)`, run at the root context's base */
  mrb_value roots;         /* Array: what Rust keeps alive */
  struct RClass *overrun;  /* raised by the hook */
  int throws;              /* the fibre that is resumed shall raise `thrown` */
  mrb_value thrown;        /* protected by the scope of who resumes */
  uint64_t entry;          /* counts entries from Rust; read by the watchdog thread */
  uint64_t interrupt_entry;/* the entry an interrupt is meant for */
  int interrupt;           /* enum ts_interrupt bits; written by the watchdog thread */
  mrb_func_t kernel_raise; /* what raise.c extends */
} ts_vm;

/* A field of a record: a value, or a String to be made when `bytes` is not NULL. Mirrored by `RawField` in src/sys.rs. */
typedef struct ts_field { mrb_value value; const char *bytes; size_t len; } ts_field;

/* An instruction: where it stands, its operands, and what they name. Mirrored by `RawInstruction` in src/sys.rs. */
typedef struct ts_instruction {
  int step; /* enum ts_step */
  uint32_t at, first, second, third;
  const char *text;
  size_t len;
  int64_t integer;
  double number;
} ts_instruction;

/* Provided by Rust. */
void *ts_host_realloc(void *memory, void *pointer, size_t size);
void *ts_host_realloc_or_fail(void *memory, void *pointer, size_t size);
void *ts_host_realloc_exempt(void *memory, void *pointer, size_t size);
int ts_host_dispatch(void *host, int64_t index, mrb_value self, mrb_int argc, const mrb_value *argv,
                     mrb_value block, mrb_value *out);
void ts_host_drop_data(void *memory, void *pointer);
void ts_host_slow(void *host, const char *file, int32_t line);
void ts_host_syntax_error(void *errors, int32_t line, int32_t column, const char *message);
void ts_host_program_name(void *names, int use, const char *name, size_t len, int32_t line);
int ts_host_code_begin(void *reader, uint32_t registers, int is_own);
int ts_host_code_instruction(void *reader, const ts_instruction *instruction);
void ts_host_code_end(void *reader);

/* As ts_host_realloc, but the VM's limit refuses nothing. */
void *ts_host_realloc_exempt(void *memory, void *pointer, size_t size);

/* Runs `body`, which may raise. Leaving it cannot: see build/arena.rs. */
static inline int protect(ts_vm *vm, mrb_protect_error_func *body, void *argument, mrb_value *out) {
  mrb_bool raised = FALSE;
  *out = mrb_protect_error(vm->mrb, body, argument, &raised);
  return raised ? TS_RAISED : TS_OK;
}

/* Files whose names begin so are the product's own: an insisting interrupt leaves them alone. */
#define TS_OWN_FILE_PREFIX "tsumugi/"

#endif
