//! What requests share: those of a worker its limits, sums and outbox, those of a connection their handler too. Does nothing itself.

use std::rc::Rc;

use http::HeaderMap;

use crate::{
    byte_sum::WorkerSums,
    connection_state::ConnectionState,
    error::Result,
    forwarding::{self, RequestSource},
    limits::HttpLimits,
    outbox::Outbox,
    request::RequestNumbers,
    trusted_proxies::TrustedProxies,
};

/// Of all connections of a worker.
#[derive(Debug)]
pub(crate) struct WorkerShared {
    pub(crate) limits: Rc<HttpLimits>,
    pub(crate) sums: WorkerSums,
    pub(crate) numbers: RequestNumbers,
    pub(crate) outbox: Rc<Outbox>,
    pub(crate) proxies: TrustedProxies,
}

/// Of one connection.
pub(crate) struct ConnectionShared<H> {
    pub(crate) handler: Rc<H>,
    pub(crate) state: Rc<ConnectionState>,
    pub(crate) worker: Rc<WorkerShared>,
    /// The peer, which is where a request comes from unless it is a proxy.
    pub(crate) source: RequestSource,
    /// Whether the peer may be one of the proxies.
    pub(crate) identity: PeerIdentity,
}

/// Whether a connection's address is that of the client or of the proxy that sends to it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PeerIdentity {
    /// It is known who sends.
    #[default]
    Known,
    /// A balancer passes on what somebody sends, and does not say who. Header fields of such a connection are nobody's word.
    Concealed,
}

impl<H> ConnectionShared<H> {
    /// Where a request with these fields comes from. Changes `Host` to that which the client asked for.
    pub(crate) fn request_source(&self, headers: &mut HeaderMap) -> Result<RequestSource> {
        let proxies = &self.worker.proxies;
        if proxies.is_empty() || self.identity == PeerIdentity::Concealed {
            return Ok(self.source);
        }
        let hops_max = self.worker.limits.forwarded_hops_max;
        forwarding::settle(proxies, headers, self.source, hops_max)
    }
}

impl WorkerShared {
    pub(crate) fn new(limits: HttpLimits, proxies: TrustedProxies) -> WorkerShared {
        WorkerShared {
            sums: WorkerSums::new(&limits),
            limits: Rc::new(limits),
            numbers: RequestNumbers::new(),
            outbox: Rc::default(),
            proxies,
        }
    }
}
