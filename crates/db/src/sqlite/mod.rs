//! The SQLite driver: an engine of blocking threads for each database, shared by all workers of the process.
//! Knows no HTTP, no Ruby and no async runtime beyond a channel. Rule: no SQLite call runs on a caller's thread.
//!
//! A caller makes a `Job` (`pool`), which waits in a line (`queue`) for a thread (`serve`) with a connection
//! (`connection`). SQLite's hooks ask `watch` whether to go on and `policy` what may run. Readers and the one writer
//! work side by side because the file is in WAL mode. Transactions (`session`) and streams (`stream`) keep a thread
//! for themselves until they end or their owner is dropped.

mod connection;
mod engine;
mod failure;
mod functions;
mod job;
mod policy;
mod pool;
mod queue;
mod serve;
mod session;
mod stream;
mod watch;

pub(crate) use engine::remove_unused;
pub use pool::Pool;
pub(crate) use pool::WeakPool;
pub use session::{Savepoint, Transaction};
pub use stream::RowStream;
