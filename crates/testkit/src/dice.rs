//! Numbers that look random and follow from a seed, so that a test that fails says by which one. No source of secrets.

use std::cell::Cell;

/// A sequence of numbers (splitmix64). Two with the same seed are the same.
#[derive(Clone, Debug)]
pub struct Dice(Cell<u64>);

impl Dice {
    /// Any seed is as good as another, and seeds beside each other have nothing in common.
    pub const fn new(seed: u64) -> Dice {
        Dice(Cell::new(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)))
    }

    /// Any number.
    pub fn number(&self) -> u64 {
        let state = self.0.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
        self.0.set(state);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0.
    pub fn below(&self, end: u64) -> u64 {
        self.number() % end
    }

    /// A place in what has `length` elements, at least one.
    pub fn place(&self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).expect("it is below a length")
    }

    /// Any byte.
    pub fn byte(&self) -> u8 {
        self.number().to_be_bytes()[0]
    }

    /// True once in so many times.
    pub fn one_in(&self, times: u64) -> bool {
        self.below(times) == 0
    }

    /// One of these, of which there is at least one.
    pub fn pick<T: Clone>(&self, of: &[T]) -> T {
        of[self.place(of.len())].clone()
    }
}
