//! The Firebird driver: where the database is, how a connection is made, statements, blobs and events on it. Sockets around a
//! protocol crate. Everything stays on one thread of a tokio runtime; nothing here blocks it. Passwords are in no error and in no `Debug`.
//! Boxed edge: what opens, runs or ends something. Not what only names a statement for it (savepoints), nor the next rows, bytes and events.

#![forbid(unsafe_code)]

mod automatic;
mod blob;
mod cache;
mod cause;
pub mod config;
pub mod connect;
pub mod connection;
mod description;
mod error;
mod events;
mod execution;
pub mod limits;
mod listening;
mod phase;
mod query;
mod reading;
mod reply;
mod row_stream;
mod rows;
mod single;
mod spares;
mod statement;
mod transaction;

pub use self::blob::{BlobBudget, BlobReader, BlobWriter};
pub use self::config::Config;
pub use self::connect::{Cause, Connector, Creation, ForcedWrites, Phase};
pub use self::connection::Connection;
pub use self::description::Description;
pub use self::error::{Error, Result, StatementFate};
pub use self::events::{EventCount, EventListener};
pub use self::reply::Reply;
pub use self::row_stream::RowStream;
pub use self::rows::Rows;
pub use self::transaction::{Savepoint, Transaction};
pub use tsumugi_firebird_proto::parameters::{
    Access, BlobStorage, Isolation, TransactionParameters as TransactionOptions, Wait,
};

/// The page on the driver: its sample is compiled and run with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/firebird-driver.md")]
struct Page;
