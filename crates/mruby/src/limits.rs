//! The limits of numbers, built into mruby (defines.txt mirrors them). Each has a test at limit + 1 and an error that names it.

/// Digits of a text that becomes an Integer, in any base: what a client sends is read in time by their square.
pub const INTEGER_DIGITS_MAX: usize = 4_096;

/// Bits of an Integer that is a product, a power or a shift.
pub const INTEGER_BITS_MAX: usize = 65_536;
