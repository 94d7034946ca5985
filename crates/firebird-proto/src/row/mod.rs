//! Rows: a bitmap of NULLs, then the values that are not. Where each value is; what it means is `values`'.
//! Source: protocol chapter "Describe, BLR, rows". Rule: a row says no length of its own, so it is measured by its format before it is cut off,
//! and what was measured is decoded without another check failing.

mod blr;
mod format;
mod rows;

pub(crate) use blr::{Blr, kind};
pub use format::Format;
pub(crate) use rows::HEAD_BYTES;
pub use rows::{Field, Row, Rows};

#[cfg(test)]
mod tests;
