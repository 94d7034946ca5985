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
use std::ffi::c_void;

use libmimalloc_sys::{
    mi_free, mi_malloc, mi_malloc_aligned, mi_realloc, mi_realloc_aligned, mi_zalloc,
    mi_zalloc_aligned,
};

/// Alignment of every block of at least so many bytes: mimalloc's `MI_MAX_ALIGN_SIZE`.
const NATURAL_ALIGN: usize = 16;

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
