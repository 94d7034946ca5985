//! Corrections of mruby's sources that bound what its natives take: the C stack, time, and numbers of many digits.
//! Limits come from defines.txt. Knows no shim; the state that the guard reads is set by shim/guard.c.

/// File, text as it stands (exactly once), text as it should be.
pub(crate) const CORRECTIONS: &[(&str, &str, &str)] = &[
    // The guard: where native code may call itself or may run long, the C stack is compared with its floor and a request to
    // stop is answered. Both fields are unset while the state is opened.
    (
        "include/mruby.h",
        "  void *ud; /* auxiliary data */\n",
        "  void *ud; /* auxiliary data */\n  char *stack_floor; /* native code that is about to go below it raises SystemStackError */\n  int (*interrupted)(struct mrb_state*); /* is what runs asked to stop? asked only while code_fetch_hook is armed */\n  void (*interrupt)(struct mrb_state*); /* raises what stops it */\n  size_t eval_bytes_max; /* 0: a text that is compiled while Ruby runs may have any length */\n",
    ),
    (
        "include/mruby/internal.h",
        "/* debug */\nsize_t mrb_packed_int_len",
        "static inline mrb_bool\nmrb_interrupted(mrb_state *mrb)\n{\n  return __builtin_expect(__atomic_load_n(&mrb->dispatch, __ATOMIC_RELAXED) != mrb->dispatch_plain && mrb->interrupted && mrb->interrupted(mrb), 0);\n}\n\nstatic inline void\nmrb_guard(mrb_state *mrb)\n{\n  if (__builtin_expect((char*)__builtin_frame_address(0) < mrb->stack_floor, 0)) {\n    mrb_exc_raise(mrb, mrb_obj_value(mrb->stack_err));\n  }\n  if (mrb_interrupted(mrb)) mrb->interrupt(mrb);\n}\n\n/* debug */\nsize_t mrb_packed_int_len",
    ),
    // Calls of Ruby by native code, before their frame is pushed: an error of a frame without code passes rescue clauses by.
    (
        "src/vm.c",
        "    if (ci - mrb->c->cibase > MRB_CALL_LEVEL_MAX) {\n      mrb_exc_raise(mrb, mrb_obj_value(mrb->stack_err));\n    }\n    blk = ensure_block(mrb, blk);",
        "    if (ci - mrb->c->cibase > MRB_CALL_LEVEL_MAX) {\n      mrb_exc_raise(mrb, mrb_obj_value(mrb->stack_err));\n    }\n    mrb_guard(mrb);\n    blk = ensure_block(mrb, blk);",
    ),
    (
        "src/vm.c",
        "  check_block(mrb, b);\n  ci = mrb->c->ci;\n  n = mrb_ci_nregs(ci);\n  p = mrb_proc_ptr(b);\n  ci = cipush(",
        "  check_block(mrb, b);\n  mrb_guard(mrb);\n  ci = mrb->c->ci;\n  n = mrb_ci_nregs(ci);\n  p = mrb_proc_ptr(b);\n  ci = cipush(",
    ),
    // Functions that call themselves. Each array of a join is looked for among those around it, so their number has a limit too.
    (
        "src/array.c",
        "  /* check recursive */\n  for (i=0;",
        "  mrb_guard(mrb);\n  if (RARRAY_LEN(list) >= MRB_CALL_LEVEL_MAX) {\n    mrb_exc_raise(mrb, mrb_obj_value(mrb->stack_err));\n  }\n  /* check recursive */\n  for (i=0;",
    ),
    (
        "src/variable.c",
        "  if (detect_outer_loop(mrb, c)) return mrb_nil_value();\n  outer = outer_class(mrb, c);",
        "  mrb_guard(mrb);\n  if (detect_outer_loop(mrb, c)) return mrb_nil_value();\n  outer = outer_class(mrb, c);",
    ),
    (
        "src/class.c",
        "  struct RClass *dc = mrb_class_ptr(dst);\n  struct RClass *sc = mrb_class_ptr(src);\n",
        "  struct RClass *dc = mrb_class_ptr(dst);\n  struct RClass *sc = mrb_class_ptr(src);\n  mrb_guard(mrb);\n",
    ),
    (
        "mrbgems/mruby-compiler/core/y.tab.c",
        "void_expr_error(parser_state *p, node *n)\n{\n  int c;\n\n  if (n == NULL) return;\n",
        "void_expr_error(parser_state *p, node *n)\n{\n  int c;\n\n  if (n == NULL) return;\n  if ((char*)__builtin_frame_address(0) < p->mrb->stack_floor) {\n    yyerror(p, \"too deeply nested expression\");\n    return;\n  }\n",
    ),
    // Compiling takes time by the square of the text for some texts, and nothing can stop it: what runs may only compile short ones.
    (
        "mrbgems/mruby-eval/src/eval.c",
        "  struct mrb_context *c = mrb->c;\n\n  if (!mrb_nil_p(binding)) {\n    mrb_value scope_obj;\n",
        "  struct mrb_context *c = mrb->c;\n\n  if (mrb->eval_bytes_max && (size_t)len > mrb->eval_bytes_max) {\n    mrb_raisef(mrb, E_ARGUMENT_ERROR, \"a program of %i bytes exceeds eval_bytes_max (%i)\", len, (mrb_int)mrb->eval_bytes_max);\n  }\n  if (!mrb_nil_p(binding)) {\n    mrb_value scope_obj;\n",
    ),
    (
        "mrbgems/mruby-binding/src/binding.c",
        "  if (argc > 3) mrb_argnum_error(mrb, argc, 1, 3);\n",
        "  if (argc > 3) mrb_argnum_error(mrb, argc, 1, 3);\n  if (mrb->eval_bytes_max && (size_t)d.exprlen > mrb->eval_bytes_max) {\n    mrb_raisef(mrb, E_ARGUMENT_ERROR, \"a program of %i bytes exceeds eval_bytes_max (%i)\", d.exprlen, (mrb_int)mrb->eval_bytes_max);\n  }\n",
    ),
    // Strings and Integers are found in a Hash by a code that no client can foresee: with a fixed one, a body of names that all
    // have the same code takes time by the square of their number. SipHash-1-3 (https://eprint.iacr.org/2012/351) for bytes.
    (
        "src/string.c",
        "uint32_t\nmrb_byte_hash(const uint8_t *s, mrb_int len)\n{\n  return mrb_byte_hash_step(s, len, FNV1_32_INIT);\n}",
        "uint64_t mrb_hash_key[2]; /* set once, before the first state is opened */\n\n#define SIP_ROTATE(x, b) (((x) << (b)) | ((x) >> (64 - (b))))\n#define SIP_ROUND \\\n  v0 += v1; v1 = SIP_ROTATE(v1, 13); v1 ^= v0; v0 = SIP_ROTATE(v0, 32); \\\n  v2 += v3; v3 = SIP_ROTATE(v3, 16); v3 ^= v2; \\\n  v0 += v3; v3 = SIP_ROTATE(v3, 21); v3 ^= v0; \\\n  v2 += v1; v1 = SIP_ROTATE(v1, 17); v1 ^= v2; v2 = SIP_ROTATE(v2, 32)\n\nuint32_t\nmrb_byte_hash(const uint8_t *s, mrb_int len)\n{\n  uint64_t v0 = mrb_hash_key[0] ^ UINT64_C(0x736f6d6570736575);\n  uint64_t v1 = mrb_hash_key[1] ^ UINT64_C(0x646f72616e646f6d);\n  uint64_t v2 = mrb_hash_key[0] ^ UINT64_C(0x6c7967656e657261);\n  uint64_t v3 = mrb_hash_key[1] ^ UINT64_C(0x7465646279746573);\n  uint64_t word = 0;\n  const uint8_t *whole = s + (len & ~(mrb_int)7);\n  for (; s < whole; s += 8) {\n    memcpy(&word, s, 8);\n    v3 ^= word;\n    SIP_ROUND;\n    v0 ^= word;\n  }\n  word = (uint64_t)len << 56;\n  for (mrb_int i = 0; i < (len & 7); i++) word |= (uint64_t)s[i] << (8 * i);\n  v3 ^= word;\n  SIP_ROUND;\n  v0 ^= word;\n  v2 ^= 0xff;\n  SIP_ROUND;\n  SIP_ROUND;\n  SIP_ROUND;\n  v0 ^= v1 ^ v2 ^ v3;\n  return (uint32_t)(v0 ^ (v0 >> 32));\n}\n\n/* Both halves of a product with secret numbers. */\nuint32_t\nmrb_int_hash(mrb_int i)\n{\n  unsigned __int128 product = (unsigned __int128)((uint64_t)i ^ mrb_hash_key[0]) * (mrb_hash_key[1] | 1);\n  uint64_t folded = (uint64_t)product ^ (uint64_t)(product >> 64);\n  return (uint32_t)(folded ^ (folded >> 32));\n}",
    ),
    (
        "src/hash.c",
        "static uint32_t\nobj_hash_code(mrb_state *mrb, mrb_value key, struct RHash *h)\n{",
        "uint32_t mrb_int_hash(mrb_int i);\n\nstatic uint32_t\nobj_hash_code(mrb_state *mrb, mrb_value key, struct RHash *h)\n{",
    ),
    (
        "src/hash.c",
        "    if (mrb_fixnum_p(key)) {\n      hash_code = U32(mrb_fixnum(key));\n      break;\n    }\n#ifndef MRB_NO_FLOAT\n    /* fall through */",
        "    if (mrb_fixnum_p(key)) {\n      hash_code = mrb_int_hash(mrb_fixnum(key));\n      break;\n    }\n#ifndef MRB_NO_FLOAT\n    /* fall through */",
    ),
    // The last place of a long text in another took time by the product of both lengths. From 32 bytes on it is looked for by
    // the algorithm of Knuth, Morris and Pratt, backwards.
    (
        "src/string.c",
        "static mrb_int\nstr_rindex(mrb_state *mrb, mrb_value str, mrb_value sub, mrb_int pos)\n{",
        "static mrb_int\nlong_rindex(mrb_state *mrb, const char *begin, const char *end, const char *send, const char *sub, mrb_int len)\n{\n  uint32_t *shorter = (uint32_t*)mrb_malloc(mrb, sizeof(uint32_t) * (size_t)len); /* the longest end of what matched that may begin a match */\n  mrb_int matched = 0, found = -1;\n  shorter[0] = 0;\n  for (mrb_int i = 1; i < len; i++) {\n    while (matched && sub[len - 1 - i] != sub[len - 1 - matched]) matched = shorter[matched - 1];\n    if (sub[len - 1 - i] == sub[len - 1 - matched]) matched++;\n    shorter[i] = (uint32_t)matched;\n  }\n  matched = 0;\n  for (const char *at = end; at-- > begin;) {\n    while (matched && *at != sub[len - 1 - matched]) matched = shorter[matched - 1];\n    if (*at == sub[len - 1 - matched]) matched++;\n    if (matched < len) continue;\n    if (char_adjust(begin, send, at) == at) {\n      found = (mrb_int)(at - begin);\n      break;\n    }\n    matched = shorter[matched - 1];\n  }\n  mrb_free(mrb, shorter);\n  return found;\n}\n\nstatic mrb_int\nstr_rindex(mrb_state *mrb, mrb_value str, mrb_value sub, mrb_int pos)\n{",
    ),
    (
        "src/string.c",
        "  if (len) {\n    s = char_adjust(sbeg, send, s);\n    while (sbeg <= s) {",
        "  if (len >= 32) {\n    s = char_adjust(sbeg, send, s);\n    return long_rindex(mrb, sbeg, send - s > len ? s + len : send, send, t, len);\n  }\n  if (len) {\n    s = char_adjust(sbeg, send, s);\n    while (sbeg <= s) {",
    ),
    // A byte that begins no character had no length: `"\xff".chop` and each search behind such a byte went on for ever. It is a
    // character by itself, also where characters are counted.
    (
        "src/string.c",
        "  switch (len) {\n  case 1:\n    return 1;\n  case 4:",
        "  switch (len) {\n  case 0:\n  case 1:\n    return 1;\n  case 4:",
    ),
    (
        "src/string.c",
        "  while (p < e) {\n    if (utf8_islead(*p)) len++;\n    p++;\n  }\n  return len;",
        "  while (p < e) {\n    uint64_t word;\n    if (e - p >= 8 && (memcpy(&word, p, 8), !(word & UINT64_C(0x8080808080808080)))) {\n      p += 8;\n      len += 8;\n      continue;\n    }\n    p += mrb_utf8len(p, e);\n    len++;\n  }\n  return len;",
    ),
    // Numbers of many digits are refused before they are read. Whether text follows them is asked behind the last of them.
    (
        "src/string.c",
        "      if (badcheck && trailingbad(str, p, pend)) goto bad;\n      return mrb_bint_new_str(",
        "      if (badcheck && trailingbad(str, p3, pend)) goto bad;\n      if (p3-p2 > TSUMUGI_INTEGER_DIGITS_MAX) {\n        mrb_raisef(mrb, E_RANGE_ERROR, \"an integer of %i digits exceeds integer_digits_max (%i)\", (mrb_int)(p3-p2), (mrb_int)TSUMUGI_INTEGER_DIGITS_MAX);\n      }\n      return mrb_bint_new_str(",
    ),
    // Text of a number that is no number, which may be as long as a body, is cut in the message.
    (
        "src/string.c",
        "  mrb_raisef(mrb, E_ARGUMENT_ERROR, \"invalid string for number(%!l)\", str, pend-str);",
        "  mrb_raisef(mrb, E_ARGUMENT_ERROR, \"invalid string for number(%!l)\", str, pend-str < 256 ? pend-str : 256);",
    ),
    // Digits go into the number nine at a time, not one by one with two numbers of its size made for each.
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "  int retval = 0;\n  mpz_t t, m, bb;\n  short sn;\n  uint8_t k;\n  mpz_init(mrb, x);\n  mpz_init_set_int(mrb, &m, 1);\n  mpz_init(mrb, &t);\n  zero(x);\n",
        "  int retval = 0;\n  short sn;\n  uint8_t k;\n  mp_limb group = 0, scale = 1;\n  size_t used = 0;\n  mpz_init(mrb, x);\n  mpz_realloc(mrb, x, ((size_t)len * 6) / DIG_SIZE + 2); /* 36 is less than 2 to the power of 6 */\n",
    ),
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "    sn = -1; s++;\n  }\n  else\n    sn = 1;\n  mpz_init_set_int(mrb, &bb, base);\n  for (mrb_int i = len-1; i>=0; i--) {\n    if (s[i]=='_') continue;",
        "    sn = -1; s++; len--;\n  }\n  else\n    sn = 1;\n  for (mrb_int i = 0; i < len; i++) {\n    if (s[i]=='_') continue;",
    ),
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "    mpz_mul_int(mrb, &t, &m, (mrb_int)k);\n    mpz_add(mrb, x, x, &t);\n    mpz_mul(mrb, &m, &m, &bb);\n  }\n  x->sn = sn;\n  mpz_clear(mrb, &m);\n  mpz_clear(mrb, &bb);\n  mpz_clear(mrb, &t);\n  return retval;",
        "    if (scale > (mp_limb)DIG_MASK / (mp_limb)base) {\n      used = push_group(x, used, group, scale);\n      group = 0;\n      scale = 1;\n    }\n    group = group * (mp_limb)base + k;\n    scale *= (mp_limb)base;\n  }\n  push_group(x, used, group, scale);\n  trim(x);\n  x->sn = x->sz ? sn : 0;\n  return retval;",
    ),
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "static int\nmpz_init_set_str(",
        "/* x = x * scale + group; `used` digits of x are in use, and there is room for one more */\nstatic size_t\npush_group(mpz_t *x, size_t used, mp_limb group, mp_limb scale)\n{\n  mp_dbl_limb carry = group;\n  for (size_t i = 0; i < used; i++) {\n    carry += (mp_dbl_limb)x->p[i] * scale;\n    x->p[i] = LOW(carry);\n    carry = HIGH(carry);\n  }\n  if (carry) x->p[used++] = (mp_limb)carry;\n  return used;\n}\n\nstatic int\nmpz_init_set_str(",
    ),
    // What has become zero at the upper end is not divided any more.
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "    for (d = t; d < tend; d++) {\n      if (*d != 0) break;\n    }\n    if (d == tend) goto done;",
        "    while (tend > t && tend[-1] == 0) tend--;\n    if (tend == t) goto done;",
    ),
    // A digit of zero was passed over together with the carry that belonged there: a wrong product.
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "      mp_limb v0 = v->p[i];\n      if (v0 == 0) continue;\n",
        "      mp_limb v0 = v->p[i];\n",
    ),
    // Results have a size limit, whichever method makes them.
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "mrb_value\nmrb_bint_mul(mrb_state *mrb, mrb_value x, mrb_value y)\n{",
        "static size_t\nmpz_bits(mpz_t *x)\n{\n  size_t sz = digits(x);\n  return sz == 0 || x->p[sz-1] == 0 ? 0 : sz * DIG_SIZE - (size_t)lzb(x->p[sz-1]);\n}\n\nstatic void\ncheck_bits(mrb_state *mrb, size_t bits)\n{\n  if (bits > TSUMUGI_INTEGER_BITS_MAX) {\n    mrb_raisef(mrb, E_RANGE_ERROR, \"the result exceeds integer_bits_max (%i)\", (mrb_int)TSUMUGI_INTEGER_BITS_MAX);\n  }\n}\n\nmrb_value\nmrb_bint_mul(mrb_state *mrb, mrb_value x, mrb_value y)\n{",
    ),
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "  struct RBigint *b3 = bint_new(mrb);\n  mpz_mul(mrb, &b3->mp, &b->mp, &b2->mp);",
        "  check_bits(mrb, mpz_bits(&b->mp) + mpz_bits(&b2->mp));\n  struct RBigint *b3 = bint_new(mrb);\n  mpz_mul(mrb, &b3->mp, &b->mp, &b2->mp);",
    ),
    // A negative exponent never ended.
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "    {\n      struct RBigint *b3 = bint_new(mrb);\n      mpz_pow(",
        "    {\n      mrb_int exponent = mrb_integer(y);\n      size_t bits = mpz_bits(&b->mp);\n      if (exponent < 0) return mrb_float_value(mrb, pow(mrb_bint_as_float(mrb, x), (mrb_float)exponent));\n      if (bits > 1 && exponent > 1) {\n        check_bits(mrb, exponent > TSUMUGI_INTEGER_BITS_MAX ? (size_t)exponent : (bits - 1) * (size_t)exponent);\n      }\n      struct RBigint *b3 = bint_new(mrb);\n      mpz_pow(",
    ),
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "  while (ex > 0) {\n    if ((ex & 1) == 1) {",
        "  while (ex > 0) {\n    if (mrb_interrupted(mrb)) {\n      mpz_clear(mrb, &t);\n      mpz_clear(mrb, &b);\n      mrb_guard(mrb);\n    }\n    if ((ex & 1) == 1) {",
    ),
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "mrb_value\nmrb_bint_lshift(mrb_state *mrb, mrb_value x, mrb_int width)\n{\n  struct RBigint *b = RBIGINT(x);\n",
        "mrb_value\nmrb_bint_lshift(mrb_state *mrb, mrb_value x, mrb_int width)\n{\n  struct RBigint *b = RBIGINT(x);\n  if (width > 0) check_bits(mrb, mpz_bits(&b->mp) + (size_t)width);\n",
    ),
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "mrb_value\nmrb_bint_rshift(mrb_state *mrb, mrb_value x, mrb_int width)\n{\n  struct RBigint *b = RBIGINT(x);\n",
        "mrb_value\nmrb_bint_rshift(mrb_state *mrb, mrb_value x, mrb_int width)\n{\n  struct RBigint *b = RBIGINT(x);\n  if (width < 0) check_bits(mrb, mpz_bits(&b->mp) + (size_t)-width);\n",
    ),
    // A shift by more digits than there are copied from behind the number. What remains of a negative number is -1.
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "  short sn = x->sn;\n  if (e==0)\n    mpz_set(mrb, z, x);\n  else {\n    size_t digs = e / DIG_SIZE;\n    size_t bs = e % DIG_SIZE;\n    mpz_t y;\n\n    mpz_init(mrb, &y);\n    mpz_realloc(mrb, &y, x->sz-digs);",
        "  short sn = x->sn;\n  if (e==0)\n    mpz_set(mrb, z, x);\n  else if ((size_t)e / DIG_SIZE >= x->sz)\n    mpz_set_int(mrb, z, sn < 0 ? -1 : 0);\n  else {\n    size_t digs = e / DIG_SIZE;\n    size_t bs = e % DIG_SIZE;\n    mpz_t y;\n\n    mpz_init(mrb, &y);\n    mpz_realloc(mrb, &y, x->sz-digs);",
    ),
    // A quotient by a Float was a product.
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "mrb_bint_div(mrb_state *mrb, mrb_value x, mrb_value y)\n{\n#ifndef MRB_NO_FLOAT\n  if (mrb_float_p(y)) {\n    mrb_float v1 = mrb_bint_as_float(mrb, x);\n    mrb_float v2 = mrb_float(y);\n    return mrb_float_value(mrb,v1*v2);",
        "mrb_bint_div(mrb_state *mrb, mrb_value x, mrb_value y)\n{\n#ifndef MRB_NO_FLOAT\n  if (mrb_float_p(y)) {\n    mrb_float v1 = mrb_bint_as_float(mrb, x);\n    mrb_float v2 = mrb_float(y);\n    return mrb_float_value(mrb,v1/v2);",
    ),
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "  uint32_t hash = mrb_byte_hash((uint8_t*)b->mp.p, b->mp.sz);",
        "  uint32_t hash = mrb_byte_hash((uint8_t*)b->mp.p, (mrb_int)(digits(&b->mp) * sizeof(mp_limb)));",
    ),
    (
        "mrbgems/mruby-numeric-ext/src/numeric_ext.c",
        "      mrb_value q = mrb_bint_mod(mrb, x, bv);\n      mrb_ary_push(mrb, digits, q);",
        "      int arena = mrb_gc_arena_save(mrb);\n      mrb_guard(mrb);\n      mrb_value q = mrb_bint_mod(mrb, x, bv);\n      mrb_ary_push(mrb, digits, q);\n      mrb_gc_arena_restore(mrb, arena);",
    ),
    // The lowest 64 bit Integer was made a big one that is equal to no other.
    (
        "mrbgems/mruby-bigint/core/bigint.c",
        "  if (i > MRB_INT_MAX) {\n    /* overflow */\n    return FALSE;",
        "  if (i > MRB_INT_MAX) {\n    if (y->sn < 0 && i == (mp_dbl_limb)MRB_INT_MAX + 1) {\n      *v = MRB_INT_MIN;\n      return TRUE;\n    }\n    /* overflow */\n    return FALSE;",
    ),
    // A negative number of random bytes was a String whose bytes are elsewhere.
    (
        "mrbgems/mruby-random/src/random.c",
        "  mrb_get_args(mrb, \"i\", &i);\n\n  mrb_value bytes",
        "  mrb_get_args(mrb, \"i\", &i);\n  if (i < 0) mrb_raise(mrb, E_ARGUMENT_ERROR, \"negative number of bytes\");\n\n  mrb_value bytes",
    ),
    // Nothing many times, and a Float shifted by a large number, went on for ever.
    (
        "src/array.c",
        "  if (times == 0) return mrb_ary_new(mrb);\n  if (ARY_MAX_SIZE / times < ARY_LEN(a1)) {\n",
        "  if (times == 0 || ARY_LEN(a1) == 0) return mrb_ary_new(mrb);\n  if (ARY_MAX_SIZE / times < ARY_LEN(a1)) {\n",
    ),
    (
        "src/numeric.c",
        "    while (width--) {\n      val *= 2;\n    }\n",
        "    val = ldexp(val, width < 4096 ? (int)width : 4096);\n",
    ),
    // An Array is filled at once as far as it may be: millions of elements were made before one was too many.
    (
        "mrbgems/mruby-array-ext/mrblib/array.rb",
        "    i = beg\n    if block\n      while i < len\n        self[i] = block.call(i)\n",
        "    self[len - 1] = nil if len >= beg && len > self.size\n    i = beg\n    if block\n      while i < len\n        self[i] = block.call(i)\n",
    ),
    (
        "mrbgems/mruby-array-ext/mrblib/array.rb",
        "          len = arg0 + arg1\n",
        "          len = beg + arg1\n",
    ),
    // A text is padded with as much as it needs: a padding longer than the width was left out, and that of `center` was made many times
    // too long.
    (
        "mrbgems/mruby-string-ext/mrblib/string.rb",
        "    pad_repetitions = idx / padstr.size\n    padding = (padstr * pad_repetitions)[0, idx-self.size]\n    self + padding\n",
        "    pad_repetitions = (idx - self.size) / padstr.size + 1\n    padding = (padstr * pad_repetitions)[0, idx-self.size]\n    self + padding\n",
    ),
    (
        "mrbgems/mruby-string-ext/mrblib/string.rb",
        "    pad_repetitions = idx / padstr.size\n    padding = (padstr * pad_repetitions)[0, idx-self.size]\n    padding + self\n",
        "    pad_repetitions = (idx - self.size) / padstr.size + 1\n    padding = (padstr * pad_repetitions)[0, idx-self.size]\n    padding + self\n",
    ),
    (
        "mrbgems/mruby-string-ext/mrblib/string.rb",
        "    (padstr*pad1)[0,pad1] + self + (padstr*pad2)[0,pad2]\n",
        "    padding = padstr * (pad2 / padstr.size + 1)\n    padding[0,pad1] + self + padding[0,pad2]\n",
    ),
    // `sample(n)` compared each place that it drew with all drawn before, and drew again: time by the square of n and more. From 17 on the
    // first n of a copy are shuffled.
    (
        "mrbgems/mruby-random/src/random.c",
        "    if (n > len) n = len;\n    result = mrb_ary_new_capa(mrb, n);\n",
        "    if (n > len) n = len;\n    if (n > 16) {\n      result = mrb_ary_new_from_values(mrb, len, RARRAY_PTR(ary));\n      mrb_value *drawn = RARRAY_PTR(result);\n      for (i = 0; i < n; i++) {\n        j = i + rand_i(random, len - i);\n        mrb_value other = drawn[j];\n        drawn[j] = drawn[i];\n        drawn[i] = other;\n      }\n      return mrb_ary_resize(mrb, result, n);\n    }\n    result = mrb_ary_new_capa(mrb, n);\n",
    ),
    // The collector took the message of the error that is made beforehand.
    (
        "src/gc.c",
        "  err->mesg = NULL;\n",
        "  if (err->mesg) mrb_gc_mark(mrb, (struct RBasic*)err->mesg);\n",
    ),
];
