//! HTTP for thread-per-core workers: connections, requests, responses, a router, and parsers for what clients send.
//! Knows no listener but that of its admin pages, no script and no database; what serves requests stays on the thread it was started on.
//!
//! The rule: bytes of a peer never panic and never take more memory or time than a limit with a name allows ([`HttpLimits`]).
//!
//! # Features
//!
//! | feature | what it adds | on by default |
//! | --- | --- | --- |
//! | `brotli` | brotli, beside gzip, in what is compressed on the way (`.br` files that lie there are sent without it) | yes |

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
pub mod admin;
mod admin_token;
mod body;
mod body_type;
mod byte_stream;
mod byte_sum;
mod certificate_dates;
pub mod compress;
mod connect_first;
mod connection;
mod connection_state;
pub mod cookie;
mod encoding;
mod error;
pub mod exposition;
mod files;
pub mod forwarding;
mod frames;
mod handler;
mod header_fields;
mod host;
mod incoming_stream;
pub mod json;
mod limits;
mod media_type;
mod metrics;
pub mod multipart;
mod on_worker;
mod outbox;
mod outgoing;
pub mod percent;
pub mod proxy_protocol;
pub mod query;
mod refusal;
mod request;
mod response;
mod router;
pub mod secret;
pub mod session;
mod shared;
mod spare;
pub mod sse;
mod stream;
mod summary;
mod switch;
mod timeout_supervisor;
mod tls;
mod traffic;
pub mod trailers;
mod transfer_coding;
mod trusted_proxies;
pub mod upload;
mod version;
pub mod websocket;
mod wire;

pub use self::{
    admin_token::{AdminToken, AdminTokenError},
    body_type::BodyType,
    byte_sum::ByteSum,
    certificate_dates::CertificateDates,
    connect_first::connect_first,
    connection::{ConnectionInfo, HttpProtocol, HttpServer},
    error::{Error, Result},
    files::{AppFileError, CachePolicy, Files, Folder, entity_tag_known, read_app_file},
    handler::{HttpHandler, Spawn, SpawnLocal},
    header_fields::{HeadersFull, append_field, insert_field, location_value},
    host::host_without_port,
    incoming_stream::IncomingStream,
    limits::{COOKIE_BYTES_MAX, HEADER_FIELDS_MAX, HttpLimits, SEGMENTS_MAX},
    metrics::HttpMetrics,
    on_worker::OnWorker,
    outgoing::{OutgoingHttp, OutgoingStream},
    request::{Request, RequestBody, RequestHeaders, RequestNumber, RequestScheme},
    response::{HttpBody, HttpResponse, ResponseParts},
    router::{Allow, CaptureKind, CaptureValues, Match, RouteMatch, RouteTable, Value},
    shared::PeerIdentity,
    stream::{Receiver, Sender, StreamAborted},
    summary::{FinishedRequest, RequestOutcome, RequestSummary},
    switch::{Switch, Upgraded},
    tls::{
        ACME_TLS_PROTOCOL, Acceptor, AlpnProtocol, CertificateSource, ServerTls, read_authorities,
        read_identity, system_authorities,
    },
    trusted_proxies::{ForwardingField, TrustedProxies, TrustedProxy, TrustedProxyError},
    version::version_hint,
};
