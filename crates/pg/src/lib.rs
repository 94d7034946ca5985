//! The PostgreSQL driver: where the server is, how a connection is made, statements on it. Sockets and TLS around a protocol crate.
//! Everything stays on one thread of a tokio runtime; nothing here blocks it. Passwords are in no error and in no `Debug`.

#![forbid(unsafe_code)]

pub mod config;
pub mod connect;
mod error;
mod files;
pub mod limits;
mod platform;
mod tls;

pub use self::config::{Config, Environment};
pub use self::connect::{Canceller, Cause, Connected, Connector, Phase, Stream};
pub use self::error::Error;
