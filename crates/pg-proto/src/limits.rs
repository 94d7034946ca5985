//! Every bound of this crate, by name. Not settings: what a caller may change is an argument, within these.
//! Rule: a length, a count or a depth that a server chooses is compared with one of these before it is trusted.

/// Longest message either side may send, its length field included: the server's own limit.
pub const MESSAGE_BYTES_MAX: usize = 0x3fff_ffff;

/// Longest value of a parameter: what the server allows a field.
pub const VALUE_BYTES_MAX: usize = 0x3fff_ffff;
/// Deepest nesting of types and of the values in them: arrays of rows of ranges and so on.
pub const TYPE_DEPTH_MAX: usize = 32;
/// Most dimensions of an array: the server's own limit.
pub const ARRAY_DIMENSIONS_MAX: usize = 6;
/// Most digits of a numeric before the point: the server's own limit.
pub const NUMERIC_INTEGER_DIGITS_MAX: i64 = 131_072;
/// Most digits of a numeric after the point: the server's own limit.
pub const NUMERIC_SCALE_MAX: u16 = 16_383;
