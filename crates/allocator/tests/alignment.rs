//! Blocks of every size and alignment, as this test program's own allocator gives them.
#![allow(unsafe_code)]

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};

use tsumugi_allocator::Allocator;

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

const ALIGNS: [usize; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 4_096];

/// All small sizes, then those around each power of two up to 1 MiB.
fn sizes() -> impl Iterator<Item = usize> {
    let large = (10..=20).flat_map(|power| [(1 << power) - 1, 1 << power, (1 << power) + 1]);
    (1..1_024).chain(large)
}

fn check(block: *mut u8, layout: Layout) {
    assert!(!block.is_null(), "{layout:?}");
    assert_eq!(block as usize % layout.align(), 0, "{layout:?}");
}

#[test]
fn blocks_of_every_size_are_aligned_and_hold_what_is_written() {
    for align in ALIGNS {
        let mut blocks = Vec::new();
        for size in sizes() {
            let layout = Layout::from_size_align(size, align).unwrap();
            // SAFETY: the size is not 0; the block is written within its size.
            let block = unsafe { alloc(layout) };
            check(block, layout);
            unsafe { block.write_bytes(size as u8, size) };
            blocks.push((block, layout));
        }
        for (block, layout) in blocks {
            let size = layout.size();
            // SAFETY: the block is whole and was written; it is grown once, then freed once.
            unsafe {
                let bytes = std::slice::from_raw_parts(block, size);
                assert!(bytes.iter().all(|byte| *byte == size as u8), "{layout:?}");
                let grown = Layout::from_size_align(size * 3 + 1, align).unwrap();
                let block = realloc(block, layout, grown.size());
                check(block, grown);
                let bytes = std::slice::from_raw_parts(block, size);
                assert!(bytes.iter().all(|byte| *byte == size as u8), "{layout:?}");
                dealloc(block, grown);
            }
        }
    }
}

#[test]
fn zeroed_blocks_are_aligned_and_zero() {
    for align in ALIGNS {
        for size in sizes() {
            let layout = Layout::from_size_align(size, align).unwrap();
            // SAFETY: the size is not 0; what is freed dirty is what the next one may be given.
            unsafe {
                let block = alloc_zeroed(layout);
                check(block, layout);
                let bytes = std::slice::from_raw_parts(block, size);
                assert!(bytes.iter().all(|byte| *byte == 0), "{layout:?}");
                block.write_bytes(0xff, size);
                dealloc(block, layout);
            }
        }
    }
}
