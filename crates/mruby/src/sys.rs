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

/// An instruction as the shim reads it; `text` has `len` bytes.
#[repr(C)]
pub struct RawInstruction {
    pub step: c_int,
    pub at: u32,
    pub first: u32,
    pub second: u32,
    pub third: u32,
    pub text: *const c_char,
    pub len: usize,
    pub integer: i64,
    pub number: f64,
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

    pub fn ts_hash_each(vm: *mut RawVm, hash: RawValue, visit: Visit, context: *mut c_void);

    pub fn ts_object_class(vm: *mut RawVm) -> RawValue;
    pub fn ts_top_self(vm: *mut RawVm) -> RawValue;
    pub fn ts_forget(fiber: RawValue);
    pub fn ts_at_rest(vm: *mut RawVm) -> c_int;
    pub fn ts_where(vm: *mut RawVm, file: *mut *const c_char, line: *mut i32);

    pub fn ts_unroot(vm: *mut RawVm, slot: i64);
    pub fn ts_rooted(vm: *mut RawVm, slot: i64) -> RawValue;
    pub fn ts_arena_save(vm: *mut RawVm) -> c_int;
    pub fn ts_arena_restore(vm: *mut RawVm, arena: c_int);
    pub fn ts_protect(vm: *mut RawVm, value: RawValue);
    pub fn ts_live_objects(vm: *mut RawVm) -> usize;

    pub fn ts_entered(vm: *mut RawVm);
    pub fn ts_overran(vm: *mut RawVm) -> c_int;
    pub fn ts_entry(vm: *mut RawVm) -> u64;
    pub fn ts_interrupt(vm: *mut RawVm, what: c_int, entry: u64);
}

/// What can raise and so runs by `protect`: the VM comes before the other arguments, the place of the outcome after them.
macro_rules! raising {
    ($(fn $name:ident($($argument:ident: $type:ty),*);)*) => {
        unsafe extern "C" {
            $(pub fn $name(vm: *mut RawVm, $($argument: $type,)* out: *mut RawValue) -> c_int;)*
        }
    };
}

raising! {
    fn ts_global_set(sym: u32, value: RawValue);
    fn ts_string(bytes: *const c_char, len: usize);
    fn ts_intern(bytes: *const c_char, len: usize);
    fn ts_array(capacity: i64);
    fn ts_hash(capacity: i64);
    fn ts_array_of(values: *const RawValue, len: usize);
    fn ts_records(len: usize, names: *const u32, count: usize, fields: *const RawField, array: RawValue);
    fn ts_array_push(array: RawValue, element: RawValue);
    fn ts_array_set(array: RawValue, index: i64, element: RawValue);
    fn ts_hash_set(hash: RawValue, key: RawValue, value: RawValue);
    fn ts_hash_fetch(hash: RawValue, key: RawValue, fallback: RawValue);
    fn ts_ivar_set(object: RawValue, sym: u32, value: RawValue);
    fn ts_data(class: RawValue, pointer: *mut c_void);
    fn ts_exception(class: RawValue, message: *const c_char, len: usize);
    fn ts_constant(holder: RawValue, sym: u32);
    fn ts_define_module(under: RawValue, name: *const c_char);
    fn ts_define_class(under: RawValue, name: *const c_char, parent: RawValue);
    fn ts_define_native(class: RawValue, name: *const c_char, index: i64, waits: c_int, singleton: c_int);
    fn ts_call(this: RawValue, sym: u32, argc: i64, argv: *const RawValue, block: RawValue);
    fn ts_compile(source: *const c_char, len: usize, file: *const c_char, line: i32, errors: *mut c_void);
    fn ts_program_names(program: RawValue, names: *mut c_void);
    fn ts_method_code(class: RawValue, sym: u32, reader: *mut c_void);
    fn ts_resume(fiber: RawValue, value: RawValue, raises: c_int);
    fn ts_root(slot: i64, value: RawValue);
    fn ts_collect();
}
