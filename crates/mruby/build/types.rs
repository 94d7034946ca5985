//! Corrections of mruby where it took a value for one of another class, by which an address or what stands behind an object became a value.
//! Those of Time are in times.rs.

/// File, text as it stands (exactly once), text as it should be.
pub(crate) const CORRECTIONS: &[(&str, &str, &str)] = &[
    // Sums and products of a Rational with what is no number were those of the other one with the Rational: `Rational(2) * "ab"` was "abab".
    (
        "mrbgems/mruby-rational/src/rational.c",
        "  default:\n    return mrb_funcall_id(mrb, y, MRB_OPSYM(add), 1, x);\n",
        "  case MRB_TT_BIGINT:\n    return mrb_funcall_id(mrb, y, MRB_OPSYM(add), 1, x);\n\n  default:\n    mrb_raisef(mrb, E_TYPE_ERROR, \"%Y can't be coerced into Rational\", y);\n",
    ),
    (
        "mrbgems/mruby-rational/src/rational.c",
        "  default:\n    return mrb_funcall_id(mrb, y, MRB_OPSYM(mul), 1, x);\n",
        "  case MRB_TT_BIGINT:\n    return mrb_funcall_id(mrb, y, MRB_OPSYM(mul), 1, x);\n\n  default:\n    mrb_raisef(mrb, E_TYPE_ERROR, \"%Y can't be coerced into Rational\", y);\n",
    ),
    // `(2**70).to_r` was the address of the Integer.
    (
        "mrbgems/mruby-rational/src/rational.c",
        "static mrb_value\nfix_to_r(mrb_state *mrb, mrb_value self)\n{\n",
        "static mrb_value\nfix_to_r(mrb_state *mrb, mrb_value self)\n{\n  if (!mrb_integer_p(self)) rat_overflow(mrb);\n",
    ),
    // What `hash` answers decides where a key is found: of an Integer beyond 64 bits, or of what is none, that was an address.
    (
        "src/hash.c",
        "    hash_code = U32(tt) ^ U32(mrb_integer(hash_code_obj));\n",
        "#ifdef MRB_USE_BIGINT\n    if (mrb_bigint_p(hash_code_obj)) hash_code_obj = mrb_bint_hash(mrb, hash_code_obj);\n#endif\n    if (!mrb_integer_p(hash_code_obj)) {\n      mrb_raisef(mrb, E_TYPE_ERROR, \"%Y cannot be converted to Integer\", hash_code_obj);\n    }\n    hash_code = U32(tt) ^ U32(mrb_integer(hash_code_obj));\n",
    ),
    // A Struct whose `initialize` sets a member but does not call `super` has fewer values than members. Those that it lacks are nil; they
    // were what stood in memory behind the others.
    (
        "mrbgems/mruby-struct/src/struct.c",
        "  mrb_value *ptr = RSTRUCT_PTR(obj);\n\n  if (!ptr) return mrb_nil_value();\n  return ptr[i];\n",
        "  return i < RSTRUCT_LEN(obj) ? RSTRUCT_PTR(obj)[i] : mrb_nil_value();\n",
    ),
    (
        "mrbgems/mruby-data/src/data.c",
        "  mrb_value *ptr = RDATA_PTR(obj);\n\n  if (!ptr) return mrb_nil_value();\n  return ptr[i];\n",
        "  return i < RDATA_LEN(obj) ? RDATA_PTR(obj)[i] : mrb_nil_value();\n",
    ),
    // The size of a Range beyond 64 bits was a negative number.
    (
        "mrbgems/mruby-range-ext/src/range.c",
        "    return mrb_fixnum_value((mrb_int)n+1);\n",
        "    return mrb_float_to_integer(mrb, mrb_float_value(mrb, n+1));\n",
    ),
    (
        "mrbgems/mruby-range-ext/src/range.c",
        "#include <mruby/range.h>\n",
        "#include <mruby/range.h>\n#include <mruby/numeric.h>\n",
    ),
    // A power of a Rational was cut to one of an Integer: `2 ** Rational(1, 2)` was 1.
    (
        "src/numeric.c",
        "    mrb_get_args(mrb, \"i\", &exp);\n  }\n  if (exp < 0) {\n",
        "    if (mrb_type(y) == MRB_TT_RATIONAL) {\n      return mrb_float_value(mrb, pow((double)base, mrb_as_float(mrb, y)));\n    }\n    mrb_get_args(mrb, \"i\", &exp);\n  }\n  if (exp < 0) {\n",
    ),
];
