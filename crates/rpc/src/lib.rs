//! The key-value store over gRPC: the service that clients of Tkrzw-RPC speak, and a client of it.
//! Knows no listener, no Ruby and no file but certificates and tokens; what serves a connection stays on the worker that accepted it.
//!
//! The rule: bytes of a peer never panic and never take more memory or time than a limit with a name allows ([`RpcLimits`]).

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

pub mod client;
mod code;
#[doc(hidden)]
pub mod cuts;
mod error;
mod frame;
mod limits;
mod method;
mod note;
pub mod server;

/// Messages and service, generated from `proto/tkrzw_rpc.proto`; field numbers and types are the wire contract.
#[allow(
    missing_docs,
    clippy::all,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic
)]
pub mod proto {
    include!("../generated/tkrzw_rpc.rs");
}

/// Messages and service of our own beside the protocol's, generated from `proto/tsumugi_kv.proto`.
pub mod own_proto {
    // By this name the generated code refers to the messages of the protocol.
    use crate::proto as tkrzw_rpc;
    pub use messages::*;

    #[allow(
        missing_docs,
        clippy::all,
        clippy::indexing_slicing,
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic
    )]
    mod messages {
        include!("../generated/tsumugi_kv.rs");
    }
}

pub use self::{
    client::{Client, RpcTarget},
    code::TkrzwCode,
    error::{Error, Result},
    limits::{
        AWAKE_US_MAX, CALL_BYTES_MAX, ClientLimits, MESSAGE_BYTES_DEFAULT, RpcLimits,
        TOKEN_FILE_BYTES_MAX,
    },
    note::{ServiceNote, ServiceNotes},
};
/// The code of [`Error::Refused`].
pub use tonic::Code;

/// The page on the service: its Rust is compiled with the tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/kv.md")]
struct Page;
