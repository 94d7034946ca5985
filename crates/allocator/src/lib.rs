//! mimalloc as the allocator of a program. Knows nothing of what it is used for.
//!
//! The crate `mimalloc` asks for every block with its alignment. That path looks for a free block of the right size, and where there is
//! none, or where the size is no power of two, takes a larger block and aligns within it: some 100 instructions more each time, and
//! memory. A plain `mi_malloc` gives the alignment of C's `max_align_t` for whatever is at least as large, which is all that most types
//! of Rust need.
//!
//! Rule: this is the one crate beside the VM's binding that has `unsafe`, for the trait of allocators has no safe form.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout};
use std::ffi::{c_int, c_long, c_void};

use libmimalloc_sys::{
    mi_free, mi_malloc, mi_malloc_aligned, mi_realloc, mi_realloc_aligned, mi_zalloc,
    mi_zalloc_aligned,
};

/// Alignment of every block of at least so many bytes: mimalloc's `MI_MAX_ALIGN_SIZE`.
const NATURAL_ALIGN: usize = 16;

/// `mi_option_purge_delay` of mimalloc 3.
const PURGE_DELAY: c_int = 15;

// The crate's own declarations of these come with a crate of C's types.
unsafe extern "C" {
    #[cfg(test)]
    fn mi_option_get(option: c_int) -> c_long;
    fn mi_option_set(option: c_int, value: c_long);
}

/// The allocator's own setting of [`keep_freed`], in milliseconds; whoever sets it decides.
const PURGE_DELAY_VARIABLE: &str = "MIMALLOC_PURGE_DELAY";

/// Keeps memory that is free for so many milliseconds (by default a second); afterwards the system gets it back when memory is next taken. What is taken
/// again within that time is not cleared by the system, page by page, which is most of what a large block costs. `MIMALLOC_PURGE_DELAY` in the
/// environment comes first.
pub fn keep_freed(milliseconds: u16) {
    if std::env::var_os(PURGE_DELAY_VARIABLE).is_some() {
        return;
    }
    // SAFETY: the function changes one number that the allocator reads, from any thread.
    unsafe { mi_option_set(PURGE_DELAY, c_long::from(milliseconds)) }
}

/// The allocator: `#[global_allocator] static ALLOCATOR: Allocator = Allocator;`
#[derive(Debug)]
pub struct Allocator;

/// Whether a plain block of this size is aligned well enough.
fn is_natural(size: usize, align: usize) -> bool {
    align <= NATURAL_ALIGN && align <= size
}

// SAFETY: mimalloc's functions allocate as the trait demands: null when there is no memory, no unwinding, and blocks that any thread may
// give back. The plain ones are called only where they align well enough; `mi_free` and both forms of `mi_realloc` take blocks of both.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        // SAFETY: see above.
        unsafe {
            match is_natural(size, align) {
                true => mi_malloc(size).cast(),
                false => mi_malloc_aligned(size, align).cast(),
            }
        }
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        let (size, align) = (layout.size(), layout.align());
        // SAFETY: see above.
        unsafe {
            match is_natural(size, align) {
                true => mi_zalloc(size).cast(),
                false => mi_zalloc_aligned(size, align).cast(),
            }
        }
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, _: Layout) {
        // SAFETY: the caller's promise: the block is one of these.
        unsafe { mi_free(block.cast::<c_void>()) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let (block, align) = (block.cast::<c_void>(), layout.align());
        // SAFETY: see above, and the caller's promise: the block is one of these.
        unsafe {
            match is_natural(size, align) {
                true => mi_realloc(block, size).cast(),
                false => mi_realloc_aligned(block, size, align).cast(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn freed_memory_is_kept_for_the_time_that_was_asked_for() {
        // SAFETY: it reads a number.
        let delay = || unsafe { mi_option_get(PURGE_DELAY) };
        let before = delay();
        let is_set = std::env::var_os(PURGE_DELAY_VARIABLE).is_some();
        // Another number here is that of another option.
        assert!(is_set || before == 1_000, "{before}");
        keep_freed(10_000);
        assert_eq!(delay(), if is_set { before } else { 10_000 });
    }
}
