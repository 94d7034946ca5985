//! What is known of a request when it is over. Plain data; where it is written down is decided elsewhere.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use http::{Method, StatusCode};

use crate::encoding::CompressionPolicy;

/// What the handler reports of its own work. It travels with the response.
#[derive(Clone, Debug, Default)]
pub struct RequestSummary {
    /// The pattern of the route, when there was one.
    pub pattern: Option<Arc<str>>,
    /// The time between the handler's turns.
    pub waited: Duration,
    /// The rest of the time from the end of the request's head to the response, where it goes into a log.
    pub ran: Duration,
    /// Whether the body may be compressed.
    pub compression: CompressionPolicy,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestOutcome {
    /// The whole response was given to the connection.
    Complete,
    /// The response was broken off: its sender aborted, or the client went away while it was sent.
    BrokenOff,
    /// The client went away, or the connection ended, before there was a response.
    Unanswered,
}

/// A request that is over.
#[derive(Debug)]
pub struct FinishedRequest {
    /// The request's method.
    pub method: Method,
    /// The response's status; 200 for a request that ended unanswered.
    pub status: StatusCode,
    /// What the handler reported.
    pub summary: RequestSummary,
    /// When the request's header was complete.
    pub received_at: Instant,
    /// The bytes of the response's body that were given to the connection.
    pub body_bytes: u64,
    /// How it ended.
    pub outcome: RequestOutcome,
}
