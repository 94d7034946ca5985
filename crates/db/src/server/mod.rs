//! What every database behind a server needs in one worker: a pool, transactions with savepoints, streams of rows, accounting.
//! Generic over a [`ServerBackend`], which is one database with its driver. Names no driver. Rule: what callers are promised is decided here,
//! so that it is the same on every server; a backend says only how its server is spoken to.
//!
//! | file | what it has |
//! | --- | --- |
//! | `connections/` | which caller gets which connection, when one is opened and closed |
//! | `backend.rs` | the trait of statements, and what a pool does around each of them |
//! | `stream.rs` | rows in batches |
//! | `transactional.rs` | the trait of transactions, and what is done around each call in one |
//! | `transaction.rs` | transactions |
//! | `savepoint.rs` | points in them |
//! | `pending_commit.rs` | a commit whose caller may leave before it is answered |
//! | `pool.rs` | single statements, and how the others begin |
//! | `outage_notice.rs` | the lines in the log about a database that cannot be connected to |

#![expect(
    private_bounds,
    reason = "only `Database` makes these types, for the backends of this crate"
)]

mod backend;
pub(crate) mod connections;
mod expiry;
mod fault;
mod outage_notice;
mod pending_commit;
mod pool;
mod savepoint;
mod statement_stats;
mod step;
mod stream;
mod transaction;
mod transactional;

pub(crate) use backend::{Answer, Limits, Outcome, PoolInner, Scope, ServerBackend, Target};
pub(crate) use fault::{DriverError, Fault};
pub(crate) use pending_commit::CommitSubject;
pub use pool::Pool;
pub(crate) use pool::WeakPool;
pub use savepoint::Savepoint;
pub(crate) use step::SavepointCommand;
pub use stream::RowStream;
pub(crate) use stream::{Batch, RowCursor, StreamHandle, Streaming};
pub use transaction::Transaction;
pub(crate) use transactional::{TransactionInner, Transactional};

// For a backend that commits a part of a transaction before its end.
#[cfg(feature = "firebird")]
pub(crate) use {expiry::Expiry, step::NextStep, transactional::Running};
