//! Every bound of this crate, by name. Not settings: what a caller may change is an argument, within these.
//! Rule: a length, a count or a depth that a server chooses is compared with one of these before it is trusted.

/// Longest data of one op_response: a segment of a blob or a piece of information, for which we ask with a buffer's length of at most
/// 65,535, and room for servers that round up.
pub const RESPONSE_DATA_BYTES_MAX: usize = 128 * 1024;
/// Longest message of a server that has not let us in yet, and each of its parts.
pub const PREAUTH_BYTES_MAX: usize = 64 * 1024;
/// Most items of a status vector; the server's own has had 20, and newer ones are as long as the chain of errors.
pub const STATUS_ITEMS_MAX: usize = 256;
/// Longest text in a status vector.
pub const STATUS_TEXT_BYTES_MAX: usize = 64 * 1024;
/// Longest text, block of parameters or block of values we send: what the server takes for an SQL text is less.
pub const SENT_BYTES_MAX: usize = 16 * 1024 * 1024;
