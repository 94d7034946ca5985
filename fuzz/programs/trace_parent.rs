//! Feeds the fuzzer's bytes to the target of the same name; everything else is in `fuzz/src`.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| tsumugi_fuzz::trace_parent(bytes));
