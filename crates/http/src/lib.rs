//! HTTP for thread-per-core workers: connections, requests, responses, a router, and parsers for what clients send.
//! Knows no listener but that of its admin pages, no script and no database; what serves requests stays on the thread it was started on.
//!
//! The rule: bytes of a peer never panic and never take more memory or time than a limit with a name allows ([`Limits`]).

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

pub mod access_log;
mod account;
pub mod admin;
mod bodies;
mod body;
pub mod compress;
mod connection;
mod connection_state;
pub mod cookie;
mod error;
pub mod exposition;
mod figures;
mod files;
mod frames;
mod host;
pub mod json;
mod limits;
pub mod multipart;
mod on_worker;
mod outbox;
pub mod percent;
pub mod query;
mod request;
mod response;
mod router;
pub mod secret;
pub mod session;
mod spare;
mod stream;
mod switch;
mod timeout_supervisor;
mod tls;
pub mod upload;
mod version;
pub mod websocket;
mod wire;

pub use self::{
    account::{Finished, Outcome, RequestSummary},
    bodies::Bodies,
    connection::{Handler, Origin, Protocol, Server, Spawn, SpawnLocal},
    error::{Error, Result},
    figures::Figures,
    files::{Files, Folder},
    limits::{COOKIE_BYTES_MAX, Limits, SEGMENTS_MAX},
    on_worker::OnWorker,
    request::{Headers, Request, RequestBody, RequestNumber},
    response::{Body, Response},
    router::{Allow, Capture, Captures, Found, Match, Router, Value},
    stream::{Receiver, Sender, StreamAborted},
    switch::{Switch, Upgraded},
    tls::{Acceptor, Tls},
    version::{VERSION_1, begins_with_version_1, version_hint},
};
