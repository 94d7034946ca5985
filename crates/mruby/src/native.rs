//! Methods written in Rust. A native returns a value, raises by returning `Raise`, or (when it was defined as waiting)
//! yields its fibre; the C trampoline acts on that after Rust has returned.

use std::ffi::{c_int, c_void};
use std::mem::ManuallyDrop;
use std::rc::Rc;

use crate::scope::Scope;
use crate::sys::{self, RawValue};
use crate::value::{Raise, Result, Value};
use crate::vm::{Vm, VmInner};

/// Arguments a native usually takes; more spill to the heap.
const INLINE_ARGUMENTS: usize = 6;

/// May this native park the fibre that calls it?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspension {
    /// It always returns a value; it works everywhere.
    Never,
    /// It may yield. Called where a wait cannot work, it raises FiberError before any Rust runs.
    Maybe,
}

/// What a native answers.
pub enum NativeReply<'s> {
    /// Return this value to Ruby.
    Value(Value<'s>),
    /// Park the fibre; [`Scope::resume`] returns this value, and what the fibre is resumed with next is what Ruby sees, a value or
    /// an exception.
    Yield(Value<'s>),
}

impl<'s> From<Value<'s>> for NativeReply<'s> {
    fn from(value: Value<'s>) -> Self {
        NativeReply::Value(value)
    }
}

/// One call from Ruby.
pub struct NativeCall<'s> {
    /// The receiver.
    pub this: Value<'s>,
    /// The block, or nil.
    pub block: Value<'s>,
    /// The arguments, if they are no more than fit; else `spilt` has all of them.
    inline: [Value<'s>; INLINE_ARGUMENTS],
    len: usize,
    spilt: Vec<Value<'s>>,
}

impl<'s> NativeCall<'s> {
    /// The positional arguments; keyword arguments arrive as one Hash at the end.
    pub fn arguments(&self) -> &[Value<'s>] {
        self.inline.get(..self.len).unwrap_or(&self.spilt)
    }

    /// The argument at `index`, or nil.
    pub fn argument(&self, index: usize) -> Value<'s> {
        self.arguments()
            .get(index)
            .copied()
            .unwrap_or_else(Value::nil)
    }

    /// # Safety
    /// `argv` points to `argc` live values of the VM.
    unsafe fn new(this: RawValue, argc: i64, argv: *const RawValue, block: RawValue) -> Self {
        let len = usize::try_from(argc).unwrap_or(0);
        let raw = if len == 0 {
            &[]
        } else {
            // SAFETY: the caller's promise.
            unsafe { std::slice::from_raw_parts(argv, len) }
        };
        const NONE: Value<'_> = Value::nil();
        let mut call = NativeCall {
            this: Value::new(this),
            block: Value::new(block),
            inline: [NONE; INLINE_ARGUMENTS],
            len,
            spilt: Vec::new(),
        };
        if len <= INLINE_ARGUMENTS {
            for (slot, raw) in call.inline.iter_mut().zip(raw) {
                *slot = Value::new(*raw);
            }
        } else {
            call.spilt = raw.iter().copied().map(Value::new).collect();
        }
        call
    }
}

pub(crate) type Native =
    dyn for<'s> Fn(&'s Scope<'s>, &NativeCall<'s>) -> Result<'s, NativeReply<'s>>;

/// Runs the native with this index.
///
/// # Safety
/// Called by the trampoline of an open VM whose `VmInner` is `host`.
#[unsafe(no_mangle)]
unsafe extern "C" fn ts_host_dispatch(
    host: *mut c_void,
    index: i64,
    this: RawValue,
    argc: i64,
    argv: *const RawValue,
    block: RawValue,
    out: *mut RawValue,
) -> c_int {
    let inner = host.cast::<VmInner>().cast_const();
    // SAFETY: `host` is the address inside the `Rc` that `Vm::open` made. Who entered the VM borrows a handle until it is
    // left, so the VM stays open while the native runs; this one counts as none and is never dropped.
    let vm = ManuallyDrop::new(unsafe {
        Vm {
            inner: Rc::from_raw(inner),
        }
    });
    let run = || {
        let native = usize::try_from(index)
            .ok()
            .and_then(|i| vm.inner.natives.borrow().get(i).cloned());
        let scope = Scope::borrowed(&vm); // the trampoline restores the arena
        // SAFETY: the trampoline passes the call's own arguments.
        let call = unsafe { NativeCall::new(this, argc, argv, block) };
        let (status, value) = match native {
            None => (sys::RAISED, scope.error("RuntimeError", "no such native").0),
            Some(native) => match native(&scope, &call) {
                Ok(NativeReply::Value(value)) => (sys::OK, value),
                Ok(NativeReply::Yield(value)) => (sys::YIELD, value),
                Err(Raise(exception)) => (sys::RAISED, exception),
            },
        };
        (status, value.raw)
    };
    // A panic is a defect of ours. It must not cross C frames, nor end the process with all requests: it fails this call. Every
    // entry from C has such a guard, so only frames of Rust are unwound; what they held, they give back.
    let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
    let (status, raw) = caught.unwrap_or_else(|panic| {
        let failed = || {
            let message = format!("internal error: {}", panic_text(&*panic));
            Scope::borrowed(&vm).error("RuntimeError", message).0.raw
        };
        (sys::RAISED, crate::vm::abort_on_panic(failed))
    });
    // SAFETY: the trampoline passes a place for the answer.
    unsafe { out.write(raw) };
    status
}

/// What a panic says of itself.
fn panic_text(panic: &(dyn std::any::Any + Send)) -> &str {
    let owned = panic.downcast_ref::<String>().map(String::as_str);
    owned
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without a message")
}
