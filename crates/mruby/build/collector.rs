//! Corrections of mruby's collector: it counts bytes, not only objects: those that a VM has allocated and those
//! that its objects own outside (`Memory` in src/memory.rs).
//! An object may hold megabytes. Sixteen thousand of them, each a piece of an upload, were no reason for mruby to collect: the VM grew
//! to its limit first.
//! Rule: a collection begins when the bytes have doubled since the last one (`GC.interval_ratio` says by how much), at least by
//! `GC_BYTES_MIN`. It then takes a step for each `GC_BYTES_STEP`, however few objects these bytes belong to.

pub const CORRECTIONS: &[super::Correction] = &[
    (
        "include/mruby/gc.h",
        "  size_t majorgc_old_threshold;\n",
        "  size_t majorgc_old_threshold;\n  const size_t *bytes; /* what the VM has allocated now, and what its objects own besides; counted by the host */\n  size_t bytes_threshold; /* bytes above which the collector takes a step */\n  mrb_bool for_bytes; /* the collection that runs began above it, so it finds all that was garbage then */\n",
    ),
    (
        "src/gc.c",
        "void\nmrb_gc_init(mrb_state *mrb, mrb_gc *gc)\n{\n",
        "#define GC_BYTES_MIN ((size_t)8 << 20)\n#define GC_BYTES_STEP ((size_t)64 << 10)\n\n/* Nothing is counted before the host says where. */\nstatic const size_t no_bytes[2] = { 0, 0 };\n\nstatic inline size_t\nbytes_now(const mrb_gc *gc)\n{\n  return gc->bytes[0] + gc->bytes[1];\n}\n\n/* A collection is over: when the next begins. */\nstatic void\nawait_bytes(mrb_gc *gc)\n{\n  size_t left = bytes_now(gc);\n  size_t more = gc->interval_ratio > 100 ? left / 100 * (size_t)(gc->interval_ratio - 100) : 0;\n  gc->bytes_threshold = left + (more > GC_BYTES_MIN ? more : GC_BYTES_MIN);\n  gc->for_bytes = FALSE;\n}\n\nvoid\nmrb_gc_init(mrb_state *mrb, mrb_gc *gc)\n{\n  gc->bytes = no_bytes;\n",
    ),
    (
        "src/gc.c",
        "MRB_API struct RBasic*\nmrb_obj_alloc(mrb_state *mrb, enum mrb_vtype ttype, struct RClass *cls)\n{",
        "/* Takes the steps that are due for what was allocated. A collection that was under way before finds little of it: another follows. */\nstatic void\ncollect_for_bytes(mrb_state *mrb, mrb_gc *gc)\n{\n  if (gc->disabled || gc->iterating) return;\n  if (is_generational(gc)) {\n    mrb_full_gc(mrb);\n    return;\n  }\n  while (gc->bytes_threshold < bytes_now(gc)) {\n    if (gc->state == MRB_GC_STATE_ROOT) gc->for_bytes = TRUE;\n    gc->bytes_threshold += GC_BYTES_STEP;\n    mrb_incremental_gc(mrb);\n  }\n}\n\nMRB_API struct RBasic*\nmrb_obj_alloc(mrb_state *mrb, enum mrb_vtype ttype, struct RClass *cls)\n{",
    ),
    (
        "src/gc.c",
        "  if (gc->threshold < gc->live) {\n    mrb_incremental_gc(mrb);\n  }\n  if (gc->free_heaps == NULL)",
        "  if (gc->threshold < gc->live) {\n    mrb_incremental_gc(mrb);\n  }\n  if (gc->bytes_threshold < bytes_now(gc)) {\n    collect_for_bytes(mrb, gc);\n  }\n  if (gc->free_heaps == NULL)",
    ),
    (
        "src/gc.c",
        "  if (gc->state == MRB_GC_STATE_ROOT) {\n    mrb_assert(gc->live >= gc->live_after_mark);\n",
        "  if (gc->state == MRB_GC_STATE_ROOT) {\n    if (gc->for_bytes) await_bytes(gc);\n    mrb_assert(gc->live >= gc->live_after_mark);\n",
    ),
    // What a step has freed postpones no other: what is allocated until the end of this collection is left to the next.
    (
        "src/gc.c",
        "  else {\n    incremental_gc_step(mrb, gc);\n  }\n",
        "  else {\n    incremental_gc_step(mrb, gc);\n    size_t soon = bytes_now(gc) + GC_BYTES_STEP;\n    if (gc->for_bytes && gc->bytes_threshold > soon) gc->bytes_threshold = soon;\n  }\n",
    ),
    (
        "src/gc.c",
        "  incremental_gc_finish(mrb, gc);\n  gc->threshold = (gc->live_after_mark/100) * gc->interval_ratio;\n\n  if (is_generational(gc)) {",
        "  incremental_gc_finish(mrb, gc);\n  await_bytes(gc);\n  gc->threshold = (gc->live_after_mark/100) * gc->interval_ratio;\n\n  if (is_generational(gc)) {",
    ),
];
