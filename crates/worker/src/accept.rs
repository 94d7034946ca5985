//! Accepts connections of one listener and takes each to the worker with the fewest. Reads no byte of them.
//! Never spins: a failed accept is followed by a rest, and its log line comes at most once a second.

use std::io;
use std::pin::pin;
use std::rc::Rc;

use tokio::sync::mpsc::error::TrySendError;

use crate::arrival::Arrival;
use crate::balance::Reservation;
use crate::connection::{Connection, Slot};
use crate::limits::ACCEPT_REST;
use crate::listen::{Backlog, WorkerListener};
use crate::shared::{WorkerCounters, count};
use crate::{Current, DrainReason, Peer, SocketStream, WorkerHandle, WorkerService};

/// Where connections come in on one worker.
pub(crate) struct ConnectionGate<S: WorkerService> {
    pub worker: WorkerHandle,
    pub service: Rc<S>,
    pub app: Current<S::App>,
}

impl<S: WorkerService> Clone for ConnectionGate<S> {
    fn clone(&self) -> Self {
        Self {
            worker: self.worker.clone(),
            service: Rc::clone(&self.service),
            app: self.app.clone(),
        }
    }
}

impl<S: WorkerService> ConnectionGate<S> {
    /// Accepts until a drain begins, then takes what is still in the backlog, unless another process does, and closes the listener.
    pub async fn accept(self, listener: WorkerListener) -> io::Result<()> {
        let index = listener.index;
        let listener = listener.open()?;
        let mut drain = pin!(self.worker.drain_started());
        loop {
            let accepted = tokio::select! {
                biased;
                () = &mut drain => break,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((stream, peer)) => self.take(stream, peer, index),
                Err(error) if client_left(&error) => {}
                Err(error) => {
                    self.report_starved(&error);
                    tokio::select! {
                        () = self.worker.sleep(ACCEPT_REST) => {}
                        () = &mut drain => break,
                    }
                }
            }
        }
        let backlog = listener.close()?;
        if self.worker.drain_reason() != Some(DrainReason::HandedOver) {
            self.empty(&backlog, index);
        }
        Ok(())
    }

    /// Takes the rest of the backlog: the kernel has accepted those connections, and closing the
    /// listener would reset them.
    fn empty(&self, backlog: &Backlog, index: usize) {
        for _ in 0..self.worker.limits().backlog_max {
            match backlog.take() {
                Ok((stream, peer)) => self.take(stream, peer, index),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if client_left(&error) => {}
                Err(error) => return self.report_starved(&error),
            }
        }
    }

    /// Gives a connection to the worker with the fewest, or closes it when all are full.
    fn take(&self, stream: SocketStream, peer: Peer, listener: usize) {
        count(&self.counters().accepted);
        let (shared, here) = (self.worker.shared(), self.worker.id());
        // While draining, the others may have gone already.
        let place = match self.worker.draining() {
            true => Reservation::here(&shared.loads, here),
            false => Reservation::least(&shared.loads, here),
        };
        match place {
            None => self.refuse(),
            Some(place) if place.worker() == here => self.serve(stream, peer, listener, place),
            Some(place) => self.hand_over(stream, peer, listener, place),
        }
    }

    fn hand_over(
        &self,
        stream: SocketStream,
        peer: Peer,
        listener: usize,
        reservation: Reservation,
    ) {
        let socket = match stream.release() {
            Ok(socket) => socket,
            Err(error) => return self.report_starved(&error),
        };
        let target = &self.worker.shared().lanes[reservation.worker()];
        let arrival = Arrival {
            socket,
            peer,
            listener,
            reservation,
        };
        match target.arrivals.try_send(arrival) {
            Ok(()) => count(&self.counters().handed_over),
            // That worker has begun to drain and this one is about to: keep the connection.
            Err(TrySendError::Closed(mut arrival) | TrySendError::Full(mut arrival)) => {
                match Reservation::here(&self.worker.shared().loads, self.worker.id()) {
                    None => self.refuse(),
                    Some(reservation) => {
                        arrival.reservation = reservation;
                        self.admit(arrival);
                    }
                }
            }
        }
    }

    /// Serves a connection that was on its way to this worker.
    pub fn admit(&self, arrival: Arrival) {
        let Arrival {
            socket,
            peer,
            listener,
            reservation,
        } = arrival;
        match SocketStream::adopt(socket, peer) {
            Ok(stream) => self.serve(stream, peer, listener, reservation),
            Err(error) => self.report_starved(&error),
        }
    }

    fn serve(&self, stream: SocketStream, peer: Peer, listener: usize, reservation: Reservation) {
        let slot = Slot::new(reservation, Rc::clone(self.worker.inner()));
        let connection = Connection {
            stream,
            peer,
            listener,
            slot,
        };
        let (service, app) = (Rc::clone(&self.service), self.app.clone());
        self.worker
            .spawn(async move { service.serve(connection, app).await });
    }

    fn counters(&self) -> &WorkerCounters {
        &self.worker.shared().lanes[self.worker.id()].counters
    }

    fn refuse(&self) {
        count(&self.counters().refused);
        if let Some(connections) = self.worker.shared().full.pass() {
            let connections_max = self.worker.limits().connections_max;
            tracing::warn!(
                connections,
                connections_max,
                "every worker is full (connections_max); connections were closed"
            );
        }
    }

    fn report_starved(&self, error: &io::Error) {
        count(&self.counters().accept_errors);
        if let Some(times) = self.worker.shared().starved.pass() {
            tracing::error!(%error, times, "connections cannot be accepted; raise the limit of open files (ulimit -n)");
        }
    }
}

/// The client gave up while it waited; the next one is another matter.
fn client_left(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionReset | Interrupted
    )
}
