//! Limits of the driver, each with a name that its error says. Units are the last word of the name.
//! Rule: what a peer or a file may make us hold or wait for is bounded here.

/// For the look-up of a host's name, and then for each of its addresses: TCP, TLS and authentication together. Unless
/// `connect_timeout` says otherwise.
pub const CONNECT_TIMEOUT_MS_DEFAULT: u64 = 10_000;

/// Hosts in one configuration.
pub const HOSTS_MAX: usize = 64;

/// Addresses tried of one host name.
pub const ADDRESSES_MAX: usize = 16;

/// Bytes of a connection string.
pub const CONNECTION_STRING_BYTES_MAX: usize = 64 * 1024;

/// Bytes of a password file or a service file.
pub const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// Statements kept prepared on one connection, unless `statement_cache` says otherwise.
pub const STATEMENT_CACHE_DEFAULT: usize = 256;

/// The largest `statement_cache`.
pub const STATEMENT_CACHE_MAX: usize = 65_536;

/// Room made for one read while a connection is opened.
pub const READ_BYTES: usize = 8 * 1024;
