//! PostgreSQL's wire protocol, version 3, without a socket: bytes in, bytes out. Knows no clock, no randomness, no runtime.
//! What a server sent never panics here and never takes more memory than a limit with a name allows ([`limits`]).

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

pub mod auth;
pub mod backend;
pub mod connection;
pub mod copy;
mod error;
pub mod frontend;
pub mod limits;
mod session;
pub mod sqlstate;
pub mod startup;
#[cfg(feature = "typed")]
pub mod typed;
pub mod types;
mod wire;

pub use backend::{ServerError, Severity, TransactionStatus};
pub use connection::{Connection, Event, Messages, Reply, Request, Shape, StatementName};
pub use error::{Error, Mismatch, Misuse, Refusal, Result, Violation};
pub use session::{CancelKey, ServerParameters, Session};
pub use sqlstate::SqlState;
pub use startup::{ChannelBinding, Encryption, Progress, Startup, StartupSettings};
