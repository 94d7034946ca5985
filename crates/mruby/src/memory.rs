//! The VM's allocator: the process allocator with a running total and a limit.
//! Above the limit it answers NULL; mruby then collects, tries again, and raises NoMemoryError. A reserve opens at
//! that moment so that `rescue` and `ensure` can still allocate; it closes when control is back in Rust.

use std::alloc::{Layout, alloc, dealloc, realloc};
use std::cell::Cell;
use std::ffi::c_void;
use std::ptr::null_mut;

use crate::faults::Faults;

/// Bytes before each block that hold its size. They keep the block aligned for everything mruby stores (asserted in the shim);
/// more would put the next block into another line of the cache.
const HEADER: usize = 8;
/// The first refusal makes mruby collect and try again; the second in a row makes it raise, and opens the reserve.
const REFUSALS_BEFORE_RESERVE: u32 = 2;

/// What a VM has allocated and may allocate, in bytes.
#[repr(C)] // the first two are read by the collector, through a pointer to the whole
pub struct Memory {
    used: Cell<usize>,
    /// Of Rust's memory that objects of the VM own, what was declared. It counts toward the collector, not toward the limit.
    outside: Cell<usize>,
    used_max: usize,
    reserve: usize,
    refusals: Cell<u32>,
    /// Of a VM that was opened with them.
    faults: Option<Faults>,
    /// What is allocated now is not refused.
    exempt: Cell<bool>,
}

impl Memory {
    pub(crate) fn new(used_max: usize, reserve: usize, faults: Option<Faults>) -> Self {
        Memory {
            used: Cell::new(0),
            outside: Cell::new(0),
            used_max,
            reserve,
            refusals: Cell::new(0),
            faults,
            exempt: Cell::new(false),
        }
    }

    /// Does this VM allocate by [`ts_host_realloc_or_fail`]?
    pub(crate) fn has_faults(&self) -> bool {
        self.faults.is_some()
    }

    pub(crate) fn used(&self) -> usize {
        self.used.get()
    }

    /// An object owns so much of Rust's memory.
    pub(crate) fn own(&self, bytes: usize) {
        self.outside.set(self.outside.get().saturating_add(bytes));
    }

    /// The object is gone.
    pub(crate) fn disown(&self, bytes: usize) {
        self.outside.set(self.outside.get().saturating_sub(bytes));
    }

    /// Closes the reserve again. Called when Rust enters the VM.
    pub(crate) fn close_reserve(&self) {
        self.refusals.set(0);
    }

    fn admits(&self, growth: usize) -> bool {
        let wanted = self.used.get().saturating_add(growth);
        if wanted <= self.used_max {
            if self.refusals.get() < REFUSALS_BEFORE_RESERVE {
                self.refusals.set(0);
            }
            return true;
        }
        if self.exempt.get() {
            return true;
        }
        if self.refusals.get() >= REFUSALS_BEFORE_RESERVE {
            return wanted <= self.used_max + self.reserve;
        }
        self.refusals.set(self.refusals.get() + 1);
        false
    }
}

/// mruby's allocation function: `size` 0 frees, a null `pointer` allocates.
///
/// # Safety
/// `memory` points to a live `Memory`; `pointer` is null or came from this function.
#[unsafe(no_mangle)]
unsafe extern "C" fn ts_host_realloc(
    memory: *mut c_void,
    pointer: *mut c_void,
    size: usize,
) -> *mut c_void {
    // SAFETY: the VM was opened with a pointer to its `Memory`, which outlives it.
    let memory = unsafe { &*memory.cast::<Memory>() };
    // SAFETY: `pointer` is null or a block of ours, so HEADER bytes before it hold its size.
    unsafe {
        match (pointer.is_null(), size) {
            (true, 0) => null_mut(),
            (true, _) => allocate(memory, size),
            (false, 0) => release(memory, pointer.cast()),
            (false, _) => resize(memory, pointer.cast(), size),
        }
    }
}

/// The same for a VM with faults, some of whose allocations fail.
///
/// # Safety
/// As for [`ts_host_realloc`].
#[unsafe(no_mangle)]
unsafe extern "C" fn ts_host_realloc_or_fail(
    memory: *mut c_void,
    pointer: *mut c_void,
    size: usize,
) -> *mut c_void {
    // SAFETY: as in `ts_host_realloc`.
    let grows = unsafe { pointer.is_null() || size > size_of_block(pointer.cast()) };
    // SAFETY: the VM was opened with a pointer to its `Memory`, which outlives it.
    let faults = unsafe { &(*memory.cast::<Memory>()).faults };
    if size > 0 && grows && faults.as_ref().is_some_and(Faults::fails) {
        return null_mut();
    }
    // SAFETY: the caller's promise.
    unsafe { ts_host_realloc(memory, pointer, size) }
}

/// The same for what must not be refused: the table of values that native code holds, which grows as a Vec of Rust's would, and what
/// is small and bounded and nobody could go on without.
///
/// # Safety
/// As for [`ts_host_realloc`].
#[unsafe(no_mangle)]
unsafe extern "C" fn ts_host_realloc_exempt(
    memory: *mut c_void,
    pointer: *mut c_void,
    size: usize,
) -> *mut c_void {
    // SAFETY: the VM was opened with a pointer to its `Memory`, which outlives it.
    let exempt = unsafe { &(*memory.cast::<Memory>()).exempt };
    let before = exempt.replace(true);
    // SAFETY: the caller's promise.
    let block = unsafe { ts_host_realloc(memory, pointer, size) };
    exempt.set(before);
    block
}

/// # Safety
/// `pointer` came from [`allocate`] or [`resize`].
unsafe fn size_of_block(pointer: *mut u8) -> usize {
    // SAFETY: HEADER bytes before a block of ours hold its size.
    unsafe { pointer.sub(HEADER).cast::<usize>().read() }
}

fn layout(size: usize) -> Option<Layout> {
    Layout::from_size_align(size.checked_add(HEADER)?, HEADER).ok()
}

unsafe fn allocate(memory: &Memory, size: usize) -> *mut c_void {
    let Some(layout) = layout(size) else {
        return null_mut();
    };
    if !memory.admits(size) {
        return null_mut();
    }
    // SAFETY: the layout's size is at least HEADER.
    let block = unsafe { alloc(layout) };
    if block.is_null() {
        return null_mut();
    }
    memory.used.set(memory.used.get() + size);
    // SAFETY: the block has HEADER + size bytes.
    unsafe {
        block.cast::<usize>().write(size);
        block.add(HEADER).cast()
    }
}

unsafe fn release(memory: &Memory, pointer: *mut u8) -> *mut c_void {
    // SAFETY: HEADER bytes before a block of ours hold its size; it was allocated with this layout.
    unsafe {
        let block = pointer.sub(HEADER);
        let size = block.cast::<usize>().read();
        memory.used.set(memory.used.get() - size);
        dealloc(
            block,
            Layout::from_size_align_unchecked(size + HEADER, HEADER),
        );
    }
    null_mut()
}

unsafe fn resize(memory: &Memory, pointer: *mut u8, size: usize) -> *mut c_void {
    // SAFETY: as in `release`.
    let (block, old) = unsafe {
        let block = pointer.sub(HEADER);
        (block, block.cast::<usize>().read())
    };
    let Some(new_layout) = layout(size) else {
        return null_mut();
    };
    if size > old && !memory.admits(size - old) {
        return null_mut();
    }
    // SAFETY: the block was allocated with this layout; the new size is valid for it.
    unsafe {
        let block = realloc(
            block,
            Layout::from_size_align_unchecked(old + HEADER, HEADER),
            new_layout.size(),
        );
        if block.is_null() {
            return null_mut();
        }
        memory.used.set(memory.used.get() - old + size);
        block.cast::<usize>().write(size);
        block.add(HEADER).cast()
    }
}
