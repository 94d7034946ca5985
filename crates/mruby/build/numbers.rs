//! Corrections of mruby's Integers beyond 64 bits, where results were wrong. Knows no limits: those are in bounds.rs.
//! What CRuby answers is the model: crates/ruby/tests/std/snippets/integers.rb.

pub const CORRECTIONS: &[super::Correction] = &[
    // A shift to the right rounds down: what it takes from a negative number counts.
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "    if (uzero(z))\n      z->sn = 0;\n    else {\n      z->sn = sn;\n    }\n  }\n}\n",
        "    z->sn = uzero(z) ? 0 : sn;\n    if (sn < 0) {\n      mp_limb lost = bs ? x->p[digs] << (DIG_SIZE - bs) : 0;\n      for (size_t i = 0; i < digs; i++) lost |= x->p[i];\n      if (lost) mpz_sub_int(mrb, z, z, 1);\n    }\n  }\n}\n",
    ),
    // Bits of a negative number are those of its two's complement.
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "static void\nmpz_and(mrb_state *mrb, mpz_t *z, mpz_t *x, mpz_t *y) /* not the most efficient way to do this */\n{\n  size_t sz = imin(x->sz, y->sz);\n\n  mpz_realloc(mrb, z, sz);\n  for (size_t i=0; i < sz; i++)\n    z->p[i] = x->p[i] & y->p[i];\n  if (x->sn < 0 && y->sn < 0)\n    z->sn = (-1);\n  else\n    z->sn = 1;\n  if (uzero(z))\n    z->sn = 0;\n}\n\nstatic void\nmpz_or(mrb_state *mrb, mpz_t *z, mpz_t *x, mpz_t *y)  /* not the most efficient way to do this */\n{\n  size_t i;\n  size_t sz = imax(x->sz, y->sz);\n\n  mpz_realloc(mrb, z, sz);\n  for (i=0; i < sz; i++)\n    z->p[i] = dg(x,i) | dg(y,i);\n  if (x->sn < 0 || y->sn < 0)\n    z->sn = (-1);\n  else\n    z->sn = 1;\n  if (uzero(z))\n    z->sn = 0;\n}\n\nstatic void\nmpz_xor(mrb_state *mrb, mpz_t *z, mpz_t *x, mpz_t *y)  /* not the most efficient way to do this */\n{\n  size_t i;\n\n  size_t sz = imax(x->sz, y->sz);\n  mpz_realloc(mrb, z, sz);\n  for (i=0; i < sz; i++)\n    z->p[i] = dg(x,i) ^ dg(y,i);\n  if ((x->sn <= 0 && y->sn > 0) || (x->sn > 0 && y->sn <=0))\n    z->sn = (-1);\n  else\n    z->sn = 1;\n  if (uzero(z))\n    z->sn = 0;\n}\n\n",
        "/* one digit of x in two's complement after the other; borrow is 1 before the first */\nstatic mp_limb\ncomplement_digit(mpz_t *x, size_t i, mp_dbl_limb *borrow)\n{\n  mp_limb digit = dg(x, i);\n  if (x->sn >= 0) return digit;\n  *borrow += (mp_limb)~digit;\n  digit = LOW(*borrow);\n  *borrow = HIGH(*borrow);\n  return digit;\n}\n\nenum bit_operation { BIT_AND, BIT_OR, BIT_XOR };\n\nstatic void\nmpz_bits_of(mrb_state *mrb, mpz_t *z, mpz_t *x, mpz_t *y, enum bit_operation operation)\n{\n  size_t sz = imax(x->sz, y->sz) + 1;\n  mp_dbl_limb bx = 1, by = 1, bz = 1;\n\n  mpz_realloc(mrb, z, sz);\n  for (size_t i = 0; i < sz; i++) {\n    mp_limb a = complement_digit(x, i, &bx), b = complement_digit(y, i, &by);\n    z->p[i] = operation == BIT_AND ? a & b : operation == BIT_OR ? a | b : a ^ b;\n  }\n  z->sn = z->p[sz-1] >> (DIG_SIZE - 1) ? -1 : 1;\n  if (z->sn < 0) {\n    for (size_t i = 0; i < sz; i++) z->p[i] = complement_digit(z, i, &bz);\n  }\n  trim(z);\n  if (z->sz == 0) z->sn = 0;\n}\n#define mpz_and(mrb, z, x, y) mpz_bits_of(mrb, z, x, y, BIT_AND)\n#define mpz_or(mrb, z, x, y) mpz_bits_of(mrb, z, x, y, BIT_OR)\n#define mpz_xor(mrb, z, x, y) mpz_bits_of(mrb, z, x, y, BIT_XOR)\n\n",
    ),
    // A Float beyond 64 bits has no bits: RangeError, where the number was made of what the register held.
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "  if (mrb_float_p(y)) {\n    mpz_t z;\n    mpz_init_set_int(mrb, &z, (mrb_int)mrb_float(y));\n    mpz_and(mrb, &b3->mp, &b1->mp, &z);\n    mpz_clear(mrb, &z);\n    return bint_norm(mrb, b3);\n  }\n",
        "",
    ),
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "  if (mrb_float_p(y)) {\n    mpz_t z;\n    mpz_init_set_int(mrb, &z, (mrb_int)mrb_float(y));\n    mpz_or(mrb, &b3->mp, &b1->mp, &z);\n    mpz_clear(mrb, &z);\n    return bint_norm(mrb, b3);\n  }\n",
        "",
    ),
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "  if (mrb_float_p(y)) {\n    mpz_t z;\n    mpz_init_set_int(mrb, &z, (mrb_int)mrb_float(y));\n    mpz_xor(mrb, &b3->mp, &b1->mp, &z);\n    mpz_clear(mrb, &z);\n    return bint_norm(mrb, b3);\n  }\n",
        "",
    ),
    // Every result has its leading zeros taken, or is a plain Integer where it fits: numbers are equal only in this form.
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "  mrb_int i;\n\n  if (mpz_get_int(&b->mp, &i)) {\n    return mrb_int_value(mrb, i);",
        "  mrb_int i;\n\n  trim(&b->mp);\n  if (mpz_get_int(&b->mp, &i)) {\n    return mrb_int_value(mrb, i);",
    ),
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "      mpz_pow(mrb, &b3->mp, &b->mp, mrb_integer(y));\n      return mrb_obj_value(b3);",
        "      mpz_pow(mrb, &b3->mp, &b->mp, mrb_integer(y));\n      return bint_norm(mrb, b3);",
    ),
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "  if (sn < 0) {\n    b->mp.sn = sn;\n  }\n  return mrb_obj_value(b);\n}\n\nstatic mrb_value\nbint_norm(mrb_state *mrb, struct RBigint *b)\n{",
        "  if (sn < 0) {\n    b->mp.sn = sn;\n  }\n  return bint_norm(mrb, b);\n}\n\nstatic mrb_value\nbint_norm(mrb_state *mrb, struct RBigint *b)\n{",
    ),
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "mrb_value\nmrb_bint_new_str(mrb_state *mrb, const char *x, mrb_int len, mrb_int base)\n{",
        "static mrb_value bint_norm(mrb_state *mrb, struct RBigint *b);\n\nmrb_value\nmrb_bint_new_str(mrb_state *mrb, const char *x, mrb_int len, mrb_int base)\n{",
    ),
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "  x.sz = yy->sz;\n  urshift(mrb, rr, &x, ns);\n",
        "  x.sz = yy->sz;\n  urshift(mrb, rr, &x, ns);\n  trim(rr);\n",
    ),
    // The remainder of a power has the sign of the divisor.
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "  mpz_move(mrb, zz, &t);\n  mpz_clear(mrb, &b);\n}",
        "  mpz_clear(mrb, &b);\n  mpz_mmod(mrb, &b, &t, n);\n  mpz_move(mrb, zz, &b);\n  mpz_clear(mrb, &t);\n}",
    ),
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "  if (ex == 0) {\n    mpz_set_int(mrb, zz, 1);\n    return;\n  }\n",
        "",
    ),
    // A comparison with a Float is exact, and one with NaN has no answer.
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "    mrb_float v1 = mrb_bint_as_float(mrb, x);\n    mrb_float v2 = mrb_float(y);\n    if (v1 == v2) return 0;\n    if (v1 > v2)  return 1;\n    return -1;\n",
        "    mrb_float v2 = mrb_float(y);\n    if (v2 != v2) return 2;\n    if (v2 - v2 != 0) return v2 > 0 ? -1 : 1;\n    if (v2 >= (mrb_float)MRB_INT_MIN && v2 < -(mrb_float)MRB_INT_MIN) return RBIGINT(x)->mp.sn;\n    y = mrb_bint_new_float(mrb, v2);\n",
    ),
    // A number becomes the Float that is nearest to it; it was rounded once for each digit.
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "mrb_float\nmrb_bint_as_float(mrb_state *mrb, mrb_value self)\n{\n  struct RBigint *b = RBIGINT(self);\n  mpz_t *i = &b->mp;\n  mp_limb *d = i->p + i->sz;\n  mrb_float val = 0;\n\n  while (d-- > i->p) {\n    val = val * DIG_BASE + *d;\n  }\n\n  if (i->sn < 0) {\n    val = -val;\n  }\n  return val;\n}\n",
        "mrb_float\nmrb_bint_as_float(mrb_state *mrb, mrb_value self)\n{\n  mpz_t *x = &RBIGINT(self)->mp;\n  size_t sz = digits(x), used = 0;\n  uint64_t top = 0, rest = 0;\n\n  while (sz > 0 && used < 64 / DIG_SIZE) {\n    top = (top << DIG_SIZE) | x->p[--sz];\n    used++;\n  }\n  if (sz > 0 && top) {\n    int free = __builtin_clzll(top);\n    uint64_t next = x->p[--sz];\n    if (free) top = (top << free) | (next >> (DIG_SIZE - free));\n    rest = next & (((uint64_t)1 << (DIG_SIZE - free)) - 1);\n    for (size_t i = 0; i < sz; i++) rest |= x->p[i];\n    mrb_float val = ldexp((double)(top | (rest != 0)), (int)(sz * DIG_SIZE + DIG_SIZE - free));\n    return x->sn < 0 ? -val : val;\n  }\n  return x->sn < 0 ? -(mrb_float)top : (mrb_float)top;\n}\n",
    ),
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "#include <string.h>\n#include \"bigint.h\"\n",
        "#include <string.h>\n#include <math.h>\n#include \"bigint.h\"\n",
    ),
    // Of a Float beyond 64 bits only the highest digit was taken.
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "    mrb_assert(x < 1.0);\n    rp[i] = f;\n    if (i == 0) break;\n",
        "    mrb_assert(x < 1.0);\n    x *= b;\n    rp[i] = f;\n    if (i == 0) break;\n",
    ),
    // A small number that took the place of a big one kept its higher digits.
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "    mpz_realloc(mrb, y, 1);\n    y->p[0] = (mp_limb)u;\n  }\n}\n",
        "    mpz_realloc(mrb, y, 1);\n    y->p[0] = (mp_limb)u;\n    if (y->sz > 1) y->p[1] = 0;\n  }\n  for (size_t i = 2; i < y->sz; i++) y->p[i] = 0;\n}\n",
    ),
    // A remainder by a Float has the sign of the divisor.
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "    return mrb_float_value(mrb, fmod(v1, v2));",
        "    mrb_float mod = fmod(v1, v2);\n    return mrb_float_value(mrb, mod != 0 && (mod < 0) != (v2 < 0) ? mod + v2 : mod);",
    ),
    // A Rational was cut to an Integer.
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "  if (mrb_bigint_p(x)) return x;\n  return mrb_bint_new_int(mrb, mrb_as_int(mrb, x));",
        "  if (mrb_bigint_p(x)) return x;\n  if (!mrb_integer_p(x) && !mrb_float_p(x)) {\n    mrb_raisef(mrb, E_TYPE_ERROR, \"an Integer beyond 64 bits cannot be calculated with %Y\", x);\n  }\n  return mrb_bint_new_int(mrb, mrb_as_int(mrb, x));",
    ),
    // Operations of a plain Integer with a big one.
    (
        "src/numeric.c",
        "    mrb_bint_rev(mrb, num);\n",
        "    return mrb_bint_rev(mrb, num);\n",
    ),
    (
        "src/numeric.c",
        "    return mrb_bint_cmp(mrb, v1, v2);\n  }\n#endif\n",
        "    return mrb_bint_cmp(mrb, v1, v2);\n  }\n  if (mrb_integer_p(v1) && mrb_integer_p(v2)) {\n    mrb_int a = mrb_integer(v1), b = mrb_integer(v2);\n    return a < b ? -1 : a > b;\n  }\n  if (mrb_bigint_p(v2)) {\n    mrb_int n = mrb_bint_cmp(mrb, v2, v1);\n    return n == -2 || n == 2 ? n : -n;\n  }\n#endif\n",
    ),
    (
        "src/numeric.c",
        "  if (x > y)\n    return 1;\n  else {\n    if (x < y)\n      return -1;\n    return 0;\n  }\n",
        "  if (x > y)\n    return 1;\n  else {\n    if (x < y)\n      return -1;\n    return x == y ? 0 : 2; /* NaN */\n  }\n",
    ),
    (
        "src/numeric.c",
        "  a = mrb_integer(x);\n  if (a == 0) return x;\n  if (mrb_integer_p(y)) {\n    b = mrb_integer(y);\n",
        "#ifdef MRB_USE_BIGINT\n  if (mrb_bigint_p(y)) {\n    return mrb_bint_mod(mrb, mrb_bint_new_int(mrb, mrb_integer(x)), y);\n  }\n#endif\n  a = mrb_integer(x);\n  if (a == 0 && !mrb_float_p(y) && !mrb_integer_p(y)) return x;\n  if (mrb_integer_p(y)) {\n    b = mrb_integer(y);\n",
    ),
    (
        "src/numeric.c",
        "    return mrb_bint_divmod(mrb, x, y);\n  }\n#endif\n  if (mrb_integer_p(y)) {\n    mrb_int div, mod;\n\n    intdivmod(",
        "    return mrb_bint_divmod(mrb, x, y);\n  }\n  if (mrb_bigint_p(y) || (mrb_integer_p(y) && mrb_integer(x) == MRB_INT_MIN)) {\n    return mrb_bint_divmod(mrb, mrb_bint_new_int(mrb, mrb_integer(x)), y);\n  }\n#endif\n  if (mrb_integer_p(y)) {\n    mrb_int div, mod;\n\n    intdivmod(",
    ),
    (
        "src/numeric.c",
        "  return flo_divmod(mrb, x);\n#endif\n}\n",
        "  return flo_divmod(mrb, mrb_float_value(mrb, (mrb_float)mrb_integer(x)));\n#endif\n}\n",
    ),
    (
        "src/numeric.c",
        "  if (!FIXABLE_FLOAT(div))\n    a = mrb_float_value(mrb, div);\n  else\n",
        "  mrb_check_num_exact(mrb, div);\n#ifdef MRB_USE_BIGINT\n  if (!FIXABLE_FLOAT(div))\n    a = mrb_bint_new_float(mrb, div);\n  else\n#endif\n",
    ),
    (
        "src/numeric.c",
        "  mrb_value y = mrb_get_arg1(mrb);\n\n  switch (mrb_type(y)) {\n  case MRB_TT_INTEGER:\n    return mrb_bool_value(mrb_integer(x) == mrb_integer(y));\n",
        "  mrb_value y = mrb_get_arg1(mrb);\n\n#ifdef MRB_USE_BIGINT\n  if (mrb_bigint_p(x) && (mrb_integer_p(y) || mrb_bigint_p(y) || mrb_float_p(y))) {\n    return mrb_bool_value(mrb_bint_cmp(mrb, x, y) == 0);\n  }\n#endif\n  switch (mrb_type(y)) {\n  case MRB_TT_INTEGER:\n    return mrb_bool_value(mrb_integer(x) == mrb_integer(y));\n",
    ),
    (
        "src/numeric.c",
        "  case MRB_TT_FLOAT:\n    return mrb_bool_value(mrb_float(x) == mrb_float(y));\n#ifdef MRB_USE_RATIONAL\n  case MRB_TT_RATIONAL:\n    return mrb_bool_value(mrb_float(x) == mrb_as_float(mrb, y));\n",
        "  case MRB_TT_FLOAT:\n    return mrb_bool_value(mrb_float(x) == mrb_float(y));\n#ifdef MRB_USE_BIGINT\n  case MRB_TT_BIGINT:\n    return mrb_bool_value(mrb_bint_cmp(mrb, y, x) == 0);\n#endif\n#ifdef MRB_USE_RATIONAL\n  case MRB_TT_RATIONAL:\n    return mrb_bool_value(mrb_float(x) == mrb_as_float(mrb, y));\n",
    ),
    (
        "src/numeric.c",
        "  if (n == -2) return mrb_nil_value();\n",
        "  if (n == -2 || n == 2) return mrb_nil_value();\n",
    ),
    (
        "src/numeric.c",
        "  if (n > 0) return mrb_true_value();\n",
        "  if (n == 1) return mrb_true_value();\n",
    ),
    (
        "src/numeric.c",
        "  if (n >= 0) return mrb_true_value();\n",
        "  if (n == 0 || n == 1) return mrb_true_value();\n",
    ),
    (
        "src/numeric.c",
        "    return cmpnum(mrb, obj1, obj2);\n",
        "    {\n      mrb_int n = cmpnum(mrb, obj1, obj2);\n      return n == 2 ? -2 : n;\n    }\n",
    ),
    (
        "src/numeric.c",
        "  bit_op(x, y, or, ^);\n",
        "  bit_op(x, y, xor, ^);\n",
    ),
    (
        "src/numeric.c",
        "  mrb_int y;\n\n  mrb_get_args(mrb, \"i\", &y);\n  return mrb_div_int_value(mrb, mrb_integer(x), y);\n",
        "  mrb_int y;\n\n#ifdef MRB_USE_BIGINT\n  if (mrb_bigint_p(mrb_get_arg1(mrb))) {\n    return mrb_bint_div(mrb, mrb_bint_new_int(mrb, mrb_integer(x)), mrb_get_arg1(mrb));\n  }\n#endif\n  mrb_get_args(mrb, \"i\", &y);\n  return mrb_div_int_value(mrb, mrb_integer(x), y);\n",
    ),
    (
        "src/numeric.c",
        "#else\n  mrb_int a = mrb_integer(x);\n  mrb_value y = mrb_get_arg1(mrb);\n  if (mrb_integer_p(y) && mrb_class",
        "#else\n  mrb_value y = mrb_get_arg1(mrb);\n#ifdef MRB_USE_BIGINT\n  if (mrb_bigint_p(x) || mrb_bigint_p(y)) {\n    return mrb_float_value(mrb, mrb_div_float(mrb_as_float(mrb, x), mrb_as_float(mrb, y)));\n  }\n#endif\n  mrb_int a = mrb_integer(x);\n  if (mrb_integer_p(y) && mrb_class",
    ),
    (
        "src/numeric.c",
        "  if (!FIXABLE_FLOAT(number))\n    return mrb_float_value(mrb, number);\n",
        "  if (!FIXABLE_FLOAT(number))\n    return flo_rounding_int(mrb, number);\n",
    ),
    // Rounding to tens, hundreds and so on: of numbers of any size, by steps of any size.
    (
        "src/numeric.c",
        "static mrb_value\nprepare_int_rounding(mrb_state *mrb, mrb_value x)\n{\n  mrb_int nd = 0;\n  size_t bytes;\n\n  mrb_get_args(mrb, \"|i\", &nd);\n  if (nd >= 0) {\n    return mrb_nil_value();\n  }\n#ifdef MRB_USE_BIGINT\n  if (mrb_bigint_p(x)) {\n    bytes = mrb_bint_memsize(x);\n  }\n  else\n#endif\n    bytes = sizeof(mrb_int);\n  if (-0.415241 * nd - 0.125 > bytes) {\n    return mrb_undef_value();\n  }\n  return mrb_int_pow(mrb, mrb_fixnum_value(10), mrb_fixnum_value(-nd));\n}\n\n",
        "enum rounding { ROUND_DOWN, ROUND_UP, ROUND_HALF };\n\nstatic mrb_value\nint_rounded(mrb_state *mrb, mrb_value x, enum rounding rounding, mrb_bool truncates)\n{\n  mrb_int nd = 0;\n\n  mrb_get_args(mrb, \"|i\", &nd);\n#ifdef MRB_USE_BIGINT\n  if (nd >= 0) return x;\n  if (nd < -TSUMUGI_INTEGER_BITS_MAX) nd = -TSUMUGI_INTEGER_BITS_MAX;\n  mrb_bool negative = cmpnum(mrb, x, mrb_fixnum_value(0)) < 0;\n  if (truncates) rounding = negative ? ROUND_UP : ROUND_DOWN;\n  size_t bytes = mrb_bigint_p(x) ? mrb_bint_memsize(x) : sizeof(mrb_int);\n  if (-0.415241 * nd - 0.125 > bytes && (rounding == ROUND_HALF || negative == (rounding == ROUND_UP))) {\n    return mrb_fixnum_value(0);\n  }\n  mrb_value step = mrb_int_pow(mrb, mrb_fixnum_value(10), mrb_int_value(mrb, -nd));\n  mrb_value rest = mrb_bint_mod(mrb, mrb_as_bint(mrb, x), step);\n  mrb_value down = mrb_num_sub(mrb, x, rest);\n  mrb_int up = 0;\n  switch (rounding) {\n  case ROUND_DOWN:\n    break;\n  case ROUND_UP:\n    up = cmpnum(mrb, rest, mrb_fixnum_value(0));\n    break;\n  case ROUND_HALF:\n    up = cmpnum(mrb, mrb_num_add(mrb, rest, rest), step);\n    if (up == 0 && !negative) up = 1;\n    break;\n  }\n  return up > 0 ? mrb_num_add(mrb, down, step) : down;\n#else\n  return x;\n#endif\n}\n\n",
    ),
    (
        "src/numeric.c",
        "static mrb_value\nint_ceil(mrb_state *mrb, mrb_value x)\n{\n  mrb_value f = prepare_int_rounding(mrb, x);\n  if (mrb_undef_p(f)) return mrb_fixnum_value(0);\n  if (mrb_nil_p(f)) return x;\n#ifdef MRB_USE_BIGINT\n  if (mrb_bigint_p(x)) {\n    return mrb_bint_add(mrb, x, mrb_bint_sub(mrb, x, mrb_bint_mod(mrb, x, f)));\n  }\n#endif\n  mrb_int a = mrb_integer(x);\n  mrb_int b = mrb_integer(f);\n  int neg = a < 0;\n  if (neg) a = -a;\n  else a += b - 1;\n  a = a / b * b;\n  if (neg) a = -a;\n  return mrb_int_value(mrb, a);\n}\n",
        "static mrb_value\nint_ceil(mrb_state *mrb, mrb_value x)\n{\n  return int_rounded(mrb, x, ROUND_UP, FALSE);\n}\n",
    ),
    (
        "src/numeric.c",
        "static mrb_value\nint_floor(mrb_state *mrb, mrb_value x)\n{\n  mrb_value f = prepare_int_rounding(mrb, x);\n  if (mrb_undef_p(f)) return mrb_fixnum_value(0);\n  if (mrb_nil_p(f)) return x;\n#ifdef MRB_USE_BIGINT\n  if (mrb_bigint_p(x)) {\n    return mrb_bint_sub(mrb, x, mrb_bint_mod(mrb, x, f));\n  }\n#endif\n  mrb_int a = mrb_integer(x);\n  mrb_int b = mrb_integer(f);\n  int neg = a < 0;\n  if (neg) a = -a + b - 1;\n  a = a / b * b;\n  if (neg) a = -a;\n  return mrb_int_value(mrb, a);\n}\n",
        "static mrb_value\nint_floor(mrb_state *mrb, mrb_value x)\n{\n  return int_rounded(mrb, x, ROUND_DOWN, FALSE);\n}\n",
    ),
    (
        "src/numeric.c",
        "static mrb_value\nint_round(mrb_state *mrb, mrb_value x)\n{\n  mrb_value f = prepare_int_rounding(mrb, x);\n  if (mrb_undef_p(f)) return mrb_fixnum_value(0);\n  if (mrb_nil_p(f)) return x;\n#ifdef MRB_USE_BIGINT\n  if (mrb_bigint_p(x)) {\n    mrb_value r = mrb_bint_mod(mrb, x, f);\n    mrb_value n = mrb_bint_sub(mrb, x, r);\n    mrb_value h = mrb_bigint_p(f) ? mrb_bint_rshift(mrb, f, 1) : mrb_int_value(mrb, mrb_integer(f)>>1);\n    mrb_int cmp = mrb_bigint_p(r) ? mrb_bint_cmp(mrb, r, h) : (mrb_integer(r) - mrb_integer(h));\n    if ((cmp > 0) || (cmp == 0 && mrb_bint_cmp(mrb, x, mrb_fixnum_value(0)) > 0)) {\n      n = mrb_as_bint(mrb, n);\n      n = mrb_bint_add(mrb, n, f);\n    }\n    return n;\n  }\n#endif\n  mrb_int a = mrb_integer(x);\n  mrb_int b = mrb_integer(f);\n  int neg = a < 0;\n  if (neg) a = -a;\n  a = (a + b / 2) / b * b;\n  if (neg) a = -a;\n  return mrb_int_value(mrb, a);\n}\n",
        "static mrb_value\nint_round(mrb_state *mrb, mrb_value x)\n{\n  return int_rounded(mrb, x, ROUND_HALF, FALSE);\n}\n",
    ),
    (
        "src/numeric.c",
        "static mrb_value\nint_truncate(mrb_state *mrb, mrb_value x)\n{\n  mrb_value f = prepare_int_rounding(mrb, x);\n  if (mrb_undef_p(f)) return mrb_fixnum_value(0);\n  if (mrb_nil_p(f)) return x;\n#ifdef MRB_USE_BIGINT\n  if (mrb_bigint_p(x)) {\n    mrb_value m = mrb_bint_mod(mrb, x, f);\n    if (mrb_bint_cmp(mrb, x, mrb_fixnum_value(0)) < 0) {\n      return mrb_bint_add(mrb, x, mrb_bint_sub(mrb, x, m));\n    }\n    else {\n      return mrb_bint_sub(mrb, x, m);\n    }\n  }\n#endif\n  mrb_int a = mrb_integer(x);\n  mrb_int b = mrb_integer(f);\n  int neg = a < 0;\n  if (neg) a = -a;\n  a = a / b * b;\n  if (neg) a = -a;\n  return mrb_int_value(mrb, a);\n}\n",
        "static mrb_value\nint_truncate(mrb_state *mrb, mrb_value x)\n{\n  return int_rounded(mrb, x, ROUND_DOWN, TRUE);\n}\n",
    ),
    (
        "src/numeric.c",
        "#define NUMERIC_SHIFT_WIDTH_MAX",
        "static mrb_int cmpnum(mrb_state *mrb, mrb_value v1, mrb_value v2);\n\n#define NUMERIC_SHIFT_WIDTH_MAX",
    ),
    (
        "mrbgems/mruby-numeric-ext/src/numeric_ext.c",
        "  a = mrb_integer(x);\n  if (mrb_integer_p(y)) {\n    b = mrb_integer(y);\n    if (b == 0) mrb_int_zerodiv(mrb);\n    if (a == MRB_INT_MIN && b == -1)",
        "#ifdef MRB_USE_BIGINT\n  if (mrb_bigint_p(y)) {\n    return mrb_bint_rem(mrb, mrb_bint_new_int(mrb, mrb_integer(x)), y);\n  }\n#endif\n  a = mrb_integer(x);\n  if (mrb_integer_p(y)) {\n    b = mrb_integer(y);\n    if (b == 0) mrb_int_zerodiv(mrb);\n    if (a == MRB_INT_MIN && b == -1)",
    ),
    (
        "mrbgems/mruby-numeric-ext/src/numeric_ext.c",
        "  return mrb_int_value(mrb, result);\n}",
        "  return mrb_int_value(mrb, result < 0 ? result + mod : result);\n}",
    ),
    (
        "mrbgems/mruby-numeric-ext/src/numeric_ext.c",
        "  if (mod < 0) mrb_raise(mrb, E_ARGUMENT_ERROR, \"int.pow(n,m): m must be positive when 2nd argument specified\");\n",
        "#ifdef MRB_USE_BIGINT\n  if (mod < 0) return mrb_bint_powm(mrb, mrb_bint_new_int(mrb, mrb_integer(x)), e, m);\n#endif\n",
    ),
    // A literal and its negative were one number.
    (
        "mrbgems/mruby-compiler/core/codegen.c",
        "pv->u.str[1] == base && memcmp",
        "pv->u.str[1] == (char)(neg ? -base : base) && memcmp",
    ),
];
