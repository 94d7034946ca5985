/*
 * Frames: which file and line Ruby is at, and whether the product's own Ruby runs. Reads the VM's stack of calls and changes nothing.
 */
#include "shim.h"
#include "limits.h"
#include <mruby/debug.h>
#include <mruby/irep.h>
#include <mruby/proc.h>
#include <string.h>

static int is_own(const char *file) { return strncmp(file, TS_OWN_FILE_PREFIX, strlen(TS_OWN_FILE_PREFIX)) == 0; }

/* File and line of a frame; NULL for native code and for the core library, which has no debug information. */
static const char *frame_file(mrb_state *mrb, const mrb_callinfo *ci, int32_t *line) {
  if (!ci->proc || MRB_PROC_CFUNC_P(ci->proc) || !ci->pc) return NULL;
  const mrb_irep *irep = ci->proc->body.irep;
  if (!irep || ci->pc < irep->iseq || ci->pc > irep->iseq + irep->ilen) return NULL;
  uint32_t at = ci->pc > irep->iseq ? (uint32_t)(ci->pc - irep->iseq - 1) : 0;
  *line = mrb_debug_get_line(mrb, irep, at);
  return mrb_debug_get_filename(mrb, irep, at);
}

/* Where Ruby is: the innermost frame of the application's own code, else of any code. */
void ts_where_in(mrb_state *mrb, const char **file, int32_t *line) {
  const char *own = NULL;
  int32_t own_line = 0;
  *file = NULL;
  for (const mrb_callinfo *ci = mrb->c->ci; ci >= mrb->c->cibase; ci--) {
    int32_t number = 0;
    const char *name = frame_file(mrb, ci, &number);
    if (!name) continue;
    if (!is_own(name)) {
      *file = name;
      *line = number;
      return;
    }
    if (!own) { own = name; own_line = number; }
  }
  *file = own;
  *line = own_line;
}

/* Does the product's own Ruby run, or core library code that it called? */
int ts_own_code_runs(mrb_state *mrb) {
  for (const mrb_callinfo *ci = mrb->c->ci; ci >= mrb->c->cibase; ci--) {
    int32_t line;
    const char *name = frame_file(mrb, ci, &line);
    if (name) return is_own(name);
  }
  return 1;
}

void ts_where(ts_vm *vm, const char **file, int32_t *line) {
  *line = 0;
  ts_where_in(vm->mrb, file, line);
}
