//! Every bound of this crate, by name. Not settings: what a caller may change is an argument, within these.
//! Rule: a length, a count or a depth that a server chooses is compared with one of these before it is trusted.

/// Longest message either side may send, its length field included: the server's own limit, 1 GiB less one.
pub const MESSAGE_BYTES_MAX: usize = 0x3fff_ffff;
/// Longest notification or row description.
pub const DESCRIPTION_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Bytes of an error or a notice that are kept of a longer one: the server puts values into them, which may be as long as a message.
pub const REPORT_BYTES_MAX: usize = 1024 * 1024;
/// Longest of all other messages. The biggest sound one lists the types of 65,535 parameters.
pub const CONTROL_BYTES_MAX: usize = 512 * 1024;
/// Longest packet that opens a connection; the server refuses a longer one.
pub const STARTUP_BYTES_MAX: usize = 10_000;
/// Most parameters of one statement, and most columns of one row description: what 16 bits count.
pub const PARAMETERS_MAX: usize = u16::MAX as usize;
/// Most settings a server may report about itself (it has about fifteen).
pub const SETTINGS_MAX: usize = 256;
/// Most notices kept from start-up; later ones are dropped.
pub const STARTUP_NOTICES_MAX: usize = 64;
/// Longest message of a server that has not let us in yet.
pub const PREAUTH_BYTES_MAX: usize = 64 * 1024;
/// Longest secret of a cancel key: protocol 3.2 allows this many bytes, 3.0 has four.
pub const CANCEL_SECRET_BYTES_MAX: usize = 256;
/// Most SASL mechanisms a server may offer.
pub const MECHANISMS_MAX: usize = 32;
/// Most rounds of SCRAM's key derivation unless the caller says otherwise: a worker stands still meanwhile.
pub const SCRAM_ITERATIONS_MAX: u32 = 200_000;
/// Longest nonce a server may send in SCRAM, ours included.
pub const SCRAM_NONCE_BYTES_MAX: usize = 1_024;
/// Longest salt a server may send in SCRAM.
pub const SCRAM_SALT_BYTES_MAX: usize = 1_024;
/// Most answers one connection may wait for.
pub const PIPELINE_MAX: usize = 65_536;
/// Bytes of one whole reply unless the caller says otherwise; a longer one has to be streamed.
pub const REPLY_BYTES_DEFAULT: usize = 64 * 1024 * 1024;
/// A row or piece of COPY data above this reaches a reader of fragments in pieces.
pub const FRAGMENT_BYTES_MAX: usize = 64 * 1024;

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
