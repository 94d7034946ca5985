//! One VM: opening, entering, resuming fibres, closing. Everything that makes or reads values is in `scope`.

use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::NonNull;
use std::rc::Rc;
use std::sync::Arc;

use crate::faults::Faults;
use crate::interrupt::Interrupter;
use crate::memory::Memory;
use crate::names::SymbolCache;
use crate::native::Native;
use crate::open_scopes::OpenScopes;
use crate::scope::Scope;
use crate::sys::{self, RawVm};

/// The root slot of the VM's NoMemoryError, which the shim fills when it opens.
pub(crate) const NO_MEMORY: i64 = 0;
/// The first root slot for values of Rust's.
const FIRST_SLOT: i64 = NO_MEMORY + 1;

/// How a VM is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Bytes the VM may allocate; beyond it Ruby gets NoMemoryError.
    pub memory_bytes_max: usize,
    /// Bytes beyond the limit that `rescue` and `ensure` may use after a NoMemoryError.
    pub memory_reserve_bytes: usize,
    /// Bytes of a text that Ruby itself compiles (`eval`, `instance_eval`, `class_eval`, `Binding#eval`); 0 for no limit. Compiling
    /// cannot be interrupted, and takes time by the square of some texts.
    pub eval_bytes_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            memory_bytes_max: 512 << 20,
            memory_reserve_bytes: 4 << 20,
            eval_bytes_max: 0,
        }
    }
}

/// The VM could not be opened: there is not even memory for its core library.
#[derive(Debug)]
pub struct OpenError;

impl std::fmt::Display for OpenError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("cannot open a Ruby VM: its memory limit is too small for the core library")
    }
}
impl std::error::Error for OpenError {}

/// One entry into the VM. It is left however `f` ends: after a panic that is caught the next entry is the outermost again, or the
/// reserve would stay open and the watchdog would take all that follows for this one.
struct Entry<'a>(&'a Cell<u32>);

impl<'a> Entry<'a> {
    fn begin(depth: &'a Cell<u32>) -> Entry<'a> {
        depth.set(depth.get() + 1);
        Entry(depth)
    }
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

type OnSlow = Box<dyn Fn(&str, u32)>;

pub(crate) struct VmInner {
    opened: bool,
    pub(crate) raw: NonNull<RawVm>,
    pub(crate) memory: Box<Memory>,
    pub(crate) natives: RefCell<Vec<Rc<Native>>>,
    pub(crate) names: SymbolCache,
    pub(crate) free_roots: RefCell<Vec<i64>>,
    pub(crate) roots: Cell<i64>,
    depth: Cell<u32>,
    pub(crate) held: OpenScopes,
    /// Set while Rust borrows bytes of a String: nothing may run in the VM then.
    pub(crate) borrowed: Cell<bool>,
    on_slow: RefCell<Option<OnSlow>>,
    interrupter: Arc<Interrupter>,
}

/// An mruby VM. Cloning makes another handle to the same one; the last handle closes it.
#[derive(Clone)]
pub struct Vm {
    pub(crate) inner: Rc<VmInner>,
}

impl Vm {
    /// Opens a VM with the core library and the gems of build_config.rb.
    pub fn open(options: Options) -> Result<Vm, OpenError> {
        let memory = Box::new(Memory::new(
            options.memory_bytes_max,
            options.memory_reserve_bytes,
            Faults::of_this_thread(),
        ));
        let faulty = c_int::from(memory.has_faults());
        let memory_pointer: *const Memory = &raw const *memory;
        // The host pointer is needed before the `Rc` exists, so it is filled in below through `Rc::new_cyclic`'s
        // stable address.
        let inner = Rc::new_cyclic(|weak: &std::rc::Weak<VmInner>| {
            let host = weak.as_ptr().cast::<c_void>().cast_mut();
            // SAFETY: `host` stays at this address as long as the VM is open; `memory` is boxed and outlives the VM.
            let raw = unsafe { sys::ts_open(host, memory_pointer.cast_mut().cast(), faulty) };
            VmInner {
                opened: !raw.is_null(),
                raw: NonNull::new(raw).unwrap_or(NonNull::dangling()),
                memory,
                natives: RefCell::default(),
                names: SymbolCache::default(),
                free_roots: RefCell::default(),
                roots: Cell::new(FIRST_SLOT),
                depth: Cell::new(0),
                held: OpenScopes::default(),
                borrowed: Cell::new(false),
                on_slow: RefCell::new(None),
                interrupter: Arc::new(Interrupter::new(raw)),
            }
        });
        match inner.opened {
            true => {
                // SAFETY: the VM is open; a field of it is set.
                unsafe { sys::ts_eval_bytes_max(inner.raw.as_ptr(), options.eval_bytes_max) };
                Ok(Vm { inner })
            }
            false => Err(OpenError),
        }
    }

    /// Runs `f` with a scope; every value made in it is released when it returns.
    pub fn enter<R>(&self, f: impl FnOnce(&Scope<'_>) -> R) -> R {
        let depth = self.inner.depth.get();
        if depth == 0 {
            self.inner.memory.close_reserve();
            // SAFETY: the VM is open as long as `inner` lives.
            unsafe { sys::ts_entered(self.raw()) };
        }
        let _entry = Entry::begin(&self.inner.depth);
        f(&Scope::open(self))
    }

    /// Called on this thread when an [`Interrupter::report`] finds the VM still running: file and line of the
    /// application.
    pub fn on_slow(&self, f: impl Fn(&str, u32) + 'static) {
        *self.inner.on_slow.borrow_mut() = Some(Box::new(f));
    }

    /// A handle with which another thread interrupts this VM.
    pub fn interrupter(&self) -> Arc<Interrupter> {
        Arc::clone(&self.inner.interrupter)
    }

    /// Bytes allocated by the VM now.
    pub fn memory_used(&self) -> usize {
        self.inner.memory.used()
    }

    /// Values that Rust keeps alive.
    pub fn live_roots(&self) -> usize {
        let made = usize::try_from(self.inner.roots.get() - FIRST_SLOT).unwrap_or(0);
        made - self.inner.free_roots.borrow().len()
    }

    /// Objects alive or not yet collected.
    pub fn live_objects(&self) -> usize {
        // SAFETY: the VM is open as long as `inner` lives.
        unsafe { sys::ts_live_objects(self.raw()) }
    }

    /// Runs `f`, whose allocations are not refused: for what is small and bounded, and nobody could go on without.
    pub(crate) fn exempt<R>(&self, f: impl FnOnce() -> R) -> R {
        struct ExemptGuard(*mut RawVm);
        impl Drop for ExemptGuard {
            fn drop(&mut self) {
                // SAFETY: the VM is open: who called `exempt` holds a handle.
                unsafe { sys::ts_exempt(self.0, -1) };
            }
        }
        // SAFETY: the VM is open as long as `inner` lives.
        unsafe { sys::ts_exempt(self.raw(), 1) };
        let _exempt = ExemptGuard(self.raw());
        f()
    }

    pub(crate) fn raw(&self) -> *mut RawVm {
        self.inner.raw.as_ptr()
    }
}

impl Drop for VmInner {
    fn drop(&mut self) {
        self.interrupter.close();
        if self.opened {
            // SAFETY: the last handle is gone and nothing runs in the VM (running code holds a handle).
            unsafe { sys::ts_close(self.raw.as_ptr()) };
        }
        debug_assert!(
            self.memory.used() == 0 || std::thread::panicking(),
            "{} bytes of a VM are left when it is closed",
            self.memory.used()
        );
    }
}

/// The interrupt hook found the VM still running the reported entry.
///
/// # Safety
/// `host` is the VM's `VmInner`; `file` is null or a C string.
#[unsafe(no_mangle)]
unsafe extern "C" fn ts_host_slow(host: *mut c_void, file: *const c_char, line: i32) {
    // SAFETY: `host` was set by `Vm::open` and lives while the VM runs; `file` belongs to the VM.
    let (inner, file) = unsafe {
        let file = if file.is_null() {
            c"(unknown)"
        } else {
            CStr::from_ptr(file)
        };
        (&*host.cast::<VmInner>(), file.to_string_lossy())
    };
    let report = || {
        if let Some(on_slow) = &*inner.on_slow.borrow() {
            on_slow(&file, line.try_into().unwrap_or(0));
        }
    };
    abort_on_panic(report);
}

/// Runs a callback from C. A panic must not cross C frames: it ends the process with its message.
pub(crate) fn abort_on_panic<R>(f: impl FnOnce() -> R) -> R {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(f))
        .unwrap_or_else(|_| std::process::abort())
}

pub(crate) fn status_is_ok(status: c_int) -> bool {
    status == sys::OK
}
