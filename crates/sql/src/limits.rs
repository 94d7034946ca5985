//! Every bound of this crate, by name. What a database itself allows is in its `Dialect`.
//! Rule: what a caller can make deeper or longer without end is compared with one of these before it is written.

/// Deepest nesting of expressions and sub-selects. Building, writing and dropping them recurse.
pub const DEPTH_MAX: u16 = 200;
/// Most columns, values, operators, calls and sub-selects of a statement, each counted as often as it is written: one that is shared by
/// many, which takes no memory of its own, is written for each. Enough for a comparison with each value that a database takes.
pub const NODES_MAX: u32 = 262_144;
/// Most bytes of the SQL that is written for a query.
pub const SQL_BYTES_MAX: usize = 16 * 1024 * 1024;
/// Most bytes of texts and blobs that are bound to a statement.
pub const BINDS_BYTES_MAX: usize = 256 * 1024 * 1024;
/// Most columns of a table, and of a row that is inserted or updated.
pub const COLUMNS_MAX: usize = 2_000;
/// Most rows on a page.
pub const PAGE_ROWS_MAX: u64 = 1_000_000;
/// Most digits of a decimal: what PostgreSQL allows one that names them. Firebird allows fewer.
pub const DECIMAL_DIGITS_MAX: u16 = 1_000;
