//! Blocks of parameters that a request carries: what a database, a transaction, a blob is opened with. Not the requests.
//! Source: protocol chapter "Requests". Rule: what a block cannot say is refused when it is added.

mod blob;
mod database;
mod transaction;

pub use blob::{BlobParameters, BlobStorage};
pub use database::{DatabaseParameters, LoginProof};
pub use transaction::{Access, Autocommit, Isolation, TransactionParameters, Wait};
