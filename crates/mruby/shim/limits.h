/* What the shim's files share to bound Ruby. Sizes are in defines.txt. */
#ifndef TSUMUGI_SHIM_LIMITS_H
#define TSUMUGI_SHIM_LIMITS_H

#include <mruby.h>

#define OVERRUN "the handler used more CPU time in one turn than its limit allows"

/* Has native code look at the C stack and at requests to stop (guard.c). On the thread that the VM will run on. */
void ts_guard_natives(mrb_state *mrb);
/* Before the first VM is opened; once for the process. */
void ts_choose_hash_key(void);
/* File and line of the innermost frame of the application's own code, else of any code (frames.c). */
void ts_where_in(mrb_state *mrb, const char **file, int32_t *line);
/* Does the product's own Ruby run, or core library code that it called? (frames.c) */
int ts_own_code_runs(mrb_state *mrb);
/* Makes `raise` without arguments raise again (raise.c). */
void ts_reraise(mrb_state *mrb);

#endif
