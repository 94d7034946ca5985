//! An accepted connection on its worker, and the slot it takes. Knows no protocol.
//! A slot counts from the moment a worker is chosen until the last owner drops it, whichever thread that passes.

use std::rc::Rc;

use crate::balance::Reservation;
use crate::worker::WorkerInner;
use crate::{Peer, SocketStream};

/// A connection that a service is to serve.
#[derive(Debug)]
pub struct Connection {
    /// The bytes.
    pub stream: SocketStream,
    /// The other end.
    pub peer: Peer,
    /// Which address of [`Config::listen`](crate::Config::listen) accepted it.
    pub listener: usize,
    /// Its place among `connections_max`. Keep it as long as the stream is open, also when the stream is
    /// handed on to another task (an upgrade); a drain waits for it.
    pub slot: Slot,
}

/// A place among a worker's `connections_max`; dropping it frees the place.
#[derive(Debug)]
pub struct Slot {
    reservation: Reservation,
    worker: Rc<WorkerInner>,
}

impl Slot {
    pub(crate) fn new(reservation: Reservation, worker: Rc<WorkerInner>) -> Self {
        worker.open.set(worker.open.get() + 1);
        Self {
            reservation,
            worker,
        }
    }

    /// Number of the worker that serves the connection.
    pub fn worker(&self) -> usize {
        self.reservation.worker()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let open = self.worker.open.get() - 1;
        self.worker.open.set(open);
        if open == 0 {
            self.worker.idle.notify_one();
        }
    }
}
