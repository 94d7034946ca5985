//! Every bound of this crate, by name. Not settings: what a caller may change is an argument, within these.
//! Rule: a length, a count or a depth that a server chooses is compared with one of these before it is trusted.

/// Longest data of one op_response: a segment of a blob or a piece of information, for which we ask with a buffer's length of at most
/// 65,535, and room for servers that round up.
pub const RESPONSE_DATA_BYTES_MAX: usize = 128 * 1024;
/// Longest message of a server that has not let us in yet, and each of its parts.
pub const PREAUTH_BYTES_MAX: usize = 64 * 1024;
/// Longest first message of an authentication: as many parts as a byte numbers, far more than a plugin sends.
pub const CONNECT_DATA_BYTES_MAX: usize = 254 * 256;
/// Most items of a status vector; the server's own has had 20, and newer ones are as long as the chain of errors.
pub const STATUS_ITEMS_MAX: usize = 256;
/// Longest status vector, its texts included.
pub const STATUS_BYTES_MAX: usize = 256 * 1024;
/// Longest text in a status vector.
pub const STATUS_TEXT_BYTES_MAX: usize = 64 * 1024;
/// Longest text, block of parameters or block of values we send: what the server takes for an SQL text is less.
pub const SENT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Longest piece of a blob in one request, and of all pieces in one: what 16 bits count.
pub const SEGMENT_BYTES_MAX: usize = u16::MAX as usize;
/// Most columns of a result and most parameters of a statement: a message counts two fields for each in 16 bits.
pub const COLUMNS_MAX: usize = 32_767;
/// Longest value of a column: the server's own limit of a VARCHAR is 32,765.
pub const COLUMN_BYTES_MAX: usize = u16::MAX as usize;
/// Rows are handed on when they have come to this many bytes, and one at a time if one is longer.
pub const ROWS_BYTES_MAX: usize = 128 * 1024;
/// Longest row. The server's limit is 64 KiB, of a row that a client sees a few times that.
pub const ROW_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Most bytes of packets that say nothing, between the row of an execution and its response.
pub const PASSED_BYTES_MAX: usize = 64 * 1024;
/// Longest description of a statement, of all answers together. Of a thousand columns it is about 100 KB.
pub const DESCRIPTION_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Most answers one connection may wait for.
pub const PIPELINE_MAX: usize = 65_536;
/// Most names of events in one request. A block of the longest of them stays below 64 KiB.
pub const EVENT_NAMES_MAX: usize = 200;
/// Longest name of an event.
pub const EVENT_NAME_BYTES_MAX: usize = 255;
/// Longest block of events: names of their greatest length with their counts, and room for what a server adds.
pub const EVENT_BLOCK_BYTES_MAX: usize = 64 * 1024;
/// Longest text or bytes of one parameter: 16 bits count them with two more. What is longer has to be a blob.
pub const TEXT_PARAMETER_BYTES_MAX: usize = u16::MAX as usize - 2;
