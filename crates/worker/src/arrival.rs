//! An accepted socket on its way to the worker that will serve it, with the place that it has there. Reads no byte.

use socket2::Socket;

use crate::Peer;
use crate::balance::Reservation;

/// One accepted socket. Its reservation counts from the moment the worker was chosen.
#[derive(Debug)]
pub(crate) struct Arrival {
    pub socket: Socket,
    pub peer: Peer,
    pub listener: usize,
    pub reservation: Reservation,
}
