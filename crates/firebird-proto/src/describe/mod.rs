//! What the server says of a prepared statement: its kind, its columns, its parameters. Not their values.
//! Source: protocol chapter "Describe, BLR, rows". Rule: an answer that did not fit is asked for again from the first column that is missing,
//! and every answer must bring one.

mod column;
mod description;

pub use column::{Column, Kind};
pub use description::{Describe, ITEMS, Progress, Statement, StatementKind};

#[cfg(test)]
mod tests;
