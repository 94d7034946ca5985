/* Limits the shim enforces. Each is named in the error that it raises. */
#ifndef TSUMUGI_SHIM_LIMITS_H
#define TSUMUGI_SHIM_LIMITS_H

#include <mruby.h>

#define INTEGER_BITS_MAX 262144  /* one multiplication of this size takes some tens of milliseconds */
#define INTEGER_DIGITS_MAX 65536

void ts_limit_integers(mrb_state *mrb);
/* Makes `raise` without arguments raise again (raise.c). */
void ts_reraise(mrb_state *mrb);

#endif
