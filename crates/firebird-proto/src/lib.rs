//! Firebird's wire protocol, versions 13 to 17, without a socket: bytes in, bytes out. Knows no clock, no randomness, no runtime.
//! Left out: the service manager, batches of messages (op_batch_…), cursors that scroll, blobs sent with their rows, seeks in blobs,
//! slices of arrays, transactions over several databases.
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
pub mod blob;
mod clumplet;
pub mod connect;
pub mod connection;
pub mod crypt;
pub mod describe;
mod error;
pub mod events;
pub mod handle;
pub mod handshake;
pub mod info;
pub mod limits;
pub mod op;
pub mod parameters;
pub mod request;
mod response;
pub mod row;
pub mod status;
pub mod values;
mod version;
pub mod wire;

pub use connect::{Compression, WireCrypt};
pub use connection::{Connection, Event, Expect, FetchEnd};
pub use describe::{Column, Kind, StatementKind};
pub use error::{Error, Misuse, Refusal, Result, Violation};
pub use request::Requests;
pub use response::{Outcome, Response};
pub use row::{Field, Format, Row, Rows};
pub use status::{Argument, GdsCode, ServerError, SqlState};
pub use values::{CharacterSet, TextRules, Value};
pub use version::Version;
