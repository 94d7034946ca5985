//! Corrections of mruby's walks over containers: Ruby that runs on the way may change the container, and the collector may run.
//! Their rule: what a walk uses is held or looked at anew after each call; what cannot be walked over so is not modified meanwhile.
//! `crates/mruby/tests/walks` tries all of them at random.

pub const CORRECTIONS: &[super::Correction] = &[
    // While the keys of a Hash are compared or hashed, which may run Ruby, the Hash cannot be modified: what would raises. mruby looked
    // afterwards whether the table was another, which a deletion does not make it: the walk went on behind the end of the entries.
    (
        "include/mruby/hash.h",
        "#define MRB_RHASH_DEFAULT_P(hash)",
        "#define MRB_HASH_BUSY               (1 << (MRB_HASH_SIZE_FLAGS_SHIFT + 3))\n#define MRB_RHASH_DEFAULT_P(hash)",
    ),
    (
        "src/hash.c",
        "#include <mruby/class.h>\n",
        "#include <mruby/class.h>\n#include <mruby/error.h>\n",
    ),
    (
        "src/hash.c",
        "static uint32_t\nobj_hash_code(mrb_state *mrb, mrb_value key, struct RHash *h)\n{",
        "static mrb_value\nhash_body(mrb_state *mrb, void *p)\n{\n  return mrb_funcall_argv(mrb, *(mrb_value*)p, MRB_SYM(hash), 0, NULL);\n}\n\nstatic mrb_value\neql_body(mrb_state *mrb, void *p)\n{\n  mrb_value *values = (mrb_value*)p;\n  return mrb_bool_value(mrb_eql(mrb, values[0], values[1]));\n}\n\nstatic mrb_value\nh_call(mrb_state *mrb, struct RHash *h, mrb_protect_error_func *body, mrb_value *values)\n{\n  uint32_t busy = h->flags & MRB_HASH_BUSY;\n  mrb_bool raised = FALSE;\n  mrb_value result;\n\n  h->flags |= MRB_HASH_BUSY;\n  result = mrb_protect_error(mrb, body, values, &raised);\n  h->flags = (h->flags & ~MRB_HASH_BUSY) | busy;\n  if (raised) mrb_exc_raise(mrb, result);\n  return result;\n}\n\nstatic uint32_t\nobj_hash_code(mrb_state *mrb, mrb_value key, struct RHash *h)\n{",
    ),
    (
        "src/hash.c",
        "    h_check_modified(mrb, h, {\n      hash_code_obj = mrb_funcall_argv(mrb, key, MRB_SYM(hash), 0, NULL);\n    });\n\n",
        "    hash_code_obj = h_call(mrb, h, hash_body, &key);\n",
    ),
    (
        "src/hash.c",
        "    h_check_modified(mrb, h, {eql = mrb_eql(mrb, a, b);});\n    return eql;\n",
        "    if (mrb_obj_eq(mrb, a, b)) return TRUE;\n    {\n      mrb_value values[2] = { a, b };\n      eql = mrb_test(h_call(mrb, h, eql_body, values));\n    }\n    return eql;\n",
    ),
    (
        "src/hash.c",
        "  mrb_check_frozen(mrb, mrb_hash_ptr(hash));\n}\n",
        "  mrb_check_frozen(mrb, mrb_hash_ptr(hash));\n  if (mrb_hash_ptr(hash)->flags & MRB_HASH_BUSY) {\n    mrb_raise(mrb, E_RUNTIME_ERROR, \"hash modified while its keys are compared\");\n  }\n}\n\n/* For walks that run Ruby: each step looks at the table as it is then. NULL when the entry was deleted. */\nstatic hash_entry*\nh_entry_at(struct RHash *h, uint32_t i)\n{\n  hash_entry *entry = (h_ar_p(h) ? ar_ea(h) : ht_ea(h)) + i;\n  return entry_deleted_p(entry) ? NULL : entry;\n}\n#define h_n_used(h) (h_ar_p(h) ? ar_ea_n_used(h) : ht_ea_n_used(h))\n",
    ),
    (
        "src/hash.c",
        "  h_rehash(mrb, mrb_hash_ptr(self));\n  return self;\n",
        "  hash_modify(mrb, self);\n  h_rehash(mrb, mrb_hash_ptr(self));\n  return self;\n",
    ),
    // Walks over the entries that run Ruby look at the table anew in each step, and hold what they use.
    (
        "src/hash.c",
        "  h_each(h, entry, {\n    h_check_modified(mrb, h, {\n      if (mrb_equal(mrb, val, entry->val)) return mrb_true_value();\n    });\n  });\n",
        "  for (uint32_t i = 0; i < h_n_used(h); i++) {\n    hash_entry *entry = h_entry_at(h, i);\n    if (entry && mrb_equal(mrb, val, entry->val)) return mrb_true_value();\n  }\n",
    ),
    (
        "src/hash.c",
        "  h_each(h2, entry, {\n    h_check_modified(mrb, h2, {h_set(mrb, h1, entry->key, entry->val);});\n    mrb_field_write_barrier_value(mrb, (struct RBasic *)h1, entry->key);\n    mrb_field_write_barrier_value(mrb, (struct RBasic *)h1, entry->val);\n  });\n",
        "  int ai = mrb_gc_arena_save(mrb);\n  for (uint32_t i = 0; i < h_n_used(h2); i++) {\n    hash_entry *entry = h_entry_at(h2, i);\n    if (!entry) continue;\n    mrb_value key = entry->key, val = entry->val;\n    mrb_gc_protect(mrb, key);\n    mrb_gc_protect(mrb, val);\n    hash_modify(mrb, hash1);\n    h_set(mrb, h1, key, val);\n    mrb_field_write_barrier_value(mrb, (struct RBasic *)h1, key);\n    mrb_field_write_barrier_value(mrb, (struct RBasic *)h1, val);\n    mrb_gc_arena_restore(mrb, ai);\n  }\n",
    ),
    // A `hash` that raised while a table was rebuilt left its entries uncounted, and what was set then was written over them.
    (
        "src/hash.c",
        "  ht_init(mrb, h, 0, ea, ea_capa, h_ht(h), ib_bit_for(size));\n  ht_set_size(h, size);\n  ht_set_ea_n_used(h, ht_ea_n_used(h));\n",
        "  uint32_t n_used = ht_ea_n_used(h);\n  ht_init(mrb, h, 0, ea, ea_capa, h_ht(h), ib_bit_for(size));\n  ht_set_size(h, size);\n  ht_set_ea_n_used(h, n_used);\n",
    ),
    // After that, or with a key whose hash has changed, `shift` looked for an index that is not there, for ever.
    (
        "src/hash.c",
        "      if (ib_it_get(it) != U32(entry - ea)) continue;\n      *keyp = entry->key;\n      *valp = entry->val;\n      ib_it_delete(it);\n",
        "      mrb_bool found = ib_it_get(it) == U32(entry - ea);\n      if (!found && it->step <= it->mask) continue;\n      *keyp = entry->key;\n      *valp = entry->val;\n      if (found) ib_it_delete(it);\n",
    ),
    // Without memory for a bigger index, the entries had been moved already and the old index was wrong about them.
    (
        "src/hash.c",
        "    if (size != ht_ea_n_used(h)) ea_compress(ht_ea(h), ht_ea_n_used(h));\n    ht_init(mrb, h, size, ht_ea(h), ht_ea_capa(h), h_ht(h), ++ib_bit_width);\n",
        "    h_set_ht(h, (hash_table*)mrb_realloc(mrb, h_ht(h), sizeof(hash_table) + ib_byte_size_for(++ib_bit_width)));\n    if (size != ht_ea_n_used(h)) ea_compress(ht_ea(h), ht_ea_n_used(h));\n    ht_init(mrb, h, size, ht_ea(h), ht_ea_capa(h), h_ht(h), ib_bit_width);\n",
    ),
    // What a Hash answered is held while it is put into another, whose keys may be hashed in Ruby.
    (
        "mrbgems/mruby-hash-ext/src/hash-ext.c",
        "    if (!mrb_undef_p(val)) {\n      mrb_hash_set(mrb, result, key, val);\n",
        "    if (!mrb_undef_p(val)) {\n      mrb_gc_protect(mrb, val);\n      mrb_hash_set(mrb, result, key, val);\n",
    ),
    // `inspect` of a variable may set others, and the table that was walked over is freed.
    (
        "src/variable.c",
        "mrb_value\nmrb_obj_iv_inspect(mrb_state *mrb, struct RObject *obj)\n{",
        "static int\nnames_i(mrb_state *mrb, mrb_sym sym, mrb_value v, void *p)\n{\n  mrb_ary_push(mrb, *(mrb_value*)p, mrb_symbol_value(sym));\n  return 0;\n}\n\nmrb_value\nmrb_obj_iv_inspect(mrb_state *mrb, struct RObject *obj)\n{",
    ),
    (
        "src/variable.c",
        "    iv_foreach(mrb, t, inspect_i, &str);\n",
        "    mrb_value names = mrb_ary_new_capa(mrb, (mrb_int)len);\n    iv_foreach(mrb, t, names_i, &names);\n    for (mrb_int i = 0; i < RARRAY_LEN(names); i++) {\n      mrb_sym name = mrb_symbol(RARRAY_PTR(names)[i]);\n      mrb_value value;\n      if (iv_get(mrb, obj->iv, name, &value)) inspect_i(mrb, name, value, &str);\n    }\n",
    ),
    // The format may be changed by what is formatted: the rest is read from a copy, which shares its bytes.
    (
        "mrbgems/mruby-sprintf/src/sprintf.c",
        "  mrb_ensure_string_type(mrb, fmt);\n  p = RSTRING_PTR(fmt);\n",
        "  mrb_ensure_string_type(mrb, fmt);\n  fmt = mrb_str_dup(mrb, fmt);\n  p = RSTRING_PTR(fmt);\n",
    ),
    // An element is held while it is asked for one conversion after the other, and the pair that is found while its key is compared.
    (
        "src/array.c",
        "      if (!mrb_immediate_p(val)) {\n        tmp = mrb_check_string_type(mrb, val);\n",
        "      if (!mrb_immediate_p(val)) {\n        mrb_gc_protect(mrb, val);\n        tmp = mrb_check_string_type(mrb, val);\n",
    ),
    (
        "mrbgems/mruby-array-ext/src/array.c",
        "  for (i = 0; i < RARRAY_LEN(ary); i++) {\n    v = mrb_check_array_type(mrb, RARRAY_PTR(ary)[i]);\n    if (",
        "  int ai = mrb_gc_arena_save(mrb);\n  for (i = 0; i < RARRAY_LEN(ary); i++) {\n    mrb_gc_arena_restore(mrb, ai);\n    v = mrb_check_array_type(mrb, RARRAY_PTR(ary)[i]);\n    mrb_gc_protect(mrb, v);\n    if (",
    ),
    (
        "mrbgems/mruby-array-ext/src/array.c",
        "  for (i = 0; i < RARRAY_LEN(ary); i++) {\n    v = RARRAY_PTR(ary)[i];\n    if (mrb_array_p(v) &&\n        RARRAY_LEN(v) > 1 &&",
        "  int ai = mrb_gc_arena_save(mrb);\n  for (i = 0; i < RARRAY_LEN(ary); i++) {\n    mrb_gc_arena_restore(mrb, ai);\n    v = RARRAY_PTR(ary)[i];\n    mrb_gc_protect(mrb, v);\n    if (mrb_array_p(v) &&\n        RARRAY_LEN(v) > 1 &&",
    ),
];
