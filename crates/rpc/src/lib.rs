//! The key-value store over gRPC: the service that clients of Tkrzw-RPC speak, a client of it, and one of any other service.
//! Knows no listener, no Ruby and no file but certificates and tokens; what serves a connection stays on the worker that accepted it.
//!
//! The rule: bytes of a peer never panic and never take more memory or time than a limit with a name allows ([`RpcLimits`]).
//!
//! # Features
//!
//! Without any there are the connections of a client and [`client::GrpcClient`], which sends messages of any service.
//!
//! | feature | what it adds | on by default |
//! | --- | --- | --- |
//! | `tkrzw` | the messages of Tkrzw-RPC and of our own service, their client `Client`, and `ServiceNote`, by which a folder says where it is served | yes, by `service` |
//! | `service` | the service itself, `server` | yes |

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
#[cfg(feature = "service")]
#[doc(hidden)]
pub mod cuts;
mod error;
mod frame;
pub mod limits;
#[cfg(feature = "tkrzw")]
mod method;
#[cfg(feature = "tkrzw")]
mod note;
#[cfg(feature = "service")]
pub mod server;

/// Messages and service, generated from `proto/tkrzw_rpc.proto`; field numbers and types are the wire contract. Needs the feature `tkrzw`.
#[cfg(feature = "tkrzw")]
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

/// Messages and service of our own beside the protocol's, generated from `proto/tsumugi_kv.proto`. Needs the feature `tkrzw`.
#[cfg(feature = "tkrzw")]
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

#[cfg(feature = "tkrzw")]
pub use self::{
    client::Client,
    note::{ServiceNote, ServiceNotes},
};
pub use self::{
    client::RpcTarget,
    code::{GrpcCode, TkrzwCode},
    error::{Error, Result},
    limits::{
        AWAKE_US_MAX, CALL_BYTES_MAX, ClientLimits, MESSAGE_BYTES_DEFAULT, RpcLimits,
        TOKEN_FILE_BYTES_MAX,
    },
};

/// The page on the service: its Rust is compiled with the tests.
#[cfg(all(doctest, feature = "service"))]
#[doc = include_str!("../../../docs/kv.md")]
struct Page;
