//! The PostgreSQL engine: a pool of connections of one worker over the driver, which does the protocol.
//! Knows no HTTP and no Ruby. Rule: single statements share connections and never change a session; what does gets a
//! connection of its own, which is made clean before the next caller has it.

mod bind;
mod copy;
mod failure;
mod link;
mod listen;
mod plan;
mod pool;
mod rows;
mod session;
mod settings;
mod transaction;

pub use copy::{CopyIn, CopyOut};
pub use listen::Listener;
pub use pool::Pool;
pub(crate) use pool::Watch;
pub(crate) use rows::{Field, Row, Rows};
pub use session::Session;
pub use transaction::{RowStream, Savepoint, Transaction};
