//! Queries and schemas as immutable values, and one writer that makes SQL of them for each database. Pure: no connection, no clock.
//! A database is data here ([`Dialect`]), with a few forks in the writer where its SQL differs in kind.
//! Rule: binds are collected in the order in which their placeholders are written, and what cannot be meant is an error before
//! any SQL.
//!
//! ```
//! use tsumugi_sql::{POSTGRES, SQLITE, Value, col, table};
//!
//! let users = table("users").select(("id", "name")).order("id");
//! let grown = users.clone().filter(col("age").ge(18)).to_rows(&POSTGRES)?;
//! assert_eq!(grown.sql, r#"select "id", "name" from "users" where "age" >= $1 order by "id""#);
//! assert_eq!(grown.binds, [Value::Integer(18)]);
//! # Ok::<(), tsumugi_sql::Error>(())
//! ```

#![forbid(unsafe_code)]
#![cfg_attr(
    not(test),
    deny(
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic
    )
)]

mod condition;
mod dialect;
mod error;
mod expr;
mod fingerprint;
mod firebird_words;
pub mod limits;
mod name;
mod order;
mod page;
mod parts;
mod query;
mod record;
pub mod scan;
pub mod schema;
mod statement;
mod truth;
mod value;
mod write;

pub use condition::{Operand, Set, all, any, escape_like, exists};
pub use dialect::{Dialect, FIREBIRD, Family, POSTGRES, SQLITE};
pub use error::{Error, Result};
pub use expr::{
    Expr, Field, avg, call, col, count, count_distinct, count_of, excluded, max, min, raw, sum,
    value,
};
pub use fingerprint::{FINGERPRINT_BYTES_MAX, FINGERPRINT_SCANNED_MAX, Fingerprint, fingerprint};
pub use name::Name;
pub use page::{Key, Page, Pages};
pub use parts::{Conflict, Item, Order, QueryOrRaw, Several, Source, asc, desc};
pub use query::{Query, table};
pub use record::Record;
pub use statement::{Aggregate, Statement};
pub use value::Value;

/// The page on the builder: its sample is compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/builder.md")]
struct DocumentedExamples;
