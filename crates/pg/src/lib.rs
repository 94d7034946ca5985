//! The PostgreSQL driver: where the server is, how a connection is made, statements on it. Sockets and TLS around a protocol crate.
//! Everything stays on one thread of a tokio runtime; nothing here blocks it. Passwords are in no error and in no `Debug`.
//! Boxed edge: what is rarely awaited. Not what only names a statement for it (the end of a transaction, savepoints), nor queries, the next rows and COPY
//! data: these allocate nothing.

#![forbid(unsafe_code)]

mod alteration;
#[cfg(feature = "blocking")]
pub mod blocking;
mod cache;
mod catalogue;
pub mod config;
pub mod connect;
pub mod connection;
mod copy;
mod error;
mod files;
pub mod limits;
mod listener;
mod log_position;
mod log_question;
mod lookup;
mod phase;
mod pipeline;
mod platform;
mod query;
mod row_stream;
mod rows;
mod statement;
mod statement_text;
mod tls;
mod transaction;
#[cfg(feature = "typed")]
pub mod typed;
mod xact;
mod xact_id;
mod xact_status;

pub use self::config::{Config, Environment};
pub use self::connect::{Canceller, Cause, Connector, Phase, StartedConnection, Stream};
pub use self::connection::Connection;
pub use self::copy::{CopyFormats, CopyIn, CopyOut};
pub use self::error::{Error, Result, StatementFate};
pub use self::listener::{Listener, ListenerEvent};
pub use self::log_position::LogPosition;
pub use self::log_question::{PrimaryIdentity, ReplayQuestion, StandbyRead, StandbyState};
pub use self::pipeline::{Atomicity, Statement};
pub use self::query::{MixedValues, Parameters};
pub use self::row_stream::RowStream;
pub use self::rows::{Row, Rows};
pub use self::statement::{Column, Columns, Description};
pub use self::statement_text::may_write;
pub use self::transaction::{Access, Isolation, Savepoint, Transaction, TransactionOptions};
pub use self::xact::{CertainEnd, ServerIdentity, XactId};
pub use self::xact_status::XactVerdict;

/// The page on the driver: its samples are compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/postgres-driver.md")]
struct Page;
