//! Every bound of this crate, by name. Not settings: what a caller may change is an argument, within these.
//! Rule: a length, a count or a depth that a server chooses is compared with one of these before it is trusted.

/// Longest message either side may send, its length field included: the server's own limit.
pub const MESSAGE_BYTES_MAX: usize = 0x3fff_ffff;
