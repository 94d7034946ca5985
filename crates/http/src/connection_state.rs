//! What a connection, its socket and its requests know of each other: a few cells on one thread. Holds no socket and no clock.
//! The cells are set where something happens and read in one place, the supervisor, which alone knows the limits.

use std::{
    cell::{Cell, RefCell},
    task::Waker,
};

use crate::switch::Switch;

/// What a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConnectionWait {
    /// The rest of a request's header.
    Header,
    /// The next request.
    Request,
    /// The answer to a request whose client sends nothing more, and may have gone.
    Answer,
    /// Room in the socket.
    Room,
    /// A window of HTTP/2 that the client leaves closed, so that a response which is there does not even reach the socket.
    Window,
    /// The client's end, after ours.
    Linger,
}

/// How much of a request's body is unread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UnreadBody {
    Nothing,
    /// So little that it has probably come already.
    Little,
    /// More, or an unknown amount, or its reader has refused it. The connection will close.
    Much,
}

#[derive(Debug)]
pub(crate) struct ConnectionState {
    /// Requests whose response is not complete.
    in_flight: Cell<u32>,
    /// Those of them with a piece that waits for the client's window. Only on HTTP/2.
    pieces_waiting: Cell<u32>,
    /// Requests whose body may still be on the way to their handlers.
    arriving: Cell<u32>,
    /// The client has closed its sending side.
    half_closed: Cell<bool>,
    /// Something of a stream has moved since this was asked last. Only on HTTP/2.
    active: Cell<bool>,
    /// The connection's task.
    task: RefCell<Option<Waker>>,
    /// Bytes came that are not yet part of a request. Only on HTTP/1: frames of HTTP/2 come at any time.
    header_begun: Cell<bool>,
    multiplexed: Cell<bool>,
    blocked: Cell<bool>,
    lingering: Cell<bool>,
    /// A request's body was given up before its end, so the client may still be sending it.
    unread: Cell<UnreadBody>,
    /// The kind of wait that the supervisor has already noted.
    noted: Cell<Option<ConnectionWait>>,
    linger_bytes_max: usize,
    /// Whom the connection is given to when its last response is sent.
    switch: RefCell<Option<Switch>>,
}

fn step(count: &Cell<u32>, by: i32) {
    count.set(count.get().saturating_add_signed(by));
}

impl ConnectionState {
    /// Of a connection that has just been accepted: it owes a header.
    pub(crate) fn new(linger_bytes_max: usize) -> ConnectionState {
        ConnectionState {
            in_flight: Cell::new(0),
            pieces_waiting: Cell::new(0),
            arriving: Cell::new(0),
            half_closed: Cell::new(false),
            active: Cell::new(false),
            task: RefCell::new(None),
            header_begun: Cell::new(true),
            multiplexed: Cell::new(false),
            blocked: Cell::new(false),
            lingering: Cell::new(false),
            unread: Cell::new(UnreadBody::Nothing),
            noted: Cell::new(None),
            linger_bytes_max,
            switch: RefCell::new(None),
        }
    }

    pub(crate) fn set_switch(&self, switch: Switch) {
        self.switch.replace(Some(switch));
    }

    pub(crate) fn take_switch(&self) -> Option<Switch> {
        self.switch.take()
    }

    pub(crate) fn set_multiplexed(&self) {
        self.multiplexed.set(true);
    }

    /// Whether bytes came that are not part of a request, and no request waits for its answer. Only on HTTP/1.
    pub(crate) fn has_unknown_bytes(&self) -> bool {
        !self.multiplexed.get() && self.header_begun.get() && self.in_flight.get() == 0
    }

    pub(crate) fn request_began(&self) {
        step(&self.in_flight, 1);
        self.unread.set(UnreadBody::Nothing);
        self.header_begun.set(false);
        self.active.set(true);
        self.noted.set(None);
    }

    pub(crate) fn request_ended(&self) {
        self.active.set(true);
        step(&self.in_flight, -1);
        self.header_begun.set(false);
        self.noted.set(None);
    }

    pub(crate) fn set_task(&self, task: &Waker) {
        self.task.replace(Some(task.clone()));
    }

    /// A piece of a response waits for its stream's window. The connection has to look how long: a closed window wakes no task.
    pub(crate) fn piece_waits(&self) {
        step(&self.pieces_waiting, 1);
        self.wake();
    }

    /// It has been taken, or it is wanted no more.
    pub(crate) fn piece_went(&self) {
        step(&self.pieces_waiting, -1);
    }

    /// Has the connection polled.
    pub(crate) fn wake(&self) {
        if let Some(task) = &*self.task.borrow() {
            task.wake_by_ref();
        }
    }

    pub(crate) fn bytes_read(&self) {
        if !self.multiplexed.get() {
            self.header_begun.set(true);
        }
    }

    pub(crate) fn write_blocked(&self) {
        self.blocked.set(true);
    }

    /// Progress restarts the time that the client has.
    pub(crate) fn bytes_written(&self) {
        if self.blocked.replace(false) || self.half_closed.get() {
            self.noted.set(None);
        }
    }

    pub(crate) fn is_multiplexed(&self) -> bool {
        self.multiplexed.get()
    }

    /// Some of a stream's frames leave. The end of a response may be on its way long after its request has ended here.
    pub(crate) fn stream_moved(&self) {
        self.active.set(true);
    }

    /// Whether something of a stream has moved since the last call.
    pub(crate) fn take_activity(&self) -> bool {
        self.active.replace(false)
    }

    pub(crate) fn body_begins(&self) {
        step(&self.arriving, 1);
    }

    pub(crate) fn body_ends(&self) {
        step(&self.arriving, -1);
    }

    /// Whether nothing else would notice that the client goes: its request is whole, and the answer takes its time.
    pub(crate) fn is_unwatched(&self) -> bool {
        self.in_flight.get() > 0
            && self.arriving.get() == 0
            && !self.multiplexed.get()
            && !self.half_closed.get()
    }

    pub(crate) fn set_half_closed(&self) {
        self.half_closed.set(true);
    }

    pub(crate) fn body_given_up(&self, unread: UnreadBody) {
        self.unread.set(unread);
    }

    pub(crate) fn unread(&self) -> UnreadBody {
        self.unread.get()
    }

    pub(crate) fn set_lingering(&self) {
        self.lingering.set(true);
    }

    /// How many bytes to read and drop after the server's end. None unless the client may still be sending what will not be read: the
    /// rest of a body, or of a request that was malformed.
    pub(crate) fn linger_bytes(&self) -> usize {
        let malformed = self.in_flight.get() == 0 && self.header_begun.get();
        if !self.multiplexed.get() && (self.unread.get() != UnreadBody::Nothing || malformed) {
            self.linger_bytes_max
        } else {
            0
        }
    }

    /// What the connection waits for now; `None` while only its handlers are at work.
    pub(crate) fn wait(&self) -> Option<ConnectionWait> {
        if self.lingering.get() {
            Some(ConnectionWait::Linger)
        } else if self.blocked.get() {
            Some(ConnectionWait::Room)
        } else if self.pieces_waiting.get() > 0 {
            Some(ConnectionWait::Window)
        } else if self.in_flight.get() > 0 {
            self.half_closed.get().then_some(ConnectionWait::Answer)
        } else if self.header_begun.get() {
            Some(ConnectionWait::Header)
        } else {
            Some(ConnectionWait::Request)
        }
    }

    /// Whether this wait began since the last call. Where there is none, the next one begins anew.
    pub(crate) fn note(&self, wait: Option<ConnectionWait>) -> bool {
        self.noted.replace(wait) != wait
    }
}
