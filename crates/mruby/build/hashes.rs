//! Corrections of mruby's Hash: keys that were there twice, and costs where rows are built (Symbols as keys, `{**row, …}`, `merge`).
//! Rule of the latter: what Ruby sees stays the same.

pub const CORRECTIONS: &[super::Correction] = &[
    // A place in the table of a Hash of more than 16 entries that was free because its entry had been deleted was taken for any key, though
    // the key might stand behind it: then it was there twice, with two values.
    (
        "src/hash.c",
        "    else {\n      uint32_t ea_n_used = ht_ea_n_used(h);\n      if (ea_n_used == H_MAX_SIZE) {",
        "    else if (ib_it_deleted_p(it)) {\n      continue;\n    }\n    else {\n      uint32_t ea_n_used = ht_ea_n_used(h);\n      if (ea_n_used == H_MAX_SIZE) {",
    ),
    // A Symbol is found by its number; nothing has to be called for the comparison.
    (
        "src/hash.c",
        "static hash_entry*\nea_get_by_key(mrb_state *mrb, hash_entry *ea, uint32_t size, mrb_value key,\n              struct RHash *h)\n{\n",
        "static hash_entry*\nea_get_by_symbol(hash_entry *ea, uint32_t size, mrb_sym sym)\n{\n  for (; size > 0; ea++) {\n    if (mrb_symbol_p(ea->key)) {\n      if (mrb_symbol(ea->key) == sym) return ea;\n    }\n    else if (entry_deleted_p(ea)) {\n      continue;\n    }\n    size--;\n  }\n  return NULL;\n}\n\nstatic hash_entry*\nea_get_by_key(mrb_state *mrb, hash_entry *ea, uint32_t size, mrb_value key,\n              struct RHash *h)\n{\n  if (mrb_symbol_p(key)) return ea_get_by_symbol(ea, size, mrb_symbol(key));\n",
    ),
    (
        "src/hash.c",
        "  ea_each(ar_ea(h), ar_size(h), entry, {\n    if (!obj_eql(mrb, key, entry->key, h)) continue;\n    *valp = entry->val;\n    return TRUE;\n  });\n  return FALSE;\n",
        "  hash_entry *entry = ea_get_by_key(mrb, ar_ea(h), ar_size(h), key, h);\n  if (!entry) return FALSE;\n  *valp = entry->val;\n  return TRUE;\n",
    ),
    // What is merged into an empty Hash is copied as a whole, with room for some more entries.
    (
        "src/hash.c",
        "  if (h1 == h2) return;\n  if (h_size(h2) == 0) return;\n",
        "  if (h1 == h2) return;\n  if (h_size(h2) == 0) return;\n  if (h_size(h1) == 0) {\n    h_fill(mrb, h1, h2);\n    mrb_write_barrier(mrb, (struct RBasic*)h1);\n    return;\n  }\n",
    ),
    (
        "src/hash.c",
        "void\nmrb_gc_mark_hash(mrb_state *mrb, struct RHash *h)\n{",
        "/* Puts the entries of another into a Hash that has none. */\nstatic void\nh_fill(mrb_state *mrb, struct RHash *h, struct RHash *orig_h)\n{\n  if (!h_ar_p(orig_h)) {\n    h_replace(mrb, h, orig_h);\n    return;\n  }\n  uint32_t n_used = ar_ea_n_used(orig_h), capa = lesser(n_used + 4, AR_MAX_SIZE);\n  hash_entry *ea = ea_resize(mrb, NULL, capa);\n  memcpy(ea, ar_ea(orig_h), sizeof(hash_entry) * n_used);\n  h_free_table(mrb, h);\n  ar_init(h, ar_size(orig_h), ea, capa, n_used);\n}\n\nvoid\nmrb_gc_mark_hash(mrb_state *mrb, struct RHash *h)\n{",
    ),
    // `merge` without a block is one call. A Hash that has nothing but entries is copied without `initialize_copy`.
    (
        "mrblib/hash.rb",
        "    i=0; len=others.size\n    h = self.dup\n    return h.__merge(*others) unless block\n",
        "    return __merged(*others) unless block\n    i=0; len=others.size\n    h = self.dup\n",
    ),
    (
        "src/hash.c",
        "/*\n *  call-seq:\n *    hsh.rehash -> hsh\n",
        "static mrb_value\nmrb_hash_merged_m(mrb_state *mrb, mrb_value hash)\n{\n  struct RHash *h = mrb_hash_ptr(hash);\n  mrb_int argc;\n  mrb_value *argv;\n\n  mrb_get_args(mrb, \"*\", &argv, &argc);\n  mrb_bool plain = h->c == mrb->hash_class && !h->iv && !(h->flags & MRB_HASH_DEFAULT);\n  mrb_value merged = plain ? mrb_hash_new(mrb) : mrb_obj_dup(mrb, hash);\n  if (plain && h_size(h) > 0) h_fill(mrb, mrb_hash_ptr(merged), h);\n  while (argc--) {\n    mrb_hash_merge(mrb, merged, *argv++);\n  }\n  return merged;\n}\n\n/*\n *  call-seq:\n *    hsh.rehash -> hsh\n",
    ),
    (
        "src/hash.c",
        "  mrb_define_method(mrb, h, \"__merge\",         mrb_hash_merge_m,     MRB_ARGS_REQ(1));\n",
        "  mrb_define_method(mrb, h, \"__merge\",         mrb_hash_merge_m,     MRB_ARGS_REQ(1));\n  mrb_define_method(mrb, h, \"__merged\",        mrb_hash_merged_m,    MRB_ARGS_ANY());\n",
    ),
];
