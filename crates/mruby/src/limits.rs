//! The limits of numbers, built into mruby (defines.txt mirrors them), and of what is read of a method. Each has a test at limit + 1; a number beyond
//! one is an error that names it, a method beyond one is read in part.

/// Digits of a text that becomes an Integer, in any base: what a client sends is read in time by their square.
pub const INTEGER_DIGITS_MAX: usize = 4_096;

/// Bits of an Integer that is a product, a power or a shift.
pub const INTEGER_BITS_MAX: usize = 65_536;

/// Instructions of one method, those of its blocks included, that are read for the description of a route.
pub const CODE_INSTRUCTIONS_MAX: usize = 20_000;

/// How deep blocks inside of blocks are read for the description of a route.
pub const CODE_DEPTH_MAX: usize = 32;
