//! Corrections of what every line of Ruby pays for: how names are found, how a block begins. What Ruby sees stays the same.

pub const CORRECTIONS: &[super::Correction] = &[
    // Constants, instance variables and methods stand in tables with open addressing. The numbers of their names follow each other in the
    // order of the alphabet, and the hash left neighbours side by side: the constants of Object were one run without a gap, in which a
    // constant was found after 60 steps. (The factor is that of multiplicative hashing, 2^64 over the golden ratio.)
    (
        "include/mruby/khash.h",
        "#define kh_int_hash_func(mrb,key) (khint_t)((key)^((key)<<2)^((key)>>2))",
        "#define kh_int_hash_func(mrb,key) (khint_t)(((uint64_t)(key)*UINT64_C(0x9E3779B97F4A7C15))>>32)",
    ),
    // A block that takes as many values as it is called with needs what a method needs; nothing is to be taken apart or filled up.
    (
        "src/vm.c",
        "if ((a & ~0x7c0001) == 0 && argc < 15 && ci->nk == 0 && MRB_PROC_STRICT_P(proc)) {",
        "if ((a & ~0x7c0001) == 0 && argc < 15 && ci->nk == 0 && (argc == m1 || MRB_PROC_STRICT_P(proc))) {",
    ),
];
