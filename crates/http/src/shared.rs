//! What requests share: those of a worker its limits, sums and outbox, those of a connection their handler too. Does nothing itself.

use std::{net::SocketAddr, rc::Rc};

use crate::{
    byte_sum::WorkerSums, connection_state::ConnectionState, limits::HttpLimits, outbox::Outbox,
    request::RequestNumbers,
};

/// Of all connections of a worker.
#[derive(Debug)]
pub(crate) struct WorkerShared {
    pub(crate) limits: Rc<HttpLimits>,
    pub(crate) sums: WorkerSums,
    pub(crate) numbers: RequestNumbers,
    pub(crate) outbox: Rc<Outbox>,
}

/// Of one connection.
pub(crate) struct ConnectionShared<H> {
    pub(crate) handler: Rc<H>,
    pub(crate) state: Rc<ConnectionState>,
    pub(crate) worker: Rc<WorkerShared>,
    /// The client's address.
    pub(crate) peer: Option<SocketAddr>,
}

impl WorkerShared {
    pub(crate) fn new(limits: HttpLimits) -> WorkerShared {
        WorkerShared {
            sums: WorkerSums::new(&limits),
            limits: Rc::new(limits),
            numbers: RequestNumbers::new(),
            outbox: Rc::default(),
        }
    }
}
