//! Firebird's wire protocol, versions 13 to 17, without a socket: bytes in, bytes out. Knows no clock, no randomness, no runtime.
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
pub mod crypt;
mod error;
pub mod limits;
pub mod op;
mod version;
pub mod wire;

pub use error::{Error, Misuse, Refusal, Result, Violation};
pub use version::Version;
