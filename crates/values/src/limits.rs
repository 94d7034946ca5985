//! Every bound of this crate, by name. Not settings. Rule: a number of digits that a text asks for is compared with one of these
//! before memory is taken for it.

/// Most digits before the point of a number that is written out from an exponent.
pub const INTEGER_DIGITS_MAX: i64 = 131_072;
/// Most digits after the point of such a number.
pub const SCALE_MAX: i64 = 16_383;
