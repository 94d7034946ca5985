//! The Firebird engine: a pool of connections of one worker over the driver, which does the protocol.
//! Knows no HTTP and no Ruby. Rule: a statement outside a transaction shares a connection and is committed by itself; what changes
//! tables, a transaction and a stream have a connection of their own.

mod bind;
mod blobs;
mod calls;
mod change;
mod failure;
mod link;
mod plan;
mod pool;
mod rows;
mod settings;
mod stream;
mod transaction;

pub use pool::Pool;
pub(crate) use pool::Watch;
pub(crate) use rows::{Field, Row, Rows};
pub use stream::RowStream;
pub use transaction::{Savepoint, Transaction};
