//! The shim's functions as Rust sees them (see shim/shim.h). Nothing else of mruby is declared in Rust.

use std::ffi::{c_char, c_int, c_void};

/// An unboxed `mrb_value`: a payload and its type tag. Meaningless without the VM it came from.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawValue {
    payload: u64,
    tag: u32,
}

impl RawValue {
    /// `nil`; the shim asserts that it looks so.
    pub const NIL: RawValue = RawValue { payload: 0, tag: 0 };
}

/// A field of a record: a value, or the bytes of a String to be made when they are not null.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RawField {
    pub value: RawValue,
    pub bytes: *const c_char,
    pub len: usize,
}

/// Opaque: one VM with the shim's own state.
#[repr(C)]
pub struct RawVm {
    _opaque: [u8; 0],
}

pub const OK: c_int = 0;
pub const RAISED: c_int = 1;
pub const YIELD: c_int = 2;

pub const INTERRUPT_REPORT: c_int = 1;
pub const INTERRUPT_STOP: c_int = 2;
pub const INTERRUPT_INSIST: c_int = 4;

pub type Visit = unsafe extern "C" fn(*mut c_void, RawValue, RawValue);

unsafe extern "C" {
    pub fn ts_open(host: *mut c_void, memory: *mut c_void, faulty: c_int) -> *mut RawVm;
    pub fn ts_eval_bytes_max(vm: *mut RawVm, max: usize);
    pub fn ts_close(vm: *mut RawVm);
    pub fn ts_exempt(vm: *mut RawVm, change: c_int);

    pub fn ts_kind(v: RawValue) -> c_int;
    pub fn ts_bool(b: c_int) -> RawValue;
    pub fn ts_symbol(sym: u32) -> RawValue;
    pub fn ts_integer(vm: *mut RawVm, i: i64) -> RawValue;
    pub fn ts_float(vm: *mut RawVm, f: f64) -> RawValue;
    pub fn ts_integer_value(v: RawValue) -> i64;
    pub fn ts_float_value(v: RawValue) -> f64;
    pub fn ts_symbol_value(v: RawValue) -> u32;
    pub fn ts_symbol_name(vm: *mut RawVm, sym: u32, len: *mut i64) -> *const c_char;
    pub fn ts_string_bytes(v: RawValue, len: *mut i64) -> *const c_char;
    pub fn ts_array_len(v: RawValue) -> i64;
    pub fn ts_array_at(vm: *mut RawVm, v: RawValue, i: i64) -> RawValue;
    pub fn ts_hash_len(vm: *mut RawVm, v: RawValue) -> i64;
    pub fn ts_class_of(vm: *mut RawVm, v: RawValue) -> RawValue;
    pub fn ts_is_a(vm: *mut RawVm, v: RawValue, class: RawValue) -> c_int;
    pub fn ts_responds_to(vm: *mut RawVm, v: RawValue, sym: u32) -> c_int;
    pub fn ts_same(a: RawValue, b: RawValue) -> c_int;
    pub fn ts_data_pointer(v: RawValue) -> *mut c_void;
    pub fn ts_class_carries_data(class: RawValue);
    pub fn ts_ivar(vm: *mut RawVm, object: RawValue, sym: u32) -> RawValue;
    pub fn ts_global(vm: *mut RawVm, sym: u32) -> RawValue;
    pub fn ts_global_set(vm: *mut RawVm, sym: u32, value: RawValue, out: *mut RawValue) -> c_int;

    pub fn ts_string(vm: *mut RawVm, bytes: *const c_char, len: usize, out: *mut RawValue)
    -> c_int;
    pub fn ts_intern(vm: *mut RawVm, bytes: *const c_char, len: usize, out: *mut RawValue)
    -> c_int;
    pub fn ts_array(vm: *mut RawVm, capacity: i64, out: *mut RawValue) -> c_int;
    pub fn ts_hash(vm: *mut RawVm, capacity: i64, out: *mut RawValue) -> c_int;
    pub fn ts_array_of(
        vm: *mut RawVm,
        values: *const RawValue,
        len: usize,
        out: *mut RawValue,
    ) -> c_int;
    pub fn ts_records(
        vm: *mut RawVm,
        len: usize,
        names: *const u32,
        count: usize,
        fields: *const RawField,
        array: RawValue,
        out: *mut RawValue,
    ) -> c_int;
    pub fn ts_array_push(
        vm: *mut RawVm,
        array: RawValue,
        element: RawValue,
        out: *mut RawValue,
    ) -> c_int;
    pub fn ts_array_set(
        vm: *mut RawVm,
        array: RawValue,
        index: i64,
        element: RawValue,
        out: *mut RawValue,
    ) -> c_int;
    pub fn ts_hash_set(
        vm: *mut RawVm,
        hash: RawValue,
        key: RawValue,
        value: RawValue,
        out: *mut RawValue,
    ) -> c_int;
    pub fn ts_hash_fetch(
        vm: *mut RawVm,
        hash: RawValue,
        key: RawValue,
        fallback: RawValue,
        out: *mut RawValue,
    ) -> c_int;
    pub fn ts_hash_each(vm: *mut RawVm, hash: RawValue, visit: Visit, context: *mut c_void);
    pub fn ts_ivar_set(
        vm: *mut RawVm,
        object: RawValue,
        sym: u32,
        value: RawValue,
        out: *mut RawValue,
    ) -> c_int;
    pub fn ts_data(
        vm: *mut RawVm,
        class: RawValue,
        pointer: *mut c_void,
        out: *mut RawValue,
    ) -> c_int;
    pub fn ts_exception(
        vm: *mut RawVm,
        class: RawValue,
        message: *const c_char,
        len: usize,
        out: *mut RawValue,
    ) -> c_int;

    pub fn ts_constant(vm: *mut RawVm, holder: RawValue, sym: u32, out: *mut RawValue) -> c_int;
    pub fn ts_object_class(vm: *mut RawVm) -> RawValue;
    pub fn ts_top_self(vm: *mut RawVm) -> RawValue;
    pub fn ts_define_module(
        vm: *mut RawVm,
        under: RawValue,
        name: *const c_char,
        out: *mut RawValue,
    ) -> c_int;
    pub fn ts_define_class(
        vm: *mut RawVm,
        under: RawValue,
        name: *const c_char,
        parent: RawValue,
        out: *mut RawValue,
    ) -> c_int;
    pub fn ts_define_native(
        vm: *mut RawVm,
        class: RawValue,
        name: *const c_char,
        index: i64,
        waits: c_int,
        singleton: c_int,
        out: *mut RawValue,
    ) -> c_int;
    pub fn ts_call(
        vm: *mut RawVm,
        this: RawValue,
        sym: u32,
        argc: i64,
        argv: *const RawValue,
        block: RawValue,
        out: *mut RawValue,
    ) -> c_int;
    pub fn ts_compile(
        vm: *mut RawVm,
        source: *const c_char,
        len: usize,
        file: *const c_char,
        line: i32,
        errors: *mut c_void,
        out: *mut RawValue,
    ) -> c_int;
    pub fn ts_resume(
        vm: *mut RawVm,
        fiber: RawValue,
        value: RawValue,
        raises: c_int,
        out: *mut RawValue,
    ) -> c_int;
    pub fn ts_forget(fiber: RawValue);
    pub fn ts_at_rest(vm: *mut RawVm) -> c_int;
    pub fn ts_where(vm: *mut RawVm, file: *mut *const c_char, line: *mut i32);

    pub fn ts_root(vm: *mut RawVm, slot: i64, value: RawValue, out: *mut RawValue) -> c_int;
    pub fn ts_unroot(vm: *mut RawVm, slot: i64);
    pub fn ts_rooted(vm: *mut RawVm, slot: i64) -> RawValue;
    pub fn ts_arena_save(vm: *mut RawVm) -> c_int;
    pub fn ts_arena_restore(vm: *mut RawVm, arena: c_int);
    pub fn ts_protect(vm: *mut RawVm, value: RawValue);
    pub fn ts_collect(vm: *mut RawVm, out: *mut RawValue) -> c_int;
    pub fn ts_live_objects(vm: *mut RawVm) -> usize;

    pub fn ts_entered(vm: *mut RawVm);
    pub fn ts_overran(vm: *mut RawVm) -> c_int;
    pub fn ts_entry(vm: *mut RawVm) -> u64;
    pub fn ts_interrupt(vm: *mut RawVm, what: c_int, entry: u64);
}
