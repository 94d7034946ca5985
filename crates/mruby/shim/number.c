/*
 * Reading floats exactly. mruby 3.2 multiplies digits up and loses the last bits; this definition of mrb_read_float is
 * compiled instead of mruby's own (build.rs) and asks strtod (the process never leaves the "C" locale).
 */
#include "shim.h"
#include <ctype.h>
#include <stdlib.h>

mrb_bool mrb_read_float(const char *text, char **end, double *result) {
  const char *p = text;
  char *ignored;
  if (!end) end = &ignored;
  if (*p == '+' || *p == '-') p++;
  /* Decimal only: strtod would take hexadecimal, "inf" and "nan" too. */
  if (!isdigit((unsigned char)*p) && !(*p == '.' && isdigit((unsigned char)p[1]))) return FALSE;
  if (*p == '0' && (p[1] == 'x' || p[1] == 'X')) {
    *end = (char *)p + 1;
    *result = 0.0;
    return TRUE;
  }
  *result = strtod(text, end);
  return *end != text;
}
