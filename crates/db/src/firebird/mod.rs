//! Firebird behind its driver, which does the protocol: a backend of `server`, with blobs and with changes of tables, which it commits early.
//! Knows no HTTP and no Ruby. Rule: a statement outside a transaction shares a connection and is committed by itself; what changes
//! tables, a transaction and a stream have a connection of their own.

mod backend;
mod bind;
mod blobs;
mod calls;
mod change;
mod explain;
mod failure;
mod link;
mod open;
mod plan;
mod rows;
mod settings;
mod stream;
mod transaction;

pub use backend::Firebird;
pub(crate) use rows::{Field, Row, Rows};
